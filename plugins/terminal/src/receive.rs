//! Input from a person at a terminal, or from a pipe.

use std::io::{self, BufRead};
use std::path::PathBuf;

use async_trait::async_trait;
use avocet_supervise::Group;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, DefaultEditor, Editor, ExternalPrinter};
use tokio::sync::oneshot;

use crate::config::TerminalConfig;
use crate::screen::Above;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Typed {
    Line(String),
    /// A line that is not UTF-8; contains the error.
    Unreadable(String),
    Interrupt,
    /// Ctrl-D, or the end of the pipe.
    End,
}

/// A source of lines.
#[async_trait]
pub trait Input: Send {
    /// Returns the next line. The prompt is shown if there is a person.
    #[doc(hidden)]
    async fn next(&mut self, prompt: &str) -> TypedLine;
}

/// The result of an [`Input`]; opaque outside.
#[derive(Debug)]
pub struct TypedLine(pub(crate) Typed);

type LineSender = oneshot::Sender<Typed>;

/// A thread that reads one line per request.
#[derive(Debug)]
struct LineReader {
    requests: flume::Sender<(String, LineSender)>,
}

impl LineReader {
    async fn next(&self, prompt: &str) -> TypedLine {
        let (sender, answer) = oneshot::channel();
        // If the thread is gone, the input has ended.
        drop(self.requests.send_async((prompt.to_owned(), sender)).await);
        TypedLine(answer.await.unwrap_or(Typed::End))
    }

    fn start(
        group: &Group,
        mut read: impl FnMut(&str) -> Typed + Send + 'static,
    ) -> io::Result<Self> {
        let (requests, received) = flume::bounded::<(String, LineSender)>(1);
        group.thread("terminal-input", move || {
            for (prompt, answer) in &received {
                let typed = read(&prompt);
                let end = typed == Typed::End;
                if answer.send(typed).is_err() || end {
                    return;
                }
            }
        })?;
        Ok(Self { requests })
    }
}

/// A person at a terminal: line editing, and a persistent history.
#[derive(Debug)]
pub struct LineEditor {
    reader: LineReader,
}

impl LineEditor {
    /// Takes over the terminal's input. Returns it with a printer that prints above the line that
    /// is being edited.
    ///
    /// # Errors
    /// If the terminal, its history or the thread cannot be set up: the reason.
    pub fn new(
        config: &TerminalConfig,
        history: PathBuf,
        group: &Group,
    ) -> Result<(Self, Box<dyn Above>), String> {
        let fault = |error: ReadlineError| error.to_string();
        let settings = Config::builder()
            .max_history_size(config.history_lines)
            .map_err(fault)?
            .auto_add_history(config.history_lines > 0)
            .build();
        let mut editor: DefaultEditor = DefaultEditor::with_config(settings).map_err(fault)?;
        if let Err(error) = editor.load_history(&history) {
            tracing::debug!(%error, "no history yet");
        }
        let printer = editor.create_external_printer().map_err(fault)?;
        let read = move |prompt: &str| read_line(&mut editor, prompt, &history);
        let reader = LineReader::start(group, read).map_err(|error| error.to_string())?;
        Ok((Self { reader }, Box::new(AbovePrompt(printer))))
    }
}

fn read_line(editor: &mut Editor<(), FileHistory>, prompt: &str, history: &PathBuf) -> Typed {
    match editor.readline(prompt) {
        Ok(line) => {
            if let Err(error) = editor.save_history(history) {
                tracing::debug!(%error, "cannot save the history");
            }
            Typed::Line(line)
        }
        Err(ReadlineError::Interrupted) => Typed::Interrupt,
        Err(_) => Typed::End,
    }
}

#[async_trait]
impl Input for LineEditor {
    async fn next(&mut self, prompt: &str) -> TypedLine {
        self.reader.next(prompt).await
    }
}

struct AbovePrompt<P>(P);

impl<P: ExternalPrinter + Send> Above for AbovePrompt<P> {
    fn print(&mut self, text: String) -> io::Result<()> {
        self.0.print(text).map_err(io::Error::other)
    }

    fn columns(&self) -> usize {
        let size = rustix::termios::tcgetwinsize(io::stdout());
        size.map(|size| usize::from(size.ws_col)).ok().filter(|columns| *columns > 1).unwrap_or(80)
    }
}

/// Lines from a pipe or a file: no prompt, no editing.
#[derive(Debug)]
pub struct Lines {
    reader: LineReader,
}

impl Lines {
    /// Reads lines from `source` on a thread of its own.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn new(source: impl BufRead + Send + 'static, group: &Group) -> io::Result<Self> {
        let mut source = source;
        let read = move |_: &str| {
            let mut line = Vec::new();
            match source.read_until(b'\n', &mut line) {
                Ok(length) if length > 0 => line_of(line),
                _ => Typed::End,
            }
        };
        Ok(Self { reader: LineReader::start(group, read)? })
    }
}

fn line_of(bytes: Vec<u8>) -> Typed {
    match String::from_utf8(bytes) {
        Ok(text) => Typed::Line(text.trim_end_matches(['\n', '\r']).to_owned()),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            Typed::Unreadable(format!("the line is not UTF-8 (at byte {at}); send it in UTF-8"))
        }
    }
}

#[async_trait]
impl Input for Lines {
    async fn next(&mut self, prompt: &str) -> TypedLine {
        self.reader.next(prompt).await
    }
}
