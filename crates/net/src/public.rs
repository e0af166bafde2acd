//! Restricts a pooled client to the public Internet: judges the URL before each request, and the
//! resolved addresses before each connection.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolving};

use crate::dial::SystemResolver;
use crate::guard::{UrlGuard, UrlRefusal};
use crate::{InterfaceAddresses, NetError, OwnAddresses, ResolveNames, check_url};

/// The restriction to public addresses, as a resolver and as a check of URLs.
#[derive(Debug, Clone)]
pub(crate) struct PublicOnly {
    own: Arc<dyn OwnAddresses>,
    resolver: Arc<dyn ResolveNames>,
}

/// Checks that requests can be sent to this URL by a client that reaches only public addresses.
///
/// # Errors
/// [`NetError::Invalid`] names the fault, and shows at most the host.
pub fn check_public_url(url: &str) -> Result<(), NetError> {
    check_url(url).and_then(|()| PublicOnly::of_this_host().check_url(url))
}

impl PublicOnly {
    pub(crate) fn of_this_host() -> Self {
        Self { own: Arc::new(InterfaceAddresses::default()), resolver: Arc::new(SystemResolver) }
    }

    pub(crate) fn check_url(&self, url: &str) -> Result<(), NetError> {
        let judged = UrlGuard::new(self.own.own_addresses()).judge_url(url);
        judged.map(drop).map_err(|refusal| NetError::Invalid(refusal.to_string()))
    }

    /// Returns all addresses of a name, if all are public.
    async fn public_addresses(self, name: &str) -> Result<Vec<IpAddr>, UrlRefusal> {
        let found = self.resolver.resolve_name(name).await;
        UrlGuard::new(self.own.own_addresses()).judge_resolved(name, &found)?;
        Ok(found)
    }
}

impl reqwest::dns::Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let public = self.clone();
        Box::pin(async move {
            let found = public.public_addresses(name.as_str()).await?;
            // Port 0: the client takes the port from the URL.
            let found = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(found) as Addrs)
        })
    }
}

#[cfg(test)]
#[path = "public_tests.rs"]
mod tests;
