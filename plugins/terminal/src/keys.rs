//! The keys of a terminal in raw mode.

use std::io::{self, Write};

use async_trait::async_trait;
use avocet_protocol::ignore_result;
use avocet_supervise::Group;
use avocet_text::printable;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Signal, kill_current_process_group};

use crate::key::{Key, KeyGate};
use crate::receive::{Input, TypedEvent, TypedLine};

/// Keys that wait for the program. A person types ahead of a slow connection.
const WAITING: usize = 1024;
/// Asks the terminal to mark pasted text (bracketed paste), and to report the focus of its window.
const BEGIN_REPORTS: &[u8] = b"\x1b[?2004h\x1b[?1004h";
const END_REPORTS: &[u8] = b"\x1b[?1004l\x1b[?2004l";

/// The keys of a person. The terminal returns to its former mode when this is dropped.
#[derive(Debug)]
pub struct Keyboard {
    keys: flume::Receiver<Key>,
    gate: KeyGate,
    /// Disconnected once the terminal is gone.
    connection: flume::Receiver<()>,
}

impl Keyboard {
    /// Takes over the terminal's input.
    ///
    /// # Errors
    /// If the terminal's mode cannot be changed, or a thread cannot be started.
    pub fn new(group: &Group) -> io::Result<Self> {
        let (sender, keys) = flume::bounded(WAITING);
        let (gate, opened) = flume::bounded(1);
        let (connected, connection) = flume::bounded(1);
        enable_raw_mode()?;
        let keyboard = Self { keys, gate: KeyGate(gate), connection };
        write(BEGIN_REPORTS)?;
        // The threads end with the program: they block until a key comes, or the terminal is gone.
        group.spawn_thread("terminal-connection", move || {
            wait_for_hang_up();
            drop(connected);
        })?;
        group.spawn_thread("terminal-input", move || {
            let mut reader = KeyReader::default();
            while let Ok(event) = event::read() {
                let Some(key) = reader.read_key(event) else { continue };
                let is_editor = key == Key::OpenEditor;
                if sender.send(key).is_err() || (is_editor && opened.recv().is_err()) {
                    return;
                }
            }
        })?;
        Ok(keyboard)
    }

    /// Returns the gate of this keyboard.
    #[must_use]
    pub fn gate(&self) -> KeyGate {
        self.gate.clone()
    }
}

/// Waits until the terminal is gone. The system sends SIGHUP to programs only that the terminal
/// controls, and crossterm does not report the end of its input.
fn wait_for_hang_up() {
    let stdin = io::stdin();
    // A hang-up is always reported.
    let mut watched = [PollFd::new(&stdin, PollFlags::empty())];
    while poll(&mut watched, None) == Err(Errno::INTR) {}
}

/// Joins Ctrl-X and Ctrl-E to one key.
#[derive(Debug, Default)]
struct KeyReader {
    /// `true` after Ctrl-X.
    is_prefixed: bool,
}

impl KeyReader {
    fn read_key(&mut self, event: Event) -> Option<Key> {
        let control = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
        let is_prefixed = std::mem::take(&mut self.is_prefixed);
        match event {
            Event::Key(key) if key == control('x') => {
                self.is_prefixed = true;
                None
            }
            Event::Key(key) if is_prefixed && key == control('e') => Some(Key::OpenEditor),
            event => key_of(event),
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        ignore_result(write(END_REPORTS), "a terminal that is gone has no mode");
        ignore_result(disable_raw_mode(), "a terminal that is gone has no mode");
    }
}

/// Stops the program and the other programs of its job until the shell continues them.
///
/// # Errors
/// If the terminal's mode cannot be changed.
pub(crate) fn suspend() -> io::Result<()> {
    release_terminal()?;
    kill_current_process_group(Signal::TSTP)?;
    take_terminal()
}

/// Gives the terminal to another program.
///
/// # Errors
/// If the terminal's mode cannot be changed.
pub(crate) fn release_terminal() -> io::Result<()> {
    write(END_REPORTS)?;
    disable_raw_mode()
}

/// Takes the terminal back.
///
/// # Errors
/// If the terminal's mode cannot be changed.
pub(crate) fn take_terminal() -> io::Result<()> {
    enable_raw_mode()?;
    write(BEGIN_REPORTS)
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

#[async_trait]
impl Input for Keyboard {
    async fn next(&mut self) -> TypedLine {
        TypedLine(tokio::select! {
            biased;
            key = self.keys.recv_async() => key.map_or(TypedEvent::End, TypedEvent::Key),
            _ = self.connection.recv_async() => TypedEvent::End,
        })
    }
}

/// Returns the key of an event; `None` for keys without a meaning here.
fn key_of(event: Event) -> Option<Key> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => key_of_press(key),
        Event::Paste(text) => {
            let text = text.replace("\r\n", "\n").replace('\r', "\n");
            Some(Key::Text(printable(&text).into_owned()))
        }
        Event::Resize(..) => Some(Key::Resize),
        Event::FocusGained => Some(Key::FocusIn),
        Event::FocusLost => Some(Key::FocusOut),
        _ => None,
    }
}

fn key_of_press(KeyEvent { code, modifiers, .. }: KeyEvent) -> Option<Key> {
    let control = modifiers.contains(KeyModifiers::CONTROL);
    let alt = modifiers.contains(KeyModifiers::ALT);
    let jumps = control || alt;
    let new_line = alt || modifiers.contains(KeyModifiers::SHIFT);
    Some(match code {
        KeyCode::Enter if new_line => Key::NewLine,
        KeyCode::Enter => Key::Enter,
        KeyCode::Backspace if jumps => Key::KillWord,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Left if jumps => Key::WordLeft,
        KeyCode::Left => Key::Left,
        KeyCode::Right if jumps => Key::WordRight,
        KeyCode::Right => Key::Right,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Esc => Key::Escape,
        KeyCode::Char(c) if control => control_key(c)?,
        KeyCode::Char('b') if alt => Key::WordLeft,
        KeyCode::Char('f') if alt => Key::WordRight,
        KeyCode::Char(c) if !alt => Key::Text(printable(c.encode_utf8(&mut [0; 4])).into_owned()),
        _ => return None,
    })
}

/// Returns the meaning of Ctrl with a letter, as in other line editors.
fn control_key(letter: char) -> Option<Key> {
    Some(match letter {
        'a' => Key::Home,
        'b' => Key::Left,
        'c' => Key::Interrupt,
        'd' => Key::EndOfInput,
        'e' => Key::End,
        'f' => Key::Right,
        'g' => Key::OpenEditor,
        'h' => Key::Backspace,
        'j' => Key::NewLine,
        'k' => Key::KillToEnd,
        'l' => Key::ClearScreen,
        'n' => Key::Down,
        'o' => Key::Unfold,
        'p' => Key::Up,
        'r' => Key::Search,
        'u' => Key::KillToStart,
        'w' => Key::KillWord,
        'y' => Key::Yank,
        'z' => Key::Suspend,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_of_an_event() {
        let press = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
        let (none, alt) = (KeyModifiers::NONE, KeyModifiers::ALT);
        let table = [
            (press(KeyCode::Char('é'), none), Some(Key::Text("é".to_owned()))),
            (press(KeyCode::Char('É'), KeyModifiers::SHIFT), Some(Key::Text("É".to_owned()))),
            (press(KeyCode::Enter, none), Some(Key::Enter)),
            (press(KeyCode::Enter, alt), Some(Key::NewLine)),
            (press(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Key::Interrupt)),
            (press(KeyCode::Left, alt), Some(Key::WordLeft)),
            (press(KeyCode::Char('x'), alt), None),
            (press(KeyCode::F(1), none), None),
            (Event::Paste("a\r\n\u{1b}[31mb\rc".into()), Some(Key::Text("a\n[31mb\nc".into()))),
            (Event::Resize(1, 2), Some(Key::Resize)),
            (Event::FocusLost, Some(Key::FocusOut)),
            (press(KeyCode::Char('g'), KeyModifiers::CONTROL), Some(Key::OpenEditor)),
        ];
        for (event, expected) in table {
            assert_eq!(key_of(event.clone()), expected, "{event:?}");
        }
    }

    #[test]
    fn reader_joins_ctrl_x_and_ctrl_e() {
        let mut reader = KeyReader::default();
        let mut press = |letter| {
            let key = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
            reader.read_key(Event::Key(key))
        };
        assert_eq!((press('x'), press('e')), (None, Some(Key::OpenEditor)));
        assert_eq!((press('e'), press('x'), press('a')), (Some(Key::End), None, Some(Key::Home)));
    }
}
