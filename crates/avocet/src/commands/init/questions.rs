//! Questions on the terminal, in plain lines.

use std::io::{self, BufRead};

use avocet_supervise::Group;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::exit::{Exit, Failure};
use crate::output::print;

/// The most bytes of an answer.
const MAX_ANSWER: u64 = 16 * 1024;

/// Asks a person at the terminal.
#[derive(Debug)]
pub(in crate::commands) struct Questions {
    requests: flume::Sender<()>,
    answers: flume::Receiver<io::Result<Option<String>>>,
    /// `true` if the thread reads a line that has no taker yet.
    is_reading: bool,
}

impl Questions {
    /// Starts the thread that reads from the terminal. It reads one line for each question.
    pub(in crate::commands) fn start(group: &Group) -> io::Result<Self> {
        let (requests, requested) = flume::bounded::<()>(1);
        let (answered, answers) = flume::bounded(1);
        group.thread("answers", move || {
            while requested.recv().is_ok() {
                if answered.send(read_line()).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { requests, answers, is_reading: false })
    }

    /// Asks a question. The answer has no blanks at its ends.
    ///
    /// # Errors
    /// [`Failure`] if the input has ended or cannot be read.
    pub(in crate::commands) async fn ask(&mut self, question: &str) -> Result<String, Failure> {
        print(&format!("{question} "))?;
        self.line().await
    }

    /// Asks for a secret, which the terminal does not show.
    ///
    /// # Errors
    /// [`Failure`] as for [`Self::ask`].
    pub(in crate::commands) async fn ask_secret(
        &mut self,
        question: &str,
    ) -> Result<String, Failure> {
        let _hidden = HiddenInput::start()?;
        self.ask(question).await
    }

    /// Asks until the answer is yes or no. There is no default.
    ///
    /// # Errors
    /// [`Failure`] as for [`Self::ask`].
    pub(in crate::commands) async fn is_yes(&mut self, question: &str) -> Result<bool, Failure> {
        loop {
            match self.ask(&format!("{question} [y/n]")).await?.to_lowercase().as_str() {
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => print("Answer y or n.\n")?,
            }
        }
    }

    /// Waits for a line. If this is cancelled, the next call returns the line.
    ///
    /// # Errors
    /// [`Failure`] as for [`Self::ask`].
    pub(in crate::commands) async fn line(&mut self) -> Result<String, Failure> {
        let ended = || Failure::new(Exit::Failed, "the input has ended");
        if !self.is_reading {
            self.requests.try_send(()).map_err(|_| ended())?;
            self.is_reading = true;
        }
        let answer = self.answers.recv_async().await.map_err(|_| ended())?;
        self.is_reading = false;
        answer?.ok_or_else(ended)
    }
}

/// Reads a line from the terminal; `None` at its end.
fn read_line() -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut input = io::Read::take(io::stdin().lock(), MAX_ANSWER);
    let length = input.read_until(b'\n', &mut line)?;
    Ok((length > 0).then(|| String::from_utf8_lossy(&line).trim().to_owned()))
}

/// Keeps the terminal from showing what is typed, until it is dropped.
struct HiddenInput {
    before: Termios,
}

impl HiddenInput {
    fn start() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        // The end of the line is shown, so that the next text begins on a line of its own.
        hidden.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(io::stdin(), OptionalActions::Now, &hidden)?;
        Ok(Self { before })
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        tcsetattr(io::stdin(), OptionalActions::Now, &self.before).unwrap_or_default();
    }
}
