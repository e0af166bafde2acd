//! A pseudo terminal with the program in it. A terminal emulator is the screen, whose cells can be
//! read.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use avocet_protocol::ignore_result;
use avocet_tests::Home;
use regex::Regex;
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use vt100::{Cell, Color, Parser};

use crate::support::end;

const TIMEOUT: Duration = Duration::from_secs(60);
/// Rows that are kept above the screen.
const SCROLLBACK: usize = 2_000;
/// Runs the program and waits for a line after its end. The system drops output that nobody has read
/// when the first process of a terminal ends, so that must not be the program.
const LEADER: &str =
    r#"trap : INT QUIT; "$@"; code=$?; printf '\033]9;ended\007'; read -r line; exit $code"#;
/// The mark after the output of the program. It is invisible.
const ENDED: &[u8] = b"\x1b]9;ended\x07";

/// A terminal with a chat in it. Its programs end with it.
pub(crate) struct Terminal {
    /// The leader; `None` once it has ended.
    child: Option<Child>,
    /// `None` once the terminal is gone.
    keyboard: Option<File>,
    /// Lets the reader end after its next piece.
    is_closing: Arc<AtomicBool>,
    output: Receiver<Vec<u8>>,
    pub(crate) parser: Parser,
    /// All bytes that the program has written.
    pub(crate) written: Vec<u8>,
}

/// Starts chats in terminals.
pub(crate) struct TerminalOptions<'h> {
    home: &'h Home,
    columns: u16,
    rows: u16,
    arguments: Vec<&'h str>,
    variables: Vec<(&'h str, &'h str)>,
    is_controlling: bool,
}

impl<'h> TerminalOptions<'h> {
    pub(crate) fn new(home: &'h Home) -> Self {
        let variables = vec![("TERM", "xterm-256color")];
        let arguments = vec!["chat"];
        Self { home, columns: 100, rows: 24, arguments, variables, is_controlling: true }
    }

    pub(crate) fn size(self, columns: u16, rows: u16) -> Self {
        Self { columns, rows, ..self }
    }

    pub(crate) fn with_variable(mut self, name: &'h str, value: &'h str) -> Self {
        self.variables.push((name, value));
        self
    }

    pub(crate) fn with_arguments(mut self, arguments: &[&'h str]) -> Self {
        self.arguments.extend(arguments);
        self
    }

    /// Runs the program without a controlling terminal: nobody sends it SIGHUP.
    pub(crate) fn without_hang_up_signal(self) -> Self {
        Self { is_controlling: false, ..self }
    }

    /// Runs this command instead of a chat.
    pub(crate) fn with_command(self, arguments: &[&'h str]) -> Self {
        Self { arguments: arguments.to_vec(), ..self }
    }

    pub(crate) fn open(self) -> Terminal {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        tcsetwinsize(&master, size(self.columns, self.rows)).unwrap();
        let terminal = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let ours = self.home.command(&self.arguments);
        // The terminal becomes the program's controlling one, which sends changes of its size.
        let mut command = Command::new("setsid");
        command.args(self.is_controlling.then_some("--ctty")).args(["sh", "-c", LEADER, "sh"]);
        command.arg(ours.get_program()).args(ours.get_args()).env_clear();
        command.current_dir(ours.get_current_dir().unwrap());
        command.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("PATH", "/usr/bin:/bin").envs(self.variables.iter().copied());
        let end = || Stdio::from(terminal.try_clone().unwrap());
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let keyboard = File::from(master);
        let is_closing = Arc::<AtomicBool>::default();
        Terminal {
            child: Some(child),
            output: pieces(keyboard.try_clone().unwrap(), is_closing.clone()),
            keyboard: Some(keyboard),
            is_closing,
            parser: Parser::new(self.rows, self.columns, SCROLLBACK),
            written: Vec::new(),
        }
    }
}

impl Terminal {
    pub(crate) fn open(home: &Home) -> Self {
        TerminalOptions::new(home).open()
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.parser.screen_mut().set_size(rows, columns);
        tcsetwinsize(self.keyboard.as_ref().unwrap(), size(columns, rows)).unwrap();
    }

    /// Returns `true` if the terminal shows what is typed.
    pub(crate) fn echoes(&self) -> bool {
        tcgetattr(self.keyboard.as_ref().unwrap()).unwrap().local_modes.contains(LocalModes::ECHO)
    }

    /// Reads on until the visible rows pass this check.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, what: &str, check: impl Fn(&str) -> bool) {
        while !self.is_painted() || !check(&self.shown()) {
            match self.output.recv_timeout(TIMEOUT) {
                Ok(piece) => {
                    self.parser.process(&piece);
                    self.written.extend(piece);
                }
                Err(_) => panic!("{what} is not shown on\n{}", self.all()),
            }
        }
    }

    /// Returns `true` unless the output ends in the middle of a frame (synchronized output).
    fn is_painted(&self) -> bool {
        let last = |mark: &[u8]| self.written.windows(mark.len()).rposition(|part| part == mark);
        last(b"\x1b[?2026h") <= last(b"\x1b[?2026l")
    }

    /// Reads on until the program has written these bytes.
    #[track_caller]
    pub(crate) fn wait_for_written(&mut self, bytes: &[u8]) {
        while !self.has_written(bytes) {
            match self.output.recv_timeout(TIMEOUT) {
                Ok(piece) => {
                    self.parser.process(&piece);
                    self.written.extend(piece);
                }
                Err(_) => panic!("{bytes:?} is not written on\n{}", self.all()),
            }
        }
    }

    pub(crate) fn has_written(&self, bytes: &[u8]) -> bool {
        self.written.windows(bytes.len()).any(|part| part == bytes)
    }

    /// Reads on until `text` is shown.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) {
        self.wait_until(text, |shown| shown.contains(text));
    }

    /// Reads on until `text` is shown, and the agent is idle.
    #[track_caller]
    pub(crate) fn wait_for_idle(&mut self, text: &str) {
        self.wait_until(text, |shown| shown.contains(text) && !shown.contains(" … "));
    }

    #[track_caller]
    pub(crate) fn wait_for_prompt(&mut self) {
        self.wait_for("\n>");
    }

    /// Returns the visible rows, with the times as `N s`.
    pub(crate) fn shown(&self) -> String {
        let contents = self.parser.screen().contents();
        let rows: Vec<&str> = contents.lines().map(str::trim_end).collect();
        without_times(rows.join("\n").trim_end())
    }

    /// Returns all rows, also those that have scrolled away.
    pub(crate) fn all(&mut self) -> String {
        all_rows(&mut self.parser)
    }

    /// Returns the visible rows with the attributes of their cells, and the place of the cursor.
    pub(crate) fn cells(&self) -> String {
        let screen = self.parser.screen();
        let (rows, columns) = screen.size();
        let row = |row| {
            let (mut text, mut open) = (String::new(), String::new());
            for cell in (0..columns).filter_map(|column| screen.cell(row, column)) {
                if cell.is_wide_continuation() {
                    continue;
                }
                let style = if cell.has_contents() { attributes(cell) } else { open.clone() };
                if style != open {
                    text.push_str(if open.is_empty() { "" } else { "}" });
                    text.push_str(&if style.is_empty() {
                        String::new()
                    } else {
                        format!("{{{style}:")
                    });
                    open = style;
                }
                text.push_str(if cell.has_contents() { cell.contents() } else { " " });
            }
            let end = if open.is_empty() { "" } else { "}" };
            format!("{}{end}", text.trim_end())
        };
        let text: Vec<String> = (0..rows).map(row).collect();
        let (row, column) = screen.cursor_position();
        let text = without_times(text.join("\n").trim_end());
        format!("{text}\n-- cursor: row {row}, column {column}")
    }

    /// Presses keys that leave. Returns the exit code.
    #[track_caller]
    pub(crate) fn leave(self, keys: &str) -> Option<i32> {
        let (code, all) = self.leave_and_read(keys);
        if code != Some(0) {
            // Shown if the test fails because of it.
            println!("the chat has ended with {code:?}:\n{all}");
        }
        code
    }

    /// Presses keys that leave. Returns the exit code and all rows.
    #[track_caller]
    pub(crate) fn leave_and_read(mut self, keys: &str) -> (Option<i32>, String) {
        self.press(keys);
        while !self.has_written(ENDED) {
            match self.output.recv_timeout(TIMEOUT) {
                Ok(piece) => {
                    self.parser.process(&piece);
                    self.written.extend(piece);
                }
                Err(_) => panic!("no end:\n{}", self.all()),
            }
        }
        self.press("\n");
        let code = end(self.child.take().unwrap()).code;
        // The reader ends with the last program on the terminal.
        self.output.iter().for_each(|piece| self.parser.process(&piece));
        (code, self.all())
    }

    /// Closes the window of the terminal. Returns the exit code.
    #[track_caller]
    pub(crate) fn close_window(mut self) -> Option<i32> {
        self.is_closing.store(true, Ordering::SeqCst);
        // The reader has the terminal open, too. It ends once the chat has shown this key.
        self.press("x");
        self.output.iter().for_each(drop);
        self.keyboard = None;
        end(self.child.take().unwrap()).code
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // The leader is the first process of its session and of its group.
            let killed = kill_process_group(Pid::from_child(&child), Signal::KILL);
            ignore_result(killed, "the programs have ended by themselves");
            drop(child.wait());
        }
    }
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// Returns short names of the attributes of a cell.
fn attributes(cell: &Cell) -> String {
    let flags =
        [(cell.bold(), "b"), (cell.dim(), "d"), (cell.italic(), "i"), (cell.underline(), "u")];
    let mut names: String = flags.iter().filter(|(on, _)| *on).map(|(_, name)| *name).collect();
    if let Color::Idx(colour) = cell.fgcolor() {
        write!(names, "{colour}").unwrap();
    }
    names
}

fn all_rows(parser: &mut Parser) -> String {
    let columns = parser.screen().size().1;
    parser.screen_mut().set_scrollback(usize::MAX);
    let mut rows = Vec::new();
    for back in (0..=parser.screen().scrollback()).rev() {
        parser.screen_mut().set_scrollback(back);
        let visible = parser.screen().rows(0, columns);
        let shown = if back == 0 { usize::MAX } else { 1 };
        rows.extend(visible.take(shown).map(|row| row.trim_end().to_owned()));
    }
    without_times(rows.join("\n").trim_end())
}

fn without_times(text: &str) -> String {
    Regex::new(r"\d+(\.\d)? s\b").unwrap().replace_all(text, "N s").into_owned()
}

#[expect(clippy::disallowed_methods, reason = "it reads what the terminal shows")]
fn pieces(mut from: File, is_closing: Arc<AtomicBool>) -> Receiver<Vec<u8>> {
    let (sender, pieces) = sync_channel(100_000);
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            drop(sender.send(buffer[..length].to_vec()));
            if is_closing.load(Ordering::SeqCst) {
                return;
            }
        }
    });
    pieces
}
