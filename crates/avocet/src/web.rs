//! The web for the agents' tools: the guarded client, which knows this host, and the search engine.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use avocet_config::ConfigError;
use avocet_net::{GuardedClient, Limits, OwnAddresses};
use avocet_protocol::Clock;
use avocet_tools::{Search, Web};
use nix::ifaddrs::getifaddrs;

use crate::places::Configuration;
use crate::registry::{WEB_SEARCH, web_search};

/// The way to the web, one for all agents.
pub(crate) fn web(
    configuration: &Configuration,
    clock: &Arc<dyn Clock>,
    otherwise: fn(GuardedClient) -> GuardedClient,
) -> Result<Arc<Web>, ConfigError> {
    let own = Arc::new(Interfaces::default());
    let client = otherwise(GuardedClient::new(own, clock.clone(), Limits::default()));
    let document = &configuration.document;
    let search = web_search(document, &configuration.settings)?
        .map(|config| Search::new(&config, &client, clock.clone()))
        .transpose()
        .map_err(|error| document.error_at(WEB_SEARCH, error.to_string()))?;
    Ok(Arc::new(Web::new(client, search, clock.clone())))
}

/// The addresses of the system's network interfaces.
#[derive(Debug, Default)]
pub(crate) struct Interfaces {
    /// What was found last, for when they cannot be read.
    last: Mutex<Vec<IpAddr>>,
}

impl OwnAddresses for Interfaces {
    fn addresses(&self) -> Vec<IpAddr> {
        let last = &mut *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match getifaddrs() {
            Ok(interfaces) => {
                let storages = interfaces.filter_map(|interface| interface.address);
                let address = |storage: nix::sys::socket::SockaddrStorage| {
                    let v4 = storage.as_sockaddr_in().map(|it| IpAddr::from(it.ip()));
                    v4.or_else(|| storage.as_sockaddr_in6().map(|it| IpAddr::from(it.ip())))
                };
                *last = storages.filter_map(address).collect();
            }
            Err(error) => tracing::warn!(
                %error,
                known = last.len(),
                "the addresses of this host cannot be read: pages and programs are kept from reaching those \
                 that were found before, and private ones, only"
            ),
        }
        last.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_this_host_are_found() {
        let found = Interfaces::default().addresses();
        assert!(found.iter().any(IpAddr::is_loopback), "{found:?}");
    }
}
