//! The port through which people continue an earlier point of a conversation in a new one.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Result;
use crate::chat::SessionId;
use crate::ids::TurnId;

/// Copies the beginning of conversations.
#[async_trait]
pub trait SessionBranches: fmt::Debug + Send + Sync {
    /// Copies turns of a session into a new session, in one transaction. The next request of the new
    /// session has the same history as the request that followed these turns. The old session stays
    /// as it is. Durable when this returns.
    ///
    /// Copied: messages, steps, calls with their results, trust levels, and the chosen model. Not
    /// copied: deliveries, waits, approvals, jobs, costs and events.
    async fn branch_session(&self, branch: &BranchSession) -> Result<BranchedSession>;
}

/// `sessions.branch`: copies the beginning of a conversation into a new one. The result is the number
/// of copied turns. Without `through` and `before`, all ended turns are copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BranchSession {
    /// The session to copy.
    pub session: SessionId,
    /// The new session: one of the same account, or of the terminal or the web console.
    pub into: SessionId,
    /// The last turn to copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<TurnId>,
    /// The first turn to leave out, for a message that is said differently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<TurnId>,
}

/// The result of [`SessionBranches::branch_session`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchedSession {
    /// This many turns were copied.
    Copied {
        /// The number of turns.
        turns: u64,
    },
    /// The session does not exist.
    UnknownSession,
    /// The session has no such turn.
    UnknownTurn(TurnId),
    /// The last turn to copy has not ended.
    OpenTurn(TurnId),
    /// The new session exists already.
    Taken,
}
