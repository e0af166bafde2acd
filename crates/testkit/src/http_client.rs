//! An HTTP/1.1 client whose bytes the test controls, and which reads answers and event streams as
//! they are.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A received answer.
#[derive(Debug, Clone)]
pub struct RawHttpAnswer {
    /// The status; 0 if the server closed the connection without an answer.
    pub status: u16,
    /// In order; names in lower case.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: String,
}

impl RawHttpAnswer {
    /// Returns the first value of a header. The name is in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A connection to a server.
#[derive(Debug)]
pub struct HttpConnection {
    stream: BufReader<TcpStream>,
}

impl HttpConnection {
    /// Connects.
    pub async fn open(server: SocketAddr) -> Self {
        let stream = TcpStream::connect(server).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    /// Writes these bytes. A server may close the connection before it has read all of them.
    pub async fn write(&mut self, bytes: &[u8]) {
        drop(self.stream.get_mut().write_all(bytes).await);
    }

    /// Reads one answer.
    pub async fn answer(&mut self) -> RawHttpAnswer {
        let mut answer = self.head().await;
        let mut body = Vec::new();
        if answer.header("transfer-encoding").is_some() {
            body = crate::http::read_chunks(&mut self.stream).await.unwrap_or_default();
        } else if let Some(length) = answer.header("content-length") {
            body.resize(length.parse().unwrap(), 0);
            self.stream.read_exact(&mut body).await.unwrap();
        }
        answer.body = String::from_utf8(body).unwrap();
        answer
    }

    /// Reads the status line and the headers of an answer.
    pub async fn head(&mut self) -> RawHttpAnswer {
        let line = self.line().await.unwrap_or_default();
        let status = line.split(' ').nth(1).map_or(0, |status| status.parse().unwrap());
        let mut headers = Vec::new();
        while let Some(line) = self.line().await {
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        RawHttpAnswer { status, headers, body: String::new() }
    }

    /// Reads the data of the next event of a stream; `None` at its end. Each event is one line.
    pub async fn event(&mut self) -> Option<String> {
        loop {
            let line = self.line().await?;
            // The size of the last chunk (RFC 9112, 7.1).
            if line == "0" {
                return None;
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(data.to_owned());
            }
        }
    }

    /// Reads a line without its end; `None` at the end of the connection.
    pub async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line).await {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim_end_matches(['\r', '\n']).to_owned()),
        }
    }
}

/// Writes one request on its own connection, and reads its answer.
pub async fn exchange(server: SocketAddr, request: &[u8]) -> RawHttpAnswer {
    let mut connection = HttpConnection::open(server).await;
    connection.write(request).await;
    connection.answer().await
}
