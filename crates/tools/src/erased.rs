//! A tool without its type: what the registry keeps.

use async_trait::async_trait;
use avocet_protocol::{Evidence, Tool, ToolContext, ToolError, ToolOutcome, Verdict};
use serde_json::{Map, Value};

/// The erased twin of [`Tool`]: arguments are JSON that its schema has accepted.
#[async_trait]
pub(crate) trait ErasedTool: std::fmt::Debug + Send + Sync {
    async fn prepare(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<Option<Evidence>, ToolError>;

    async fn execute(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError>;

    async fn verify(&self, evidence: &Evidence) -> Verdict;
}

#[async_trait]
impl<T: Tool> ErasedTool for T {
    async fn prepare(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<Option<Evidence>, ToolError> {
        Tool::prepare(self, &typed::<T>(arguments)?, context).await
    }

    async fn execute(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        Tool::execute(self, typed::<T>(arguments)?, context).await
    }

    async fn verify(&self, evidence: &Evidence) -> Verdict {
        Tool::verify(self, evidence).await
    }
}

/// What the schema does not say, for example that a number is too large, the type does.
fn typed<T: Tool>(arguments: &Map<String, Value>) -> Result<T::Arguments, ToolError> {
    serde_json::from_value(Value::Object(arguments.clone()))
        .map_err(|error| ToolError::InvalidArgs(error.to_string()))
}
