//! The editor's end of `editor.read` and `editor.write`.

use std::path::PathBuf;

use avocet_protocol::ignore_result;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::line_to_write::LineToWrite;
use crate::wire::{MAX_LINE_BYTES, RpcError, RpcMessage};

/// A request of the daemon to the editor.
#[derive(Debug)]
pub struct EditorCall {
    /// The file and the action.
    pub action: EditorAction,
    /// Takes the answer.
    pub reply: EditorReply,
}

/// The action that the daemon asks an editor for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorAction {
    /// Return the text of the file, with unsaved changes.
    Read(PathBuf),
    /// Replace the text of the file, and save it.
    Write(PathBuf, String),
}

/// The way of an answer to the daemon.
#[derive(Debug)]
pub struct EditorReply {
    pub(crate) id: Value,
    pub(crate) lines: flume::Sender<LineToWrite>,
}

impl EditorReply {
    /// Sends the text of a file.
    pub async fn send_text(self, text: String) {
        self.send_result(Ok(json!({ "text": text }))).await;
    }

    /// Reports that the file is changed and saved.
    pub async fn confirm_saved(self) {
        self.send_result(Ok(json!({}))).await;
    }

    /// Reports that the editor did not do it, for this reason.
    pub async fn refuse_with(self, reason: &str) {
        self.send_result(Err(RpcError::new(RpcError::NOT_FOUND, reason))).await;
    }

    async fn send_result(self, result: Result<Value, RpcError>) {
        let mut line: LineToWrite = RpcMessage::Response { id: self.id.clone(), result }.into();
        if line.len() > MAX_LINE_BYTES {
            let error = RpcError::new(RpcError::PARAMS, "the text is too long for a line");
            line = RpcMessage::Response { id: self.id, result: Err(error) }.into();
        }
        ignore_result(
            self.lines.send_async(line).await,
            "if the connection is lost, nothing waits for the answer",
        );
    }
}

#[derive(Debug, Deserialize)]
struct EditorParams {
    path: PathBuf,
    #[serde(default)]
    text: String,
}

/// Parses a request; `None` for another method, or for unusable parameters.
pub(crate) fn parse_action(method: &str, params: &Value) -> Option<EditorAction> {
    let is_write = match method {
        "editor.read" => false,
        "editor.write" => true,
        _ => return None,
    };
    let EditorParams { path, text } = EditorParams::deserialize(params).ok()?;
    Some(if is_write { EditorAction::Write(path, text) } else { EditorAction::Read(path) })
}
