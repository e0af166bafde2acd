//! The network of a sandbox: a loopback interface, and, if the operator has opened hosts, one
//! socket that leads out. The socket is made inside, listens there, and is sent to the daemon. A
//! socket belongs to the network in which it was made, even if another process has it.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use async_trait::async_trait;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};
use parking_lot::Mutex;
use tokio::net::UnixStream;

use super::descriptors;

/// The port of the proxy in a sandbox. It is the only listener in a new network.
const PORT: u16 = 3128;
/// Hosts of one program that are remembered.
const REMEMBERED: usize = 50;

/// The way of programs to the hosts that the operator has opened.
#[async_trait]
pub trait ProgramProxy: std::fmt::Debug + Send + Sync {
    /// Returns the hosts as a text for people and models.
    fn hosts_text(&self) -> String;

    /// Returns `true` if this address is one of the hosts.
    fn is_opened_host(&self, address: IpAddr) -> bool;

    /// Serves connections until the future is dropped. Adds each permitted host to `reached` before
    /// any byte comes from there.
    ///
    /// # Errors
    /// If the listener cannot be used.
    async fn serve_connections(
        &self,
        listener: TcpListener,
        reached: &ReachedHosts,
    ) -> io::Result<Infallible>;
}

/// The hosts that a program has reached. Clones share their state.
#[derive(Debug, Clone, Default)]
pub struct ReachedHosts(Arc<Mutex<BTreeSet<String>>>);

impl ReachedHosts {
    /// Adds a host; keeps the first fifty.
    pub fn add_host(&self, host: &str) {
        let mut hosts = self.0.lock();
        if hosts.len() < REMEMBERED {
            hosts.insert(host.to_owned());
        }
    }

    /// Returns `true` if a host was reached.
    #[must_use]
    pub fn is_any_reached(&self) -> bool {
        !self.0.lock().is_empty()
    }

    /// Returns the first fifty hosts, sorted.
    #[must_use]
    pub fn host_names(&self) -> Vec<String> {
        self.0.lock().iter().cloned().collect()
    }
}

pub(super) fn proxy_url() -> String {
    format!("http://{}:{PORT}", Ipv4Addr::LOCALHOST)
}

/// Returns the environment variables that announce a proxy. Programs connect to the loopback
/// interface directly, because it is their own, unless the operator has opened an address there.
pub(super) fn proxy_environment(proxy: &dyn ProgramProxy) -> Vec<(String, String)> {
    let own = ["127.0.0.1", "::1"];
    let own =
        own.iter().filter(|own| own.parse().is_ok_and(|address| !proxy.is_opened_host(address)));
    let own = ["localhost"].iter().chain(own).copied().collect::<Vec<_>>().join(",");
    let through =
        ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
    let through = through.map(|name| (name.to_owned(), proxy_url()));
    through
        .into_iter()
        .chain(["no_proxy", "NO_PROXY"].map(|name| (name.to_owned(), own.clone())))
        .collect()
}

/// Listens for programs that use the proxy, and sends the listener to the process at the other end
/// of standard input, which is a socket.
pub(super) fn hand_over_listener() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))?;
    descriptors::send_files(io::stdin(), [listener.as_fd()])
}

/// Receives the listener from stage 1. Fails if that stage ends without sending it.
pub(super) async fn take_listener(from: &UnixStream) -> io::Result<TcpListener> {
    let [listener] = descriptors::receive_files(from).await?;
    Ok(listener.into())
}

/// Activates `lo`, so that a program can connect to itself. It is the first interface of a network
/// namespace.
pub(super) fn raise_loopback() -> nix::Result<()> {
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 0x1 | 0x4;
    const UP: u32 = 0x1;
    // The layout is struct nlmsghdr, struct ifinfomsg: <linux/netlink.h>, <linux/rtnetlink.h>.
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    message.extend([0; 4]);
    message.extend(1_i32.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    sendto(socket.as_raw_fd(), &message, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    let mut answer = [0_u8; 256];
    let read = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    // After the header follows struct nlmsgerr: an error, or 0.
    match answer[..read].get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes)
    {
        Some(0) => Ok(()),
        Some(error) => Err(Errno::from_raw(-error)),
        None => Err(Errno::EBADMSG),
    }
}
