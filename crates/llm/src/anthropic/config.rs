//! The configuration of a provider with Anthropic's Messages API.

use std::sync::Arc;

use avocet_net::NetError;
use avocet_protocol::clock::Clock;
use schemars::JsonSchema;
use serde::Deserialize;

use super::AnthropicModel;
use crate::keys;
use crate::known_model::ConfiguredFacts;
use crate::provider::{AllowedReach, check_base_url};
use crate::{ApiKeys, ConfiguredModel, KnownModel, ProviderConfig, RequestTimeouts, SourcedFacts};

/// A provider of kind `anthropic`: Anthropic, and servers with its Messages API.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AnthropicConfig {
    /// The base URL of the API, without its version. Default: `https://api.anthropic.com`.
    pub base_url: String,
    /// The API key; leave it out if the server needs none. Refer to the key instead of writing it
    /// here: `"${ANTHROPIC_API_KEY}"`, `"${file:/etc/avocet/key}"` or `"${credential:anthropic}"`.
    /// A list of keys is used in turn: a key that is refused or rate-limited rests.
    pub api_key: Option<ApiKeys>,
    /// Timeout in seconds until the first piece of an answer. At least 1. Default: 120.
    pub first_token_seconds: u64,
    /// Timeout in seconds between two pieces of an answer. At least 1. Default: 60.
    pub gap_seconds: u64,
    /// Timeout in seconds until the end of an answer. At least 1. Default: 900.
    pub total_seconds: u64,
    /// Maximum number of retries of a request, after errors for which a retry can help. Default: 3.
    pub max_retries: usize,
    /// Maximum tokens of one answer; those for thinking come on top. Default: 8192.
    pub max_output_tokens: u32,
    /// Maximum tokens that the model may think before it answers, if no `effort` is set. The
    /// thoughts are not shown. At least 1024; at most three quarters of the model's output limit,
    /// if that limit is known. Claude 4.6 and later decide by themselves how much they think; the
    /// tokens are then room in the answer. Without this key, models before Claude 5 do not think.
    pub thinking_tokens: Option<u32>,
    /// `true` if the models accept images. Default: the known facts of each model.
    pub images: Option<bool>,
    /// `true` to let the provider cache the beginning of a conversation for some minutes. This
    /// makes the next request cheaper and faster. Default: `true`.
    pub prompt_caching: bool,
    /// `true` to send tools that are not loaded yet as deferred tools. The provider counts a tool
    /// once the model has loaded it, and its cache of the conversation stays valid. For Claude
    /// Sonnet 4, Opus 4 and later. Default: `false`.
    pub deferred_tools: bool,
}

impl Default for AnthropicConfig {
    fn default() -> Self {
        let RequestTimeouts { first_token, gap, total } = RequestTimeouts::default();
        Self {
            base_url: "https://api.anthropic.com".to_owned(),
            api_key: None,
            first_token_seconds: first_token.as_secs(),
            gap_seconds: gap.as_secs(),
            total_seconds: total.as_secs(),
            max_retries: 3,
            max_output_tokens: 8192,
            thinking_tokens: None,
            images: None,
            prompt_caching: true,
            deferred_tools: false,
        }
    }
}

impl ProviderConfig for AnthropicConfig {
    const KIND: &'static str = "anthropic";

    fn check_config(&self) -> Result<(), (&'static str, String)> {
        check_base_url(&self.base_url, AllowedReach::Everywhere, &["/v1/messages", "/v1"])?;
        keys::check_keys(self.api_key.as_ref())?;
        self.request_timeouts().check_values()?;
        match self.thinking_tokens {
            Some(tokens @ ..1024) => {
                let error = format!("{tokens} is too few; it must be at least 1024");
                Err(("thinking_tokens", error))
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
        let max_output = Some(u64::from(self.max_output_tokens));
        let table = SourcedFacts { images: self.images, max_output, ..SourcedFacts::default() };
        let facts = ConfiguredFacts::new(model, &self.base_url, table, facts);
        let max_output_tokens = facts.max_output().unwrap_or(self.max_output_tokens);
        let config = Self { max_output_tokens, ..self };
        let model = AnthropicModel::new(provider, model, &config, clock);
        Ok(KnownModel::new(model, facts).into())
    }
}

impl AnthropicConfig {
    pub(crate) fn request_timeouts(&self) -> RequestTimeouts {
        RequestTimeouts::from_seconds(
            self.first_token_seconds,
            self.gap_seconds,
            self.total_seconds,
        )
    }
}
