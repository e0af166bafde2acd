//! Ollama's native API on loopback, with one model. It refuses the requests that the real one
//! refuses, in its words, and truncates silently like the real one.

mod body;
mod card;
mod stream;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::answer::{ModelAnswer, Wire};
use crate::http::{HttpRequest, Piece, whole};
use crate::model_server::{ModelRefusal, ModelServer};

pub use card::Card;
pub use stream::line;

/// The key of a server that requires one.
pub const KEY: &str = "ollama-test-1234567890";
/// The only model.
pub const MODEL: &str = "qwen-test:8b";

/// A server at `http://ADDRESS`, with `/api/chat` and `/api/show`.
#[derive(Debug)]
pub struct OllamaFake {
    server: ModelServer,
    shown: Arc<AtomicUsize>,
}

impl OllamaFake {
    /// Starts a server with a model that has all capabilities. `answer` is called for each request
    /// that the API accepts.
    pub async fn start(answer: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static) -> Self {
        Self::start_as(Card::default(), answer).await
    }

    /// Starts like [`Self::start`], with these facts about the model.
    pub async fn start_as(
        card: Card,
        answer: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
    ) -> Self {
        let shown = Arc::<AtomicUsize>::default();
        let wire = Wire { media_type: "application/x-ndjson", events: stream::events };
        let (card, asked) = (Arc::new(card), shown.clone());
        let of_model = card.clone();
        let beside = move |request: &HttpRequest| {
            (request.path == "/api/show").then(|| {
                let place = asked.fetch_add(1, Ordering::SeqCst);
                show(request, &card, place)
            })
        };
        let check =
            move |request: &HttpRequest| check(request, &of_model).map_err(ModelRefusal::from);
        Self { server: ModelServer::start_on(wire, answer, beside, check).await, shown }
    }

    /// Returns the value for `base_url`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Returns the bodies of the requests that reached the model, after truncation.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.server.requests()
    }

    /// Returns the reasons of refusals.
    #[must_use]
    pub fn refusals(&self) -> Vec<String> {
        self.server.refusals()
    }

    /// Returns the number of requests for the model's facts.
    #[must_use]
    pub fn shown(&self) -> usize {
        self.shown.load(Ordering::SeqCst)
    }
}

/// Returns the results of the calls at the end of a request, in order.
#[must_use]
pub fn last_results(request: &Value) -> Vec<&str> {
    let messages = request["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let results = messages.iter().rev().take_while(|message| message["role"] == "tool");
    let mut results: Vec<&str> =
        results.map(|message| message["content"].as_str().unwrap()).collect();
    results.reverse();
    results
}

/// A refusal in the words of the real server.
#[derive(Debug)]
struct OllamaRefusal {
    status: u16,
    message: String,
}

impl From<OllamaRefusal> for ModelRefusal {
    fn from(refusal: OllamaRefusal) -> Self {
        let OllamaRefusal { status, message } = refusal;
        let pieces = match message.as_str() {
            NO_PAGE => whole(status, &[("content-type", "text/plain")], NO_PAGE),
            _ => whole(
                status,
                &[("content-type", "application/json; charset=utf-8")],
                &json!({ "error": message }).to_string(),
            ),
        };
        Self { pieces, message }
    }
}

const NO_PAGE: &str = "404 page not found";

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
            whole(200, &[("content-type", "application/json; charset=utf-8")], &body)
        }
        Err(refusal) => ModelRefusal::from(refusal).pieces,
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
