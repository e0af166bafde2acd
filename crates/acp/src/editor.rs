//! The editor's end of a session: updates and requests to it.

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ClientCapabilities, ContentBlock, ContentChunk, SessionId, SessionNotification, SessionUpdate,
};
use agent_client_protocol::{Client as EditorRole, Error, ErrorCode};

/// A session in the editor.
#[derive(Debug, Clone)]
pub(crate) struct Editor {
    pub(crate) connection: ConnectionTo<EditorRole>,
    pub(crate) id: SessionId,
    pub(crate) capabilities: ClientCapabilities,
}

impl Editor {
    /// Sends an update. If the editor is gone, the input ends, and so does the program.
    pub(crate) fn update(&self, update: SessionUpdate) {
        let notification = SessionNotification::new(self.id.clone(), update);
        if let Err(error) = self.connection.send_notification(notification) {
            tracing::debug!(%error, "cannot send an update to the editor");
        }
    }

    /// Shows text of the agent.
    pub(crate) fn say(&self, text: &str) {
        if !text.is_empty() {
            self.update(SessionUpdate::AgentMessageChunk(chunk(text)));
        }
    }

    /// Shows text of a person.
    pub(crate) fn quote(&self, text: &str) {
        if !text.is_empty() {
            self.update(SessionUpdate::UserMessageChunk(chunk(text)));
        }
    }

    /// Shows the agent's work that is no text for the person.
    pub(crate) fn think(&self, text: &str) {
        self.update(SessionUpdate::AgentThoughtChunk(chunk(text)));
    }

    /// Returns `true` if the editor can show a form.
    pub(crate) fn has_forms(&self) -> bool {
        self.capabilities.elicitation.as_ref().is_some_and(|offered| offered.form.is_some())
    }
}

fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::from(text))
}

/// An error whose message the editor shows.
pub(crate) fn failed(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::INTERNAL_ERROR, message)
}

/// An error about a parameter of a request.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::INVALID_PARAMS, message)
}
