//! The port that asks a model for an answer by a JSON Schema, for scripts.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::chat::SessionId;
use crate::daemon::Live;
use crate::store::StoreError;

/// Asks for answers that are JSON.
#[async_trait]
pub trait AskJson: fmt::Debug + Send + Sync {
    /// Asks the model of the session's agent, outside of the conversation and without tools.
    ///
    /// # Errors
    /// [`AskJsonError`]. A model that gives no matching answer is no error.
    async fn ask_json(&self, question: &JsonQuestion) -> Result<JsonAnswer, AskJsonError>;
}

#[async_trait]
impl<T: AskJson> AskJson for Live<T> {
    async fn ask_json(&self, question: &JsonQuestion) -> Result<JsonAnswer, AskJsonError> {
        self.now().ask_json(question).await
    }
}

/// A question whose answer is JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonQuestion {
    /// The session, whose agent and model answer.
    pub session: SessionId,
    /// The question.
    pub text: String,
    /// The JSON Schema of the answer.
    pub schema: Value,
}

/// The answer to a [`JsonQuestion`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonAnswer {
    /// `provider/model`.
    pub model: String,
    /// The number of requests to the model.
    pub requests: u32,
    /// The answer; absent if no answer matches the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// The faults of the last answer; empty if it matches.
    pub faults: Vec<String>,
}

/// The reason why a question was not answered.
#[derive(Debug, thiserror::Error)]
pub enum AskJsonError {
    /// The schema is invalid. The text names the place.
    #[error("the JSON Schema is invalid: {0}")]
    Schema(String),
    /// A budget is used up, the model is unavailable or gave no answer.
    #[error("{0}")]
    Refused(String),
    /// The log failed.
    #[error(transparent)]
    Log(#[from] StoreError),
}
