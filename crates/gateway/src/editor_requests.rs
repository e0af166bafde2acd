//! Attaches the editors of clients: sends them the requests and the output that [`AttachedEditors`] holds
//! for them.
//!
//! [`AttachedEditors`]: crate::AttachedEditors

use std::time::Duration;

use avocet_methods::{AttachEditor, EmptyAnswer};
use avocet_protocol::chat::ChatAddress;
use avocet_protocol::ignore_result;
use avocet_protocol::tool::EditorError;
use avocet_supervise::Group;
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::client_request::ClientRequest;
use crate::connection::Connection;
use crate::editor::{AttachedEditor, EditorRequest, EditorSeat, OutputPiece, OutputQueue};
use crate::editor_answer::OpenChanges;
use crate::methods::permitted_params;
use crate::wire::{RpcError, notification};

/// The time between two batches of output.
const OUTPUT_PAUSE: Duration = Duration::from_millis(100);

/// Requests that wait to be sent to one editor.
const QUEUE: usize = 64;

impl Connection {
    /// Answers `editor.attach`.
    pub(crate) async fn attach_editor(
        &self,
        caller: &Caller,
        params: Value,
        group: &Group,
    ) -> Result<Value, RpcError> {
        let offered = permitted_params::<AttachEditor>(&self.parts, caller, params).await?;
        let session = self.session_of(&offered.chat)?;
        let (requests, to_send) = flume::bounded(QUEUE);
        let (chat, output) = (offered.chat.clone(), OutputQueue::default());
        let (open, to_show) = (OpenChanges::default(), output.clone());
        let editor = AttachedEditor { offered, requests, open, output };
        let seat = self.parts.editors.add_editor(session, editor);
        let connection = self.clone();
        group.spawn("editor-output", async move { connection.send_output(chat, to_show).await });
        let (connection, limits) = (self.clone(), group.clone());
        group.spawn("editor", async move { connection.serve_editor(seat, to_send, &limits).await });
        Ok(json!(EmptyAnswer {}))
    }

    /// Sends output to the editor until the connection ends, several pieces at once.
    async fn send_output(self, chat: ChatAddress, output: OutputQueue) {
        loop {
            let pieces = tokio::select! {
                biased;
                () = self.ended.cancelled() => return,
                pieces = output.take() => pieces,
            };
            for (call, text) in pieces {
                let text = self.parts.redactor.redact(&text).into_owned();
                let piece = OutputPiece { chat: chat.clone(), call, text };
                self.write(notification("editor.output", &piece)).await;
            }
            tokio::select! {
                () = self.ended.cancelled() => return,
                () = self.parts.clock.sleep(OUTPUT_PAUSE) => {}
            }
        }
    }

    /// Sends the requests to the editor until the connection ends.
    async fn serve_editor(
        self,
        _seat: EditorSeat,
        requests: flume::Receiver<EditorRequest>,
        group: &Group,
    ) {
        loop {
            let request = tokio::select! {
                biased;
                () = self.ended.cancelled() => return,
                request = requests.recv_async() => request,
            };
            let Ok(EditorRequest { method, params, limit, answer }) = request else { return };
            let (silent, clock) = (answer.answer.clone(), self.parts.clock.clone());
            let ended = self.ended.clone();
            group.spawn("editor-limit", async move {
                tokio::select! {
                    () = ended.cancelled() => {}
                    () = clock.sleep(limit) => {}
                }
                ignore_result(
                    silent.try_send(Err(EditorError::Silent)),
                    "the answer may have come before",
                );
            });
            let id = format!("editor-{}", uuid::Uuid::new_v4());
            self.request(id, method, params, ClientRequest::Editor(answer)).await;
        }
    }
}
