//! Checks that the settings for servers that deviate from OpenAI's APIs fit together.

use avocet_net::check_header;

use crate::openai::OpenAiConfig;
use crate::openai::compatibility::{MaxTokensField, OpenAiApi, SystemRole};

/// Keys of the request body that are forbidden in `extra_body`.
const OURS: [&str; 6] = ["input", "instructions", "messages", "model", "stream", "tools"];
/// Headers that the HTTP client sets.
const OF_HTTP: [&str; 4] = ["content-length", "content-type", "host", "transfer-encoding"];

impl OpenAiConfig {
    /// Checks that the settings for such servers fit together and can be sent.
    ///
    /// # Errors
    /// The key with an unusable value, and the reason.
    pub(crate) fn check_compatibility(&self) -> Result<(), (&'static str, String)> {
        self.check_api()?;
        if let Some(key) = OURS.into_iter().find(|key| self.extra_body.contains_key(*key)) {
            return Err(("extra_body", format!("it cannot set {key}, which Avocet sets")));
        }
        if let Some(value) = self.temperature.filter(|value| !(0.0..=2.0).contains(value)) {
            return Err(("temperature", format!("{value} is not from 0 to 2")));
        }
        for (name, value) in &self.headers {
            check_header(name, value).map_err(|error| ("headers", error.to_string()))?;
            let lower = name.to_ascii_lowercase();
            if OF_HTTP.contains(&lower.as_str()) {
                return Err(("headers", format!("{name} cannot be set")));
            }
            if lower == "authorization" && self.api_key.is_some() {
                return Err((
                    "headers",
                    format!("{name} is set by api_key; leave one of them out"),
                ));
            }
        }
        Ok(())
    }

    fn check_api(&self) -> Result<(), (&'static str, String)> {
        let of_chat = [
            ("max_tokens_field", self.max_tokens_field.is_some()),
            ("stream_usage", !self.stream_usage),
            ("system_role", self.system_role != SystemRole::System),
        ];
        if self.deferred_tools && self.api == OpenAiApi::Chat {
            let error = "it is for api = \"responses\" only; leave it out".to_owned();
            return Err(("deferred_tools", error));
        }
        match of_chat.into_iter().find(|(_, set)| *set && self.api != OpenAiApi::Chat) {
            Some((key, _)) => Err((key, "it is for api = \"chat\" only; leave it out".to_owned())),
            None => Ok(()),
        }
    }

    /// The name of the output limit. At OpenAI all models accept the newer name, and some refuse
    /// the older one (OpenAI API reference, "Create chat completion").
    pub(in crate::openai) fn max_tokens_field(&self) -> MaxTokensField {
        let host = self.base_url.split("://").nth(1).unwrap_or_default();
        let host = host.split(['/', ':']).next().unwrap_or_default();
        let newer = host.eq_ignore_ascii_case("api.openai.com");
        let of_host =
            if newer { MaxTokensField::MaxCompletionTokens } else { MaxTokensField::MaxTokens };
        self.max_tokens_field.unwrap_or(of_host)
    }
}

#[cfg(test)]
#[path = "compatibility_tests.rs"]
mod tests;
