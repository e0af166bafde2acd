//! The context size of a model according to its server. Asked once, on demand; everything works
//! without an answer.

use std::time::Duration;

use avocet_protocol::clock::within;
use avocet_protocol::model::decode_json;
use parking_lot::Mutex;
use serde_json::Value;

use crate::endpoint::ModelEndpoint;
use crate::endpoint::offered::listed_context;

/// Timeout of the request for the list of models.
const LIMIT: Duration = Duration::from_secs(5);
/// Delay after a failed request before the next one.
const PAUSE: Duration = Duration::from_mins(1);
/// Maximum bytes of the list: OpenRouter has hundreds of models.
const MAX_LIST: usize = 4 * 1024 * 1024;

/// The maximum tokens of a request and its answer together, according to the server.
#[derive(Debug)]
pub(super) struct ContextSize {
    url: String,
    known: Mutex<ContextState>,
}

#[derive(Debug, Clone, Copy)]
enum ContextState {
    Nothing,
    /// The request failed at this time of the clock.
    Failed(Duration),
    /// The answer; `None` if the context size is missing.
    Known(Option<u64>),
}

impl ContextSize {
    pub(super) fn from_base_url(base_url: &str) -> Self {
        let url = format!("{}/models", base_url.trim_end_matches('/'));
        Self { url, known: Mutex::new(ContextState::Nothing) }
    }

    pub(super) fn list_url(&self) -> &str {
        &self.url
    }

    /// Returns the context size of the model that the server calls `model`; `None` if unknown.
    pub(super) async fn ask_context(&self, endpoint: &ModelEndpoint, model: &str) -> Option<u64> {
        let now = endpoint.clock.elapsed();
        let known = *self.known.lock();
        match known {
            ContextState::Known(context) => return context,
            ContextState::Failed(at) if now.saturating_sub(at) < PAUSE => return None,
            ContextState::Failed(_) | ContextState::Nothing => {}
        }
        let list = within(endpoint.clock.as_ref(), LIMIT, self.request_list(endpoint, now)).await;
        let (known, context) = match list.unwrap_or_else(|late| Err(late.to_string())) {
            Ok(list) => {
                let context = context_in_list(&list, model);
                (ContextState::Known(context), context)
            }
            Err(error) => {
                tracing::debug!(
                    model = endpoint.name,
                    error,
                    "cannot read the context size of the model"
                );
                (ContextState::Failed(now), None)
            }
        };
        *self.known.lock() = known;
        context
    }

    /// Requests the list of models (OpenAI API reference, "List models"); null if it is missing.
    async fn request_list(&self, endpoint: &ModelEndpoint, now: Duration) -> Result<Value, String> {
        let headers = (endpoint.headers)(endpoint.keys.current_key(now).key);
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let response = endpoint.http.get(&self.url, &headers).await;
        let response = response.map_err(|error| error.to_string())?;
        match response.status() {
            200 => {}
            status @ (408 | 429 | 500..) => return Err(format!("status {status}")),
            _ => return Ok(Value::Null),
        }
        let text = response.read_text(MAX_LIST).await.map_err(|error| error.to_string())?;
        Ok(decode_json(text.as_bytes()).unwrap_or_default())
    }
}

/// The context size of a model, in the formats of vLLM, OpenRouter, Groq, Mistral and llama.cpp.
/// The last also reports the context size of the training.
fn context_in_list(list: &Value, model: &str) -> Option<u64> {
    let models = list["data"].as_array()?;
    let only = match &models[..] {
        // A server with one model accepts every name for it.
        [only] => Some(only),
        _ => None,
    };
    listed_context(models.iter().find(|one| one["id"] == model).or(only)?)
}

#[cfg(test)]
#[path = "facts_tests.rs"]
mod tests;
