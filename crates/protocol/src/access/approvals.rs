//! The port for decisions about calls that need approval.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::access::Grant;
use crate::chat::{ChatAddress, Choice, Content, SessionId};
use crate::clock::Timestamp;
use crate::ids::WaitId;
use crate::store::StoreError;

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
    /// The question as a person reads it.
    pub card: ApprovalCard,
}

/// The question about a call. Chats, the web console, the command line, editors and forms of MCP
/// clients show this text and these choices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalCard {
    /// The call itself, the reason for the question, and what a choice covers, as Markdown.
    pub text: String,
    /// The choices, in the order of their buttons.
    pub choices: Vec<ApprovalChoice>,
}

/// A choice of an [`ApprovalCard`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalChoice {
    /// The words of the button.
    pub label: String,
    /// What the button does. A denial has no reason yet.
    pub decision: ApprovalDecision,
}

impl ApprovalCard {
    /// Makes the card of a prompt, whose buttons send `/approve` or `/deny`.
    #[must_use]
    pub fn from_prompt(prompt: &Content) -> Self {
        let choices = prompt.choices.iter().map(|Choice { label, says }| {
            let decision = match says.split_whitespace().collect::<Vec<_>>()[..] {
                ["/approve", _, "session"] => ApprovalDecision::ForSession,
                ["/approve", ..] => ApprovalDecision::Once,
                _ => ApprovalDecision::Denied { why: None },
            };
            ApprovalChoice { label: label.clone(), decision }
        });
        Self { text: prompt.text.clone(), choices: choices.collect() }
    }

    /// Makes a card without a reason, for a call whose question was not kept.
    #[must_use]
    pub fn from_call(tool: &str, has_grant: bool) -> Self {
        let choice = |label: &str, decision| ApprovalChoice { label: label.to_owned(), decision };
        let for_session =
            has_grant.then(|| choice("Allow for this session", ApprovalDecision::ForSession));
        let mut choices = vec![choice("Allow once", ApprovalDecision::Once)];
        choices.extend(for_session);
        choices.push(choice("Deny", ApprovalDecision::Denied { why: None }));
        Self { text: format!("**May I use `{tool}`?**"), choices }
    }
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
