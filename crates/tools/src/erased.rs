//! A tool without its type: what the registry keeps.

use async_trait::async_trait;
use avocet_protocol::{
    Caution, Evidence, Question, Tool, ToolContext, ToolError, ToolOutcome, Verdict,
};
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

    fn review(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<Review, ToolError>;

    async fn question(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<Option<Question>, ToolError>;
}

/// What a tool says of a call before it is made.
#[derive(Debug, Clone)]
pub(crate) struct Review {
    pub(crate) caution: Caution,
    /// See [`Tool::leaving`].
    pub(crate) leaving: Vec<String>,
    /// See [`Tool::paths`].
    pub(crate) paths: Vec<String>,
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

    fn review(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<Review, ToolError> {
        let arguments = typed::<T>(arguments)?;
        Ok(Review {
            caution: Tool::caution(self, &arguments, context),
            leaving: Tool::leaving(self, &arguments),
            paths: Tool::paths(self, &arguments),
        })
    }

    async fn question(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<Option<Question>, ToolError> {
        Ok(Tool::question(self, &typed::<T>(arguments)?, context).await)
    }
}

/// What the schema does not say, for example that a number is too large, the type does.
fn typed<T: Tool>(arguments: &Map<String, Value>) -> Result<T::Arguments, ToolError> {
    serde_json::from_value(Value::Object(arguments.clone()))
        .map_err(|error| ToolError::InvalidArgs(error.to_string()))
}
