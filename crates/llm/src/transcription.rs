//! Transcribes recordings with any endpoint that supports OpenAI's transcription API: OpenAI
//! itself, Groq, faster-whisper, whisper.cpp.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_net::{FormData, NetError};
use avocet_protocol::clock::Clock;
use avocet_protocol::model::{AudioError, Recording, Transcribe, decode_json};
use avocet_text::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::audio_endpoint::{AudioEndpoint, AudioServer, OPENAI_BASE_URL};
use crate::audio_health::AudioHealth;

/// Maximum size of a recording, in bytes (OpenAI API reference, "Create transcription").
const MAX_BYTES: usize = 25 * 1024 * 1024;
/// Maximum bytes that are read of a transcript.
const MAX_BODY: usize = 1024 * 1024;

/// The server that transcribes voice messages and other recordings. Without this table, recordings
/// are not transcribed.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TranscriptionConfig {
    /// The base URL of the API, including its version. Default: `https://api.openai.com/v1`.
    pub base_url: String,
    /// The API key; leave it out if the server needs none.
    pub api_key: Option<Secret>,
    /// The server's name of the model. Default: `whisper-1`.
    pub model: String,
    /// The spoken language as an ISO 639-1 code (`en`). Default: detected.
    pub language: Option<String>,
    /// Timeout in seconds until the end of the transcription. At least 1. Default: 120.
    pub total_seconds: u64,
    /// `true` if you do not trust the operator of the server. Requests then go to public addresses
    /// only, whatever the name resolves to, and never to this host or its network. Default:
    /// `false`.
    pub untrusted: bool,
}

impl Default for TranscriptionConfig {
    fn default() -> Self {
        Self {
            base_url: OPENAI_BASE_URL.to_owned(),
            api_key: None,
            model: "whisper-1".to_owned(),
            language: None,
            total_seconds: 120,
            untrusted: false,
        }
    }
}

impl TranscriptionConfig {
    /// Checks the values of single keys.
    ///
    /// # Errors
    /// The key with an unusable value, and the requirement.
    pub fn check_values(&self) -> Result<(), (&'static str, String)> {
        self.audio_server().check_values()
    }

    fn audio_server(&self) -> AudioServer {
        AudioServer {
            table: "transcription",
            base_url: self.base_url.clone(),
            api_key: self.api_key.clone(),
            model: self.model.clone(),
            voice: None,
            total_seconds: self.total_seconds,
            is_untrusted: self.untrusted,
            keys_of_request: None,
        }
    }
}

/// Transcribes recordings over an API like that of OpenAI.
#[derive(Debug)]
pub struct TranscriptionEndpoint {
    language: Option<String>,
    audio: AudioEndpoint,
}

impl TranscriptionEndpoint {
    /// Creates the endpoint of a configuration.
    ///
    /// # Errors
    /// [`NetError`] if creating the HTTP client fails.
    pub fn new(config: TranscriptionConfig, clock: Arc<dyn Clock>) -> Result<Self, NetError> {
        let audio = AudioEndpoint::new(config.audio_server(), clock)?;
        Ok(Self { language: config.language, audio })
    }

    /// Records the outcomes of requests, for checks.
    pub fn record_in(&mut self, health: Arc<AudioHealth>) {
        self.audio.record_in(health);
    }

    async fn request_transcript(&self, recording: Recording) -> Result<String, AudioError> {
        let mut fields = vec![("model", self.audio.model_name()), ("response_format", "json")];
        fields.extend(self.language.as_deref().map(|language| ("language", language)));
        let Recording { name, bytes } = recording;
        let form = FormData { fields: &fields, part: "file", file_name: &name, bytes };
        let answer = self.audio.post_form("audio/transcriptions", form).await?;
        let body = answer.read_text(MAX_BODY).await;
        let body = body.map_err(|error| self.audio.failed_request(&error.to_string()))?;
        let answer: Value = decode_json(body.as_bytes()).unwrap_or_default();
        let no_text = || {
            let why = "the transcription endpoint sent an answer without a text";
            self.audio.failed_request(why)
        };
        answer["text"].as_str().map(str::to_owned).ok_or_else(no_text)
    }
}

impl From<TranscriptionEndpoint> for AudioEndpoint {
    fn from(transcription: TranscriptionEndpoint) -> Self {
        transcription.audio
    }
}

#[async_trait]
impl Transcribe for TranscriptionEndpoint {
    async fn transcribe(&self, recording: Recording) -> Result<String, AudioError> {
        if recording.bytes.len() > MAX_BYTES {
            let limit = MAX_BYTES / 1024 / 1024;
            let why = format!("it is larger than {limit} MB, the limit for transcription");
            return Err(AudioError::Refused(why));
        }
        self.audio.run_in_time(self.request_transcript(recording)).await
    }
}

#[cfg(test)]
#[path = "transcription_tests.rs"]
mod tests;
