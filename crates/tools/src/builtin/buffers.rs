//! Files as the editor of a session shows them. File tools read the editor's text, with unsaved
//! changes, and write through the editor. The checks of the workspace come first. Without an
//! editor, or without its answer, the file on the disk counts.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use avocet_protocol::access::Trust;
use avocet_protocol::tool::{
    EditorError, Editors, Evidence, NoEditors, SessionEditor, ToolContext, ToolError,
};
use avocet_sandbox::{Workspace, WorkspacePath};

use super::BuiltinParts;
use super::files::{evidence_of_write, read_text, tool_error, write};
use super::lines::{line_end, plain_ends};
use super::live_output::LiveOutput;

/// The mark at the beginning of some texts, which many editors hide.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The editors of all sessions, as file tools use them.
#[derive(Debug, Clone)]
pub(super) struct EditorBuffers(Arc<dyn Editors>);

impl Default for EditorBuffers {
    fn default() -> Self {
        Self(Arc::new(NoEditors))
    }
}

impl EditorBuffers {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self(parts.editors.clone())
    }

    /// Returns the editor for a call: that of its session, or of the session that asked for it.
    pub(super) fn editor_for(&self, context: &ToolContext) -> CallEditor {
        let asking = || self.0.editor_of(&context.asker.as_ref()?.session);
        let editor = self.0.editor_of(&context.session).or_else(asking);
        CallEditor(editor.map(|editor| Arc::new(OpenEditor { editor, is_silent: false.into() })))
    }

    /// Returns the display for the output of a call; `None` if its session has none.
    pub(super) fn live_output(&self, context: &ToolContext) -> Option<LiveOutput> {
        let editor = self.0.editor_of(&context.session)?;
        editor.can_show_output().then(|| LiveOutput::new(editor, context.call))
    }
}

/// The editor for one call, if there is one. Its methods block.
#[derive(Debug, Clone, Default)]
pub(super) struct CallEditor(Option<Arc<OpenEditor>>);

#[derive(Debug)]
struct OpenEditor {
    editor: Arc<dyn SessionEditor>,
    /// Set after a request without an answer. The call makes no further requests then.
    is_silent: AtomicBool,
}

/// The present text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PresentText {
    pub(super) text: String,
    pub(super) source: TextSource,
}

/// The origin of the text that a change starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextSource {
    /// The disk. The change must not go through the editor, which may have unsaved changes.
    Disk,
    /// The editor. If `is_plain`, the editor hides line ends that the disk has.
    Editor { is_plain: bool },
    /// The model, which wrote the whole text.
    Model,
}

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SavedText {
    AsWritten,
    /// The editor saved another text, for example because it formats files.
    Changed,
}

impl SavedText {
    /// Returns the end of the report to the model.
    pub(super) fn report_note(self) -> &'static str {
        match self {
            Self::AsWritten => "",
            Self::Changed => {
                "; the editor changed the text when it saved it, so read it again before you edit it"
            }
        }
    }
}

impl OpenEditor {
    fn is_silent(&self) -> bool {
        self.is_silent.load(Ordering::Relaxed)
    }

    /// Remembers that the editor did not answer.
    fn note_silence<T>(&self, answer: Result<T, EditorError>) -> Result<T, EditorError> {
        if matches!(answer, Err(EditorError::Silent)) {
            self.is_silent.store(true, Ordering::Relaxed);
        }
        answer
    }
}

impl CallEditor {
    /// Reads a file like [`read_text`], with the editor's text in place of that of the disk.
    pub(super) fn read_present(
        &self,
        workspace: &Workspace,
        given: &str,
    ) -> Result<PresentText, ToolError> {
        let on_disk = read_text(workspace, given)?;
        Ok(match self.shown_text(workspace, given) {
            Some(shown) => text_of_editor(shown, on_disk),
            None => PresentText { text: on_disk, source: TextSource::Disk },
        })
    }

    /// Asks the editor for the text of a file that was read from the disk.
    fn shown_text(&self, workspace: &Workspace, given: &str) -> Option<String> {
        let open = self.0.as_ref().filter(|open| open.editor.can_read() && !open.is_silent())?;
        let place = workspace.place_for_editor(&workspace.resolve_path(given).ok()?)?;
        match open.note_silence(open.editor.read_text(&place)) {
            Ok(text) => Some(text).filter(|text| !text.contains('\0')),
            Err(error) => {
                tracing::debug!(place = %place.display(), %error, "the disk is read instead");
                None
            }
        }
    }

    /// Returns the editor for a change of this file, and the path for it. `None` if the workspace
    /// writes the file itself.
    fn editor_for_change(
        &self,
        workspace: &Workspace,
        path: &WorkspacePath,
        source: TextSource,
    ) -> Option<(&OpenEditor, PathBuf)> {
        let open = self.0.as_deref().filter(|open| open.editor.can_write() && !open.is_silent())?;
        if source == TextSource::Disk {
            return None;
        }
        Some((open, workspace.place_for_editor(path)?))
    }

    /// Returns the evidence for a write. Through an editor, it never matches the file before the
    /// write: an interrupted call must not run again while the editor may already show its change.
    pub(super) fn evidence_of_write(
        &self,
        workspace: &Workspace,
        given: &str,
        after: &[u8],
        source: TextSource,
    ) -> Result<Evidence, ToolError> {
        let evidence = evidence_of_write(workspace, given, after)?;
        Ok(if self.is_writer(workspace, given, source)? {
            Evidence { before: Some(shown_in_editor()), ..evidence }
        } else {
            evidence
        })
    }

    /// Returns `true` if a change of this file goes through the editor.
    pub(super) fn is_writer(
        &self,
        workspace: &Workspace,
        given: &str,
        source: TextSource,
    ) -> Result<bool, ToolError> {
        let path = workspace.resolve_path(given).map_err(tool_error)?;
        Ok(self.editor_for_change(workspace, &path, source).is_some())
    }

    /// Refuses to change a file while the editor may still make an earlier change.
    fn check_open_change(
        &self,
        workspace: &Workspace,
        path: &WorkspacePath,
    ) -> Result<(), ToolError> {
        let Some(open) = &self.0 else { return Ok(()) };
        let place = workspace.place_for_editor(path);
        if !place.is_some_and(|place| open.editor.has_open_change(&place)) {
            return Ok(());
        }
        Err(ToolError::ExecutionFailed(format!(
            "{path}: the editor has not finished an earlier change of this file; nothing is \
             changed. Try it again later"
        )))
    }

    /// Writes a file: through the editor if that shows the text that the change starts from,
    /// otherwise directly. The file gets `trust`, by default that of the call. If the editor
    /// refuses or does not answer, the file is written directly, but only while it is unchanged.
    pub(super) fn write_text(
        &self,
        workspace: &Workspace,
        given: &str,
        text: &str,
        source: TextSource,
        trust: Option<Trust>,
    ) -> Result<SavedText, ToolError> {
        let path = workspace.resolve_path(given).map_err(tool_error)?;
        let write_directly = || {
            let written = match trust {
                Some(trust) => {
                    workspace.write_as(&path, text.as_bytes(), trust).map_err(tool_error)
                }
                None => write(workspace, given, text.as_bytes()),
            };
            written.map(|()| SavedText::AsWritten)
        };
        self.check_open_change(workspace, &path)?;
        let Some((open, place)) = self.editor_for_change(workspace, &path, source) else {
            return write_directly();
        };
        workspace.can_write(&path).map_err(tool_error)?;
        let apart = workspace.examine_apart();
        let Ok(before) = apart.read(&path) else { return write_directly() };
        let trust = trust.unwrap_or_else(|| workspace.trust_of_writing());
        // The editor keeps the mark of the file if it writes into it.
        workspace.lower_trust(&path, trust).map_err(tool_error)?;
        let answer = open.editor.write_text(&place, &text_for_editor(text, source));
        let answer = open.note_silence(answer);
        // The editor may have replaced the file.
        workspace.lower_trust(&path, trust).map_err(tool_error)?;
        let now = apart.read_if_any(&path).map_err(tool_error)?.unwrap_or_default();
        match answer {
            _ if is_same_text(&now, text) => Ok(SavedText::AsWritten),
            _ if now == before => write_directly(),
            Ok(()) => Ok(SavedText::Changed),
            Err(error) => Err(ToolError::ExecutionFailed(format!(
                "{given}: {error}, and the file on the disk has changed meanwhile. Read it again \
                 with read_file"
            ))),
        }
    }
}

/// The state of a file before a change through an editor. It differs from the digest of every file.
pub(super) fn shown_in_editor() -> String {
    "shown in an editor".to_owned()
}

/// Gives the editor's text the line ends and the byte order mark of the disk, if the editor hides
/// them.
fn text_of_editor(shown: String, on_disk: String) -> PresentText {
    let is_plain = !shown.contains('\r') && !shown.starts_with(BYTE_ORDER_MARK);
    let source = TextSource::Editor { is_plain };
    if !is_plain {
        return PresentText { text: shown, source };
    }
    if is_same_text(on_disk.as_bytes(), &shown) {
        return PresentText { text: on_disk, source };
    }
    let mut text = shown.replace('\n', line_end(&on_disk));
    if on_disk.starts_with(BYTE_ORDER_MARK) {
        text.insert(0, BYTE_ORDER_MARK);
    }
    PresentText { text, source }
}

/// Returns a text in the form that the editor gave it.
fn text_for_editor(text: &str, source: TextSource) -> String {
    match source {
        TextSource::Editor { is_plain: true } => plain_text(text),
        _ => text.to_owned(),
    }
}

/// Returns `true` if a file holds a text, up to line ends and a byte order mark.
fn is_same_text(file: &[u8], text: &str) -> bool {
    std::str::from_utf8(file).is_ok_and(|file| plain_text(file) == plain_text(text))
}

fn plain_text(text: &str) -> String {
    plain_ends(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_editor_has_the_line_ends_and_the_mark_of_the_disk() {
        let table = [
            ("a\nb\n", "a\nb\n", "a\nb\n", "a\nb\n"),
            ("a\nB\n", "a\nb\n", "a\nB\n", "a\nB\n"),
            ("a\nB\n", "a\r\nb\r\n", "a\r\nB\r\n", "a\nB\n"),
            ("a\nb\n", "a\r\nb\n", "a\r\nb\n", "a\nb\n"),
            ("a\r\nB\r\n", "a\r\nb\r\n", "a\r\nB\r\n", "a\r\nB\r\n"),
            ("a\n", "\u{feff}a\n", "\u{feff}a\n", "a\n"),
            ("B\n", "\u{feff}a\n", "\u{feff}B\n", "B\n"),
            ("\u{feff}B\n", "\u{feff}a\n", "\u{feff}B\n", "\u{feff}B\n"),
        ];
        for (shown, on_disk, expected, back) in table {
            let present = text_of_editor(shown.to_owned(), on_disk.to_owned());
            assert_eq!(present.text, expected, "{shown:?} {on_disk:?}");
            assert_eq!(text_for_editor(&present.text, present.source), back, "{shown:?}");
        }
    }
}
