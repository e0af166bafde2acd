//! Tests the real proxy of programs on loopback: its targets, refusals and timeouts.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod limits;

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use avocet_net::{HostsProxy, OpenedHosts, ResolveNames};
use avocet_protocol::clock::Clock;
use avocet_testkit::ManualClock;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// An address that this host pretends to have.
const OWN: &str = "93.184.216.1";

/// The addresses of each name.
#[derive(Debug, Default)]
struct FakeResolver {
    names: HashMap<String, Vec<IpAddr>>,
    looked_up: Mutex<Vec<String>>,
}

#[async_trait]
impl ResolveNames for FakeResolver {
    async fn resolve_name(&self, name: &str) -> Vec<IpAddr> {
        self.looked_up.lock().push(name.to_owned());
        self.names.get(name).cloned().unwrap_or_default()
    }
}

/// A proxy, and the targets that it has reported.
struct World {
    proxy: HostsProxy,
    listener: std::net::TcpListener,
    names: Arc<FakeResolver>,
    clock: Arc<ManualClock>,
    reached: Mutex<Vec<String>>,
}

impl World {
    fn new(hosts: &[String], names: &[(&str, &[&str])]) -> Self {
        let parsed = |(name, found): &(&str, &[&str])| {
            let addresses = found.iter().map(|address| address.parse().unwrap()).collect();
            ((*name).to_owned(), addresses)
        };
        let names = names.iter().map(parsed).collect();
        let names = Arc::new(FakeResolver { names, ..FakeResolver::default() });
        let clock = Arc::new(ManualClock::default());
        let own: Vec<IpAddr> = vec![OWN.parse().unwrap()];
        let hosts = OpenedHosts::parse_entries(hosts).unwrap();
        let proxy = HostsProxy::new(hosts, Arc::new(own), clock.clone() as Arc<dyn Clock>);
        Self {
            proxy: proxy.with_resolver(names.clone()),
            listener: std::net::TcpListener::bind("127.0.0.1:0").unwrap(),
            names,
            clock,
            reached: Mutex::default(),
        }
    }

    /// Runs `work` while the proxy runs.
    async fn with<T>(&self, work: impl Future<Output = T>) -> T {
        let reached = |to: &str| self.reached.lock().push(to.to_owned());
        tokio::select! {
            ended = self.proxy.serve_listener(self.listener.try_clone().unwrap(), &reached) => {
                panic!("it does not end by itself: {ended:?}")
            }
            done = work => done,
        }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.listener.local_addr().unwrap()).await.unwrap()
    }

    /// Sends `text` and reads until the connection ends.
    async fn say(&self, text: &str) -> String {
        self.with(async {
            let mut stream = self.connect().await;
            stream.write_all(text.as_bytes()).await.unwrap();
            rest(&mut stream).await
        })
        .await
    }

    fn reached(&self) -> Vec<String> {
        std::mem::take(&mut *self.reached.lock())
    }
}

async fn rest(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

/// Reads until the text ends with `end`.
async fn until(stream: &mut TcpStream, end: &str) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(end.as_bytes()) {
        bytes.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(bytes).unwrap()
}

async fn server() -> (TcpListener, SocketAddr) {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().unwrap();
    (server, address)
}

#[tokio::test]
async fn proxy_tunnel_carries_bytes_in_both_directions_to_their_end() {
    let (server, address) = server().await;
    let world = World::new(&[address.to_string()], &[]);
    world
        .with(async {
            let mut program = world.connect().await;
            let ask = format!("CONNECT {address} HTTP/1.1\r\n\r\nearly");
            program.write_all(ask.as_bytes()).await.unwrap();
            let (mut served, _) = server.accept().await.unwrap();
            assert_eq!(until(&mut served, "early").await, "early");
            let answer = until(&mut program, "\r\n\r\n").await;
            assert_eq!(answer, "HTTP/1.1 200 Connection established\r\n\r\n");
            served.write_all(b"\0hello").await.unwrap();
            assert_eq!(until(&mut program, "hello").await, "\0hello");
            program.write_all(b"bye").await.unwrap();
            program.shutdown().await.unwrap();
            assert_eq!(rest(&mut served).await, "bye");
            // The other direction is still open.
            served.write_all(b"last").await.unwrap();
            served.shutdown().await.unwrap();
            assert_eq!(rest(&mut program).await, "last");
        })
        .await;
    assert_eq!(world.reached(), [address.to_string()]);
}

#[tokio::test]
async fn proxy_forwards_one_request_with_its_body_and_nothing_after_it() {
    let (server, address) = server().await;
    let world = World::new(&[address.to_string()], &[]);
    world
        .with(async {
            let mut program = world.connect().await;
            let ask = format!(
                "POST http://{address}/x?q HTTP/1.1\r\nHost: other.example\r\nContent-Length: 4\r\n\
                 Proxy-Authorization: Basic eDp5\r\nConnection: keep-alive\r\n\r\nbo"
            );
            program.write_all(ask.as_bytes()).await.unwrap();
            let (mut served, _) = server.accept().await.unwrap();
            assert_eq!(
                until(&mut served, "bo").await,
                format!(
                    "POST /x?q HTTP/1.1\r\nHost: {address}\r\nContent-Length: 4\r\n\
                     Connection: close\r\n\r\nbo"
                )
            );
            program.write_all(b"dyGET /second HTTP/1.1\r\n\r\n").await.unwrap();
            assert_eq!(until(&mut served, "dy").await, "dy");
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
            served.write_all(answer.as_bytes()).await.unwrap();
            // The second request has not arrived, and never does.
            let mut byte = [0];
            assert!(served.try_read(&mut byte).is_err());
            served.shutdown().await.unwrap();
            let mut read = vec![0; answer.len()];
            program.read_exact(&mut read).await.unwrap();
            assert_eq!(read, answer.as_bytes());
            assert_eq!(served.read(&mut byte).await.unwrap_or_default(), 0);
        })
        .await;
    assert_eq!(world.reached(), [address.to_string()]);
}

#[tokio::test]
async fn proxy_closes_the_server_connection_if_the_client_disconnects_before_the_answer() {
    let (server, address) = server().await;
    let world = World::new(&[address.to_string()], &[]);
    world
        .with(async {
            for length in [0, 9, u64::MAX] {
                let mut program = world.connect().await;
                let ask =
                    format!("GET http://{address}/ HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
                program.write_all(ask.as_bytes()).await.unwrap();
                let (mut served, _) = server.accept().await.unwrap();
                until(&mut served, "\r\n\r\n").await;
                drop(program);
                assert_eq!(rest(&mut served).await, "");
            }
        })
        .await;
}

/// The names of the test below, with their addresses.
const NAMES: &[(&str, &[&str])] = &[
    ("private.example", &["127.0.0.1"]),
    ("a.wild.example", &["93.184.216.34", "192.168.0.1"]),
    ("listed.example", &["::ffff:127.0.0.1"]),
    ("own.example", &[OWN]),
    ("closed.example", &["93.184.216.34"]),
];

#[tokio::test]
async fn proxy_refuses_a_host_that_is_not_open_with_the_reason_in_the_first_line() {
    let (server, address) = server().await;
    let (another, other) = self::server().await;
    let port = address.port();
    let hosts = [
        "public.example".to_owned(),
        format!("private.example:{port}"),
        format!("*.wild.example:{port}"),
        format!("listed.example:{port}"),
        format!("nobody.example:{port}"),
        "own.example".to_owned(),
        "10.0.0.7".to_owned(),
    ];
    let world = World::new(&hosts, NAMES);
    for (to, status, why) in [
        (
            format!("closed.example:{port}"),
            403,
            "[sandbox] hosts does not open it; ask the operator",
        ),
        ("wild.example:443".to_owned(), 403, "[sandbox] hosts does not open it"),
        ("public.example:22".to_owned(), 403, "[sandbox] hosts does not open it"),
        (address.to_string(), 403, "[sandbox] hosts does not open it"),
        (other.to_string(), 403, "[sandbox] hosts does not open it"),
        (format!("localhost:{port}"), 403, "[sandbox] hosts does not open it"),
        ("169.254.169.254:80".to_owned(), 403, "[sandbox] hosts does not open it"),
        (format!("private.example:{port}"), 403, "resolves to 127.0.0.1, which is not public"),
        // A single private address refuses the name.
        (format!("a.wild.example:{port}"), 403, "resolves to 192.168.0.1, which is not public"),
        (format!("listed.example:{port}"), 403, "does not list that address"),
        ("own.example:443".to_owned(), 403, "an address of this host"),
        (format!("nobody.example:{port}"), 502, "its name does not resolve"),
        ("public.example:443".to_owned(), 502, "its name does not resolve"),
    ] {
        for head in [
            format!("CONNECT {to} HTTP/1.1\r\n\r\n"),
            format!("GET http://{to}/secret?word HTTP/1.1\r\n\r\n"),
        ] {
            let answer = world.say(&head).await;
            let (first, body) = answer.split_once("\r\n").unwrap();
            assert!(first.starts_with(&format!("HTTP/1.1 {status} {to} ")), "{head}: {answer}");
            assert!(first.contains(why), "{head}: {answer}");
            let reason = &first["HTTP/1.1 403 ".len()..];
            assert!(body.ends_with(&format!("\r\n\r\n{reason}\n")), "{head}: {answer}");
        }
    }
    assert!(world.reached().is_empty());
    // A forbidden name is not resolved.
    let looked_up = world.names.looked_up.lock();
    assert!(!looked_up.iter().any(|name| name == "closed.example" || name == "wild.example"));
    let accepted = |server: TcpListener| server.into_std().unwrap().accept();
    assert!(accepted(server).is_err() && accepted(another).is_err(), "a listener was reached");
}

#[tokio::test]
async fn proxy_opens_a_name_whose_private_address_is_listed_itself() {
    let (server, address) = server().await;
    let hosts = [format!("Registry.Local:{}", address.port()), address.to_string()];
    let world = World::new(&hosts, &[("registry.local", &["127.0.0.1"])]);
    world
        .with(async {
            let mut program = world.connect().await;
            let ask = format!("CONNECT registry.local.:{} HTTP/1.1\r\n\r\n", address.port());
            program.write_all(ask.as_bytes()).await.unwrap();
            server.accept().await.unwrap();
            assert!(until(&mut program, "\r\n\r\n").await.starts_with("HTTP/1.1 200 "));
        })
        .await;
    assert_eq!(world.reached(), [format!("registry.local:{}", address.port())]);
}

#[tokio::test]
async fn proxy_returns_bad_gateway_for_an_absent_server() {
    let (server, address) = server().await;
    drop(server);
    let world = World::new(&[address.to_string()], &[]);
    let answer = world.say(&format!("CONNECT {address} HTTP/1.1\r\n\r\n")).await;
    assert!(answer.starts_with(&format!("HTTP/1.1 502 {address} cannot be reached: ")), "{answer}");
    assert!(world.reached().is_empty());
}

#[tokio::test]
async fn proxy_answers_a_hostile_head_with_an_error_only() {
    let world = World::new(&["127.0.0.1:9".to_owned()], &[]);
    let long = "x".repeat(16 * 1024);
    for (text, status) in [
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
        (format!("GET http://127.0.0.1:9/ HTTP/1.1\r\nX: {long}\r\n\r\n"), 431),
        // This head has no end, and its remaining bytes are unread when the answer is sent.
        (format!("GET http://127.0.0.1:9/{long}"), 431),
        ("CONNECT user@127.0.0.1:9 HTTP/1.1\r\n\r\n".to_owned(), 400),
    ] {
        let answer = world.say(&text).await;
        let short: String = text.chars().take(40).collect();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{short}: {answer}");
    }
}
