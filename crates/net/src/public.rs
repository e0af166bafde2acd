//! Keeps a pooled client on the public Internet: a URL is judged before each request, and whatever a name
//! resolves to before each connection.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolving};

use crate::dial::System;
use crate::guard::{Guard, Refusal};
use crate::{Interfaces, NetError, OwnAddresses, Resolve, check_url};

/// What is not public is not reached, nor resolved to.
#[derive(Debug, Clone)]
pub(crate) struct Public {
    own: Arc<dyn OwnAddresses>,
    resolver: Arc<dyn Resolve>,
}

/// Whether requests can be sent below this URL, and may be where only public addresses are reached.
///
/// # Errors
/// [`NetError::Invalid`] says what is wrong with it, without showing more than its host.
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

    /// All addresses of a name, if all of them are public.
    async fn addresses(self, name: &str) -> Result<Vec<IpAddr>, Refusal> {
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
            // The port is that of the URL.
            let found = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(found) as Addrs)
        })
    }
}

#[cfg(test)]
#[path = "public_tests.rs"]
mod tests;
