//! Speaks answers with any endpoint that supports OpenAI's speech API: OpenAI itself, Kokoro-FastAPI,
//! openedai-speech.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_net::{HttpResponse, NetError};
use avocet_protocol::clock::Clock;
use avocet_protocol::model::{AudioError, Money, Speak, Spent, Usage, VoiceMode};
use avocet_text::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::audio_endpoint::{AudioEndpoint, AudioServer, OPENAI_BASE_URL};
use crate::audio_health::AudioHealth;

/// Maximum characters of a text (OpenAI API reference, "Create speech").
const MAX_CHARACTERS: usize = 4096;
/// Maximum time for a recording in seconds. The text of an answer waits as long.
const MAX_SECONDS: u64 = 300;
/// Maximum size of a recording, in bytes.
const MAX_BYTES: usize = 10 * 1024 * 1024;
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
            base_url: OPENAI_BASE_URL.to_owned(),
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
        self.audio_server().check_values()?;
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
            ..=MAX_SECONDS => Ok(()),
            found => {
                let error = format!("{found} is too large; at most {MAX_SECONDS} seconds");
                Err(("total_seconds", error))
            }
        }
    }

    fn audio_server(&self) -> AudioServer {
        AudioServer {
            table: "speech",
            base_url: self.base_url.clone(),
            api_key: self.api_key.clone(),
            model: self.model.clone(),
            voice: Some(self.voice.clone()),
            total_seconds: self.total_seconds,
            is_untrusted: self.untrusted,
            keys_of_request: Some("model and voice"),
        }
    }
}

/// Speaks texts over an API like that of OpenAI.
#[derive(Debug)]
pub struct SpeechEndpoint {
    config: SpeechConfig,
    audio: AudioEndpoint,
}

impl SpeechEndpoint {
    /// Creates the endpoint of a configuration.
    ///
    /// # Errors
    /// [`NetError`] if creating the HTTP client fails.
    pub fn new(config: SpeechConfig, clock: Arc<dyn Clock>) -> Result<Self, NetError> {
        let audio = AudioEndpoint::new(config.audio_server(), clock)?;
        Ok(Self { config, audio })
    }

    /// Records the outcomes of requests, for checks.
    pub fn record_in(&mut self, health: Arc<AudioHealth>) {
        self.audio.record_in(health);
    }

    /// Returns the configured mode of chats without a choice of their own.
    #[must_use]
    pub fn voice_mode(&self) -> VoiceMode {
        self.config.when
    }

    async fn request_recording(&self, text: &str) -> Result<Vec<u8>, AudioError> {
        let (model, voice) = (self.audio.model_name(), &self.config.voice);
        let body =
            json!({ "model": model, "voice": voice, "input": text, "response_format": "opus" });
        let answer = self.audio.post_json("audio/speech", &body).await?;
        let recording = self.read_recording(answer).await?;
        if !recording.starts_with(OGG) {
            let why = "the speech endpoint did not send Ogg Opus; use a server that supports the \
                       response_format opus";
            return Err(AudioError::Refused(why.to_owned()));
        }
        Ok(recording)
    }

    async fn read_recording(&self, mut answer: HttpResponse) -> Result<Vec<u8>, AudioError> {
        let mut recording = Vec::new();
        loop {
            let piece = answer.next_chunk().await;
            let piece = piece.map_err(|error| self.audio.failed_request(&error.to_string()))?;
            let Some(piece) = piece else { return Ok(recording) };
            if recording.len() + piece.len() > MAX_BYTES {
                let limit = MAX_BYTES / 1024 / 1024;
                let why = format!(
                    "the speech endpoint sent more than {limit} MB; lower max_characters in [speech]"
                );
                return Err(AudioError::Refused(why));
            }
            recording.extend_from_slice(&piece);
        }
    }
}

impl From<SpeechEndpoint> for AudioEndpoint {
    fn from(speech: SpeechEndpoint) -> Self {
        speech.audio
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
        Spent { model: format!("speech/{}", self.audio.model_name()), usage, cost }
    }

    async fn speak(&self, text: &str) -> Result<Vec<u8>, AudioError> {
        self.audio.run_in_time(self.request_recording(text)).await
    }
}

#[cfg(test)]
#[path = "speech_tests.rs"]
mod tests;
