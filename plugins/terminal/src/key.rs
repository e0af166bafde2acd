//! A key of a terminal.

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
    /// Ctrl-Z: give the terminal to the shell.
    Suspend,
    Resize,
}
