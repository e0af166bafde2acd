//! The port of who decides about calls that have to be allowed.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ChatAddress, Grant, SessionId, StoreError, Timestamp, WaitId};

/// How the result of a call begins that an owner has denied.
pub(crate) const DENIED: &str = "denied by the owner";
/// The result of a call whose approval expired.
pub const EXPIRED: &str = "denied: nobody allowed the call in time";

/// Calls that wait for a person to allow them.
#[async_trait]
pub trait Approvals: fmt::Debug + Send + Sync {
    /// Those that wait, in the order in which they were asked; `after` is the last one that is known already.
    async fn open(
        &self,
        limit: u32,
        after: Option<WaitId>,
    ) -> Result<Vec<OpenApproval>, StoreError>;

    /// Decides about one of them; false if it does not wait any more. Durable when this returns.
    async fn decide(&self, wait: WaitId, decision: ApprovalDecision) -> Result<bool, StoreError>;
}

/// A call that waits for a person to allow it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenApproval {
    /// By which it is decided about.
    pub id: WaitId,
    /// The conversation.
    pub session: SessionId,
    /// Where it was asked; none for a turn that has no chat.
    pub chat: Option<ChatAddress>,
    /// What is called, as the model has called it.
    pub tool: String,
    /// With what, whole.
    pub arguments: Map<String, Value>,
    /// What is allowed with it if it is allowed for the session.
    pub grant: Option<Grant>,
    /// When it counts as denied.
    pub expires_at: Timestamp,
}

/// What a person says to a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum ApprovalDecision {
    /// This call may run.
    Once,
    /// And those that are like it, in the session.
    ForSession,
    /// It does not run.
    Denied {
        /// What the model is told of the reason.
        #[serde(default)]
        why: Option<String>,
    },
}

impl ApprovalDecision {
    /// What becomes of the call.
    #[must_use]
    pub fn resolution(&self) -> crate::Resolution {
        use crate::Resolution;
        match self {
            Self::Once => Resolution::Run,
            Self::ForSession => Resolution::RunAlways,
            Self::Denied { why: Some(why) } => {
                Resolution::Error(format!("{DENIED}, who says: {why}"))
            }
            Self::Denied { why: None } => Resolution::Error(format!(
                "{DENIED}; do not try to reach the same in another way, go on without it or say what you \
                 need it for"
            )),
        }
    }
}
