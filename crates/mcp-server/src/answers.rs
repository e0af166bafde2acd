//! The results of tools, and their errors.

use avocet_gateway::RpcError;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use crate::host::MethodError;

/// An error that the client's model reads: the fault, and its correction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolProblem {
    pub(crate) text: String,
    /// `true` if the daemon cannot be reached.
    pub(crate) is_lost: bool,
}

impl ToolProblem {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_lost: false }
    }

    /// Adds a hint for a daemon that was lost while `message` was answered.
    pub(crate) fn while_waiting(self, message: &str) -> Self {
        if !self.is_lost {
            return self;
        }
        let text = format!(
            "{}; the message {message} is in the log, and its answer comes once the daemon runs \
             again: call ask with message {message}",
            self.text
        );
        Self { text, ..self }
    }

    pub(crate) fn into_call_result(self) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text(self.text)])
    }
}

impl From<MethodError> for ToolProblem {
    fn from(error: MethodError) -> Self {
        let is_lost = match &error {
            MethodError::Lost(_) => true,
            MethodError::Refused(refusal) => refusal.code == RpcError::UNAVAILABLE,
        };
        Self { text: error.to_string(), is_lost }
    }
}

/// Returns a result with a text for people, and the same facts as JSON.
pub(crate) fn text_and_data(text: impl Into<String>, structured: Value) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text.into())]);
    result.structured_content = Some(structured);
    result
}
