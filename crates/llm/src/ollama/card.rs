//! What the server says that a model can do (Ollama API, "Show model information"): asked once.

use std::sync::Arc;
use std::time::Duration;

use avocet_net::HttpClient;
use avocet_protocol::{Clock, Secret, within};
use futures_util::lock::Mutex;
use serde_json::{Value, json};

use super::headers;
use crate::detail::{clean, says};

/// How long the answer may take.
const LIMIT: Duration = Duration::from_secs(10);
/// How long nobody asks again after there was none.
const REST: Duration = Duration::from_mins(1);
/// The most that is read of it, in bytes: some models have long licences.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// What is known of a model; none where nobody knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Card {
    pub(super) tools: Option<bool>,
    pub(super) images: Option<bool>,
    pub(super) thinking: Option<bool>,
    /// The context that the model was made for.
    pub(super) context: Option<u64>,
    /// The context that its Modelfile asks for.
    pub(super) num_ctx: Option<u64>,
}

/// A model's card, and where it is asked for.
#[derive(Debug)]
pub(super) struct Cards {
    pub(super) url: String,
    pub(super) model: String,
    pub(super) api_key: Option<Secret>,
    pub(super) http: HttpClient,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) asked: Mutex<Asked>,
}

/// What has become of the question.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Asked {
    #[default]
    Never,
    Answered(Card),
    /// When it failed.
    Failed(Duration),
}

impl Cards {
    /// What the server says; nothing while it does not. Whoever comes meanwhile waits for the same
    /// answer.
    pub(super) async fn card(&self) -> Card {
        let mut asked = self.asked.lock().await;
        match *asked {
            Asked::Answered(card) => return card,
            Asked::Failed(at) if self.clock.elapsed() < at + REST => return Card::default(),
            Asked::Failed(_) | Asked::Never => {}
        }
        let answer = within(self.clock.as_ref(), LIMIT, self.ask()).await;
        let answer = answer.unwrap_or_else(|_| Err(format!("no answer in {} s", LIMIT.as_secs())));
        let (now, card) = match answer {
            Ok(card) => (Asked::Answered(card), card),
            Err(error) => {
                let (model, error) = (&self.model, clean(&error, self.api_key.as_ref()));
                tracing::warn!(model, error, "the server does not say what the model can do");
                (Asked::Failed(self.clock.elapsed()), Card::default())
            }
        };
        *asked = now;
        card
    }

    async fn ask(&self) -> Result<Card, String> {
        let headers = headers(self.api_key.as_ref());
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let body = json!({ "model": self.model }).to_string().into_bytes();
        let response = self.http.post_json(&self.url, &headers, body).await;
        let response = response.map_err(|error| error.to_string())?;
        let status = response.status();
        let body = response.text(MAX_BODY).await.map_err(|error| error.to_string())?;
        let shown: Value = serde_json::from_str(&body).unwrap_or_default();
        match status {
            200 if shown.is_object() => Ok(Card::of(&shown)),
            200 => Err("the answer is no JSON object".to_owned()),
            _ => Err(format!("{status}: {}", says(&shown).unwrap_or(&body).trim())),
        }
    }
}

impl Card {
    fn of(shown: &Value) -> Self {
        let capabilities = shown["capabilities"].as_array();
        let can = |what: &str| capabilities.map(|all| all.iter().any(|one| one == what));
        let info = &shown["model_info"];
        let architecture = info["general.architecture"].as_str().unwrap_or_default();
        let parameters = shown["parameters"].as_str().unwrap_or_default();
        Self {
            tools: can("tools"),
            images: can("vision"),
            thinking: can("thinking"),
            context: info[format!("{architecture}.context_length")].as_u64(),
            num_ctx: parameters.lines().find_map(num_ctx),
        }
    }
}

/// The value in a line of parameters: `num_ctx    8192`.
fn num_ctx(line: &str) -> Option<u64> {
    let (name, value) = line.trim().split_once(char::is_whitespace)?;
    (name == "num_ctx").then(|| value.trim().parse().ok()).flatten()
}
