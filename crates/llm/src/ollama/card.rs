//! The abilities of a model according to the server (Ollama API, "Show model information"). Asked
//! once and cached.

use std::sync::Arc;
use std::time::Duration;

use avocet_net::HttpClient;
use avocet_protocol::clock::{Clock, within};
use avocet_protocol::model::decode_json;
use avocet_text::Secret;
use futures_util::lock::Mutex;
use serde_json::{Value, json};

use super::request_headers;
use crate::detail::{clean_detail, error_text};
use crate::wire_json::read_count;

/// Timeout of the request.
const LIMIT: Duration = Duration::from_secs(10);
/// Delay after a failed request before the next one.
const REST: Duration = Duration::from_mins(1);
/// Maximum bytes of the response: some models have long licences.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// The abilities of a model; `None` for unknown ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ModelCard {
    pub(super) tools: Option<bool>,
    pub(super) images: Option<bool>,
    pub(super) thinking: Option<bool>,
    /// The context size that the model was made for.
    pub(super) context: Option<u64>,
    /// The context size in its Modelfile.
    pub(super) num_ctx: Option<u64>,
}

/// The cached card of a model, and the address to get it from.
#[derive(Debug)]
pub(super) struct CachedCard {
    pub(super) url: String,
    pub(super) model: String,
    pub(super) api_key: Option<Secret>,
    pub(super) http: HttpClient,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) asked: Mutex<CardState>,
}

/// The state of the request for the card.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum CardState {
    #[default]
    Never,
    Answered(ModelCard),
    /// The time of the failure.
    Failed(Duration),
}

impl CachedCard {
    /// Returns the card; an empty one while the server fails. Concurrent callers wait for the same
    /// request.
    pub(super) async fn get_card(&self) -> ModelCard {
        let mut asked = self.asked.lock().await;
        match *asked {
            CardState::Answered(card) => return card,
            CardState::Failed(at) if self.clock.elapsed() < at + REST => {
                return ModelCard::default();
            }
            CardState::Failed(_) | CardState::Never => {}
        }
        let answer = within(self.clock.as_ref(), LIMIT, self.request_card()).await;
        let answer = answer.unwrap_or_else(|_| Err(format!("no answer in {} s", LIMIT.as_secs())));
        let (now, card) = match answer {
            Ok(card) => (CardState::Answered(card), card),
            Err(error) => {
                let (model, error) = (&self.model, clean_detail(&error, self.api_key.as_ref()));
                tracing::warn!(model, error, "the server does not say what the model can do");
                (CardState::Failed(self.clock.elapsed()), ModelCard::default())
            }
        };
        *asked = now;
        card
    }

    async fn request_card(&self) -> Result<ModelCard, String> {
        let headers = request_headers(self.api_key.as_ref());
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let body = json!({ "model": self.model }).to_string().into_bytes();
        let response = self.http.post_json(&self.url, &headers, body).await;
        let response = response.map_err(|error| error.to_string())?;
        let status = response.status();
        let body = response.read_text(MAX_BODY).await.map_err(|error| error.to_string())?;
        let shown: Value = decode_json(body.as_bytes()).unwrap_or_default();
        match status {
            200 if shown.is_object() => Ok(ModelCard::from_answer(&shown)),
            200 => Err("the answer is not a JSON object".to_owned()),
            _ => Err(format!("{status}: {}", error_text(&shown, &body).trim())),
        }
    }
}

impl ModelCard {
    fn from_answer(shown: &Value) -> Self {
        let capabilities = shown["capabilities"].as_array();
        let can = |what: &str| capabilities.map(|all| all.iter().any(|one| one == what));
        let info = &shown["model_info"];
        let architecture = info["general.architecture"].as_str().unwrap_or_default();
        let parameters = shown["parameters"].as_str().unwrap_or_default();
        Self {
            tools: can("tools"),
            images: can("vision"),
            thinking: can("thinking"),
            context: read_count(&info[format!("{architecture}.context_length")]),
            num_ctx: parameters.lines().find_map(num_ctx),
        }
    }
}

/// Parses a line of parameters: `num_ctx    8192`.
fn num_ctx(line: &str) -> Option<u64> {
    let (name, value) = line.trim().split_once(char::is_whitespace)?;
    (name == "num_ctx").then(|| value.trim().parse().ok()).flatten()
}
