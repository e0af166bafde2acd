//! Restricts a pooled client to the public Internet: judges the URL before each request, and the
//! resolved addresses before each connection.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolving};

use crate::dial::System;
use crate::guard::{Guard, UrlRefusal};
use crate::{Interfaces, NetError, OwnAddresses, Resolve, check_url};

/// The restriction to public addresses, as a resolver and as a check of URLs.
#[derive(Debug, Clone)]
pub(crate) struct Public {
    own: Arc<dyn OwnAddresses>,
    resolver: Arc<dyn Resolve>,
}

/// Checks that requests can be sent to this URL by a client that reaches only public addresses.
///
/// # Errors
/// [`NetError::Invalid`] names the fault, and shows at most the host.
pub fn check_public_url(url: &str) -> Result<(), NetError> {
    check_url(url).and_then(|()| Public::of_this_host().check(url))
}

impl Public {
    pub(crate) fn of_this_host() -> Self {
        Self { own: Arc::new(Interfaces::default()), resolver: Arc::new(System) }
    }

    pub(crate) fn check(&self, url: &str) -> Result<(), NetError> {
        let judged = Guard::new(self.own.addresses()).target(url);
        judged.map(drop).map_err(|refusal| NetError::Invalid(refusal.to_string()))
    }

    /// Returns all addresses of a name, if all are public.
    async fn addresses(self, name: &str) -> Result<Vec<IpAddr>, UrlRefusal> {
        let found = self.resolver.resolve(name).await;
        Guard::new(self.own.addresses()).resolved(name, &found)?;
        Ok(found)
    }
}

impl reqwest::dns::Resolve for Public {
    fn resolve(&self, name: Name) -> Resolving {
        let public = self.clone();
        Box::pin(async move {
            let found = public.addresses(name.as_str()).await?;
            // Port 0: the client takes the port from the URL.
            let found = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(found) as Addrs)
        })
    }
}

#[cfg(test)]
#[path = "public_tests.rs"]
mod tests;
