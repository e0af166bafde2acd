//! The configuration of an OpenAI-compatible provider.

use avocet_net::{NetError, check_url};
use avocet_protocol::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Limits, ToolStyle};

/// A provider of kind `openai`: OpenAI, OpenRouter, Ollama, llama.cpp, vLLM, LM Studio.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OpenAiConfig {
    /// Where the API is, up to and including its version.
    pub base_url: String,
    /// The key; leave it out where none is wanted. Best not written here but referred to:
    /// `"${OPENAI_API_KEY}"`, `"${file:/etc/avocet/key}"` or `"${credential:openai}"`.
    pub api_key: Option<Secret>,
    /// Seconds until the first piece of an answer.
    pub first_token_seconds: u64,
    /// Seconds from one piece of an answer to the next.
    pub gap_seconds: u64,
    /// Seconds until the end of an answer.
    pub total_seconds: u64,
    /// How often a request is made again where that can help.
    pub max_retries: usize,
    /// Tokens that one answer may have; the provider's own limit by default.
    pub max_output_tokens: Option<u32>,
    /// Whether the models see pictures; by default what is known of each. Those that do not refuse every
    /// request that has one.
    pub images: Option<bool>,
    /// How the models call tools: `native`, by the API; `none`, not at all; or as text, in a dialect,
    /// for models and servers without native calls: `harmony`, `hermes`, `json`, `llama`, `mistral`,
    /// `react`, `shell`, `xml`. By default what is known of each model, `native` if nothing is.
    pub tools: Option<ToolStyle>,
}

impl Default for OpenAiConfig {
    fn default() -> Self {
        let Limits { first_token, gap, total } = Limits::default();
        Self {
            base_url: "https://api.openai.com/v1".to_owned(),
            api_key: None,
            first_token_seconds: first_token.as_secs(),
            gap_seconds: gap.as_secs(),
            total_seconds: total.as_secs(),
            max_retries: 3,
            max_output_tokens: None,
            images: None,
            tools: None,
        }
    }
}

impl OpenAiConfig {
    /// Whether requests can be sent to `base_url`.
    ///
    /// # Errors
    /// [`NetError::Invalid`] says why not.
    pub fn check_base_url(&self) -> Result<(), NetError> {
        check_url(&self.base_url)
    }

    pub(super) fn limits(&self) -> Limits {
        Limits::of_seconds(self.first_token_seconds, self.gap_seconds, self.total_seconds)
    }
}
