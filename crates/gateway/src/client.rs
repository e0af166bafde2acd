//! The client's end of the socket, for this program's own commands.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use avocet_methods::{ClientMethod, SocketMethod};
use avocet_protocol::ignore_result;
use avocet_protocol::turn::TurnEvent;
use avocet_supervise::Group;
use avocet_text::plain_json;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::RpcError;
use crate::delivery_chunk::DeliveryChunk;
use crate::editor::OutputPiece;
use crate::editor_client::{EditorCall, EditorReply, parse_action};
use crate::kept_files::KeptFiles;
use crate::line_to_write::LineToWrite;
use crate::lines::{self, InputLine};
use crate::subscribe::EventBatch;
use crate::wire::RpcMessage;

/// The most lines that wait to be written, and the most items that wait to be shown.
const BEHIND: usize = 1024;

/// The reason why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The daemon's reason.
    #[error(transparent)]
    Refused(#[from] RpcError),
    /// The connection was lost; the outcome of the request is unknown.
    #[error("the connection to the daemon was lost")]
    Lost,
    /// The answer has another form than this version expects.
    #[error("the daemon's answer cannot be read ({0}); the daemon may be of another version")]
    Unreadable(String),
}

/// A request or event from the daemon for an attached client.
#[derive(Debug)]
pub enum Incoming {
    /// A message for the chat. Call `confirm` on `shown` once it is displayed.
    Deliver {
        /// The message.
        chunk: Box<DeliveryChunk>,
        /// Confirms to the daemon.
        shown: ChunkConfirmation,
    },
    /// Something has happened in a turn.
    Event(TurnEvent),
    /// The daemon wants to read or write a file through the editor.
    Editor(EditorCall),
    /// A running program has printed something.
    Output(OutputPiece),
    /// A part of the event log. Call `confirm` on `confirmation` once it is processed.
    Events {
        /// Oldest first.
        batch: EventBatch,
        /// Confirms to the daemon.
        confirmation: ChunkConfirmation,
    },
}

/// The confirmation of a delivered chunk, or of a batch of events.
#[derive(Debug)]
pub struct ChunkConfirmation {
    id: Value,
    lines: flume::Sender<LineToWrite>,
}

impl ChunkConfirmation {
    /// Confirms to the daemon that the chunk has been shown, or the batch processed. After this
    /// returns, the program may end: the daemon gets the confirmation, unless the connection is lost.
    pub async fn confirm(self) {
        let response = RpcMessage::Response { id: self.id, result: Ok(json!({})) };
        let (written, is_written) = oneshot::channel();
        let line = LineToWrite { written: Some(written), ..response.into() };
        if self.lines.send_async(line).await.is_ok() {
            ignore_result(
                is_written.await,
                "the connection is lost, and the daemon sends the chunk or the batch again",
            );
        }
    }
}

type SharedRequests = Arc<Mutex<PendingRequests>>;

/// The requests that wait for an answer.
#[derive(Debug, Default)]
struct PendingRequests {
    open: HashMap<u64, oneshot::Sender<Result<Value, RpcError>>>,
    /// The reason for the end of the connection.
    ended: Option<ClientError>,
}

impl PendingRequests {
    fn answer(&mut self, id: &Value, result: Result<Value, RpcError>) {
        if let Some(number) = id.as_u64() {
            if let Some(request) = self.open.remove(&number) {
                ignore_result(request.send(result), "the caller may have stopped waiting");
            }
            return;
        }
        // A refusal of the connection itself answers all requests.
        self.answer_all(&result);
        self.ended = result.err().map(ClientError::Refused);
    }

    fn answer_all(&mut self, result: &Result<Value, RpcError>) {
        for (_, request) in self.open.drain() {
            ignore_result(request.send(result.clone()), "the caller may have stopped waiting");
        }
    }

    /// Ends the wait of all open requests.
    fn end(&mut self) {
        self.open.clear();
        self.ended.get_or_insert(ClientError::Lost);
    }
}

/// A connection to a daemon. It is closed when the client is dropped.
#[derive(Debug)]
pub struct Client {
    lines: flume::Sender<LineToWrite>,
    open: SharedRequests,
    next: AtomicU64,
    incoming: flume::Receiver<Incoming>,
    files: KeptFiles,
    _open: DropGuard,
}

impl Client {
    /// Connects to a daemon.
    ///
    /// # Errors
    /// The system's error if no daemon listens on the socket.
    pub async fn connect(path: &Path, group: &Group) -> io::Result<Self> {
        let (reader, writer) = UnixStream::connect(path).await?.into_split();
        let (lines, to_write) = flume::bounded(BEHIND);
        let (arrived, incoming) = flume::bounded(BEHIND);
        let (open, files) = (SharedRequests::default(), KeptFiles::default());
        let closed = CancellationToken::new();
        let writing = closed.clone().run_until_cancelled_owned(write(writer, to_write));
        group.spawn("client-writer", async move {
            writing.await;
        });
        let reading = ClientReader {
            open: open.clone(),
            arrived,
            lines: lines.clone(),
            files: files.clone(),
        };
        let (pending, end) = (open.clone(), closed.clone());
        group.spawn("client-reader", async move {
            end.run_until_cancelled(reading.read(reader)).await;
            pending.lock().end();
        });
        let next = AtomicU64::new(0);
        Ok(Self { lines, open, next, incoming, files, _open: closed.drop_guard() })
    }

    /// Keeps a file, so that the daemon can read it as an attachment of a message. The client must
    /// be attached to the chat of the message.
    pub fn keep_file(&self, reference: String, bytes: Vec<u8>) {
        self.files.keep_file(reference, bytes);
    }

    /// Forgets a file of [`Self::keep_file`].
    pub fn forget_file(&self, reference: &str) {
        self.files.forget_file(reference);
    }

    /// Makes a request and waits for its answer.
    ///
    /// # Errors
    /// [`ClientError`] if the daemon refuses, the connection is lost or the answer has an unknown
    /// form.
    pub async fn call<M: ClientMethod>(
        &self,
        params: &M::Params,
    ) -> Result<M::Answer, ClientError> {
        self.call_with_json::<M>(json!(params)).await
    }

    /// Makes a request whose parameters have secrets, and are JSON therefore.
    ///
    /// # Errors
    /// As for [`Self::call`].
    pub async fn call_with_json<M: SocketMethod<Answer: DeserializeOwned>>(
        &self,
        params: Value,
    ) -> Result<M::Answer, ClientError> {
        let answer = self.call_by_name(M::NAME, params).await?;
        serde_json::from_value(answer).map_err(|error| ClientError::Unreadable(plain_json(&error)))
    }

    /// Makes a request of a method that is known by its name only. The answer is not read.
    ///
    /// # Errors
    /// As for [`Self::call`].
    pub async fn call_by_name(&self, method: &str, params: Value) -> Result<Value, ClientError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        {
            let pending = &mut *self.open.lock();
            if let Some(ended) = &pending.ended {
                return Err(ended.clone());
            }
            pending.open.insert(number, sender);
        }
        let (id, method) = (json!(number), method.to_owned());
        let request = RpcMessage::Request { id, method, params };
        self.lines.send_async(request.into()).await.map_err(|_| ClientError::Lost)?;
        Ok(answer.await.map_err(|_| ClientError::Lost)??)
    }

    /// Makes a request whose method is written out, as other programs do.
    #[cfg(test)]
    pub(crate) async fn request<A: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl serde::Serialize,
    ) -> Result<A, ClientError> {
        let answer = self.call_by_name(method, json!(params)).await?;
        serde_json::from_value(answer).map_err(|error| ClientError::Unreadable(plain_json(&error)))
    }

    /// The requests and events from the daemon. The stream ends with the connection.
    #[must_use]
    pub fn incoming(&self) -> &flume::Receiver<Incoming> {
        &self.incoming
    }
}

async fn write(mut writer: OwnedWriteHalf, lines: flume::Receiver<LineToWrite>) {
    while let Ok(LineToWrite { bytes, written }) = lines.recv_async().await {
        if writer.write_all(&bytes).await.is_err() {
            return;
        }
        if let Some(written) = written {
            ignore_result(written.send(()), "the sender may have stopped waiting");
        }
    }
}

/// Takes the lines of the daemon.
struct ClientReader {
    open: SharedRequests,
    arrived: flume::Sender<Incoming>,
    lines: flume::Sender<LineToWrite>,
    files: KeptFiles,
}

impl ClientReader {
    async fn read(self, reader: OwnedReadHalf) {
        let mut reader = BufReader::new(reader);
        while let Ok(Some(line)) = lines::next(&mut reader).await {
            match line {
                InputLine::Whole(line) => self.take(&line).await,
                // It answers one of the requests, but its id is unreadable.
                InputLine::TooLong(length) => {
                    let message = format!("the daemon's answer is too long ({length} bytes)");
                    let refusal = RpcError::new(RpcError::REQUEST, message);
                    self.open.lock().answer_all(&Err(refusal));
                }
            }
        }
    }

    async fn take(&self, line: &[u8]) {
        match RpcMessage::parse(line) {
            Ok(RpcMessage::Response { id, result }) => self.open.lock().answer(&id, result),
            Ok(RpcMessage::Request { id, method, params }) => {
                self.take_request(id, &method, params).await;
            }
            Ok(RpcMessage::Notification { method, params }) if method == "editor.output" => {
                if let Ok(piece) = serde_json::from_value(params) {
                    self.pass_on(Incoming::Output(piece)).await;
                }
            }
            Ok(RpcMessage::Notification { params, .. }) => {
                if let Ok(event) = serde_json::from_value(params) {
                    self.pass_on(Incoming::Event(event)).await;
                }
            }
            Err(_) => {}
        }
    }

    async fn pass_on(&self, incoming: Incoming) {
        ignore_result(
            self.arrived.send_async(incoming).await,
            "the client was dropped, and the daemon keeps what was not confirmed",
        );
    }

    async fn take_request(&self, id: Value, method: &str, params: Value) {
        let confirmation = |id| ChunkConfirmation { id, lines: self.lines.clone() };
        if let Some(action) = parse_action(method, &params) {
            let reply = EditorReply { id, lines: self.lines.clone() };
            let call = EditorCall { action, reply };
            self.pass_on(Incoming::Editor(call)).await;
            return;
        }
        let result = match method {
            "deliver" => {
                let shown = confirmation(id);
                if let Ok(chunk) = serde_json::from_value(params) {
                    self.pass_on(Incoming::Deliver { chunk, shown }).await;
                }
                return;
            }
            "events" => {
                let confirmation = confirmation(id);
                if let Ok(batch) = serde_json::from_value(params) {
                    self.pass_on(Incoming::Events { batch, confirmation }).await;
                }
                return;
            }
            "file.read" => self.files.read_piece(params),
            _ => {
                let message = format!("this client has no method {method:?}");
                Err(RpcError::new(RpcError::METHOD, message))
            }
        };
        ignore_result(
            self.lines.send_async(RpcMessage::Response { id, result }.into()).await,
            "if the connection is lost, nothing waits for the answer",
        );
    }
}
