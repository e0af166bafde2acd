//! The port for decisions about calls that need approval.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::access::Grant;
use crate::chat::{ChatAddress, SessionId};
use crate::clock::Timestamp;
use crate::ids::WaitId;
use crate::store::StoreError;
use crate::turn::DENIED;

/// The result of a call whose approval expired.
pub const EXPIRED: &str = "denied: no approval came in time";

/// Calls that wait for approval.
#[async_trait]
pub trait Approvals: fmt::Debug + Send + Sync {
    /// Returns the waiting calls, in the order of their requests. With `after`, the list continues
    /// behind that wait.
    async fn open(
        &self,
        limit: u32,
        after: Option<WaitId>,
    ) -> Result<Vec<OpenApproval>, StoreError>;

    /// Decides about a call. Returns `false` if it no longer waits. Durable when this returns.
    async fn decide(&self, wait: WaitId, decision: ApprovalDecision) -> Result<bool, StoreError>;
}

/// A call that waits for approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenApproval {
    /// The wait, which identifies the request.
    pub id: WaitId,
    /// The conversation.
    pub session: SessionId,
    /// The chat that got the question; `None` for a turn without a chat.
    pub chat: Option<ChatAddress>,
    /// The tool, by the name that the model used.
    pub tool: String,
    /// The complete arguments.
    pub arguments: Map<String, Value>,
    /// The grant that an approval for the session adds.
    pub grant: Option<Grant>,
    /// The time at which the call counts as denied.
    pub expires_at: Timestamp,
}

/// A person's decision about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum ApprovalDecision {
    /// This call may run.
    Once,
    /// This call and similar ones in the session may run.
    ForSession,
    /// The call is denied.
    Denied {
        /// The reason, for the model.
        #[serde(default)]
        why: Option<String>,
    },
}

impl ApprovalDecision {
    /// Returns the result of the wait that follows from the decision.
    #[must_use]
    pub fn resolution(&self) -> crate::store::Resolution {
        use crate::store::Resolution;
        match self {
            Self::Once => Resolution::Run,
            Self::ForSession => Resolution::RunAlways,
            Self::Denied { why: Some(why) } => {
                Resolution::denied(format!("{DENIED}; the reason: {why}"))
            }
            Self::Denied { why: None } => Resolution::denied(format!(
                "{DENIED}; do not try to get the same result in another way. Continue without it, \
                    or say why you need it"
            )),
        }
    }
}
