//! The port of everything that stands between a call and its tool: lookup, validation, policy,
//! time limit.

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
    /// What it is called elsewhere, and may be called here: no other tool has these names.
    pub aliases: Vec<String>,
    /// What it does and when to use it.
    pub description: String,
    /// JSON Schema of an object. Keys that begin with `x-` are ours: of a property, `x-aliases` are other
    /// names, and `x-range` is the property that ends a range. No provider is sent them.
    pub parameters: Value,
}

/// A call that may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedCall {
    /// What a crash in the middle of it means.
    pub class: ToolClass,
    /// Whether it may run beside other calls that say the same.
    pub parallel: bool,
    /// What a verifiable tool notes before it acts.
    pub evidence: Option<Evidence>,
    /// How far its result may be believed, and its error, unless the result says otherwise.
    pub trust: Trust,
    /// Bytes of its result that a model is given at once.
    pub output: usize,
    /// What a person has to allow first; none if nobody has to, or somebody has.
    pub approval: Option<WaitRequest>,
}

/// Everything that stands between a call and its tool.
#[async_trait]
pub trait Toolbox: fmt::Debug + Send + Sync {
    /// The tools that are offered to this role in this place, sorted by name: the same at all times.
    fn specs(&self, role: Role, place: &Place) -> Arc<[ToolSpec]>;

    /// Checks name, role, arguments and policy. `allowed` is a digest of what the person was shown who has
    /// allowed this call; what would be shown otherwise by now is asked for again.
    ///
    /// # Errors
    /// [`ToolError`] says to the model what is wrong; nothing has happened.
    async fn prepare(
        &self,
        call: &ToolCall,
        allowed: Option<&str>,
        context: &ToolContext,
    ) -> Result<PreparedCall, ToolError>;

    /// Runs a call that was prepared, within its time limit.
    ///
    /// # Errors
    /// [`ToolError`] says to the model what went wrong.
    async fn execute(
        &self,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError>;

    /// What a person has to allow before this answer is given; none if it carries nothing away. Called for
    /// every answer; what was read is in the context.
    fn hold(&self, text: &str, context: &ToolContext) -> Option<WaitRequest>;

    /// What a person is asked about a call whose outcome nobody knows, because it was interrupted: whether it is
    /// run again. The call stands in it as a person has it shown, without secrets.
    async fn interrupted(&self, call: &ToolCall, context: &ToolContext) -> Content;

    /// Whether a verifiable call that a crash interrupted has happened.
    async fn verify(&self, call: &ToolCall, evidence: &Evidence) -> Verdict;
}
