//! Files of the editor: the daemon reads their unsaved text and changes them.

use agent_client_protocol::v1::schema::{ReadTextFileRequest, WriteTextFileRequest};
use avocet_gateway::{AttachEditor, Client, EditorAction, EditorCall, OutputPiece};
use avocet_protocol::chat::SessionId;
use avocet_protocol::ignore_result;

use super::EditorSession;
use crate::editor::Editor;
use crate::terminals::has_terminals;

/// Tells the daemon what the editor can do. Without it, the agent works with the disk.
pub(super) async fn attach_editor(client: &Client, session: &SessionId, editor: &Editor) {
    let files = &editor.capabilities.fs;
    let (read, write) = (files.read_text_file, files.write_text_file);
    let output = has_terminals(&editor.capabilities);
    if !read && !write && !output {
        return;
    }
    let attach = AttachEditor { chat: session.address(), read, write, output };
    if let Err(error) = client.call::<AttachEditor>(&attach).await {
        tracing::debug!(%error, "the agent does not see the unsaved files of the editor");
    }
}

impl EditorSession {
    /// Shows the output of a running command.
    pub(super) async fn show_output(&mut self, OutputPiece { call, text, .. }: OutputPiece) {
        if self.calls.is_before_start(call) {
            self.show_calls().await;
        }
        if let Some(update) = self.calls.add_output(call, &text) {
            self.editor.update(update);
        }
    }

    /// Passes a request to the editor, beside the session: a call of a tool waits for the answer.
    pub(super) fn pass_to_editor(&self, call: EditorCall) {
        let editor = self.editor.clone();
        let serving = async move {
            answer(editor, call).await;
            Ok(())
        };
        ignore_result(
            self.editor.connection.spawn(serving),
            "the editor is gone, and with it this program",
        );
    }
}

async fn answer(editor: Editor, EditorCall { action, reply }: EditorCall) {
    match action {
        EditorAction::Read(path) => {
            let request = ReadTextFileRequest::new(editor.id, path);
            match editor.connection.send_request(request).block_task().await {
                Ok(read) => reply.send_text(read.content).await,
                Err(error) => reply.refuse_with(&error.message).await,
            }
        }
        EditorAction::Write(path, text) => {
            let request = WriteTextFileRequest::new(editor.id, path, text);
            match editor.connection.send_request(request).block_task().await {
                Ok(_) => reply.confirm_saved().await,
                Err(error) => reply.refuse_with(&error.message).await,
            }
        }
    }
}
