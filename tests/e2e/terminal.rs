//! Tests of `avocet chat` at a terminal: script(1) plays the terminal, the test types and reads.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use avocet_tests::{Home, program};

use crate::support::{end, said_in};

const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with a chat in it.
struct Terminal {
    child: Child,
    keys: ChildStdin,
    output: Receiver<Vec<u8>>,
    shown: String,
    /// The position up to which the output is read.
    at: usize,
}

impl Terminal {
    fn open(home: &Home) -> Self {
        let chat = format!("stty rows 24 cols 100; exec {} chat", program!());
        let mut command = Command::new("script");
        command.args(["--quiet", "--echo", "never", "--return", "--flush"]);
        command.args(["--command", &chat, "/dev/null"]);
        let variables = [("TERM", "xterm"), ("NO_COLOR", "1"), ("SHELL", "/bin/sh")];
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home.path(""));
        command.envs(variables).current_dir(home.path(""));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (keys, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, keys, output: pieces(stdout), shown: String::new(), at: 0 }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads on until `text` is shown. Returns the output before it.
    #[track_caller]
    fn wait_for(&mut self, text: &str) -> String {
        loop {
            if let Some(found) = self.shown[self.at..].find(text) {
                let before = self.shown[self.at..self.at + found].to_owned();
                self.at += found + text.len();
                return before;
            }
            match self.output.recv_timeout(PATIENCE) {
                Ok(piece) => self.shown.push_str(&String::from_utf8_lossy(&piece)),
                Err(_) => panic!("{text:?} is not shown after {:?}", &self.shown[self.at..]),
            }
        }
    }

    #[track_caller]
    fn wait_for_prompt(&mut self) -> String {
        self.wait_for("> ")
    }

    /// Returns the rows above the input line that are still visible.
    fn rows(&self) -> Vec<&str> {
        let mut rows = Vec::new();
        for row in self.shown.split('\n') {
            if row.contains("\u{1b}[1A") {
                rows.pop();
            }
            rows.push(row.rsplit("\u{1b}[2K").next().unwrap());
        }
        rows
    }

    /// Counts the rows with a text, after the program has handled all input so far.
    #[track_caller]
    fn count_rows_with(&mut self, text: &str) -> usize {
        self.press("/stop\r");
        self.wait_for("There was nothing to stop.");
        self.rows().into_iter().filter(|row| row.contains(text)).count()
    }

    /// Presses Ctrl-D and returns the exit code.
    #[track_caller]
    fn leave(mut self, keys: &str) -> Option<i32> {
        self.press(keys);
        end(self.child).code
    }
}

#[expect(clippy::disallowed_methods, reason = "it reads what the terminal shows")]
fn pieces(mut from: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, pieces) = sync_channel(100_000);
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            drop(sender.send(buffer[..length].to_vec()));
        }
    });
    pieces
}

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

#[test]
fn terminal_shows_progress_and_the_answer_once() {
    let home = Home::new(program!());
    fs::create_dir_all(home.workspace()).unwrap();
    fs::write(home.workspace().join("a.txt"), "good morning").unwrap();
    let mut terminal = Terminal::open(&home);
    let greeting = terminal.wait_for_prompt();
    assert!(greeting.contains("/help shows the commands, Ctrl-D leaves."), "{greeting}");
    terminal.press("read_file a.txt\r");
    terminal.wait_for("thinking … ");
    terminal.wait_for("running read_file … ");
    terminal.wait_for("✓ read_file");
    terminal.wait_for("good morning");
    assert_eq!(terminal.count_rows_with("good morning"), 1, "{:?}", terminal.rows());
    assert_eq!(terminal.count_rows_with(" says: "), 0, "{:?}", terminal.rows());
    assert_eq!(terminal.leave(CTRL_D), Some(0));
    assert_eq!(said_in(&home, "me"), ["read_file a.txt"]);
}

#[test]
fn terminal_shows_an_answer_while_it_streams() {
    let home = Home::new(program!());
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    terminal.press("count to 5\r");
    terminal.wait_for("thinking … ");
    terminal.wait_for("1, 2");
    assert!(!terminal.shown.contains("5."), "it is shown piece by piece");
    terminal.wait_for("1, 2, 3, 4, 5.");
    assert_eq!(terminal.count_rows_with("5."), 1, "{:?}", terminal.rows());
    assert_eq!(terminal.leave("/quit\r"), Some(0));
}

#[test]
fn ctrl_c_stops_an_answer_and_keeps_the_chat_open() {
    let home = Home::new(program!());
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    terminal.press("count to 1000\r");
    terminal.wait_for("1, 2");
    terminal.press(CTRL_C);
    terminal.wait_for("Stopped.");
    terminal.press("count to 1\r");
    terminal.wait_for("1.");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
    assert_eq!(said_in(&home, "me"), ["count to 1000", "count to 1"]);
}

#[test]
fn terminal_accepts_commands_while_an_answer_streams() {
    let home = Home::new(program!());
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    terminal.press("count to 1000\r");
    terminal.wait_for("1, 2");
    terminal.press("/stop\r");
    terminal.wait_for("Stopped.");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}

#[test]
fn terminal_takes_a_plain_yes_as_an_approval() {
    let home = Home::new(program!()).with_config("[tools.policy]\nwrite_file = \"ask\"\n");
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    terminal.press("write_file a.txt hello\r");
    terminal.wait_for("/approve w1");
    terminal.press("count to 3\r");
    terminal.wait_for("I am waiting for an answer to my question above");
    terminal.press(CTRL_C);
    terminal.wait_for("/stop ends the turn");
    terminal.press("yes\r");
    terminal.wait_for("Allowed.");
    terminal.wait_for("✓ write_file");
    terminal.wait_for("1, 2, 3.");
    assert_eq!(fs::read_to_string(home.workspace().join("a.txt")).unwrap(), "hello");
    assert_eq!(terminal.count_rows_with(" says: "), 0, "{:?}", terminal.rows());
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}

#[test]
fn ctrl_c_at_the_prompt_explains_how_to_leave() {
    let home = Home::new(program!());
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    terminal.press("half a li");
    terminal.wait_for("half a li");
    terminal.press(CTRL_C);
    terminal.wait_for("Ctrl-D or /quit leaves.");
    terminal.press("/stop\r");
    terminal.wait_for("There was nothing to stop.");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}
