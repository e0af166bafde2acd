//! Editors that are attached to chats. The daemon reads and writes files through them,
//! and sends them the output of running programs.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use avocet_methods::AttachEditor;
use avocet_protocol::chat::{ChatAddress, SessionId};
use avocet_protocol::ids::CallId;
use avocet_protocol::tool::{EditorError, Editors, SessionEditor};
use parking_lot::{Mutex, MutexGuard};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::MAX_LINE_BYTES;
use crate::editor_answer::{EditorAnswer, OpenChange, OpenChanges};

/// The time for the text of a file.
const READ_LIMIT: Duration = Duration::from_secs(4);
/// The time to change and save a file. Many editors format it first.
const WRITE_LIMIT: Duration = Duration::from_secs(15);
/// Bytes of a line beside the parameters.
const AROUND: usize = 1024;

/// `editor.output`: the program behind a call of a tool has printed more. For display only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputPiece {
    /// The chat.
    pub chat: ChatAddress,
    /// The call.
    pub call: CallId,
    /// The output without secrets: untrusted text of the program.
    pub text: String,
}

/// The editors of the sessions, for the tools of the agent.
#[derive(Debug, Default)]
pub struct AttachedEditors(Mutex<HashMap<SessionId, Vec<Arc<AttachedEditor>>>>);

impl AttachedEditors {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Vec<Arc<AttachedEditor>>>> {
        self.0.lock()
    }

    /// Adds an editor until the returned place is dropped.
    pub(crate) fn add_editor(
        self: &Arc<Self>,
        session: SessionId,
        editor: AttachedEditor,
    ) -> EditorSeat {
        let editor = Arc::new(editor);
        self.lock().entry(session.clone()).or_default().push(editor.clone());
        EditorSeat { editors: self.clone(), session, editor }
    }
}

impl Editors for AttachedEditors {
    fn editor_of(&self, session: &SessionId) -> Option<Arc<dyn SessionEditor>> {
        let editor = self.lock().get(session)?.last()?.clone();
        Some(editor)
    }
}

/// Removes an editor when it is dropped.
pub(crate) struct EditorSeat {
    editors: Arc<AttachedEditors>,
    session: SessionId,
    editor: Arc<AttachedEditor>,
}

impl Drop for EditorSeat {
    fn drop(&mut self) {
        let mut editors = self.editors.lock();
        if let Some(of_session) = editors.get_mut(&self.session) {
            of_session.retain(|one| !Arc::ptr_eq(one, &self.editor));
            if of_session.is_empty() {
                editors.remove(&self.session);
            }
        }
    }
}

/// An editor on a connection.
#[derive(Debug)]
pub(crate) struct AttachedEditor {
    pub(crate) offered: AttachEditor,
    pub(crate) requests: flume::Sender<EditorRequest>,
    pub(crate) open: OpenChanges,
    pub(crate) output: OutputQueue,
}

/// Output that is not sent yet. The tools limit the size of that of each call.
#[derive(Debug, Clone, Default)]
pub(crate) struct OutputQueue {
    pieces: Arc<Mutex<Vec<(CallId, String)>>>,
    has_more: Arc<Notify>,
}

impl OutputQueue {
    fn lock(&self) -> MutexGuard<'_, Vec<(CallId, String)>> {
        self.pieces.lock()
    }

    fn push(&self, call: CallId, text: &str) {
        let mut pieces = self.lock();
        match pieces.last_mut().filter(|(last, _)| *last == call) {
            Some((_, waiting)) => waiting.push_str(text),
            None => pieces.push((call, text.to_owned())),
        }
        self.has_more.notify_one();
    }

    /// Waits for output and takes it.
    pub(crate) async fn take(&self) -> Vec<(CallId, String)> {
        self.has_more.notified().await;
        std::mem::take(&mut self.lock())
    }
}

/// A request that is on its way to an editor.
#[derive(Debug)]
pub(crate) struct EditorRequest {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
    pub(crate) limit: Duration,
    pub(crate) answer: EditorAnswer,
}

impl AttachedEditor {
    fn ask(
        &self,
        method: &'static str,
        params: Value,
        limit: Duration,
        change: Option<OpenChange>,
    ) -> Result<Value, EditorError> {
        let (answer, answered) = flume::bounded(1);
        let answer = EditorAnswer { answer, change };
        let request = EditorRequest { method, params, limit, answer };
        self.requests.try_send(request).map_err(|_| EditorError::Silent)?;
        // The connection ends the wait, after the limit at the latest.
        answered.recv().unwrap_or(Err(EditorError::Silent))
    }

    fn named(&self, path: &Path) -> Result<Value, EditorError> {
        let unusable = || EditorError::Refused("the path is not UTF-8".to_owned());
        let path = path.to_str().ok_or_else(unusable)?;
        Ok(json!({ "chat": self.offered.chat, "path": path }))
    }
}

impl SessionEditor for AttachedEditor {
    fn can_read(&self) -> bool {
        self.offered.read
    }

    fn can_write(&self) -> bool {
        self.offered.write
    }

    fn can_show_output(&self) -> bool {
        self.offered.output
    }

    fn show_output(&self, call: CallId, text: &str) {
        self.output.push(call, text);
    }

    fn read_text(&self, path: &Path) -> Result<String, EditorError> {
        let answer = self.ask("editor.read", self.named(path)?, READ_LIMIT, None)?;
        let text = answer["text"].as_str().map(str::to_owned);
        text.ok_or_else(|| EditorError::Refused("the answer has no text".to_owned()))
    }

    fn write_text(&self, path: &Path, text: &str) -> Result<(), EditorError> {
        let mut params = self.named(path)?;
        params["text"] = text.into();
        if params.to_string().len() + AROUND > MAX_LINE_BYTES {
            return Err(EditorError::Refused("the text is too long for a line".to_owned()));
        }
        let change = self.open.begin_change(path);
        self.ask("editor.write", params, WRITE_LIMIT, Some(change)).map(drop)
    }

    fn has_open_change(&self, path: &Path) -> bool {
        self.open.lock().iter().any(|one| one == path)
    }
}
