//! A SOCKS5 proxy on loopback (RFC 1928, RFC 1929). It connects requests to one server, whatever their
//! host, so that a name need not exist. A test can name other servers for single hosts.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// Numbers of the protocol.
const VERSION: u8 = 5;
const NO_LOGIN: u8 = 0;
const LOGIN: u8 = 2;
const NO_METHOD: u8 = 0xff;
const IPV4: u8 = 1;
const NAME: u8 = 3;

/// A proxy that ends with its value.
#[derive(Debug)]
pub struct SocksFake {
    address: SocketAddr,
    shared: Arc<Shared>,
    server: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    server: SocketAddr,
    /// Other servers, by the requested host with its port.
    routes: Mutex<HashMap<String, SocketAddr>>,
    /// `user:password`; empty if everyone may connect.
    login: String,
    /// The requested hosts with their ports.
    requested: Mutex<Vec<String>>,
}

impl SocksFake {
    /// Starts a proxy to `server`. `login` is `user:password`, or empty.
    ///
    /// # Panics
    /// If no port is free.
    #[expect(clippy::disallowed_methods, reason = "a fake is not part of the daemon")]
    pub async fn start(server: SocketAddr, login: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        let login = login.to_owned();
        let (routes, requested) = (Mutex::default(), Mutex::default());
        let shared = Arc::new(Shared { server, routes, login, requested });
        let serving = shared.clone();
        let server = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let shared = serving.clone();
                tokio::spawn(async move { shared.serve(client).await.unwrap_or_default() });
            }
        });
        Self { address, shared, server: server.abort_handle() }
    }

    /// Returns the address with its port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connects requests for `host`, which has its port, to another server.
    pub fn route(&self, host: &str, server: SocketAddr) {
        let mut routes = self.shared.routes.lock();
        routes.insert(host.to_owned(), server);
    }

    /// Returns the requested hosts, each with its port.
    #[must_use]
    pub fn requested(&self) -> Vec<String> {
        self.shared.requested.lock().clone()
    }
}

impl Drop for SocksFake {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Shared {
    async fn serve(&self, mut client: TcpStream) -> io::Result<()> {
        let [version, methods] = read(&mut client).await?;
        let mut offered = vec![0; methods.into()];
        client.read_exact(&mut offered).await?;
        let method = if self.login.is_empty() { NO_LOGIN } else { LOGIN };
        if version != VERSION || !offered.contains(&method) {
            return client.write_all(&[VERSION, NO_METHOD]).await;
        }
        client.write_all(&[VERSION, method]).await?;
        if method == LOGIN && !self.accepts_login(&mut client).await? {
            return Ok(());
        }
        let [_, _, _, kind] = read(&mut client).await?;
        let host = match kind {
            IPV4 => read::<4>(&mut client).await?.map(|part| part.to_string()).join("."),
            NAME => text(&mut client).await?,
            _ => return Ok(()),
        };
        let port = u16::from_be_bytes(read(&mut client).await?);
        let requested = format!("{host}:{port}");
        let server = self.server_of(&requested);
        self.requested.lock().push(requested);
        let mut server = TcpStream::connect(server).await?;
        client.write_all(&[VERSION, 0, 0, IPV4, 0, 0, 0, 0, 0, 0]).await?;
        copy_bidirectional(&mut client, &mut server).await.map(|_| ())
    }

    fn server_of(&self, requested: &str) -> SocketAddr {
        let routes = self.routes.lock();
        routes.get(requested).copied().unwrap_or(self.server)
    }

    async fn accepts_login(&self, client: &mut TcpStream) -> io::Result<bool> {
        let [_version] = read(client).await?;
        let (user, password) = (text(client).await?, text(client).await?);
        let is_right = format!("{user}:{password}") == self.login;
        client.write_all(&[1, u8::from(!is_right)]).await?;
        Ok(is_right)
    }
}

async fn read<const N: usize>(client: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}

/// Reads a text after its length.
async fn text(client: &mut TcpStream) -> io::Result<String> {
    let [length] = read(client).await?;
    let mut bytes = vec![0; length.into()];
    client.read_exact(&mut bytes).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
