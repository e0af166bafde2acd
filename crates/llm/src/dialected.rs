//! A model that writes its tool calls as text, or is found to: around every provider's model.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use avocet_protocol::{Delta, Deltas, Model, ModelError, ModelFacts, ModelReply, ModelRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dialects::{self, Dialect, Reader, Streamed};

/// How a provider's models call tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolStyle {
    /// As the provider's API has it. A call that is written as text all the same is read, too.
    #[default]
    Native,
    /// Not at all: no tools are offered.
    None,
    /// As messages to `functions.NAME`: gpt-oss.
    Harmony,
    /// As JSON in `<tool_call>`: Hermes, Qwen.
    Hermes,
    /// As JSON in a fence: the best guess for a model of which nothing is known.
    Json,
    /// As JSON behind `<|python_tag|>`: Llama.
    Llama,
    /// As JSON behind `[TOOL_CALLS]`: Mistral.
    Mistral,
    /// As `Action:` and `Action Input:`.
    React,
    /// As commands in a fence.
    Shell,
    /// As tags: `<tool_use>`.
    Xml,
}

impl ToolStyle {
    /// The dialect in which calls are text.
    fn dialect(self) -> Option<&'static dyn Dialect> {
        dialects::named(match self {
            Self::Native | Self::None => return None,
            Self::Harmony => "harmony",
            Self::Hermes => "hermes",
            Self::Json => "json",
            Self::Llama => "llama",
            Self::Mistral => "mistral",
            Self::React => "react",
            Self::Shell => "shell",
            Self::Xml => "xml",
        })
    }
}

/// A model whose calls are read from its text. Every model of a provider that leaves calls in the text
/// has to be in one of these, or their marks reach the chat.
#[derive(Debug)]
pub struct Dialected {
    model: Arc<dyn Model>,
    style: ToolStyle,
}

impl Dialected {
    /// `model`, calling tools in this style.
    #[must_use]
    pub fn new(model: Arc<dyn Model>, style: ToolStyle) -> Self {
        Self { model, style }
    }

    /// The request as the model takes it; none if that is what it is.
    fn translated(&self, request: &ModelRequest) -> Option<ModelRequest> {
        let tools = match self.style {
            ToolStyle::Native => return None,
            ToolStyle::None => &[][..],
            _ => &request.tools,
        };
        let dialect = self.style.dialect().unwrap_or(dialects::PLAIN);
        let messages = dialects::as_text(dialect, &request.messages, tools);
        Some(ModelRequest { messages, tools: Arc::new([]), images: request.images.clone() })
    }
}

#[async_trait]
impl Model for Dialected {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn facts(&self) -> ModelFacts {
        self.model.facts().await
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let tools = if self.style == ToolStyle::None { &[][..] } else { &request.tools };
        let reader = Reader { told: self.style.dialect(), tools };
        let streamed = Mutex::new(Streamed::new(reader));
        let lock = || streamed.lock().unwrap_or_else(PoisonError::into_inner);
        let pass = |delta: Delta<'_>| match delta {
            Delta::Text(piece) => lock().push(piece, deltas),
            Delta::Restart => {
                lock().restart();
                deltas(Delta::Restart);
            }
        };
        let translated = self.translated(request);
        let reply = self.model.complete(translated.as_ref().unwrap_or(request), &pass).await?;
        let streamed = streamed.into_inner().unwrap_or_else(PoisonError::into_inner);
        let read = streamed.finish(&reply.text, reply.truncated, deltas);
        if let Some(dialect) = read.dialect {
            tracing::debug!(model = self.name(), dialect = dialect.name(), "calls are in the text");
        }
        let calls = match self.style {
            ToolStyle::None => Vec::new(),
            // What is written beside native calls is their copy.
            _ if !reply.calls.is_empty() => reply.calls,
            _ => read.calls,
        };
        Ok(ModelReply { text: read.text, calls, ..reply })
    }
}

#[cfg(test)]
#[path = "dialected_tests.rs"]
mod tests;
