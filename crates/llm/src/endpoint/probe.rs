//! Checks that a provider can be used. Reads its list of models if it has one, which is free of
//! charge.

use std::collections::BTreeMap;

use avocet_protocol::model::{Message, ModelError, ModelRequest, decode_json};
use avocet_text::nearest;
use serde_json::Value;

use super::{MAX_ANSWER, MAX_BODY, ModelEndpoint, RequestAttempt, StreamedAnswer};
use crate::retry::ShownDeltas;

/// The result of a check of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeResult {
    /// The key is valid, and the model exists.
    Works,
    /// The model exists. The list of models is public, so the key is unchecked.
    KeyUnchecked,
    /// The model is unknown. The key is valid or unchecked.
    NoModel {
        /// The most similar name in the list.
        nearest: Option<String>,
    },
    /// The server has a single model, with another name. That is a weak hint: many such servers
    /// accept every name.
    OtherModel {
        /// The name of that model.
        only: String,
    },
    /// The server has its API at another address.
    OtherBaseUrl {
        /// The value for `base_url`.
        meant: String,
    },
}

/// Extracts the names of the models from a list.
pub(crate) type ModelListParser = fn(&Value) -> Option<Vec<String>>;

impl ModelEndpoint {
    /// Looks for a model in the list at `url`; `None` if the list is missing. An empty name checks
    /// only that the list exists.
    ///
    /// # Errors
    /// [`ModelError`] as for a request to the model.
    pub(crate) async fn find_in_list<A: StreamedAnswer>(
        &self,
        url: &str,
        names: ModelListParser,
        model: &str,
    ) -> Result<Option<ProbeResult>, ModelError> {
        let Some(names) = self.get_json::<A>(url).await?.as_ref().and_then(names) else {
            return Ok(None);
        };
        if !model.is_empty() && !is_among(model, &names) {
            if let [only] = &names[..] {
                return Ok(Some(ProbeResult::OtherModel { only: only.clone() }));
            }
            let nearest = nearest(model, names.iter().map(String::as_str)).map(str::to_owned);
            return Ok(Some(ProbeResult::NoModel { nearest }));
        }
        let is_unchecked = self.keys.len() > 0 && self.is_open(url).await;
        Ok(Some(if is_unchecked { ProbeResult::KeyUnchecked } else { ProbeResult::Works }))
    }

    /// Returns the JSON at a URL of the API; `None` if the URL does not exist or its body is
    /// invalid.
    ///
    /// # Errors
    /// [`ModelError`] as for a request to the model.
    pub(crate) async fn get_json<A: StreamedAnswer>(
        &self,
        url: &str,
    ) -> Result<Option<Value>, ModelError> {
        let headers = (self.headers)(self.keys.current_key(self.clock.elapsed()).key);
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let response = self
            .http
            .get(url, &headers)
            .await
            .map_err(|error| self.error_without_response(error))?;
        match response.status() {
            200 => {
                let text = response
                    .read_text(MAX_BODY)
                    .await
                    .map_err(|error| self.broken_answer(&error))?;
                Ok(decode_json(text.as_bytes()).ok())
            }
            404 | 405 | 501 => Ok(None),
            _ => Err(self.error_from_response::<A>(response).await),
        }
    }

    /// Returns `true` if the URL also answers without a key.
    async fn is_open(&self, url: &str) -> bool {
        let headers = (self.headers)(None);
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.http.get(url, &headers).await.is_ok_and(|response| response.status() == 200)
    }

    /// Sends the shortest possible request once and returns when its answer begins: for an API
    /// without a list of models.
    ///
    /// # Errors
    /// [`ModelError`] as for any request.
    pub(crate) async fn probe_with_request<A: StreamedAnswer>(
        &self,
        body: impl Fn(&ModelRequest) -> serde_json::Result<Vec<u8>>,
    ) -> Result<ProbeResult, ModelError> {
        let request = ModelRequest {
            messages: vec![Message::user("Say: ok")].into(),
            tools: [].into(),
            deferred: [].into(),
            images: BTreeMap::new(),
            ..ModelRequest::default()
        };
        let body = body(&request).map_err(|error| self.bad_answer(error.to_string()))?;
        let key = self.keys.current_key(self.clock.elapsed()).key;
        let shown = ShownDeltas::new(&|_| {});
        let attempt = RequestAttempt { shown: &shown, key, max_answer: MAX_ANSWER };
        self.begin_answer::<A>(body, attempt).await.map(|_| ProbeResult::Works)
    }
}

/// Returns `true` if the list has the model, by its name with or without a tag (Ollama,
/// OpenRouter).
fn is_among(model: &str, names: &[String]) -> bool {
    let bare = |name: &str| name.split(':').next().unwrap_or_default().to_owned();
    let is_it =
        |name: &String| name == model || *name == format!("{model}:latest") || *name == bare(model);
    names.iter().any(is_it)
}

/// The strings at `key` in the objects of an array.
pub(crate) fn texts_at_key(list: &Value, key: &str) -> Option<Vec<String>> {
    let list = list.as_array()?;
    Some(list.iter().filter_map(|one| Some(one[key].as_str()?.to_owned())).collect())
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;
