//! The configuration of an OpenAI-compatible provider.

mod compatibility;

use std::collections::BTreeMap;
use std::sync::Arc;

use avocet_net::{HttpClient, NetError};
use avocet_protocol::clock::Clock;
use avocet_text::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::OpenAi;
use super::compatibility::{MaxTokensField, OpenAiApi, SystemRole};
use crate::embeddings::{EmbeddingServer, EmbeddingWire};
use crate::keys;
use crate::known_model::ConfiguredFacts;
use crate::provider::{AllowedReach, OPENAI_PATHS, check_base_url};
use crate::{
    ApiKeys, ConfiguredModel, EmbeddingsConfig, KnownModel, ProviderConfig, RequestTimeouts,
    ServedEmbedder, SourcedFacts, TextCalls, ToolStyle,
};

/// A provider of kind `openai`: OpenAI, OpenRouter, Ollama, llama.cpp, vLLM, LM Studio.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OpenAiConfig {
    /// The base URL of the API, including its version. Default: `https://api.openai.com/v1`.
    pub base_url: String,
    /// The API key; leave it out if the server needs none. Refer to the key instead of writing it
    /// here: `"${OPENAI_API_KEY}"`, `"${file:/etc/avocet/key}"` or `"${credential:openai}"`.
    /// A list of keys is used in turn: a key that is refused or rate-limited rests.
    pub api_key: Option<ApiKeys>,
    /// The API to use: `chat` (chat completions, which all servers support) or `responses`, with
    /// which OpenAI's models keep their reasoning from before a call. Default: `chat`.
    pub api: OpenAiApi,
    /// Timeout in seconds until the first piece of an answer. At least 1. Default: 120.
    pub first_token_seconds: u64,
    /// Timeout in seconds between two pieces of an answer. At least 1. Default: 60.
    pub gap_seconds: u64,
    /// Timeout in seconds until the end of an answer. At least 1. Default: 900.
    pub total_seconds: u64,
    /// Maximum number of retries of a request, after errors for which a retry can help. Default: 3.
    pub max_retries: usize,
    /// Maximum tokens of one answer; those for thinking come on top. Default: the provider's own
    /// limit.
    pub max_output_tokens: Option<u32>,
    /// The reasoning effort of reasoning models, in the words of the provider, such as `none`,
    /// `minimal`, `low`, `medium`, `high` or `xhigh`. It is sent unchanged, if no `effort` is set.
    /// Default: decided by the provider.
    pub reasoning_effort: Option<String>,
    /// `true` if the models accept images. Models that do not accept images refuse every request
    /// with one. Default: the known facts of each model.
    pub images: Option<bool>,
    /// The way in which the models call tools. `native` uses the API, and `none` offers no tools.
    /// `auto` follows the known facts of each model, and also takes commands in a bash block with
    /// tool names of other agents. The others are dialects, in which models and servers without
    /// native calls write calls as text: `apertus`, `cohere`, `deepseek`, `gemma`, `glm`,
    /// `harmony`, `hermes`, `hunyuan`, `inkling`, `json`, `kimi`, `lfm`, `llama`, `longcat`,
    /// `minimax`, `mistral`, `olmo`, `qwen`, `react`, `seed`, `shell`, `xml`. Default: the known
    /// facts of each model, else `native`.
    pub tools: Option<ToolStyle>,
    /// The handling of calls that a model with native calls writes as text. Default: `ask`.
    ///
    /// - `ask`: a call that only reads runs; before any other call, an owner is asked. If more text
    ///   follows, or if the call is framed as an example or a question, it is plain text.
    /// - `run`: it runs like a native call.
    /// - `ignore`: it is plain text.
    pub text_calls: Option<TextCalls>,
    /// The sampling temperature, from 0 to 2: a higher value makes the text more random. Default:
    /// decided by the provider.
    pub temperature: Option<f64>,
    /// The name of the output limit in requests: `max_tokens` or `max_completion_tokens`. For
    /// `chat` only. Default: `max_completion_tokens` at `api.openai.com`, whose reasoning models
    /// refuse the other name, else `max_tokens`.
    pub max_tokens_field: Option<MaxTokensField>,
    /// The role of the instructions in requests: `system`, `developer` or `user`. `user` is for
    /// models whose template has neither of the others: the instructions then precede the first
    /// message. For `chat` only. Default: `system`.
    pub system_role: SystemRole,
    /// `true` to stream answers. With `false`, nothing is shown before the end of an answer, and
    /// `total_seconds` is the only timeout. Default: `true`.
    pub stream: bool,
    /// `true` to request token counts in a stream. Set it to `false` for servers that refuse
    /// `stream_options`; tokens are then estimated. For `chat` only. Default: `true`.
    pub stream_usage: bool,
    /// `true` to send tools that the model loads at the place where it loads them, so that the
    /// provider's cache of the conversation stays valid. For `responses` and GPT-5.4 or later (not
    /// GPT-5.4 nano). Default: `false`.
    pub deferred_tools: bool,
    /// HTTP headers of every request, in addition to the API key. The values may be secrets.
    /// Default: `{}`.
    pub headers: BTreeMap<String, Secret>,
    /// Fields to add to the body of every request; tables are merged into existing ones. Default:
    /// `{}`.
    pub extra_body: BTreeMap<String, Value>,
    /// `true` if you do not trust the operator of the server. Requests then go to public addresses
    /// only, whatever the name resolves to, and never to this host or its network. Default:
    /// `false`.
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
            deferred_tools: false,
            headers: BTreeMap::new(),
            extra_body: BTreeMap::new(),
            untrusted: false,
        }
    }
}

impl ProviderConfig for OpenAiConfig {
    const KIND: &'static str = "openai";

    fn check_config(&self) -> Result<(), (&'static str, String)> {
        check_base_url(&self.base_url, self.allowed_reach(), &OPENAI_PATHS)?;
        keys::check_keys(self.api_key.as_ref())?;
        self.request_timeouts().check_values()?;
        self.check_compatibility()
    }

    fn create_model(
        self,
        provider: &str,
        model: &str,
        facts: SourcedFacts,
        clock: Arc<dyn Clock>,
    ) -> Result<ConfiguredModel, NetError> {
        let max_output = self.max_output_tokens.map(u64::from);
        let Self { images, tools, text_calls, .. } = self;
        let table =
            SourcedFacts { images, tools, text_calls, max_output, ..SourcedFacts::default() };
        let facts = ConfiguredFacts::new(model, &self.base_url, table, facts);
        let config = Self { max_output_tokens: facts.max_output(), ..self };
        let model = OpenAi::new(provider, model, &config, clock)?;
        Ok(KnownModel::new(model, facts).into())
    }

    fn create_embedder(
        self,
        config: &EmbeddingsConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Option<ServedEmbedder>, NetError> {
        let server = EmbeddingServer {
            wire: EmbeddingWire::OpenAi,
            base_url: self.base_url.trim_end_matches('/').to_owned(),
            http: self.create_client()?,
            timeout: self.request_timeouts().first_token,
            retries: self.max_retries,
            api_key: self.api_key.as_ref().and_then(ApiKeys::first_key).cloned(),
        };
        Ok(Some(ServedEmbedder::new(config, server, clock)))
    }
}

impl OpenAiConfig {
    /// Creates the HTTP client for the server.
    pub(super) fn create_client(&self) -> Result<HttpClient, NetError> {
        match self.allowed_reach() {
            AllowedReach::Everywhere => HttpClient::with_headers(&self.headers),
            AllowedReach::PublicOnly => HttpClient::with_public_only(&self.headers),
        }
    }

    fn allowed_reach(&self) -> AllowedReach {
        if self.untrusted { AllowedReach::PublicOnly } else { AllowedReach::Everywhere }
    }

    /// The timeouts. Without streaming, the first token arrives with the complete answer.
    pub(crate) fn request_timeouts(&self) -> RequestTimeouts {
        let first = if self.stream { self.first_token_seconds } else { self.total_seconds };
        RequestTimeouts::from_seconds(first, self.gap_seconds, self.total_seconds)
    }
}
