//! The configuration of a provider with Google's Generative Language API.

use avocet_net::{NetError, check_url};
use avocet_protocol::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::RequestTimeouts;

/// A provider of kind `gemini`: Google's Gemini models.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GeminiConfig {
    /// Where the API is, without its version.
    pub base_url: String,
    /// The key. Best not written here but referred to: `"${GEMINI_API_KEY}"`,
    /// `"${file:/etc/avocet/key}"` or `"${credential:gemini}"`.
    pub api_key: Option<Secret>,
    /// Seconds until the first piece of an answer.
    pub first_token_seconds: u64,
    /// Seconds from one piece of an answer to the next.
    pub gap_seconds: u64,
    /// Seconds until the end of an answer.
    pub total_seconds: u64,
    /// How often a request is made again where that can help.
    pub max_retries: usize,
    /// Tokens that one answer may have, beside `thinking_tokens`; the model's own limit by default.
    pub max_output_tokens: Option<u32>,
    /// Tokens that the model may think before it answers; 0: it does not, where it can leave it. As
    /// the model sees fit by default; what it thinks is not shown.
    pub thinking_tokens: Option<u32>,
    /// Whether the models see pictures; they do by default.
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

impl GeminiConfig {
    /// Checks that requests can be sent to `base_url`.
    ///
    /// # Errors
    /// [`NetError::Invalid`] with the reason.
    pub fn check_base_url(&self) -> Result<(), NetError> {
        check_url(&self.base_url)
    }

    pub(crate) fn limits(&self) -> RequestTimeouts {
        RequestTimeouts::of_seconds(self.first_token_seconds, self.gap_seconds, self.total_seconds)
    }
}
