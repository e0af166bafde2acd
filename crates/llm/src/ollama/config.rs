//! The configuration of a provider with Ollama's own API.

use std::sync::Arc;

use avocet_net::{HttpClient, NetError};
use avocet_protocol::clock::Clock;
use schemars::JsonSchema;
use serde::Deserialize;

use super::OllamaModel;
use crate::embeddings::{EmbeddingServer, EmbeddingWire};
use crate::keys;
use crate::known_model::ConfiguredFacts;
use crate::provider::{AllowedReach, check_base_url};
use crate::{
    ApiKeys, ConfiguredModel, EmbeddingsConfig, KnownModel, ProviderConfig, RequestTimeouts,
    ServedEmbedder, SourcedFacts, TextCalls, ToolStyle,
};

/// The minimum context for a conversation with tools, in tokens.
const SMALLEST_CONTEXT: u64 = 2048;

/// A provider of kind `ollama`: an Ollama server. The server reports what its models can do.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OllamaConfig {
    /// The base URL of the server, without `/api` and without `/v1`. Default:
    /// `http://127.0.0.1:11434`.
    pub base_url: String,
    /// The API key; your own server usually needs none, so leave it out. Refer to the key instead
    /// of writing it here: `"${OLLAMA_API_KEY}"`, `"${file:/etc/avocet/key}"` or
    /// `"${credential:ollama}"`.
    /// A list of keys is used in turn: a key that is refused or rate-limited rests.
    pub api_key: Option<ApiKeys>,
    /// Timeout in seconds until the first piece of an answer, including the time to load the model.
    /// At least 1. Default: 300.
    pub first_token_seconds: u64,
    /// Timeout in seconds between two pieces of an answer. At least 1. Default: 60.
    pub gap_seconds: u64,
    /// Timeout in seconds until the end of an answer. At least 1. Default: 900.
    pub total_seconds: u64,
    /// Maximum number of retries of a request, after errors for which a retry can help. Default: 3.
    pub max_retries: usize,
    /// Maximum tokens of one answer; those of an `effort` come on top. Default: the rest of the
    /// context.
    pub max_output_tokens: Option<u32>,
    /// Maximum tokens of a request and its answer together (`num_ctx`); the model's own context
    /// applies if it is smaller. At least 2048. Default: `num_ctx` of the model's Modelfile, else
    /// the model's context as the server reports it, but at most 32768, because context costs
    /// memory.
    pub context_tokens: Option<u64>,
    /// `true` to let the model think before it answers, if it can and no `effort` is set. The thoughts are not shown.
    /// Default: decided by the server.
    pub think: Option<bool>,
    /// Seconds for which the server keeps the model loaded after an answer; a negative number means
    /// forever. Default: decided by the server (five minutes).
    pub keep_alive_seconds: Option<i64>,
    /// The way in which the models call tools; the values are those of kind `openai`. Default:
    /// `native` for models that support it according to the server, `json` for the others.
    pub tools: Option<ToolStyle>,
    /// The handling of calls that a model with native calls writes as text; the values are those of
    /// kind `openai`. Default: `ask`.
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

impl ProviderConfig for OllamaConfig {
    const KIND: &'static str = "ollama";

    fn check_config(&self) -> Result<(), (&'static str, String)> {
        let added = ["/api/chat", "/api/generate", "/api", "/v1/chat/completions", "/v1"];
        check_base_url(&self.base_url, AllowedReach::Everywhere, &added)?;
        keys::check_keys(self.api_key.as_ref())?;
        self.request_timeouts().check_values()?;
        match self.context_tokens {
            Some(tokens) if tokens < SMALLEST_CONTEXT => {
                let error = format!("{tokens} is too few; it must be at least {SMALLEST_CONTEXT}");
                Err(("context_tokens", error))
            }
            _ => Ok(()),
        }
    }

    fn create_model(
        self,
        provider: &str,
        model: &str,
        facts: SourcedFacts,
        clock: Arc<dyn Clock>,
    ) -> Result<ConfiguredModel, NetError> {
        let max_output = self.max_output_tokens.map(u64::from);
        let Self { tools, text_calls, .. } = self;
        let table = SourcedFacts { tools, text_calls, max_output, ..SourcedFacts::default() };
        let facts = ConfiguredFacts::new(model, &self.base_url, table, facts);
        let config = Self { max_output_tokens: facts.max_output(), ..self };
        let model = OllamaModel::new(provider, model, &config, clock);
        Ok(KnownModel::new(model, facts).into())
    }

    fn create_embedder(
        self,
        config: &EmbeddingsConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Option<ServedEmbedder>, NetError> {
        let server = EmbeddingServer {
            wire: EmbeddingWire::Ollama,
            base_url: self.server_url().to_owned(),
            http: HttpClient::new(),
            timeout: self.request_timeouts().first_token,
            retries: self.max_retries,
            api_key: self.api_key.as_ref().and_then(ApiKeys::first_key).cloned(),
        };
        Ok(Some(ServedEmbedder::new(config, server, clock)))
    }
}

impl OllamaConfig {
    pub(super) fn server_url(&self) -> &str {
        self.base_url.trim_end_matches('/')
    }

    pub(crate) fn request_timeouts(&self) -> RequestTimeouts {
        RequestTimeouts::from_seconds(
            self.first_token_seconds,
            self.gap_seconds,
            self.total_seconds,
        )
    }
}
