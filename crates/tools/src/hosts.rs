//! Connects sandboxed programs to the hosts that the operator has opened. It adapts the proxy of
//! `net` to the trait of `sandbox`, because neither crate depends on the other.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, TcpListener};

use async_trait::async_trait;
use avocet_net::HostsProxy;
use avocet_sandbox::ReachedHosts;

/// The hosts that are open to programs.
#[derive(Debug)]
pub struct OpenHosts(HostsProxy);

impl OpenHosts {
    /// The hosts that this proxy serves.
    #[must_use]
    pub fn from_proxy(proxy: HostsProxy) -> Self {
        Self(proxy)
    }
}

#[async_trait]
impl avocet_sandbox::ProgramProxy for OpenHosts {
    fn hosts_text(&self) -> String {
        self.0.opened_hosts().to_string()
    }

    fn is_opened_host(&self, address: IpAddr) -> bool {
        self.0.opened_hosts().name(address)
    }

    async fn serve_connections(
        &self,
        listener: TcpListener,
        reached: &ReachedHosts,
    ) -> io::Result<Infallible> {
        self.0.serve_listener(listener, &|host| reached.add_host(host)).await
    }
}
