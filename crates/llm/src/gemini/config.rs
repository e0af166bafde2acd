//! The configuration of a provider with Google's Generative Language API.

use std::sync::Arc;

use avocet_net::NetError;
use avocet_protocol::clock::Clock;
use schemars::JsonSchema;
use serde::Deserialize;

use super::GeminiModel;
use crate::keys;
use crate::known_model::ConfiguredFacts;
use crate::provider::{AllowedReach, check_base_url};
use crate::{ApiKeys, ConfiguredModel, KnownModel, ProviderConfig, RequestTimeouts, SourcedFacts};

/// A provider of kind `gemini`: Google's Gemini models.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GeminiConfig {
    /// The base URL of the API, without its version. Default:
    /// `https://generativelanguage.googleapis.com`.
    pub base_url: String,
    /// The API key. Refer to the key instead of writing it here: `"${GEMINI_API_KEY}"`,
    /// `"${file:/etc/avocet/key}"` or `"${credential:gemini}"`.
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
    /// Maximum tokens of one answer; those for thinking come on top. Default: the model's
    /// own limit.
    pub max_output_tokens: Option<u32>,
    /// Maximum tokens that the model may think before it answers, if no `effort` is set. The thoughts are not shown. 0
    /// turns thinking off, for models that permit this. Default: decided by the model.
    pub thinking_tokens: Option<u32>,
    /// `true` if the models accept images. Default: `true`.
    pub images: Option<bool>,
}

impl Default for GeminiConfig {
    fn default() -> Self {
        let RequestTimeouts { first_token, gap, total } = RequestTimeouts::default();
        Self {
            base_url: "https://generativelanguage.googleapis.com".to_owned(),
            api_key: None,
            first_token_seconds: first_token.as_secs(),
            gap_seconds: gap.as_secs(),
            total_seconds: total.as_secs(),
            max_retries: 3,
            max_output_tokens: None,
            thinking_tokens: None,
            images: None,
        }
    }
}

impl ProviderConfig for GeminiConfig {
    const KIND: &'static str = "gemini";

    fn check_config(&self) -> Result<(), (&'static str, String)> {
        check_base_url(&self.base_url, AllowedReach::Everywhere, &["/v1beta/models", "/v1beta"])?;
        keys::check_keys(self.api_key.as_ref())?;
        self.request_timeouts().check_values()
    }

    fn create_model(
        self,
        provider: &str,
        model: &str,
        facts: SourcedFacts,
        clock: Arc<dyn Clock>,
    ) -> Result<ConfiguredModel, NetError> {
        let max_output = self.max_output_tokens.map(u64::from);
        let table = SourcedFacts { images: self.images, max_output, ..SourcedFacts::default() };
        let facts = ConfiguredFacts::new(model, &self.base_url, table, facts);
        let config = Self { max_output_tokens: facts.max_output(), ..self };
        let model = GeminiModel::new(provider, model, &config, clock);
        Ok(KnownModel::new(model, facts).into())
    }
}

impl GeminiConfig {
    pub(crate) fn request_timeouts(&self) -> RequestTimeouts {
        RequestTimeouts::from_seconds(
            self.first_token_seconds,
            self.gap_seconds,
            self.total_seconds,
        )
    }
}
