//! An HTTP/1.1 server that can misbehave: the test controls every byte of an answer.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// A bash script, for systems without curl. Sends its argument, for example `CONNECT HOST:PORT`, to
/// the proxy of its environment and prints the answer. Exit code 7 means that there is no proxy.
pub const ASK_PROXY: &str = r#"
    to="${http_proxy#http://}"
    exec 3<>"/dev/tcp/${to/://}" || exit 7
    printf '%s HTTP/1.1\r\n\r\n' "$1" >&3
    tr -d '\r' <&3
"#;

/// A received request.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// For example `POST`.
    pub method: String,
    /// For example `/v1/chat/completions`.
    pub path: String,
    /// In order; names in lower case.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// Returns the first value of a header. The name is in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// A part of an answer.
#[derive(Debug, Clone)]
pub enum Piece {
    /// Sends these bytes unchanged.
    Bytes(Vec<u8>),
    /// Waits for a permit.
    Permit(Arc<Semaphore>),
    /// Sends the rest once it is known, unless the client disconnects before.
    Later(Later),
    /// Waits, like a server under load.
    Pause(Duration),
    /// Sends nothing more, and keeps the connection open.
    Hang,
    /// Closes the connection.
    Close,
    /// Resets the connection.
    Reset,
}

impl Piece {
    /// Returns a chunk of a chunked body.
    #[must_use]
    pub fn chunk(bytes: &[u8]) -> Self {
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        Self::Bytes(chunk)
    }

    /// Returns the end of a chunked body.
    #[must_use]
    pub fn end() -> Self {
        Self::Bytes(b"0\r\n\r\n".to_vec())
    }

    /// Returns the status line and headers of an answer with a chunked body.
    #[must_use]
    pub fn head(status: u16, headers: &[(&str, &str)]) -> Self {
        let mut head = format!("HTTP/1.1 {status} Fake\r\ntransfer-encoding: chunked\r\n");
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        head.push_str("\r\n");
        Self::Bytes(head.into_bytes())
    }
}

/// An answer that arrives later through a queue.
#[derive(Clone)]
pub struct Later {
    pieces: flume::Receiver<Vec<Piece>>,
    waiting: Arc<dyn Any + Send + Sync>,
}

impl Later {
    /// Waits for the first value of `pieces`. `waiting` is dropped when the wait ends, so that its
    /// `Drop` can detect that the client has disconnected. If `pieces` is closed, the connection is
    /// closed.
    pub fn new(
        pieces: flume::Receiver<Vec<Piece>>,
        waiting: impl Any + Send + Sync + 'static,
    ) -> Self {
        Self { pieces, waiting: Arc::new(waiting) }
    }
}

impl fmt::Debug for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Later").field("known", &!self.pieces.is_empty()).finish_non_exhaustive()
    }
}

/// Returns a whole answer with a text as its body.
#[must_use]
pub fn whole(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<Piece> {
    whole_bytes(status, headers, body.as_bytes())
}

/// Returns a whole answer with any bytes as its body.
#[must_use]
pub fn whole_bytes(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<Piece> {
    let mut pieces = vec![Piece::head(status, headers)];
    if !body.is_empty() {
        pieces.push(Piece::chunk(body));
    }
    pieces.push(Piece::end());
    pieces
}

/// A server on its own port. It runs until its runtime is dropped.
#[derive(Debug)]
pub struct HttpFake {
    address: SocketAddr,
}

impl HttpFake {
    /// Starts a server that calls `answer` for each request.
    #[expect(clippy::disallowed_methods, reason = "a fake is not part of the daemon")]
    pub async fn start(answer: impl Fn(HttpRequest) -> Vec<Piece> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = Arc::new(answer);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let answer = answer.clone();
                tokio::spawn(async move {
                    // A disconnecting client is not an error of the server.
                    drop(serve(stream, &*answer).await);
                });
            }
        });
        Self { address }
    }

    /// The loopback address of the server.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn serve(
    stream: TcpStream,
    answer: &(dyn Fn(HttpRequest) -> Vec<Piece> + Send + Sync),
) -> io::Result<()> {
    // Each piece is sent when it is due, without waiting for the acknowledgement of the previous
    // one.
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    while let Some(request) = read_request(&mut stream).await? {
        let mut due = VecDeque::from(answer(request));
        while let Some(piece) = due.pop_front() {
            match piece {
                Piece::Bytes(bytes) => stream.get_mut().write_all(&bytes).await?,
                Piece::Permit(permits) => permits.acquire().await.unwrap().forget(),
                Piece::Later(later) => match known(later, &mut stream).await {
                    Some(pieces) => due.extend(pieces),
                    None => return Ok(()),
                },
                Piece::Pause(time) => pause(time).await,
                Piece::Hang => std::future::pending().await,
                Piece::Close => return stream.get_mut().shutdown().await,
                Piece::Reset => return stream.get_ref().set_zero_linger(),
            }
        }
        stream.get_mut().flush().await?;
    }
    Ok(())
}

/// Waits for the answer. `None` if the client disconnects first.
async fn known(later: Later, stream: &mut BufReader<TcpStream>) -> Option<Vec<Piece>> {
    let gone = async {
        // More bytes are the next request, which waits for its turn.
        if let Ok([_, ..]) = stream.fill_buf().await {
            std::future::pending::<()>().await;
        }
    };
    let pieces = tokio::select! {
        biased;
        () = gone => None,
        pieces = later.pieces.recv_async() => pieces.ok(),
    };
    drop(later.waiting);
    pieces
}

#[expect(clippy::disallowed_methods, reason = "it shapes a load; nothing waits for it to be right")]
async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Reads the next request of a connection. `None` at its end.
async fn read_request(stream: &mut BufReader<TcpStream>) -> io::Result<Option<HttpRequest>> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        line.clear();
        stream.read_line(&mut line).await?;
        match line.trim_end().split_once(':') {
            None => break,
            Some((name, value)) => {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
    }
    let mut request = HttpRequest { method, path, headers, body: Vec::new() };
    if request.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
        request.body = read_chunks(stream).await?;
        return Ok(Some(request));
    }
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    request.body.resize(length, 0);
    stream.read_exact(&mut request.body).await?;
    Ok(Some(request))
}

/// Reads a chunked body (RFC 9112, 7.1). Trailers are ignored.
pub(crate) async fn read_chunks(stream: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let (mut body, mut line) = (Vec::new(), String::new());
    loop {
        line.clear();
        stream.read_line(&mut line).await?;
        let length = line.trim_end().split(';').next().unwrap_or_default();
        let length = usize::from_str_radix(length, 16).map_err(io::Error::other)?;
        if length == 0 {
            break;
        }
        let start = body.len();
        body.resize(start + length, 0);
        stream.read_exact(&mut body[start..]).await?;
        stream.read_exact(&mut [0; 2]).await?;
    }
    while line.trim_end() != "" {
        line.clear();
        stream.read_line(&mut line).await?;
    }
    Ok(body)
}
