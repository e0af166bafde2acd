//! A key of a terminal.

use avocet_protocol::ignore_result;

/// Lets the keyboard read on after the key that opens an editor. Until then, the editor gets the keys.
#[derive(Debug, Clone)]
pub struct KeyGate(pub(crate) flume::Sender<()>);

impl KeyGate {
    pub(crate) fn open(&self) {
        ignore_result(self.0.try_send(()), "the keyboard is gone if the terminal is");
    }
}

/// A key, or a pasted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    /// A typed character or a pasted text.
    Text(String),
    Enter,
    NewLine,
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    Up,
    Down,
    PageUp,
    PageDown,
    Tab,
    BackTab,
    Escape,
    Interrupt,
    /// Ctrl-D: the end of the input if the line is empty.
    EndOfInput,
    KillToEnd,
    KillToStart,
    KillWord,
    Yank,
    Search,
    ClearScreen,
    /// Ctrl-O: show the whole output of all tools.
    Unfold,
    /// Ctrl-G, or Ctrl-X Ctrl-E: open the line in an editor. No key follows until the chat has
    /// answered with [`KeyGate::open`].
    OpenEditor,
    /// The window of the terminal now gets the keys, or another window does.
    FocusIn,
    FocusOut,
    /// Ctrl-Z: give the terminal to the shell.
    Suspend,
    Resize,
}
