//! A client of the daemon's socket with its own implementation of the protocol, so that it cannot
//! share errors with the daemon.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Mutex as AsyncMutex, oneshot};

type OpenRequests = Arc<Mutex<HashMap<u64, oneshot::Sender<Value>>>>;

/// A connection to the daemon.
#[derive(Debug)]
pub struct SocketClient {
    writer: AsyncMutex<OwnedWriteHalf>,
    open: OpenRequests,
    next: AtomicU64,
    /// Requests and notifications of the daemon, in order. Ends with the connection.
    pub incoming: flume::Receiver<Value>,
}

/// The reason why a call has no result.
#[derive(Debug, Clone, PartialEq)]
pub enum CallError {
    /// The connection broke before the answer.
    Lost,
    /// The daemon returned this error.
    Refused(Value),
}

impl SocketClient {
    /// Connects to a daemon.
    ///
    /// # Errors
    /// Fails if the socket has no listener.
    #[expect(clippy::disallowed_methods, reason = "a fake is not part of the daemon")]
    pub async fn connect(path: &Path) -> io::Result<Self> {
        let (reader, writer) = UnixStream::connect(path).await?.into_split();
        let (sender, incoming) = flume::bounded(4096);
        let open = OpenRequests::default();
        tokio::spawn(read(reader, open.clone(), sender));
        Ok(Self { writer: AsyncMutex::new(writer), open, next: AtomicU64::new(1), incoming })
    }

    /// Calls a method and waits for its result.
    ///
    /// # Errors
    /// [`CallError`] if the daemon refuses the call or the connection breaks.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.open.lock().insert(id, sender);
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write(&request).await?;
        let mut answer = answer.await.map_err(|_| CallError::Lost)?;
        match answer.get("error") {
            Some(error) => Err(CallError::Refused(error.clone())),
            None => Ok(answer["result"].take()),
        }
    }

    /// Answers a request of the daemon.
    ///
    /// # Errors
    /// [`CallError::Lost`] if the connection has broken.
    pub async fn respond(&self, id: &Value) -> Result<(), CallError> {
        self.respond_with(id, json!({})).await
    }

    /// Answers a request of the daemon with this result.
    ///
    /// # Errors
    /// [`CallError::Lost`] if the connection has broken.
    pub async fn respond_with(&self, id: &Value, result: Value) -> Result<(), CallError> {
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "result": result })).await
    }

    async fn write(&self, message: &Value) -> Result<(), CallError> {
        let line = format!("{message}\n");
        let mut writer = self.writer.lock().await;
        writer.write_all(line.as_bytes()).await.map_err(|_| CallError::Lost)
    }
}

async fn read(reader: OwnedReadHalf, open: OpenRequests, incoming: flume::Sender<Value>) {
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        if message.get("method").is_some() {
            if incoming.send_async(message).await.is_err() {
                break;
            }
            continue;
        }
        let id = message["id"].as_u64();
        let answer = id.and_then(|id| open.lock().remove(&id));
        // The caller may have cancelled the call.
        if let Some(answer) = answer {
            drop(answer.send(message));
        }
    }
    open.lock().clear();
}
