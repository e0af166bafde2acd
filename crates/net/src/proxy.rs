//! The HTTP proxy of programs (RFC 9110, 7.3.2; 9112, 3.2), which reaches only the hosts that the
//! operator has opened. It tunnels `CONNECT` and forwards requests for `http://` URLs, one request
//! per connection. It adds only `UrlHost` and `Connection: close` to a request.

pub(crate) mod head;
mod tunnel;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::clock::{Clock, within};
use avocet_protocol::ignore_result;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::address_ports::{OwnAddresses, ResolveNames};
use crate::dial::SystemResolver;
use crate::guard::{UrlGuard, UrlHost};
use crate::hosts::{OpenedHosts, format_host};
use head::{ProxyRequest, RequestKind};
use tunnel::ByteCount;

/// Maximum size of the head of a request in bytes.
const MAX_HEAD: usize = 16 * 1024;
/// Maximum number of open connections per listener. Further ones wait.
const MOST_OF_ONE: usize = 32;
/// Maximum number of open connections of all listeners. Each takes two of the daemon's file
/// descriptors.
const MOST: usize = 128;
/// Timeout for the head of a request.
const HEAD_LIMIT: Duration = Duration::from_secs(10);
/// Timeout for the lookup of a name, and for opening a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// After a refusal, the time and the bytes that the proxy goes on reading, so that the program can
/// read the answer.
const LINGER: (Duration, u64) = (Duration::from_secs(2), 64 * 1024);
/// Pause after the system has failed to accept a connection.
const PAUSE: Duration = Duration::from_secs(1);
/// Maximum number of hosts per listener that get a log line each, for reached and for refused
/// hosts. A program can name any number of hosts.
const MOST_LOGGED: usize = 1000;

/// A proxy to the hosts of a list. It can serve any number of listeners.
#[derive(Debug)]
pub struct HostsProxy {
    hosts: OpenedHosts,
    own: Arc<dyn OwnAddresses>,
    resolver: Arc<dyn ResolveNames>,
    clock: Arc<dyn Clock>,
    room: Semaphore,
}

/// An error answer of the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProxyRefusal {
    status: u16,
    /// One line. It also replaces the usual reason phrase of the status, because most programs show
    /// only that phrase after a failed `CONNECT`.
    why: String,
}

impl ProxyRefusal {
    fn bad_request(why: &str) -> Self {
        Self { status: 400, why: why.to_owned() }
    }

    fn slow_head() -> Self {
        Self { status: 408, why: "the head of the request took too long".to_owned() }
    }

    fn no_length() -> Self {
        let why = "a request with a body needs a Content-Length here";
        Self { status: 411, why: why.to_owned() }
    }

    fn long_head() -> Self {
        Self { status: 431, why: "the head of the request is too long".to_owned() }
    }

    fn forbidden_host(to: &str, why: &str) -> Self {
        Self { status: 403, why: format!("{to} is refused: {why}; ask the operator") }
    }

    fn unreachable_host(to: &str, why: &str) -> Self {
        Self { status: 502, why: format!("{to} cannot be reached: {why}") }
    }
}

/// Reports reached hosts to a callback, and to the log once per host.
struct HostReports<'t> {
    reached: &'t (dyn Fn(&str) + Sync),
    logged: Mutex<LoggedHosts>,
}

#[derive(Default)]
struct LoggedHosts {
    reached: BTreeSet<String>,
    refused: BTreeSet<String>,
}

impl HostsProxy {
    /// Returns a proxy for a host with these addresses. It uses the system's resolver.
    #[must_use]
    pub fn new(hosts: OpenedHosts, own: Arc<dyn OwnAddresses>, clock: Arc<dyn Clock>) -> Self {
        Self { hosts, own, resolver: Arc::new(SystemResolver), clock, room: Semaphore::new(MOST) }
    }

    /// Replaces the resolver.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn with_resolver(self, resolver: Arc<dyn ResolveNames>) -> Self {
        Self { resolver, ..self }
    }

    /// The list.
    #[must_use]
    pub fn opened_hosts(&self) -> &OpenedHosts {
        &self.hosts
    }

    /// Serves all connections of a listener. Dropping the future closes them. `reached` is called
    /// for each connection that passes the checks, before its first byte passes, with the target as
    /// `HOST:PORT`. The callback must not block.
    ///
    /// # Errors
    /// Fails if the listener cannot be used.
    pub async fn serve_listener(
        &self,
        listener: std::net::TcpListener,
        reached: &(dyn Fn(&str) + Sync),
    ) -> io::Result<Infallible> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let reports = HostReports { reached, logged: Mutex::default() };
        let mut open = FuturesUnordered::new();
        // Kept across iterations: an accepted connection waits in this future for a permit.
        let mut next = pin!(self.accept_program(&listener));
        loop {
            tokio::select! {
                (stream, permit) = &mut next, if open.len() < MOST_OF_ONE => {
                    open.push(self.serve_connection(stream, permit, &reports));
                    next.set(self.accept_program(&listener));
                }
                Some(()) = open.next() => {}
            }
        }
    }

    async fn accept_program(
        &self,
        listener: &TcpListener,
    ) -> (TcpStream, Option<SemaphorePermit<'_>>) {
        let stream = loop {
            match listener.accept().await {
                Ok((stream, _)) => break stream,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a program's connection to the proxy; retrying");
                    self.clock.sleep(PAUSE).await;
                }
            }
        };
        // The semaphore is never closed.
        (stream, self.room.acquire().await.ok())
    }

    async fn serve_connection(
        &self,
        mut program: TcpStream,
        _permit: Option<SemaphorePermit<'_>>,
        reports: &HostReports<'_>,
    ) {
        if let Err(refused) = self.pass_request(&mut program, reports).await {
            ignore_result(
                within(&*self.clock, LINGER.0, send_refusal(program, &refused)).await,
                "the program is gone, or does not read the answer",
            );
        }
    }

    async fn pass_request(
        &self,
        program: &mut TcpStream,
        reports: &HostReports<'_>,
    ) -> Result<(), ProxyRefusal> {
        let read = within(&*self.clock, HEAD_LIMIT, read_head(program)).await;
        let Some((head, rest)) = read.unwrap_or_else(|_| Err(ProxyRefusal::slow_head()))? else {
            return Ok(());
        };
        let ProxyRequest { host, port, kind } = head::parse_head(&head)?;
        let to = format_host(&host, port);
        let judged = self.judge_host(&host, port, &to).await;
        let connected = match judged {
            Ok(addresses) => self.connect_to(&addresses, &to).await,
            Err(refused) => Err(refused),
        };
        let mut server =
            connected.inspect_err(|refused| reports.report_refused(&to, &refused.why))?;
        reports.report_reached(&to);
        let moved = ByteCount::default();
        let passed = async {
            match kind {
                RequestKind::Tunnel => copy_both_ways(&moved, program, &mut server, &rest).await,
                RequestKind::Forward { head, length } => {
                    let request = ForwardedRequest { head: &head, length, rest: &rest };
                    forward_request(&moved, program, &mut server, request).await
                }
            }
        };
        moved.or_idle(&*self.clock, passed).await;
        Ok(())
    }

    /// Returns the addresses to connect to. A listed address is always allowed. The addresses of a
    /// listed name must be public or listed themselves.
    async fn judge_host(
        &self,
        host: &UrlHost,
        port: u16,
        to: &str,
    ) -> Result<Vec<SocketAddr>, ProxyRefusal> {
        if !self.hosts.open(host, port) {
            return Err(ProxyRefusal::forbidden_host(to, "[sandbox] hosts does not open it"));
        }
        let name = match host {
            UrlHost::Address(address) => return Ok(vec![SocketAddr::new(*address, port)]),
            UrlHost::Name(name) => name,
        };
        let found = within(&*self.clock, CONNECT_LIMIT, self.resolver.resolve_name(name)).await;
        let found = found.unwrap_or_default();
        if found.is_empty() {
            return Err(ProxyRefusal::unreachable_host(to, "its name does not resolve"));
        }
        let guard = UrlGuard::new(self.own.own_addresses());
        found.into_iter().map(|address| self.judge_address(&guard, address, port, to)).collect()
    }

    /// Judges an address that a name resolves to.
    fn judge_address(
        &self,
        guard: &UrlGuard,
        address: IpAddr,
        port: u16,
        to: &str,
    ) -> Result<SocketAddr, ProxyRefusal> {
        let socket = SocketAddr::new(address, port);
        if self.hosts.open(&UrlHost::Address(address.to_canonical()), port) {
            return Ok(socket);
        }
        guard.judge_address(socket).map(|()| socket).map_err(|rule| {
            let why = format!(
                "its name resolves to {address}, which is not public ({rule}), and [sandbox] hosts \
                    does not list that address"
            );
            ProxyRefusal::forbidden_host(to, &why)
        })
    }

    async fn connect_to(
        &self,
        addresses: &[SocketAddr],
        to: &str,
    ) -> Result<TcpStream, ProxyRefusal> {
        let connected = within(&*self.clock, CONNECT_LIMIT, TcpStream::connect(addresses)).await;
        connected
            .map_err(|_| ProxyRefusal::unreachable_host(to, "it does not answer"))?
            .map_err(|error| ProxyRefusal::unreachable_host(to, &error.kind().to_string()))
    }
}

impl HostReports<'_> {
    fn report_reached(&self, to: &str) {
        (self.reached)(to);
        if is_new(&mut self.logged.lock().reached, to) {
            tracing::info!(host = to, "a program connected to a host");
        }
    }

    fn report_refused(&self, to: &str, why: &str) {
        if is_new(&mut self.logged.lock().refused, to) {
            tracing::warn!(host = to, why, "refused a program's connection to a host");
        }
    }
}

/// Returns `true` if this host needs a log line: once per host, for a limited number of hosts.
fn is_new(logged: &mut BTreeSet<String>, to: &str) -> bool {
    let is_new = logged.len() < MOST_LOGGED && logged.insert(to.to_owned());
    if is_new && logged.len() == MOST_LOGGED {
        tracing::warn!(
            after = to,
            "a program connects to too many hosts; further ones are not logged"
        );
    }
    is_new
}

/// Reads a head, and the bytes that came after it. `None` if the program has closed the connection.
async fn read_head(
    from: &mut (impl AsyncRead + Unpin),
) -> Result<Option<(Vec<u8>, Vec<u8>)>, ProxyRefusal> {
    const END: &[u8] = b"\r\n\r\n";
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let Ok(read @ 1..) = from.read(&mut piece).await else { return Ok(None) };
        let from = bytes.len().saturating_sub(END.len() - 1);
        bytes.extend_from_slice(&piece[..read]);
        let end = bytes[from..].windows(END.len()).position(|window| window == END);
        let end = end.map(|at| from + at + END.len());
        if end.unwrap_or(bytes.len()) > MAX_HEAD {
            return Err(ProxyRefusal::long_head());
        }
        if let Some(end) = end {
            let rest = bytes.split_off(end);
            return Ok(Some((bytes, rest)));
        }
    }
}

/// Copies bytes between a program and a server in both directions.
async fn copy_both_ways(
    moved: &ByteCount,
    program: &mut TcpStream,
    server: &mut TcpStream,
    rest: &[u8],
) -> io::Result<()> {
    program.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    let (from_program, mut to_program) = program.split();
    let (from_server, mut to_server) = server.split();
    let up = moved.pass_all(rest.chain(from_program), &mut to_server);
    let down = moved.pass_all(from_server, &mut to_program);
    tokio::try_join!(up, down).map(drop)
}

/// A request that the proxy sends on itself.
struct ForwardedRequest<'a> {
    head: &'a [u8],
    /// Bytes of the body.
    length: u64,
    /// The part of the body that was read together with the head.
    rest: &'a [u8],
}

/// Sends a single request with its body, and copies the answer until the server or the program
/// closes the connection.
async fn forward_request(
    moved: &ByteCount,
    program: &mut TcpStream,
    server: &mut TcpStream,
    request: ForwardedRequest<'_>,
) -> io::Result<()> {
    let ForwardedRequest { head, length, rest } = request;
    let (mut from_program, mut to_program) = program.split();
    let (from_server, mut to_server) = server.split();
    let asked = async {
        let body = rest.chain(&mut from_program).take(length);
        let passed = moved.copy_counted(head.chain(body), &mut to_server).await?;
        if passed.checked_sub(head.len() as u64) == Some(length) {
            // Further requests on this connection are discarded. Reading them also detects when the
            // program goes away.
            tokio::io::copy(&mut from_program, &mut tokio::io::sink()).await?;
        }
        Ok(())
    };
    tokio::select! {
        // Some servers answer before they have read the whole request.
        answered = moved.pass_all(from_server, &mut to_program) => answered,
        gone = asked => gone,
    }
}

async fn send_refusal(mut program: TcpStream, ProxyRefusal { status, why }: &ProxyRefusal) {
    let length = why.len() + 1;
    let answer = format!(
        "HTTP/1.1 {status} {why}\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{why}\n"
    );
    if program.write_all(answer.as_bytes()).await.is_err() || program.shutdown().await.is_err() {
        return;
    }
    // Closing a socket with unread data resets the connection, and the program would lose the
    // answer.
    let mut unread = program.take(LINGER.1);
    ignore_result(
        tokio::io::copy(&mut unread, &mut tokio::io::sink()).await,
        "the program has reset the connection, so it waits for no answer",
    );
}
