//! The addresses of this host.

use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;
use parking_lot::Mutex;

use crate::OwnAddresses;

/// The addresses of the system's network interfaces.
#[derive(Debug, Default)]
pub struct InterfaceAddresses {
    /// The addresses found last, used when the system cannot be read.
    last: Mutex<Vec<IpAddr>>,
}

impl OwnAddresses for InterfaceAddresses {
    fn own_addresses(&self) -> Vec<IpAddr> {
        let last = &mut *self.last.lock();
        match getifaddrs() {
            Ok(interfaces) => {
                let storages = interfaces.filter_map(|interface| interface.address);
                let address = |storage: SockaddrStorage| {
                    let v4 = storage.as_sockaddr_in().map(|it| IpAddr::from(it.ip()));
                    v4.or_else(|| storage.as_sockaddr_in6().map(|it| IpAddr::from(it.ip())))
                };
                *last = storages.filter_map(address).collect();
            }
            Err(error) => tracing::warn!(
                %error,
                known = last.len(),
                "cannot read the addresses of this host: only private addresses and those found \
                    earlier are blocked for pages and programs"
            ),
        }
        last.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_addresses_contain_those_of_this_host() {
        let found = InterfaceAddresses::default().own_addresses();
        assert!(found.iter().any(IpAddr::is_loopback), "{found:?}");
    }
}
