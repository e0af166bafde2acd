//! The port that tells if a conversation still works.

use std::fmt;

use async_trait::async_trait;

use super::Result;
use crate::chat::SessionId;

/// Tells if conversations still work.
#[async_trait]
pub trait SessionsAtWork: fmt::Debug + Send + Sync {
    /// Returns the state of a conversation's turns.
    async fn session_work(&self, session: &SessionId) -> Result<SessionWork>;
}

/// The state of a conversation's turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionWork {
    /// A turn runs, waits, or is queued again.
    Open,
    /// All turns have ended.
    Ended,
    /// There is no turn: the conversation was deleted, or it never had one.
    Gone,
}
