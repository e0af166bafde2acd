//! The transport over the standard streams of a program: one JSON message per line (MCP, "stdio").
//! Lines are bounded, and lines that are no message are reported once.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, Semaphore};

use crate::wire::{ServerMessage, ServerWire};

/// The longest line of a server, in bytes.
pub(crate) const LONGEST_LINE: usize = 16 * 1024 * 1024;
/// Bytes of a line that is too long in which the number of its request is searched.
const BEGINNING: usize = 256;
/// The most messages that wait until the server reads them.
const MOST_UNSENT: usize = 256;
/// Characters of a line that a log line shows.
const SHOWN: usize = 80;

type Input = Box<dyn AsyncRead + Send + Unpin>;
type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// The messages of one server.
pub(crate) struct LineTransport {
    server: String,
    input: BufReader<Input>,
    /// The bytes of the present line so far, without those beyond the limit.
    line: Vec<u8>,
    /// `true` if the present line is too long.
    is_too_long: bool,
    wire: Arc<ServerWire>,
    /// Messages of lines that were read.
    ready: VecDeque<ServerMessage>,
    output: Arc<Mutex<Option<Output>>>,
    /// Places for messages that wait until the server reads them.
    unsent: Arc<Semaphore>,
}

impl LineTransport {
    pub(crate) fn new(server: &str, wire: Arc<ServerWire>, input: Input, output: Output) -> Self {
        Self {
            server: server.to_owned(),
            input: BufReader::new(input),
            line: Vec::new(),
            is_too_long: false,
            wire,
            ready: VecDeque::new(),
            output: Arc::new(Mutex::new(Some(output))),
            unsent: Arc::new(Semaphore::new(MOST_UNSENT)),
        }
    }

    /// Reads the rest of the present line, the last of which may lack its end. `None` at the end of the
    /// stream. May be cancelled at any time: the bytes so far stay in `line`.
    async fn next_line(&mut self) -> Option<()> {
        loop {
            let bytes = self.input.fill_buf().await.ok()?;
            if bytes.is_empty() {
                return (!self.line.is_empty()).then_some(());
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + piece.len() > LONGEST_LINE {
                self.is_too_long = true;
                self.line.truncate(BEGINNING);
            }
            if !self.is_too_long {
                self.line.extend_from_slice(piece);
            } else if self.line.len() < BEGINNING {
                let room = piece.len().min(BEGINNING - self.line.len());
                self.line.extend_from_slice(&piece[..room]);
            }
            let taken = piece.len() + usize::from(end.is_some());
            self.input.consume(taken);
            if end.is_some() {
                return Some(());
            }
        }
    }

    /// Reads the messages of the present line.
    fn read_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) {
            let limit = LONGEST_LINE / (1024 * 1024);
            let why = format!("the server sent a line of more than {limit} MB");
            tracing::warn!(server = self.server, "an MCP server sent a line of over {limit} MB");
            self.ready.extend(request_id(&line).and_then(|id| self.wire.fail_request(id, why)));
            return;
        }
        let text = line.trim_ascii();
        let messages = self.wire.read_messages(text, None);
        if messages.is_empty() && !text.is_empty() {
            // A response that is cut, or no JSON for another reason.
            let beginning = &text[..text.len().min(BEGINNING)];
            let id = request_id(beginning).filter(|_| text.starts_with(b"{"));
            let failed =
                id.and_then(|id| self.wire.fail_request(id, "its answer is no JSON".to_owned()));
            if failed.is_none() {
                self.note_noise(text);
            }
            self.ready.extend(failed);
        }
        self.ready.extend(messages);
    }

    fn note_noise(&self, text: &[u8]) {
        let shown: String = String::from_utf8_lossy(text).chars().take(SHOWN).collect();
        if self.wire.note_noise(&shown) {
            tracing::warn!(
                server = self.server, line = ?shown,
                "an MCP server wrote a line that is no message; such lines are ignored"
            );
        }
    }
}

/// Returns the number of the request that the beginning of a response answers.
fn request_id(beginning: &[u8]) -> Option<i64> {
    let text = String::from_utf8_lossy(beginning);
    let (_, rest) = text.split_once("\"id\"")?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    let rest = rest.strip_prefix('"').unwrap_or(rest);
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok().filter(|_| !text.contains("\"method\""))
}

impl Transport<RoleClient> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.wire.note_sent(&item);
        let (output, place) = (self.output.clone(), self.unsent.clone().try_acquire_owned());
        async move {
            let _place =
                place.map_err(|_| io::Error::other("the server does not read its input"))?;
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let mut output = output.lock().await;
            let Some(output) = output.as_mut() else {
                return Err(io::ErrorKind::NotConnected.into());
            };
            output.write_all(&line).await?;
            output.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if self.unsent.available_permits() == 0 {
                tracing::warn!(
                    server = self.server,
                    "an MCP server asks for more than it reads; its connection is closed"
                );
                return None;
            }
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            self.next_line().await?;
            self.read_line();
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // A message that the server does not read holds the lock until it is cancelled.
        if let Ok(mut output) = self.output.try_lock() {
            drop(output.take());
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
