//! Ollama's native API on loopback, with one model. It refuses the requests that the real one
//! refuses, in its words, and truncates silently like the real one.

mod body;
mod card;
mod stream;

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::answer::{ModelAnswer, Spoken};
use crate::http::{HttpRequest, Piece, whole};
use crate::model_fake::{ModelApi, ModelFake, results_at_end};
use crate::request_log::{FakeRefusal, RequestLog};

pub use card::Card;
pub use stream::line;

/// The key of a server that requires one.
pub const KEY: &str = "ollama-test-1234567890";
/// The only model.
pub const MODEL: &str = "qwen-test:8b";

/// A server at `http://ADDRESS`, with `/api/chat` and `/api/show`. It records requests as they are
/// after truncation.
pub type OllamaFake = ModelFake<OllamaApi>;

/// The API with one model. By default, the model has all capabilities.
#[derive(Debug, Default)]
pub struct OllamaApi {
    card: Card,
    shown: AtomicUsize,
}

impl ModelApi for OllamaApi {
    const MEDIA_TYPE: &'static str = "application/x-ndjson";
    type Refusal = OllamaRefusal;

    fn check(&self, request: &HttpRequest) -> Result<Value, OllamaRefusal> {
        check(request, &self.card)
    }

    fn aside(&self, request: &HttpRequest) -> Option<Vec<Piece>> {
        (request.path == "/api/show").then(|| {
            let place = self.shown.fetch_add(1, Ordering::SeqCst);
            show(request, &self.card, place)
        })
    }

    fn events(spoken: &Spoken) -> Vec<String> {
        stream::events(spoken)
    }
}

impl OllamaFake {
    /// Starts like [`Self::start`], with these facts about the model.
    pub async fn start_as(
        card: Card,
        answer: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
    ) -> Self {
        let api = OllamaApi { card, ..OllamaApi::default() };
        Self::start_with(api, RequestLog::default(), answer).await
    }

    /// Returns the number of requests for the model's facts.
    #[must_use]
    pub fn shown(&self) -> usize {
        self.api.shown.load(Ordering::SeqCst)
    }
}

/// Returns the results of the calls at the end of a request, in order.
#[must_use]
pub fn last_results(request: &Value) -> Vec<&str> {
    results_at_end(&request["messages"], |message| {
        (message["role"] == "tool").then(|| &message["content"])
    })
}

/// A refusal in the words of the real server.
#[derive(Debug)]
pub struct OllamaRefusal {
    status: u16,
    message: String,
}

impl From<OllamaRefusal> for FakeRefusal {
    fn from(refusal: OllamaRefusal) -> Self {
        let OllamaRefusal { status, message } = refusal;
        if message == NO_PAGE {
            return Self::new(status, "text/plain", NO_PAGE, message);
        }
        Self::new(status, JSON, &json!({ "error": message }).to_string(), message)
    }
}

const NO_PAGE: &str = "404 page not found";
/// The media type of a body in JSON.
const JSON: &str = "application/json; charset=utf-8";

fn invalid(message: impl Into<String>) -> OllamaRefusal {
    OllamaRefusal { status: 400, message: message.into() }
}

fn show(request: &HttpRequest, card: &Card, place: usize) -> Vec<Piece> {
    if let Some(failure) = card.failures.get(place) {
        return failure.clone();
    }
    match parse(request).and_then(|body| check_model(&body)) {
        Ok(()) => {
            let body = card.shown().to_string();
            whole(200, &[("content-type", JSON)], &body)
        }
        Err(refusal) => FakeRefusal::from(refusal).pieces,
    }
}

/// Checks a chat request and returns its body after truncation.
fn check(request: &HttpRequest, card: &Card) -> Result<Value, OllamaRefusal> {
    if request.path != "/api/chat" || request.method != "POST" {
        return Err(OllamaRefusal { status: 404, message: NO_PAGE.to_owned() });
    }
    check_key(request, card)?;
    let mut body = parse(request)?;
    body::check(&body)?;
    check_model(&body)?;
    card.check(&body)?;
    card.cut(&mut body)?;
    Ok(body)
}

/// Checks the key. A local server ignores it.
fn check_key(request: &HttpRequest, card: &Card) -> Result<(), OllamaRefusal> {
    let sent = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    match card.key {
        Some(key) if sent != Some(key) => {
            Err(OllamaRefusal { status: 401, message: "unauthorized".to_owned() })
        }
        _ => Ok(()),
    }
}

fn parse(request: &HttpRequest) -> Result<Value, OllamaRefusal> {
    if request.body.is_empty() {
        return Err(invalid("missing request body"));
    }
    serde_json::from_slice(&request.body).map_err(|error| invalid(error.to_string()))
}

fn check_model(body: &Value) -> Result<(), OllamaRefusal> {
    match body["model"].as_str().unwrap_or_default() {
        MODEL => Ok(()),
        "" => Err(invalid("model is required")),
        other => Err(OllamaRefusal {
            status: 404,
            message: format!("model \"{other}\" not found, try pulling it first"),
        }),
    }
}

#[cfg(test)]
#[path = "ollama_tests.rs"]
mod tests;
