//! Reads the whole list of the models that a provider offers, page by page.

use avocet_protocol::model::{ModelError, Price};
use avocet_text::append_text;
use serde_json::Value;

use super::{ModelEndpoint, StreamedAnswer};
use crate::SourcedFacts;
use crate::wire_json::read_count;

/// Most pages that are read of a list.
const MAX_PAGES: usize = 50;

/// A model that a provider offers.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedModel {
    /// The provider's name for it.
    pub name: String,
    /// The facts that the list states.
    pub facts: SourcedFacts,
}

/// The form of an API's list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListForm {
    /// The key of the array of models in a page.
    pub(crate) key: &'static str,
    /// Reads one model; `None` for entries that cannot answer.
    pub(crate) model: fn(&Value) -> Option<OfferedModel>,
    /// Returns the parameter and value of the URL of the next page; `None` after the last page.
    pub(crate) next: fn(&Value) -> Option<(&'static str, String)>,
}

/// The reason why there is no list of a provider's models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelListError {
    /// The server has no list. It may work all the same.
    #[error("{model}: the server has no list of models")]
    Missing {
        /// `provider/model`.
        model: String,
    },
    /// The server is unreachable, or refuses the request.
    #[error(transparent)]
    Failed(#[from] ModelError),
}

impl ModelEndpoint {
    /// Returns all models of the list at `url`, sorted by name.
    ///
    /// # Errors
    /// [`ModelListError`].
    pub(crate) async fn list_models<A: StreamedAnswer>(
        &self,
        url: &str,
        form: ListForm,
    ) -> Result<Vec<OfferedModel>, ModelListError> {
        let mut found = Vec::new();
        let mut page_url = url.to_owned();
        for _ in 0..MAX_PAGES {
            let page = self.get_json::<A>(&page_url).await?;
            let models = page.as_ref().and_then(|page| page[form.key].as_array());
            let (Some(page), Some(models)) = (&page, models) else {
                return Err(ModelListError::Missing { model: self.name.clone() });
            };
            found.extend(models.iter().filter_map(form.model));
            let Some((parameter, value)) = (form.next)(page).filter(|_| !models.is_empty()) else {
                break;
            };
            let sign = if url.contains('?') { '&' } else { '?' };
            page_url = format!("{url}{sign}{parameter}={}", encode_url_value(&value));
        }
        found.sort_by(|one: &OfferedModel, other| one.name.cmp(&other.name));
        found.dedup_by(|one, other| one.name == other.name);
        Ok(found)
    }
}

/// Returns the form of a list that consists of a single page.
pub(crate) fn one_page(_: &Value) -> Option<(&'static str, String)> {
    None
}

/// Reads a model of a list in the formats of OpenAI, vLLM, OpenRouter, Groq, Mistral and llama.cpp.
pub(crate) fn openai_model(model: &Value) -> Option<OfferedModel> {
    let name = model["id"].as_str().or(model.as_str())?.to_owned();
    let images = model["architecture"]["input_modalities"].as_array();
    let images = images.map(|all| all.iter().any(|one| one == "image"));
    let tokens = |place: &Value| read_count(place).filter(|tokens| *tokens > 0);
    let max_output = tokens(&model["top_provider"]["max_completion_tokens"]);
    let context = listed_context(model);
    let pricing = &model["pricing"];
    let price = |key: &str| {
        let amount = &pricing[key];
        let amount = amount.as_f64().or_else(|| amount.as_str()?.trim().parse().ok())?;
        (0.0..1.0).contains(&amount).then_some(amount * 1e6)
    };
    let price = price("prompt").zip(price("completion")).map(|(input, output)| Price {
        input,
        output,
        cached: price("input_cache_read"),
        cache_write: price("input_cache_write"),
    });
    Some(OfferedModel {
        name,
        facts: SourcedFacts { context, max_output, images, price, ..SourcedFacts::default() },
    })
}

/// Encodes a value for a URL (RFC 3986).
fn encode_url_value(value: &str) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte));
            }
            other => append_text(&mut text, format_args!("%{other:02X}")),
        }
    }
    text
}

/// The context size of an entry of the list.
pub(crate) fn listed_context(found: &Value) -> Option<u64> {
    let meta = &found["meta"];
    let places = [
        &found["max_model_len"],
        &found["context_length"],
        &found["context_window"],
        &found["max_context_length"],
        &meta["n_ctx"],
        &meta["n_ctx_train"],
    ];
    places.into_iter().filter_map(read_count).find(|tokens| *tokens > 0)
}

#[cfg(test)]
#[path = "offered_tests.rs"]
mod tests;
