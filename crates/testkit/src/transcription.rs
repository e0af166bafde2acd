//! OpenAI's transcriptions API on loopback. It refuses the requests that the real one refuses.

use std::fmt;

use serde_json::{Value, json};

use crate::http::{HttpFake, HttpRequest, Piece, whole};
use crate::multipart;
use crate::openai::{OpenAiRefusal, check_key, invalid, wrong_url};
use crate::request_log::RequestLog;

/// Maximum size of a recording in bytes.
pub const AUDIO_LIMIT: usize = 25 * 1024 * 1024;

const FORMATS: [&str; 10] =
    ["flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm"];

/// A received recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeardCall {
    /// The requested model.
    pub model: String,
    /// The language that the client has named.
    pub language: Option<String>,
    /// The file name.
    pub name: String,
    /// The content of the file.
    pub bytes: Vec<u8>,
}

/// A server at `http://ADDRESS/v1`.
pub struct TranscriptionFake {
    server: HttpFake,
    log: RequestLog<HeardCall>,
}

impl fmt::Debug for TranscriptionFake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TranscriptionFake").field("address", &self.server.address()).finish()
    }
}

impl TranscriptionFake {
    /// Starts a server that returns this text for every recording.
    pub async fn saying(text: &str) -> Self {
        let body = json!({ "text": text }).to_string();
        Self::answering(whole(200, &[("content-type", "application/json")], &body)).await
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

    /// Returns the accepted recordings.
    #[must_use]
    pub fn heard(&self) -> Vec<HeardCall> {
        self.log.accepted()
    }

    /// Returns the reasons of refusals.
    #[must_use]
    pub fn refusals(&self) -> Vec<String> {
        self.log.refusals()
    }
}

/// Checks a request as the real API does.
fn check(request: &HttpRequest) -> Result<HeardCall, OpenAiRefusal> {
    if request.method != "POST" || !request.path.ends_with("/v1/audio/transcriptions") {
        return Err(wrong_url(request));
    }
    check_key(request)?;
    let media_type = request.header("content-type").unwrap_or_default();
    let form = multipart::boundary(media_type)
        .and_then(|boundary| multipart::read(&request.body, boundary));
    let Some((fields, mut files)) = form else {
        return Err(invalid("Could not parse multipart form"));
    };
    let field = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let Some(file) = files.remove("file") else {
        return Err(invalid("1 validation error for Request\nbody -> file\n  field required"));
    };
    let Some(model) = field("model").filter(|model| !model.is_empty()) else {
        return Err(invalid("you must provide a model parameter"));
    };
    let length = file.bytes.len();
    if length > AUDIO_LIMIT {
        let message =
            format!("Maximum content size limit ({AUDIO_LIMIT}) exceeded ({length} bytes read)");
        return Err(OpenAiRefusal { status: 413, message, body: None });
    }
    let extension = file.name.rsplit_once('.').map_or("", |(_, extension)| extension);
    if !FORMATS.contains(&extension) {
        let formats = listed(&FORMATS);
        return Err(invalid(format!("Invalid file format. Supported formats: {formats}")));
    }
    if length == 0 {
        return Err(invalid("Audio file might be corrupted or unsupported"));
    }
    Ok(HeardCall { model, language: field("language"), name: file.name, bytes: file.bytes })
}

/// Formats a list like the real API.
fn listed(words: &[&str]) -> String {
    format!("['{}']", words.join("', '"))
}

#[cfg(test)]
#[path = "transcription_tests.rs"]
mod tests;
