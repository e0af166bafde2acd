//! Transcribes recordings with any endpoint that supports OpenAI's transcription API: OpenAI
//! itself, Groq, faster-whisper, whisper.cpp.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_net::{FormData, HttpClient, HttpResponse, NetError};
use avocet_protocol::{Clock, Recording, Transcribe, TranscribeError, decode_json, within};
use avocet_text::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::detail::{clean_detail, error_text};
use crate::provider::{AllowedReach, OPENAI_PATHS, check_base_url};

/// Maximum size of a recording, in bytes (OpenAI API reference, "Create transcription").
const MAX_BYTES: usize = 25 * 1024 * 1024;
/// Maximum bytes that are read of a response.
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
            base_url: "https://api.openai.com/v1".to_owned(),
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
        check_base_url(&self.base_url, self.allowed_reach(), &OPENAI_PATHS)?;
        match self.total_seconds {
            0 => Err(("total_seconds", "0 is too small; at least 1 second".to_owned())),
            _ => Ok(()),
        }
    }

    fn allowed_reach(&self) -> AllowedReach {
        if self.untrusted { AllowedReach::PublicOnly } else { AllowedReach::Everywhere }
    }
}

/// Transcribes recordings over an API like that of OpenAI.
#[derive(Debug)]
pub struct TranscriptionEndpoint {
    url: String,
    config: TranscriptionConfig,
    http: HttpClient,
    clock: Arc<dyn Clock>,
}

impl TranscriptionEndpoint {
    /// Creates the endpoint of a configuration.
    ///
    /// # Errors
    /// [`NetError`] if creating the HTTP client fails.
    pub fn new(config: TranscriptionConfig, clock: Arc<dyn Clock>) -> Result<Self, NetError> {
        let url = format!("{}/audio/transcriptions", config.base_url.trim_end_matches('/'));
        let http = match config.allowed_reach() {
            AllowedReach::Everywhere => HttpClient::new(),
            AllowedReach::PublicOnly => HttpClient::with_public_only(&BTreeMap::new()),
        };
        Ok(Self { url, config, http: http?, clock })
    }

    /// Checks the key with the list of models. Returns `false` if the endpoint has no such list.
    ///
    /// # Errors
    /// The reason why the endpoint is unusable.
    pub async fn probe_endpoint(&self) -> Result<bool, String> {
        let url = format!("{}/models", self.config.base_url.trim_end_matches('/'));
        let bearer = self.config.api_key.as_ref().map(|key| format!("Bearer {}", key.expose()));
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

    async fn request_transcript(&self, recording: Recording) -> Result<String, TranscribeError> {
        let TranscriptionConfig { api_key, model, language, .. } = &self.config;
        let mut fields = vec![("model", model.as_str()), ("response_format", "json")];
        fields.extend(language.as_deref().map(|language| ("language", language)));
        let Recording { name, bytes } = recording;
        let form = FormData { fields: &fields, part: "file", file_name: &name, bytes };
        let answer = self.http.post_form(&self.url, api_key.as_ref(), form).await;
        let answer = answer.map_err(|error| self.failed_request(&error.to_string()))?;
        if answer.status() != 200 {
            return Err(self.error_from_refusal(answer).await);
        }
        let body = answer.read_text(MAX_BODY).await;
        let body = body.map_err(|error| self.failed_request(&error.to_string()))?;
        let answer: Value = decode_json(body.as_bytes()).unwrap_or_default();
        let no_text =
            || self.failed_request("the transcription endpoint sent an answer without a text");
        answer["text"].as_str().map(str::to_owned).ok_or_else(no_text)
    }

    /// Turns a response with a status other than 200 into an error.
    async fn error_from_refusal(&self, answer: HttpResponse) -> TranscribeError {
        let status = answer.status();
        let body = answer.read_text(MAX_BODY).await.unwrap_or_default();
        let error = decode_json::<Value>(body.as_bytes()).unwrap_or_default();
        let says = error_text(&error, &body);
        let says = says.trim();
        let says =
            self.clean_text(&format!("the transcription endpoint answered {status}: {says}"));
        match status {
            401 | 403 => TranscribeError::Refused(format!(
                "{says}; the operator has to check api_key in [transcription]"
            )),
            408 | 409 | 425 | 429 | 500.. => TranscribeError::Failed(says),
            _ => TranscribeError::Refused(says),
        }
    }

    fn failed_request(&self, why: &str) -> TranscribeError {
        TranscribeError::Failed(self.clean_text(why))
    }

    fn clean_text(&self, text: &str) -> String {
        clean_detail(text, self.config.api_key.as_ref())
    }
}

#[async_trait]
impl Transcribe for TranscriptionEndpoint {
    async fn transcribe(&self, recording: Recording) -> Result<String, TranscribeError> {
        if recording.bytes.len() > MAX_BYTES {
            let limit = MAX_BYTES / 1024 / 1024;
            let why = format!("it is larger than {limit} MB, the limit for transcription");
            return Err(TranscribeError::Refused(why));
        }
        let limit = Duration::from_secs(self.config.total_seconds);
        within(self.clock.as_ref(), limit, self.request_transcript(recording)).await.unwrap_or_else(
            |_| {
                let seconds = limit.as_secs();
                let why = format!("the transcription endpoint did not answer within {seconds} s");
                Err(TranscribeError::Failed(why))
            },
        )
    }
}

#[cfg(test)]
#[path = "transcription_tests.rs"]
mod tests;
