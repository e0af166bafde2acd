//! Input from a person at a terminal, or from a pipe.

use std::io::{self, BufRead};

use async_trait::async_trait;
use avocet_protocol::ignore_result;
use avocet_supervise::Group;
use tokio::sync::oneshot;

use crate::key::Key;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TypedEvent {
    /// A key of a person. The screen has the line that is being typed.
    Key(Key),
    Line(String),
    /// A line that is not UTF-8; contains the error.
    Unreadable(String),
    /// The end of the pipe or of the terminal.
    End,
}

/// A source of keys or lines.
#[async_trait]
pub trait Input: Send {
    /// Returns the next key or line.
    #[doc(hidden)]
    async fn next(&mut self) -> TypedLine;
}

/// The result of an [`Input`]; opaque outside.
#[derive(Debug)]
pub struct TypedLine(pub(crate) TypedEvent);

type LineSender = oneshot::Sender<TypedEvent>;

/// A thread that reads one line per request.
#[derive(Debug)]
struct LineReader {
    requests: flume::Sender<LineSender>,
}

impl LineReader {
    async fn next(&self) -> TypedLine {
        let (sender, answer) = oneshot::channel();
        ignore_result(
            self.requests.send_async(sender).await,
            "if the thread is gone, the input has ended, and `sender` is dropped",
        );
        TypedLine(answer.await.unwrap_or(TypedEvent::End))
    }

    fn start(
        group: &Group,
        mut read: impl FnMut() -> TypedEvent + Send + 'static,
    ) -> io::Result<Self> {
        let (requests, received) = flume::bounded::<LineSender>(1);
        group.spawn_thread("terminal-input", move || {
            for answer in &received {
                let typed = read();
                let end = typed == TypedEvent::End;
                if answer.send(typed).is_err() || end {
                    return;
                }
            }
        })?;
        Ok(Self { requests })
    }
}

/// Lines from a pipe or a file: no prompt, no editing.
#[derive(Debug)]
pub struct Lines {
    reader: LineReader,
}

impl Lines {
    /// Reads lines from `source` on a separate thread.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn new(source: impl BufRead + Send + 'static, group: &Group) -> io::Result<Self> {
        let mut source = source;
        let read = move || {
            let mut line = Vec::new();
            match source.read_until(b'\n', &mut line) {
                Ok(length) if length > 0 => line_of(line),
                _ => TypedEvent::End,
            }
        };
        Ok(Self { reader: LineReader::start(group, read)? })
    }
}

fn line_of(bytes: Vec<u8>) -> TypedEvent {
    match String::from_utf8(bytes) {
        Ok(text) => TypedEvent::Line(text.trim_end_matches(['\n', '\r']).to_owned()),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            TypedEvent::Unreadable(format!(
                "the line is not UTF-8 (at byte {at}); send it in UTF-8"
            ))
        }
    }
}

#[async_trait]
impl Input for Lines {
    async fn next(&mut self) -> TypedLine {
        self.reader.next().await
    }
}
