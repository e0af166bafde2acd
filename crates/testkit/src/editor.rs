//! A fake editor of all sessions, with unsaved files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::CallId;
use avocet_protocol::tool::{EditorError, Editors, SessionEditor};
use parking_lot::Mutex;

/// The way in which a [`FakeEditor`] answers a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum EditorMood {
    /// It changes its text and saves it.
    #[default]
    Saves,
    /// It changes its text and does not save it.
    KeepsUnsaved,
    /// It saves the text with this line at the end.
    Appends(&'static str),
    /// It refuses.
    Refuses,
    /// It does not answer, and the change stays open.
    IsSilent,
    /// It does not answer, and the file has this text afterwards.
    IsSilentWhileFileBecomes(&'static str),
}

#[derive(Debug, Default)]
struct EditorState {
    is_there: bool,
    is_silent_reader: bool,
    mood: EditorMood,
    /// Texts that differ from the files.
    unsaved: BTreeMap<PathBuf, String>,
    /// The paths of all requests, with the texts of changes.
    asked: Vec<(PathBuf, Option<String>)>,
    open: Vec<PathBuf>,
    output: Vec<String>,
}

/// A fake editor. Clones share their state. At first, no session has it.
#[derive(Debug, Clone, Default)]
pub struct FakeEditor(Arc<Mutex<EditorState>>);

impl FakeEditor {
    /// Gives the editor to all sessions.
    pub fn attach(&self) {
        self.0.lock().is_there = true;
    }

    /// Sets the way in which changes are answered.
    pub fn answer_changes(&self, mood: EditorMood) {
        self.0.lock().mood = mood;
    }

    /// Lets requests for texts without an answer.
    pub fn ignore_reads(&self) {
        self.0.lock().is_silent_reader = true;
    }

    /// Types a text without saving it. `path` is absolute.
    pub fn type_text(&self, path: &Path, text: &str) {
        self.0.lock().unsaved.insert(path.to_owned(), text.to_owned());
    }

    /// Returns the unsaved text of a file.
    #[must_use]
    pub fn unsaved_text(&self, path: &Path) -> Option<String> {
        self.0.lock().unsaved.get(path).cloned()
    }

    /// Returns the pieces of output so far, of any call. Forgets them.
    #[must_use]
    pub fn take_output(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().output)
    }

    /// Returns the requests so far: paths, and the new texts of changes. Forgets them.
    #[must_use]
    pub fn take_requests(&self) -> Vec<(PathBuf, Option<String>)> {
        std::mem::take(&mut self.0.lock().asked)
    }
}

impl Editors for FakeEditor {
    fn editor_of(&self, _: &SessionId) -> Option<Arc<dyn SessionEditor>> {
        self.0.lock().is_there.then(|| Arc::new(self.clone()) as Arc<dyn SessionEditor>)
    }
}

impl SessionEditor for FakeEditor {
    fn can_read(&self) -> bool {
        true
    }

    fn can_write(&self) -> bool {
        true
    }

    fn can_show_output(&self) -> bool {
        true
    }

    fn read_text(&self, path: &Path) -> Result<String, EditorError> {
        assert!(path.is_absolute(), "{}", path.display());
        let mut state = self.0.lock();
        state.asked.push((path.to_owned(), None));
        if state.is_silent_reader {
            return Err(EditorError::Silent);
        }
        // Like Zed, it hides the line ends of the file.
        let saved = fs::read_to_string(path).map(|text| text.replace("\r\n", "\n"));
        let text = state.unsaved.get(path).cloned().or(saved.ok());
        text.ok_or_else(|| EditorError::Refused("there is no such file".to_owned()))
    }

    fn write_text(&self, path: &Path, text: &str) -> Result<(), EditorError> {
        assert!(path.is_absolute(), "{}", path.display());
        let mut state = self.0.lock();
        state.asked.push((path.to_owned(), Some(text.to_owned())));
        let saved = match state.mood.clone() {
            EditorMood::Saves => text.to_owned(),
            EditorMood::KeepsUnsaved => {
                state.unsaved.insert(path.to_owned(), text.to_owned());
                return Ok(());
            }
            EditorMood::Appends(line) => format!("{text}{line}"),
            EditorMood::Refuses => return Err(EditorError::Refused("no".to_owned())),
            EditorMood::IsSilent => {
                state.open.push(path.to_owned());
                return Err(EditorError::Silent);
            }
            EditorMood::IsSilentWhileFileBecomes(text) => {
                fs::write(path, text).unwrap();
                return Err(EditorError::Silent);
            }
        };
        state.unsaved.remove(path);
        fs::write(path, saved).unwrap();
        Ok(())
    }

    fn has_open_change(&self, path: &Path) -> bool {
        self.0.lock().open.iter().any(|one| one == path)
    }

    fn show_output(&self, _: CallId, text: &str) {
        self.0.lock().output.push(text.to_owned());
    }
}
