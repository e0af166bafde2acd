//! Speaks answers with any endpoint that supports OpenAI's speech API: OpenAI itself, Kokoro-FastAPI,
//! openedai-speech.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_net::{HttpClient, HttpResponse, NetError};
use avocet_protocol::{
    Clock, Money, Speak, SpeakError, Spent, Usage, VoiceMode, decode_json, within,
};
use avocet_text::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::detail::{clean_detail, error_text};
use crate::provider::{AllowedReach, OPENAI_PATHS, check_base_url};

/// Maximum characters of a text (OpenAI API reference, "Create speech").
const MAX_CHARACTERS: usize = 4096;
/// Maximum time for a recording in seconds. The text of an answer waits as long.
const MAX_SECONDS: u64 = 300;
/// Maximum size of a recording, in bytes.
const MAX_BYTES: usize = 10 * 1024 * 1024;
/// Maximum bytes that are read of an error.
const MAX_ERROR: usize = 64 * 1024;
/// Characters that count as a token in the ledger.
const CHARACTERS_A_TOKEN: u64 = 4;
/// The first bytes of a file in Ogg (RFC 3533).
const OGG: &[u8] = b"OggS";

/// The server that speaks answers. Without this table, answers are text.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SpeechConfig {
    /// The base URL of the API, including its version. Default: `https://api.openai.com/v1`.
    pub base_url: String,
    /// The API key; leave it out if the server needs none.
    pub api_key: Option<Secret>,
    /// The server's name of the model. Default: `gpt-4o-mini-tts`.
    pub model: String,
    /// The server's name of the voice. Default: `alloy`.
    pub voice: String,
    /// The answers that are spoken in a chat, until `/voice` chooses others. Default: `auto`.
    pub when: VoiceMode,
    /// The most characters of an answer that are spoken. A longer one ends after its last whole
    /// sentence within this length. From 1 to 4096. Default: 1500.
    pub max_characters: usize,
    /// The price of a million characters in dollars, for the ledger and the budgets; 0 for a server
    /// of your own. Default: unknown.
    pub dollars_per_million_characters: Option<f64>,
    /// Timeout in seconds until the end of the recording. The text of the answer waits for it. From
    /// 1 to 300. Default: 30.
    pub total_seconds: u64,
    /// `true` if you do not trust the operator of the server. Requests then go to public addresses
    /// only, whatever the name resolves to, and never to this host or its network. Default:
    /// `false`.
    pub untrusted: bool,
}

impl Default for SpeechConfig {
    fn default() -> Self {
        Self {
            base_url: "https://api.openai.com/v1".to_owned(),
            api_key: None,
            model: "gpt-4o-mini-tts".to_owned(),
            voice: "alloy".to_owned(),
            when: VoiceMode::Auto,
            max_characters: 1500,
            dollars_per_million_characters: None,
            total_seconds: 30,
            untrusted: false,
        }
    }
}

impl SpeechConfig {
    /// Checks the values of single keys.
    ///
    /// # Errors
    /// The key with an unusable value, and the requirement.
    pub fn check_values(&self) -> Result<(), (&'static str, String)> {
        check_base_url(&self.base_url, self.allowed_reach(), &OPENAI_PATHS)?;
        for (key, value) in [("model", &self.model), ("voice", &self.voice)] {
            if value.is_empty() {
                return Err((key, "it is empty; name one that the server has".to_owned()));
            }
        }
        let found = self.max_characters;
        if !(1..=MAX_CHARACTERS).contains(&found) {
            let error = format!("{found} is not between 1 and {MAX_CHARACTERS}");
            return Err(("max_characters", error));
        }
        let price = self.dollars_per_million_characters.unwrap_or_default();
        if !price.is_finite() || price < 0.0 {
            let error = format!("{price} is not a price; use 0 or more dollars");
            return Err(("dollars_per_million_characters", error));
        }
        match self.total_seconds {
            1..=MAX_SECONDS => Ok(()),
            found => Err((
                "total_seconds",
                format!("{found} is not between 1 and {MAX_SECONDS} seconds"),
            )),
        }
    }

    fn allowed_reach(&self) -> AllowedReach {
        if self.untrusted { AllowedReach::PublicOnly } else { AllowedReach::Everywhere }
    }
}

/// Speaks texts over an API like that of OpenAI.
#[derive(Debug)]
pub struct SpeechEndpoint {
    url: String,
    config: SpeechConfig,
    http: HttpClient,
    clock: Arc<dyn Clock>,
}

impl SpeechEndpoint {
    /// Creates the endpoint of a configuration.
    ///
    /// # Errors
    /// [`NetError`] if creating the HTTP client fails.
    pub fn new(config: SpeechConfig, clock: Arc<dyn Clock>) -> Result<Self, NetError> {
        let url = format!("{}/audio/speech", config.base_url.trim_end_matches('/'));
        let http = match config.allowed_reach() {
            AllowedReach::Everywhere => HttpClient::new(),
            AllowedReach::PublicOnly => HttpClient::with_public_only(&BTreeMap::new()),
        };
        Ok(Self { url, config, http: http?, clock })
    }

    /// Returns the configured mode of chats without a choice of their own.
    #[must_use]
    pub fn voice_mode(&self) -> VoiceMode {
        self.config.when
    }

    /// Checks the key with the list of models. Returns `false` if the endpoint has no such list.
    ///
    /// # Errors
    /// The reason why the endpoint is unusable.
    pub async fn probe_endpoint(&self) -> Result<bool, String> {
        let url = format!("{}/models", self.config.base_url.trim_end_matches('/'));
        let bearer = self.bearer_header();
        let headers: Vec<_> =
            bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
        let answer = self.http.get(&url, &headers).await;
        let answer = answer.map_err(|error| self.clean_text(&error.to_string()))?;
        match answer.status() {
            200 => Ok(true),
            404 | 405 | 501 => Ok(false),
            _ => Err(self.error_from_refusal(answer).await.to_string()),
        }
    }

    async fn request_recording(&self, text: &str) -> Result<Vec<u8>, SpeakError> {
        let SpeechConfig { model, voice, .. } = &self.config;
        let body =
            json!({ "model": model, "voice": voice, "input": text, "response_format": "opus" });
        let bearer = self.bearer_header();
        let headers: Vec<_> =
            bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
        let answer = self.http.post_json(&self.url, &headers, body.to_string().into_bytes()).await;
        let answer = answer.map_err(|error| self.failed_request(&error.to_string()))?;
        if answer.status() != 200 {
            return Err(self.error_from_refusal(answer).await);
        }
        let recording = self.read(answer).await?;
        if !recording.starts_with(OGG) {
            let why = "the speech endpoint did not send Ogg Opus; use a server that supports the \
                       response_format opus";
            return Err(SpeakError::Refused(why.to_owned()));
        }
        Ok(recording)
    }

    /// Reads a recording.
    async fn read(&self, mut answer: HttpResponse) -> Result<Vec<u8>, SpeakError> {
        let mut recording = Vec::new();
        loop {
            let piece = answer
                .next_chunk()
                .await
                .map_err(|error| self.failed_request(&error.to_string()))?;
            let Some(piece) = piece else { return Ok(recording) };
            if recording.len() + piece.len() > MAX_BYTES {
                let limit = MAX_BYTES / 1024 / 1024;
                let why = format!(
                    "the speech endpoint sent more than {limit} MB; lower max_characters in [speech]"
                );
                return Err(SpeakError::Refused(why));
            }
            recording.extend_from_slice(&piece);
        }
    }

    /// Turns a response with a status other than 200 into an error.
    async fn error_from_refusal(&self, answer: HttpResponse) -> SpeakError {
        let status = answer.status();
        let body = answer.read_text(MAX_ERROR).await.unwrap_or_default();
        let error = decode_json::<Value>(body.as_bytes()).unwrap_or_default();
        let says = error_text(&error, &body);
        let says = says.trim();
        let says = self.clean_text(&format!("the speech endpoint answered {status}: {says}"));
        match status {
            401 | 403 => SpeakError::Refused(format!("{says}; check api_key in [speech]")),
            404 => SpeakError::Refused(format!("{says}; check base_url and model in [speech]")),
            408 | 409 | 425 | 429 | 500.. => SpeakError::Failed(says),
            _ => SpeakError::Refused(format!("{says}; check model and voice in [speech]")),
        }
    }

    fn bearer_header(&self) -> Option<String> {
        self.config.api_key.as_ref().map(|key| format!("Bearer {}", key.expose()))
    }

    fn failed_request(&self, why: &str) -> SpeakError {
        SpeakError::Failed(self.clean_text(why))
    }

    fn clean_text(&self, text: &str) -> String {
        clean_detail(text, self.config.api_key.as_ref())
    }
}

#[async_trait]
impl Speak for SpeechEndpoint {
    fn max_characters(&self) -> usize {
        self.config.max_characters
    }

    fn cost(&self, text: &str) -> Spent {
        let characters = text.chars().count() as u64;
        let cost = self.config.dollars_per_million_characters.map(|dollars| {
            #[expect(clippy::cast_precision_loss, reason = "a text has few characters")]
            let share = characters as f64 / 1e6;
            Money::dollars(dollars * share)
        });
        let usage = Usage::new(characters.div_ceil(CHARACTERS_A_TOKEN), 0);
        Spent { model: format!("speech/{}", self.config.model), usage, cost }
    }

    async fn speak(&self, text: &str) -> Result<Vec<u8>, SpeakError> {
        let limit = Duration::from_secs(self.config.total_seconds);
        within(self.clock.as_ref(), limit, self.request_recording(text)).await.unwrap_or_else(
            |_| {
                let seconds = limit.as_secs();
                let why = format!("the speech endpoint did not answer within {seconds} s");
                Err(SpeakError::Failed(why))
            },
        )
    }
}

#[cfg(test)]
#[path = "speech_tests.rs"]
mod tests;
