//! Ports of 127.0.0.1: one that refuses connections, and one that a program may take.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use tokio::net::TcpSocket;

/// A port of 127.0.0.1 on which no program listens. It is bound until this value is dropped, so that
/// the system gives it to no other program meanwhile.
#[derive(Debug)]
pub struct ClosedPort {
    socket: TcpSocket,
}

impl ClosedPort {
    /// Takes a free port.
    #[must_use]
    pub fn bind() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        Self { socket }
    }

    /// Returns the address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.socket.local_addr().unwrap()
    }
}

/// Returns a port of 127.0.0.1 that no program uses. Its number is `from` or higher; choose a range
/// from which the system never picks a free port itself.
#[must_use]
pub fn find_free_port(from: u16) -> u16 {
    (from..).find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok()).unwrap()
}

impl fmt::Display for ClosedPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address().fmt(f)
    }
}
