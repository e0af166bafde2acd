//! The editor of the person, for long messages.

use std::fmt;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, FusedFuture};

use super::ChatLoop;
use crate::key::KeyGate;
use crate::keys::{release_terminal, take_terminal};

/// The text that was saved in an editor, or the reason why there is none.
pub(super) type EditedText = Result<String, String>;

/// Opens an editor for the typed text.
pub struct EditorAccess {
    /// Runs the editor with a text, and returns the saved text.
    pub edit: Box<dyn Fn(String) -> BoxFuture<'static, Result<String, String>> + Send + Sync>,
    /// The gate of the keyboard.
    pub gate: KeyGate,
}

impl fmt::Debug for EditorAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EditorAccess").finish_non_exhaustive()
    }
}

impl ChatLoop {
    pub(super) fn is_editing(&self) -> bool {
        !self.editing.is_terminated()
    }

    /// Opens the typed text in the editor. Answers are shown after its end.
    pub(super) fn open_editor(&mut self) {
        let (Some(editor), Some(live)) = (&self.editor, self.display.live_screen()) else { return };
        live.pause_painting();
        match release_terminal() {
            Ok(()) => self.editing = (editor.edit)(live.line_text()).fuse(),
            Err(error) => {
                live.resume_painting();
                live.show_remark(&format!("cannot open an editor: {error}"));
            }
        }
    }

    /// Takes the saved text into the line. Nothing is sent.
    pub(super) fn end_editing(&mut self, edited: EditedText) {
        let taken = take_terminal();
        if let Some(live) = self.display.live_screen() {
            live.resume_painting();
            if let Err(error) = taken {
                live.show_remark(&format!("cannot take the terminal back: {error}"));
            }
            match edited {
                Ok(text) => live.replace_line(&text),
                Err(error) => live.show_remark(&error),
            }
        }
        self.let_keys_in();
    }

    /// Lets the keyboard read on after the key that opens an editor.
    pub(super) fn let_keys_in(&self) {
        if let Some(editor) = &self.editor {
            editor.gate.open();
        }
    }
}
