//! OpenAI's speech API on loopback. It refuses the requests that the real one refuses.

use std::fmt;

use serde_json::Value;

use crate::http::{HttpFake, HttpRequest, Piece, whole_bytes};
use crate::openai::{OpenAiRefusal, check_key, invalid, wrong_url};
use crate::request_log::RequestLog;

/// The most characters of a text (OpenAI API reference, "Create speech").
pub const INPUT_LIMIT: usize = 4096;

const FORMATS: [&str; 6] = ["mp3", "opus", "aac", "flac", "wav", "pcm"];

/// The beginning of a file with Ogg Opus: the first page and its identification header (RFC 7845).
#[must_use]
pub fn opus() -> Vec<u8> {
    [&b"OggS"[..], &[0; 24], b"OpusHead", &[1, 1]].concat()
}

/// A received text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpokenCall {
    /// The requested model.
    pub model: String,
    /// The requested voice.
    pub voice: String,
    /// The text.
    pub input: String,
    /// The requested format; the API sends MP3 if it is absent.
    pub format: Option<String>,
}

/// A server at `http://ADDRESS/v1`.
pub struct SpeechFake {
    server: HttpFake,
    log: RequestLog<SpokenCall>,
}

impl fmt::Debug for SpeechFake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpeechFake").field("address", &self.server.address()).finish()
    }
}

impl SpeechFake {
    /// Starts a server that sends a short recording for every text.
    pub async fn start() -> Self {
        Self::answering(whole_bytes(200, &[("content-type", "audio/opus")], &opus())).await
    }

    /// Starts a server that gives this answer to every valid request.
    pub async fn answering(pieces: Vec<Piece>) -> Self {
        let log = RequestLog::default();
        let kept = log.clone();
        let server = HttpFake::start(move |request| {
            kept.answer(check(&request).map_err(Into::into), |_| pieces.clone())
        })
        .await;
        Self { server, log }
    }

    /// Returns the value for `base_url`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.server.address())
    }

    /// Returns the accepted texts.
    #[must_use]
    pub fn spoken(&self) -> Vec<SpokenCall> {
        self.log.accepted()
    }

    /// Returns the reasons of refusals.
    #[must_use]
    pub fn refusals(&self) -> Vec<String> {
        self.log.refusals()
    }
}

/// Checks a request as the real API does.
fn check(request: &HttpRequest) -> Result<SpokenCall, OpenAiRefusal> {
    if request.method != "POST" || !request.path.ends_with("/v1/audio/speech") {
        return Err(wrong_url(request));
    }
    check_key(request)?;
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|_| invalid("We could not parse the JSON body of your request."))?;
    let field = |name: &str| {
        let text = body[name].as_str().filter(|text| !text.is_empty());
        text.map(str::to_owned)
            .ok_or_else(|| invalid(format!("Missing required parameter: '{name}'.")))
    };
    let (model, voice, input) = (field("model")?, field("voice")?, field("input")?);
    let length = input.chars().count();
    if length > INPUT_LIMIT {
        return Err(invalid(format!(
            "Invalid 'input': string too long. Expected a string with maximum length {INPUT_LIMIT}, \
             but got a string with length {length} instead."
        )));
    }
    let format = body["response_format"].as_str().map(str::to_owned);
    if let Some(format) = format.as_deref().filter(|format| !FORMATS.contains(format)) {
        let formats = FORMATS.map(|format| format!("'{format}'")).join(", ");
        return Err(invalid(format!(
            "Invalid value: '{format}'. Supported values are: {formats}."
        )));
    }
    Ok(SpokenCall { model, voice, input, format })
}

#[cfg(test)]
#[path = "speech_tests.rs"]
mod tests;
