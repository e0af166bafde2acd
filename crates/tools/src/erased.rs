//! A tool without its type, as the registry stores it.

use async_trait::async_trait;
use avocet_protocol::tool::{
    Caution, Evidence, Leaving, Question, Tool, ToolContext, ToolError, ToolOutcome, UndoPlace,
    Verdict,
};
use serde_json::{Map, Value};

/// The object-safe twin of [`Tool`]: arguments are JSON that passed the tool's schema.
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

    async fn review(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<CallReview, ToolError>;

    /// See [`Tool::paths`].
    fn paths(&self, arguments: &Map<String, Value>) -> Result<Vec<String>, ToolError>;

    /// See [`Tool::undo_places`].
    async fn undo_places(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<Option<Vec<UndoPlace>>, ToolError> {
        let (_, _) = (arguments, context);
        Ok(None)
    }

    /// See [`Tool::leaving`].
    fn leaving(&self, arguments: &Map<String, Value>) -> Result<Vec<Leaving>, ToolError>;

    /// See [`Tool::found`].
    fn found(&self, result: &Value) -> Vec<String>;

    /// See [`Tool::answered`].
    fn answered(&self, result: &Value) -> Option<String>;

    async fn question(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<Option<Question>, ToolError>;
}

/// A tool's assessment of a call, made before the call runs.
#[derive(Debug, Clone)]
pub(crate) struct CallReview {
    pub(crate) caution: Caution,
    /// See [`Tool::leaving`].
    pub(crate) leaving: Vec<Leaving>,
}

#[async_trait]
impl<T: Tool> ErasedTool for T {
    async fn prepare(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<Option<Evidence>, ToolError> {
        Tool::prepare(self, &parse_arguments::<T>(arguments)?, context).await
    }

    async fn execute(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        Tool::execute(self, parse_arguments::<T>(arguments)?, context).await
    }

    async fn verify(&self, evidence: &Evidence) -> Verdict {
        Tool::verify(self, evidence).await
    }

    async fn review(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<CallReview, ToolError> {
        let arguments = parse_arguments::<T>(arguments)?;
        Ok(CallReview {
            caution: Tool::caution(self, &arguments, context).await,
            leaving: Tool::leaving(self, &arguments),
        })
    }

    fn paths(&self, arguments: &Map<String, Value>) -> Result<Vec<String>, ToolError> {
        Ok(Tool::paths(self, &parse_arguments::<T>(arguments)?))
    }

    async fn undo_places(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<Option<Vec<UndoPlace>>, ToolError> {
        Ok(Tool::undo_places(self, &parse_arguments::<T>(arguments)?, context).await)
    }

    fn leaving(&self, arguments: &Map<String, Value>) -> Result<Vec<Leaving>, ToolError> {
        Ok(Tool::leaving(self, &parse_arguments::<T>(arguments)?))
    }

    fn found(&self, result: &Value) -> Vec<String> {
        Tool::found(self, result)
    }

    fn answered(&self, result: &Value) -> Option<String> {
        Tool::answered(self, result)
    }

    async fn question(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<Option<Question>, ToolError> {
        Ok(Tool::question(self, &parse_arguments::<T>(arguments)?, context).await)
    }
}

/// Parses the arguments. This catches faults that the schema misses, such as a number too large.
fn parse_arguments<T: Tool>(arguments: &Map<String, Value>) -> Result<T::Arguments, ToolError> {
    serde_json::from_value(Value::Object(arguments.clone()))
        .map_err(|error| ToolError::InvalidArgs(error.to_string()))
}
