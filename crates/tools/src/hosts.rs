//! Connects sandboxed programs to the hosts that the operator has opened. It adapts the proxy of
//! `net` to the trait of `sandbox`, because neither crate depends on the other.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, TcpListener};

use async_trait::async_trait;
use avocet_net::Proxy;
use avocet_sandbox::Reached;

/// The hosts that are open to programs.
#[derive(Debug)]
pub struct OpenHosts(Proxy);

impl OpenHosts {
    /// The hosts that this proxy serves.
    #[must_use]
    pub fn through(proxy: Proxy) -> Self {
        Self(proxy)
    }
}

#[async_trait]
impl avocet_sandbox::Proxy for OpenHosts {
    fn hosts(&self) -> String {
        self.0.hosts().to_string()
    }

    fn has(&self, address: IpAddr) -> bool {
        self.0.hosts().name(address)
    }

    async fn serve(&self, listener: TcpListener, reached: &Reached) -> io::Result<Infallible> {
        self.0.serve(listener, &|host| reached.add(host)).await
    }
}
