//! The other end of the socket, for the commands of this program.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use avocet_protocol::{TurnEvent, plain_json};
use avocet_supervise::Group;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::oneshot;

use crate::RpcError;
use crate::lines::{self, Line};
use crate::methods::Chunk;
use crate::wire::Message;

/// Lines that may wait to be written, and things that may wait to be shown.
const BEHIND: usize = 1024;

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The daemon says why.
    #[error(transparent)]
    Refused(#[from] RpcError),
    /// The connection is gone; nobody knows what became of the request.
    #[error("the connection to the daemon was lost")]
    Lost,
    /// The daemon's answer is not what this version expects.
    #[error("the daemon's answer cannot be read ({0}); is it of another version?")]
    Unreadable(String),
}

/// What a daemon tells a client that is attached.
#[derive(Debug)]
pub enum Incoming {
    /// Something is said. `shown` is called once it is.
    Deliver {
        /// What is said.
        chunk: Chunk,
        /// Tells the daemon.
        shown: Shown,
    },
    /// Something happens.
    Event(TurnEvent),
}

/// The answer to a chunk that was delivered.
#[derive(Debug)]
pub struct Shown {
    id: Value,
    lines: flume::Sender<Vec<u8>>,
}

impl Shown {
    /// Tells the daemon that the chunk has been shown.
    pub async fn tell(self) {
        let line = Message::Response { id: self.id, result: Ok(json!({})) }.to_line();
        // If the connection is gone, the daemon sends the chunk again and marks it.
        drop(self.lines.send_async(line).await);
    }
}

type Open = Arc<Mutex<Questions>>;

/// What waits for an answer.
#[derive(Debug, Default)]
struct Questions {
    open: HashMap<u64, oneshot::Sender<Result<Value, RpcError>>>,
    /// Nothing is answered any more; with the refusal of the connection itself, if that is why.
    ended: Option<Option<RpcError>>,
}

/// A connection to a daemon.
#[derive(Debug)]
pub struct Client {
    lines: flume::Sender<Vec<u8>>,
    open: Open,
    next: AtomicU64,
    incoming: flume::Receiver<Incoming>,
}

impl Client {
    /// Connects to a daemon.
    ///
    /// # Errors
    /// The system's error if nobody listens there.
    pub async fn connect(path: &Path, group: &Group) -> io::Result<Self> {
        let (reader, writer) = UnixStream::connect(path).await?.into_split();
        let (lines, to_write) = flume::bounded(BEHIND);
        let (told, incoming) = flume::bounded(BEHIND);
        let open = Open::default();
        group.spawn("client-writer", write(writer, to_write));
        group.spawn("client-reader", read(reader, open.clone(), told, lines.clone()));
        Ok(Self { lines, open, next: AtomicU64::new(0), incoming })
    }

    /// Makes a request and waits for its answer.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn call<A: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<A, ClientError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        {
            let questions = &mut *self.open.lock().unwrap_or_else(PoisonError::into_inner);
            match &questions.ended {
                None => drop(questions.open.insert(number, sender)),
                Some(None) => return Err(ClientError::Lost),
                Some(Some(refusal)) => return Err(refusal.clone().into()),
            }
        }
        let (id, method, params) = (json!(number), method.to_owned(), json!(params));
        let line = Message::Request { id, method, params }.to_line();
        self.lines.send_async(line).await.map_err(|_| ClientError::Lost)?;
        let answer = answer.await.map_err(|_| ClientError::Lost)??;
        serde_json::from_value(answer).map_err(|error| ClientError::Unreadable(plain_json(&error)))
    }

    /// What the daemon tells; ends when the connection does.
    #[must_use]
    pub fn incoming(&self) -> &flume::Receiver<Incoming> {
        &self.incoming
    }
}

async fn write(mut writer: OwnedWriteHalf, lines: flume::Receiver<Vec<u8>>) {
    while let Ok(line) = lines.recv_async().await {
        if writer.write_all(&line).await.is_err() {
            return;
        }
    }
}

async fn read(
    reader: OwnedReadHalf,
    open: Open,
    told: flume::Sender<Incoming>,
    lines: flume::Sender<Vec<u8>>,
) {
    let mut reader = BufReader::new(reader);
    while let Ok(Some(line)) = lines::next(&mut reader).await {
        let line = match line {
            Line::Whole(line) => line,
            // It is the answer to one of the requests, and which one cannot be read.
            Line::TooLong(length) => {
                let message = format!("the daemon's answer is too long ({length} bytes)");
                let questions = &mut *open.lock().unwrap_or_else(PoisonError::into_inner);
                for (_, answer) in questions.open.drain() {
                    drop(answer.send(Err(RpcError::new(RpcError::REQUEST, message.clone()))));
                }
                continue;
            }
        };
        match Message::parse(&line) {
            Ok(Message::Response { id, result }) => {
                let questions = &mut *open.lock().unwrap_or_else(PoisonError::into_inner);
                match id.as_u64() {
                    Some(number) => {
                        if let Some(answer) = questions.open.remove(&number) {
                            // Whoever asked may have stopped waiting.
                            drop(answer.send(result));
                        }
                    }
                    // A refusal of the connection itself answers everything.
                    None => {
                        for (_, answer) in questions.open.drain() {
                            drop(answer.send(result.clone()));
                        }
                        questions.ended = result.err().map(Some);
                    }
                }
            }
            Ok(Message::Request { id, method, params }) if method == "deliver" => {
                let shown = Shown { id, lines: lines.clone() };
                if let Ok(chunk) = serde_json::from_value(params) {
                    drop(told.send_async(Incoming::Deliver { chunk, shown }).await);
                }
            }
            Ok(Message::Notification { params, .. }) => {
                if let Ok(event) = serde_json::from_value(params) {
                    drop(told.send_async(Incoming::Event(event)).await);
                }
            }
            Ok(Message::Request { .. }) | Err(_) => {}
        }
    }
    // Whoever still waits for an answer learns that there is none.
    let questions = &mut *open.lock().unwrap_or_else(PoisonError::into_inner);
    questions.open.clear();
    questions.ended.get_or_insert(None);
}
