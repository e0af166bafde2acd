//! The configuration of a provider with Anthropic's Messages API.

use avocet_net::{NetError, check_url};
use avocet_protocol::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::RequestTimeouts;

/// A provider of kind `anthropic`: Anthropic, and servers that speak its Messages API.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AnthropicConfig {
    /// Where the API is, without its version.
    pub base_url: String,
    /// The key; leave it out where none is wanted. Best not written here but referred to:
    /// `"${ANTHROPIC_API_KEY}"`, `"${file:/etc/avocet/key}"` or `"${credential:anthropic}"`.
    pub api_key: Option<Secret>,
    /// Seconds until the first piece of an answer.
    pub first_token_seconds: u64,
    /// Seconds from one piece of an answer to the next.
    pub gap_seconds: u64,
    /// Seconds until the end of an answer.
    pub total_seconds: u64,
    /// How often a request is made again where that can help.
    pub max_retries: usize,
    /// Tokens that one answer may have, beside those of its thinking.
    pub max_output_tokens: u32,
    /// Tokens that the model may think before it answers, at least 1024, and at most three quarters of
    /// what it can write, if that is known. Without it, it does not; what it thinks is not shown.
    pub thinking_tokens: Option<u32>,
    /// Whether the models see pictures; by default what is known of each.
    pub images: Option<bool>,
    /// Whether the provider keeps the beginning of a conversation for some minutes, which makes the
    /// next request cheaper and faster.
    pub prompt_caching: bool,
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
        }
    }
}

impl AnthropicConfig {
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
