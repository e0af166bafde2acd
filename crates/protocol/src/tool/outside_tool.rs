//! The port of tools that are known only at run time, such as those of MCP servers.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::tool::{Caution, Description, Leaving, ToolContext, ToolError, ToolOutcome};

/// A tool whose description comes from another program.
#[async_trait]
pub trait OutsideTool: fmt::Debug + Send + Sync {
    /// Returns the description of the tool. Its trust also applies to the description itself.
    fn describe(&self) -> Description;

    /// Returns the JSON Schema of the arguments.
    fn schema(&self) -> Value;

    /// Returns the degree of caution for a call, used if the operator has no rule for the tool.
    fn caution(&self) -> Caution;

    /// Returns the data that a call sends away: see [`Tool::leaving`](crate::tool::Tool::leaving).
    fn leaving(&self, arguments: &Map<String, Value>) -> Vec<Leaving>;

    /// Runs one call, whose arguments are valid.
    ///
    /// # Errors
    /// [`ToolError`], whose text is written for the model.
    async fn execute(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError>;
}

/// Tools that come and go while the daemon runs.
pub trait ToolSource: fmt::Debug + Send + Sync {
    /// Returns a number that changes with each change of the tools.
    fn version(&self) -> u64;

    /// Returns the present tools.
    fn tools(&self) -> Vec<Arc<dyn OutsideTool>>;

    /// Returns `true` if a tool of this source can have a name that matches the pattern.
    fn may_have(&self, pattern: &str) -> bool;
}
