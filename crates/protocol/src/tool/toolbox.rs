//! The port between calls and tools: lookup, validation, policy, time limit.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::access::{Role, Trust};
use crate::chat::{Content, SessionId};
use crate::model::ToolCall;
use crate::tool::{
    Evidence, Place, ToolClass, ToolContext, ToolError, ToolOutcome, UsedBits, Verdict, WaitRequest,
};
use avocet_text::{Redactor, fits_pattern, main_argument};

/// The key in the parameters of a tool whose description is untrusted text.
pub const UNTRUSTED_TOOL: &str = "x-untrusted";

/// Characters of [`Toolbox::about`].
pub const MAX_ABOUT: usize = 60;

/// A tool as it is offered to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// Names of the tool in other agents, accepted here too. No other tool has these names.
    pub aliases: Vec<String>,
    /// The tools that belong together have the same group. Their schemas are loaded together.
    pub group: String,
    /// Its purpose and when to use it.
    pub description: String,
    /// JSON Schema of an object. Keys that begin with `x-` are for internal use and are sent to no
    /// provider. Keys of a property:
    ///
    /// - `x-aliases`: other names;
    /// - `x-range`: the property that ends a range;
    /// - `x-rare`: keeps the property out of requests;
    /// - `x-loads`: the group of tools that a call with the property needs next.
    ///
    /// The key [`UNTRUSTED_TOOL`] of the object marks an untrusted description.
    pub parameters: Value,
}

impl ToolSpec {
    /// Returns `true` if a call with this name is for the tool.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// The trust level of the description.
    #[must_use]
    pub fn trust(&self) -> Trust {
        if self.parameters[UNTRUSTED_TOOL] == true { Trust::Low } else { Trust::Full }
    }

    /// The bytes of the tool in a request, without the provider's own marks around it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.parameters.to_string().len()
    }
}

/// Returns `true` for the schema of an argument that no request shows, because it is rarely needed.
#[must_use]
pub fn is_rare(property: &Value) -> bool {
    property["x-rare"] == true
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
    /// A lock or the like, which the toolbox needs until the call has ended.
    pub held: HeldForCall,
}

/// Something that a toolbox holds from the preparation of a call to its end, such as a lock.
#[derive(Debug, Clone, Default)]
pub struct HeldForCall(pub Option<Arc<dyn fmt::Debug + Send + Sync>>);

/// All are equal: what is held says nothing about the call.
impl PartialEq for HeldForCall {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for HeldForCall {}

/// The layer between calls and tools.
#[async_trait]
pub trait Toolbox: fmt::Debug + Send + Sync {
    /// The tools that are offered to this role in this place, sorted by name. While the list
    /// stays the same, the same object is returned.
    fn specs(&self, role: Role, place: &Place) -> Arc<[ToolSpec]>;

    /// The same, with the tools that the session alone has, such as those of an editor's MCP servers.
    fn specs_in_session(&self, _session: &SessionId, role: Role, place: &Place) -> Arc<[ToolSpec]> {
        self.specs(role, place)
    }

    /// The reason why a tool, by the name of a call, is refused even to an owner in a place; `None` if
    /// it may be called there, or is no tool.
    fn refusal_in(&self, _tool: &str, _session: &SessionId, _place: &Place) -> Option<String> {
        None
    }

    /// Returns `true` if a name in the `allowed-tools` of a skill stands for the tool `name`.
    fn skill_allows(&self, pattern: &str, name: &str) -> bool {
        fits_pattern(pattern, name)
    }

    /// Describes what these tools enforce of an owner's rule, after "It also"; `None` if the rule is
    /// text for the model only.
    fn describe_rule(&self, _text: &str) -> Option<String> {
        None
    }

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

    /// Returns the main argument of a call in one line, without secrets, for people who watch.
    fn about(&self, call: &ToolCall) -> Option<String> {
        main_argument(&call.arguments.to_object(), MAX_ABOUT, &Redactor::default())
    }

    /// Returns the approval that an answer needs before it is sent; `None` if it reveals nothing.
    /// Called for every answer; `context` contains the text that the model has read.
    fn hold(&self, text: &str, context: &ToolContext) -> Option<WaitRequest>;

    /// Returns the bits that the choices of a turn have told before the call of `context`, and its
    /// budget; `None` without such a budget. `context` contains everything that the turn has read.
    fn used_bits(&self, _context: &ToolContext) -> Option<UsedBits> {
        None
    }

    /// Returns `true` if calls of the conversation may have changed files that a person has not
    /// reviewed.
    fn has_changes(&self, _session: &SessionId) -> bool {
        false
    }

    /// Returns the review that these changes need before an answer ends the turn; `None` if nothing is
    /// changed. Only called if [`Self::has_changes`].
    async fn review_changes(&self, _text: &str, _context: &ToolContext) -> Option<WaitRequest> {
        None
    }

    /// Ends a review: the changes stay. With the grant of the review, the files are trusted from now
    /// on.
    async fn keep_changes(&self, _context: &ToolContext) {}

    /// Ends a review: the files get their earlier content.
    async fn undo_changes(&self, _context: &ToolContext) {}

    /// The question about an interrupted call of unknown outcome: if it should be run again. The
    /// call is shown as in an approval, without secrets.
    async fn interrupted(&self, call: &ToolCall, context: &ToolContext) -> Content;

    /// Finds out if a verifiable call that a crash interrupted has taken effect.
    async fn verify(&self, call: &ToolCall, evidence: &Evidence) -> Verdict;
}
