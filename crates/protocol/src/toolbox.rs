//! The port between calls and tools: lookup, validation, policy, time limit.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::{
    Content, Evidence, Place, Role, ToolCall, ToolClass, ToolContext, ToolError, ToolOutcome,
    Trust, Verdict, WaitRequest,
};

/// A tool as it is offered to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// Names of the tool in other agents, accepted here too. No other tool has these names.
    pub aliases: Vec<String>,
    /// Its purpose and when to use it.
    pub description: String,
    /// JSON Schema of an object. Keys that begin with `x-` are for internal use and are sent to no
    /// provider: of a property, `x-aliases` are other names, and `x-range` is the property that
    /// ends a range.
    pub parameters: Value,
}

/// A call that may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedCall {
    /// The class, which decides about the call after a crash.
    pub class: ToolClass,
    /// `true` if the call may run at the same time as other parallel calls.
    pub parallel: bool,
    /// The state that a verifiable tool records before it acts.
    pub evidence: Option<Evidence>,
    /// The trust level of its result or error, unless the result sets its own.
    pub trust: Trust,
    /// Bytes of its result that a model gets at once.
    pub output: usize,
    /// The approval that is still needed; `None` if the call needs none or already has it.
    pub approval: Option<WaitRequest>,
}

/// The layer between calls and tools.
#[async_trait]
pub trait Toolbox: fmt::Debug + Send + Sync {
    /// The tools that are offered to this role in this place, sorted by name. The list never
    /// changes.
    fn specs(&self, role: Role, place: &Place) -> Arc<[ToolSpec]>;

    /// Checks name, role, arguments and policy. `allowed` is a digest of the question that a person
    /// approved for this call. If the question would be different now, approval is requested again.
    ///
    /// # Errors
    /// [`ToolError`] tells the model the problem; the call has had no effect yet.
    async fn prepare(
        &self,
        call: &ToolCall,
        allowed: Option<&str>,
        context: &ToolContext,
    ) -> Result<PreparedCall, ToolError>;

    /// Runs a prepared call within its time limit.
    ///
    /// # Errors
    /// [`ToolError`] tells the model the problem.
    async fn execute(
        &self,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError>;

    /// Returns the approval that an answer needs before it is sent; `None` if it reveals nothing.
    /// Called for every answer; `context` contains the text that the model has read.
    fn hold(&self, text: &str, context: &ToolContext) -> Option<WaitRequest>;

    /// The question about an interrupted call of unknown outcome: if it should be run again. The
    /// call is shown as in an approval, without secrets.
    async fn interrupted(&self, call: &ToolCall, context: &ToolContext) -> Content;

    /// Finds out if a verifiable call that a crash interrupted has taken effect.
    async fn verify(&self, call: &ToolCall, evidence: &Evidence) -> Verdict;
}
