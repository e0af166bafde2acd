//! The port that brings attachments into the workspace before a model reads their messages.

use std::fmt;

use async_trait::async_trait;

use crate::chat::LoggedInbound;
use crate::ids::TurnId;
use crate::store::StoreError;

/// Fetches attachments from the channels.
#[async_trait]
pub trait FetchAttachments: fmt::Debug + Send + Sync {
    /// Fetches the attachments that are still on their platform, and sets their new source in
    /// `messages` and in the log. An attachment that cannot be fetched is marked as lost, with the
    /// reason. Each result is logged at once, so that every later request reads the same.
    ///
    /// # Errors
    /// [`StoreError`] if a result cannot be logged.
    async fn fetch(&self, turn: TurnId, messages: &mut [LoggedInbound]) -> Result<(), StoreError>;
}
