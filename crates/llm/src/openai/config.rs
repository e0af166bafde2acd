//! The configuration of an OpenAI-compatible provider.

use std::collections::BTreeMap;

use avocet_net::{HttpClient, NetError, check_public_url, check_url};
use avocet_protocol::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::quirks::{MaxTokensField, OpenAiApi, SystemRole};
use crate::{RequestTimeouts, TextCalls, ToolStyle};

/// A provider of kind `openai`: OpenAI, OpenRouter, Ollama, llama.cpp, vLLM, LM Studio.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OpenAiConfig {
    /// Where the API is, up to and including its version.
    pub base_url: String,
    /// The key; leave it out where none is wanted. Best not written here but referred to:
    /// `"${OPENAI_API_KEY}"`, `"${file:/etc/avocet/key}"` or `"${credential:openai}"`.
    pub api_key: Option<Secret>,
    /// Which API is spoken: `chat`, the completions that everybody has, or `responses`, in which
    /// OpenAI's models keep what they thought before a call.
    pub api: OpenAiApi,
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
    /// How much a reasoning model thinks, in the words of its provider: `low`, `medium`, `high`.
    pub reasoning_effort: Option<String>,
    /// Whether the models see pictures; by default what is known of each. Those that do not refuse every
    /// request that has one.
    pub images: Option<bool>,
    /// How the models call tools: `native`, by the API; `none`, not at all; or as text, in a dialect,
    /// for models and servers without native calls: `harmony`, `hermes`, `json`, `llama`, `mistral`,
    /// `react`, `shell`, `xml`. By default what is known of each model, `native` if nothing is.
    pub tools: Option<ToolStyle>,
    /// What is done with a call that a model writes as text although its calls are native. `ask`, the
    /// default: it runs by itself if it only reads; an owner is asked before any other; it is plain text if
    /// more text follows, or if it is framed as an example or a question. `run`: it runs, as a native call
    /// does. `ignore`: it is plain text.
    pub text_calls: Option<TextCalls>,
    /// How much chance there is in what is written, 0 to 2; the provider's own value by default.
    pub temperature: Option<f64>,
    /// What the limit of an answer is called: `max_tokens`, or `max_completion_tokens`, which is the
    /// default at `api.openai.com` because its reasoning models refuse the other. Only of `chat`.
    pub max_tokens_field: Option<MaxTokensField>,
    /// Who gives the instructions: `system`, `developer`, or `user` for models whose template has
    /// neither: they stand before the first message then. Only of `chat`.
    pub system_role: SystemRole,
    /// Whether answers are asked for piece by piece. Without it nothing is shown before the end, and
    /// only `total_seconds` limits the wait.
    pub stream: bool,
    /// Whether tokens are asked to be counted in a stream. Some servers refuse `stream_options`; tokens
    /// are estimated then. Only of `chat`.
    pub stream_usage: bool,
    /// Headers of every request beside the key. Their values may be secrets.
    pub headers: BTreeMap<String, Secret>,
    /// What every request says besides; tables are merged into what is there.
    pub extra_body: BTreeMap<String, Value>,
    /// Whether whoever runs the server is not trusted: it is reached at public addresses only, whatever
    /// its name resolves to, and never on this host or its network.
    pub untrusted: bool,
}

impl Default for OpenAiConfig {
    fn default() -> Self {
        let RequestTimeouts { first_token, gap, total } = RequestTimeouts::default();
        Self {
            base_url: "https://api.openai.com/v1".to_owned(),
            api_key: None,
            api: OpenAiApi::Chat,
            first_token_seconds: first_token.as_secs(),
            gap_seconds: gap.as_secs(),
            total_seconds: total.as_secs(),
            max_retries: 3,
            max_output_tokens: None,
            reasoning_effort: None,
            images: None,
            tools: None,
            text_calls: None,
            temperature: None,
            max_tokens_field: None,
            system_role: SystemRole::System,
            stream: true,
            stream_usage: true,
            headers: BTreeMap::new(),
            extra_body: BTreeMap::new(),
            untrusted: false,
        }
    }
}

impl OpenAiConfig {
    /// Checks that requests can be sent to `base_url`.
    ///
    /// # Errors
    /// [`NetError::Invalid`] with the reason.
    pub fn check_base_url(&self) -> Result<(), NetError> {
        match self.untrusted {
            true => check_public_url(&self.base_url),
            false => check_url(&self.base_url),
        }
    }

    /// Creates the HTTP client for the server.
    pub(super) fn client(&self) -> Result<HttpClient, NetError> {
        match self.untrusted {
            true => HttpClient::untrusted(&self.headers),
            false => HttpClient::with_headers(&self.headers),
        }
    }

    /// The timeouts. Without streaming, the first token arrives with the complete answer.
    pub(crate) fn limits(&self) -> RequestTimeouts {
        let first = if self.stream { self.first_token_seconds } else { self.total_seconds };
        RequestTimeouts::of_seconds(first, self.gap_seconds, self.total_seconds)
    }
}
