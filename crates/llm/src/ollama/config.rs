//! The configuration of a provider with Ollama's own API.

use avocet_net::check_url;
use avocet_protocol::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{RequestTimeouts, TextCalls, ToolStyle};

/// The minimum context for a conversation with tools, in tokens.
const SMALLEST_CONTEXT: u64 = 2048;

/// A provider of kind `ollama`: an Ollama server, asked for what its models can do.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OllamaConfig {
    /// Where the server is, without `/api` and without `/v1`.
    pub base_url: String,
    /// The key; leave it out where none is wanted: a server of one's own wants none. Best not written
    /// here but referred to: `"${OLLAMA_API_KEY}"`, `"${file:/etc/avocet/key}"` or
    /// `"${credential:ollama}"`.
    pub api_key: Option<Secret>,
    /// Seconds until the first piece of an answer, in which the model may have to be loaded.
    pub first_token_seconds: u64,
    /// Seconds from one piece of an answer to the next.
    pub gap_seconds: u64,
    /// Seconds until the end of an answer.
    pub total_seconds: u64,
    /// How often a request is made again where that can help.
    pub max_retries: usize,
    /// Tokens that one answer may have; what is left of the context by default.
    pub max_output_tokens: Option<u32>,
    /// Tokens that a request and its answer may have together (`num_ctx`), at least 2048; what the
    /// server says that the model takes by default, but at most 32768, because it costs memory.
    pub context_tokens: Option<u64>,
    /// Whether the model thinks before it answers, where it can; as the server has it by default. What
    /// it thinks is not shown.
    pub think: Option<bool>,
    /// Seconds that the server keeps the model loaded after an answer, below zero for ever; as the
    /// server has it by default, which is five minutes.
    pub keep_alive_seconds: Option<i64>,
    /// How the models call tools, as for kind `openai`; by default `native` for those of which the
    /// server says that they can, and `json` for the others.
    pub tools: Option<ToolStyle>,
    /// What is done with a call that a model writes as text although its calls are native, as for kind
    /// `openai`.
    pub text_calls: Option<TextCalls>,
}

impl Default for OllamaConfig {
    fn default() -> Self {
        let RequestTimeouts { gap, total, .. } = RequestTimeouts::default();
        Self {
            base_url: "http://127.0.0.1:11434".to_owned(),
            api_key: None,
            first_token_seconds: 300,
            gap_seconds: gap.as_secs(),
            total_seconds: total.as_secs(),
            max_retries: 3,
            max_output_tokens: None,
            context_tokens: None,
            think: None,
            keep_alive_seconds: None,
            tools: None,
            text_calls: None,
        }
    }
}

impl OllamaConfig {
    /// Checks that requests can be sent to `base_url`.
    ///
    /// # Errors
    /// The reason, and the correct form.
    pub fn check_base_url(&self) -> Result<(), String> {
        check_url(&self.base_url).map_err(|error| error.to_string())?;
        let server = self.server();
        match ["/v1", "/api"].into_iter().find(|path| server.ends_with(path)) {
            None => Ok(()),
            Some(path) => Err(format!(
                "leave out {path}: it is the address of the server, as http://127.0.0.1:11434"
            )),
        }
    }

    /// Checks that a conversation fits into `context_tokens`.
    ///
    /// # Errors
    /// A message with the minimum.
    pub fn check_context_tokens(&self) -> Result<(), String> {
        match self.context_tokens {
            Some(tokens) if tokens < SMALLEST_CONTEXT => {
                Err(format!("{tokens} is too few; it has to be at least {SMALLEST_CONTEXT}"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn server(&self) -> &str {
        self.base_url.trim_end_matches('/')
    }

    pub(crate) fn limits(&self) -> RequestTimeouts {
        RequestTimeouts::of_seconds(self.first_token_seconds, self.gap_seconds, self.total_seconds)
    }
}
