//! The port through which a conversation is deleted.

use std::fmt;

use async_trait::async_trait;

use super::Result;
use crate::chat::SessionId;

/// Deletes conversations from the log.
#[async_trait]
pub trait SessionDeletion: fmt::Debug + Send + Sync {
    /// Deletes the turns of a session with their sub-agents and deliveries, its other messages, and
    /// its settings, in several transactions. Messages that are not delivered yet are never sent.
    /// Memories, costs and the audit stay. After an error, the newest turns may be left; the same
    /// call then deletes the rest.
    async fn delete_session(&self, session: &SessionId) -> Result<DeletedSession>;
}

/// The result of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletedSession {
    /// Only its memories, costs and audit rows are left.
    Deleted {
        /// Number of its turns, without those of sub-agents.
        turns: u64,
    },
    /// The session or one of its sub-agents has an open turn, a message waits for an answer, or a
    /// delivery is under way.
    Busy,
    /// The session is that of a sub-agent. It belongs to the session that started the sub-agent.
    OfTask,
    /// The session does not exist.
    Unknown,
}
