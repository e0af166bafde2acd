//! The state of a message of the preview, and the result of a change.

use std::time::Duration;

use avocet_protocol::chat::Content;
use avocet_protocol::ids::{DeliveryId, PlatformId};

/// The state of a message of the preview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PreviewState {
    /// The message may begin: this run of the turn knows of none.
    Nowhere,
    /// Shown as a draft of the platform, which no row of the log knows.
    Draft,
    /// Shown in this message.
    In(DeliveryId, PlatformId),
    /// Shown in this message, whose content is final as long as the text does not change.
    Complete(DeliveryId, PlatformId),
    /// Shown in this message. An earlier edit of unknown outcome may still change the message, so the
    /// end of the turn edits it once more.
    Unsure(DeliveryId, PlatformId),
    /// The message does not change again before the end of the turn.
    Over,
}

/// The result of showing content.
#[derive(Debug)]
pub(super) struct ShowResult {
    pub(super) state: PreviewState,
    /// Content that the chat shows now; `None` if unchanged.
    pub(super) content: Option<Content>,
    /// Time for which the platform asked to wait.
    pub(super) hold: Option<Duration>,
}

impl ShowResult {
    pub(super) fn without_content(state: PreviewState) -> Self {
        Self { state, content: None, hold: None }
    }

    /// Keeps the message from being complete.
    pub(super) fn with_unsure_message(mut self) -> Self {
        if let PreviewState::In(id, message) = self.state {
            self.state = PreviewState::Unsure(id, message);
        }
        self
    }
}
