//! Questions on the terminal, in plain lines.

use std::io::{self, BufRead, IsTerminal};

use avocet_protocol::ignore_result;
use avocet_supervise::Group;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use super::known_bots::KnownBots;
use super::secret_forms::is_like_secret;
use crate::exit::{Exit, Failure};
use crate::output::{erase_rows, print_text};

/// The most bytes of an answer.
const MAX_ANSWER: u64 = 16 * 1024;

/// Asks a person at the terminal.
#[derive(Debug)]
pub(in crate::setup) struct Questions {
    requests: flume::Sender<()>,
    answers: flume::Receiver<io::Result<Option<String>>>,
    /// `true` if the thread reads a line that has no taker yet.
    is_reading: bool,
    /// The bots whose tokens are hidden.
    bots: KnownBots,
}

impl Questions {
    /// Starts the thread that reads from the terminal. It reads one line for each question.
    pub(super) fn start(group: &Group, bots: KnownBots) -> io::Result<Self> {
        let (requests, requested) = flume::bounded::<()>(1);
        let (answered, answers) = flume::bounded(1);
        group.spawn_thread("answers", move || {
            while requested.recv().is_ok() {
                if answered.send(read_line()).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { requests, answers, is_reading: false, bots })
    }

    /// Returns `true` if a text seems to be the token of a bot, perhaps without its beginning or end.
    pub(super) fn is_like_token(&self, text: &str) -> bool {
        self.bots.has_token_like(text)
    }

    /// Returns `true` if a text seems to be a key or a token, and not a name.
    pub(super) fn is_like_secret(&self, text: &str) -> bool {
        is_like_secret(&self.bots, text)
    }

    /// Asks a question. The answer has no blanks at its ends. If it seems to be a secret, it is
    /// removed from the terminal.
    ///
    /// # Errors
    /// [`Failure`] if the input has ended or cannot be read.
    pub(in crate::setup) async fn ask(&mut self, question: &str) -> Result<String, Failure> {
        let width = terminal_width();
        let question = format!("{} ", wrap_text(question, width));
        print_text(&question)?;
        let answer = self.line().await?;
        if self.is_like_secret(&answer) && io::stdout().is_terminal() {
            let last = question.lines().last().unwrap_or_default();
            erase_rows((last.chars().count() + answer.chars().count()).div_ceil(width))?;
            print_text(&format!("{last}(hidden)\n"))?;
        }
        Ok(answer)
    }

    /// Asks for a secret, which the terminal does not show. Afterwards it shows the length.
    ///
    /// # Errors
    /// [`Failure`] as for [`Self::ask`].
    pub(in crate::setup) async fn ask_secret(&mut self, question: &str) -> Result<String, Failure> {
        let answer = {
            let _hidden = HiddenInput::start()?;
            print_text(&format!("{} ", wrap_text(question, terminal_width())))?;
            self.line().await?
        };
        print_text(&match answer.chars().count() {
            0 => "\n".to_owned(),
            1 => "(1 character)\n".to_owned(),
            count => format!("({count} characters)\n"),
        })?;
        Ok(answer)
    }

    /// Asks until the answer is yes or no. There is no default.
    ///
    /// # Errors
    /// [`Failure`] as for [`Self::ask`].
    pub(in crate::setup) async fn is_yes(&mut self, question: &str) -> Result<bool, Failure> {
        loop {
            match self.ask(&format!("{question} [y/n]")).await?.to_lowercase().as_str() {
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => print_text("Answer y or n.\n")?,
            }
        }
    }

    /// Waits for a line. If this is cancelled, the next call returns the line.
    ///
    /// # Errors
    /// [`Failure`] as for [`Self::ask`].
    pub(in crate::setup) async fn line(&mut self) -> Result<String, Failure> {
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

/// Prints lines, wrapped at words to the width of the terminal.
pub(in crate::setup) fn print_lines(text: &str) -> Result<(), Failure> {
    print_text(&wrap_text(text, terminal_width()))
}

/// The columns of the terminal; `usize::MAX` without one.
fn terminal_width() -> usize {
    let columns = tcgetwinsize(io::stdout()).map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 { usize::MAX } else { columns }
}

/// Breaks lines between words. The parts of an indented line have its indent.
fn wrap_text(text: &str, width: usize) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| wrapped_line(line, width)).collect();
    lines.join("\n")
}

fn wrapped_line(line: &str, width: usize) -> String {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let (mut wrapped, mut column) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        let length = word.trim_end_matches(' ').chars().count();
        if length > 0 && column > indent && column + length > width {
            wrapped.truncate(wrapped.trim_end_matches(' ').len());
            wrapped.push('\n');
            wrapped.push_str(&" ".repeat(indent));
            column = indent;
        }
        wrapped.push_str(word);
        column += word.chars().count();
    }
    wrapped
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
        tcsetattr(io::stdin(), OptionalActions::Now, &hidden)?;
        Ok(Self { before })
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        ignore_result(
            tcsetattr(io::stdin(), OptionalActions::Now, &self.before),
            "a terminal that is gone has no mode",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_text_breaks_between_words_and_keeps_the_indent() {
        let table = [
            ("one two three", 8, "one two\nthree"),
            ("one two three", usize::MAX, "one two three"),
            ("  one two three\nfour", 9, "  one two\n  three\nfour"),
            ("a-word-that-is-long b", 5, "a-word-that-is-long\nb"),
            ("1  2 3\n", 20, "1  2 3\n"),
        ];
        for (text, width, expected) in table {
            assert_eq!(wrap_text(text, width), expected, "{text:?}");
        }
    }
}
