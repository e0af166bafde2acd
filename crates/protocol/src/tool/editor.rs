//! The port to the editors that people have open beside a conversation: their unsaved files, and
//! their display of running programs.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::chat::SessionId;
use crate::ids::CallId;

/// The editors of sessions.
pub trait Editors: fmt::Debug + Send + Sync {
    /// Returns the editor of a session, the last one that attached; `None` for a session without
    /// an editor.
    fn editor_of(&self, session: &SessionId) -> Option<Arc<dyn SessionEditor>>;
}

/// An editor that shows a session. It may open any path, so callers check paths before.
pub trait SessionEditor: fmt::Debug + Send + Sync {
    /// Returns `true` if the editor returns texts of files.
    fn can_read(&self) -> bool;

    /// Returns `true` if the editor changes files.
    fn can_write(&self) -> bool;

    /// Returns `true` if the editor shows the output of programs while they run.
    fn can_show_output(&self) -> bool;

    /// Returns the text of a file as the editor shows it, with unsaved changes. `path` is absolute.
    /// Blocks for a few seconds at most, so call it in a thread that may block.
    ///
    /// # Errors
    /// [`EditorError`]. The caller then uses the file on the disk.
    fn read_text(&self, path: &Path) -> Result<String, EditorError>;

    /// Replaces the text of a file in the editor, which also saves the file. Blocks for some
    /// seconds at most.
    ///
    /// # Errors
    /// [`EditorError`]. After [`EditorError::Silent`] the editor may still change the file later.
    fn write_text(&self, path: &Path, text: &str) -> Result<(), EditorError>;

    /// Returns `true` while the editor has not answered an earlier change of this file.
    fn has_open_change(&self, path: &Path) -> bool;

    /// Shows the next output of the program behind a call. Never waits. Callers pass whole lines,
    /// and limit their size.
    fn show_output(&self, call: CallId, text: &str);
}

/// The reason why an editor did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditorError {
    /// The editor's own reason.
    #[error("the editor refused it: {0}")]
    Refused(String),
    /// No answer came in time, or the editor is gone.
    #[error("the editor did not answer")]
    Silent,
}

/// The editors of a daemon without editors.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEditors;

impl Editors for NoEditors {
    fn editor_of(&self, _: &SessionId) -> Option<Arc<dyn SessionEditor>> {
        None
    }
}
