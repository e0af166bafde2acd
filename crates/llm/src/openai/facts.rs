//! What a server says of its models beside how to ask them: how much one reads at once. It is asked when
//! somebody wants to know, once, and nothing depends on an answer.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use avocet_protocol::within;
use serde_json::Value;

use crate::asking::Endpoint;

/// How long the list of models may take.
const LIMIT: Duration = Duration::from_secs(5);
/// How long a server that failed is left alone.
const PAUSE: Duration = Duration::from_mins(1);
/// The most that is read of it, in bytes: OpenRouter's has hundreds of models.
const MAX_LIST: usize = 4 * 1024 * 1024;

/// The tokens that a request and its answer may have together, as the server says.
#[derive(Debug)]
pub(super) struct Context {
    url: String,
    known: Mutex<Known>,
}

#[derive(Debug, Clone, Copy)]
enum Known {
    Nothing,
    /// It failed at this time of the clock.
    Failed(Duration),
    /// This was said, or nothing about it.
    Said(Option<u64>),
}

impl Context {
    pub(super) fn at(base_url: &str) -> Self {
        let url = format!("{}/models", base_url.trim_end_matches('/'));
        Self { url, known: Mutex::new(Known::Nothing) }
    }

    /// Where the list of models is.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// What the server says of the model that it calls `model`; none if it does not.
    pub(super) async fn asked(&self, endpoint: &Endpoint, model: &str) -> Option<u64> {
        let now = endpoint.clock.elapsed();
        let known = *self.known();
        match known {
            Known::Said(context) => return context,
            Known::Failed(at) if now.saturating_sub(at) < PAUSE => return None,
            Known::Failed(_) | Known::Nothing => {}
        }
        let list = within(endpoint.clock.as_ref(), LIMIT, self.list(endpoint)).await;
        let (known, context) = match list.unwrap_or_else(|late| Err(late.to_string())) {
            Ok(list) => {
                let context = context(&list, model);
                (Known::Said(context), context)
            }
            Err(error) => {
                tracing::debug!(model = endpoint.name, error, "nothing is known of its context");
                (Known::Failed(now), None)
            }
        };
        *self.known() = known;
        context
    }

    /// The list of models (OpenAI API reference, "List models"); nothing where there is none.
    async fn list(&self, endpoint: &Endpoint) -> Result<Value, String> {
        let headers = (endpoint.headers)(endpoint.api_key.as_ref());
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let response = endpoint.http.get(&self.url, &headers).await;
        let response = response.map_err(|error| error.to_string())?;
        match response.status() {
            200 => {}
            status @ (408 | 429 | 500..) => return Err(format!("status {status}")),
            _ => return Ok(Value::Null),
        }
        let text = response.text(MAX_LIST).await.map_err(|error| error.to_string())?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The context of a model, in the words of vLLM, OpenRouter, Groq, Mistral and llama.cpp, which also says
/// how much the model was trained for.
fn context(list: &Value, model: &str) -> Option<u64> {
    let models = list["data"].as_array()?;
    let only = match &models[..] {
        // A server of one model takes every name for it.
        [only] => Some(only),
        _ => None,
    };
    let found = models.iter().find(|one| one["id"] == model).or(only)?;
    let meta = &found["meta"];
    let places = [
        &found["max_model_len"],
        &found["context_length"],
        &found["context_window"],
        &found["max_context_length"],
        &meta["n_ctx"],
        &meta["n_ctx_train"],
    ];
    places.into_iter().filter_map(Value::as_u64).find(|tokens| *tokens > 0)
}

#[cfg(test)]
#[path = "facts_tests.rs"]
mod tests;
