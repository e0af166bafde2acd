//! Any endpoint with Anthropic's Messages API (Anthropic API reference, "Messages").

pub(crate) mod answer;
mod config;
mod request;
mod thinking;

use std::sync::Arc;

use async_trait::async_trait;
use avocet_net::HttpClient;
use avocet_protocol::clock::Clock;
use avocet_protocol::model::{Deltas, Model, ModelError, ModelFacts, ModelReply, ModelRequest};
use avocet_text::Secret;
use serde_json::Value;

use crate::answer_schema::{self, with_answer_schema};
use crate::endpoint::{
    ListForm, ModelEndpoint, ModelListError, NamedWindow, OfferedModel, ProbeResult, texts_at_key,
};
use crate::facts::{SourcedFacts, shipped_facts};
use crate::keys::KeyRing;
use crate::known_model::ServedModel;
use crate::repair::RepairLessons;
use crate::wire_json::read_count;
use answer::AnthropicAnswer;
use request::{AnthropicOptions, AnthropicRequest};
use thinking::ThinkingForm;

pub use config::AnthropicConfig;

/// The API version in the request headers.
const VERSION: &str = "2023-06-01";

/// A model behind an endpoint with the Messages API.
#[derive(Debug)]
pub struct AnthropicModel {
    endpoint: ModelEndpoint,
    options: AnthropicOptions,
    images: bool,
}

impl AnthropicModel {
    /// Creates the model `model` of the provider that the configuration calls `provider`.
    #[must_use]
    pub fn new(
        provider: &str,
        model: &str,
        config: &AnthropicConfig,
        clock: Arc<dyn Clock>,
    ) -> Self {
        // The API counts reasoning as output. An operator's limit above the built-in one wins.
        let known = shipped_facts(model, &config.base_url).max_output;
        let most_tokens = known.map_or(u32::MAX, |most| u32::try_from(most).unwrap_or(u32::MAX));
        let most_tokens = most_tokens.max(config.max_output_tokens);
        let options = AnthropicOptions {
            model: model.to_owned(),
            max_tokens: config.max_output_tokens,
            thinking_tokens: config.thinking_tokens,
            form: ThinkingForm::from_model_name(model),
            most_tokens,
            caching: config.prompt_caching,
            deferral: config.deferred_tools.into(),
        };
        let endpoint = ModelEndpoint {
            name: format!("{provider}/{model}"),
            url: format!("{}/v1/messages", config.base_url.trim_end_matches('/')),
            keys: KeyRing::new(config.api_key.as_ref()),
            headers: request_headers,
            retries: config.max_retries,
            limits: config.request_timeouts(),
            http: HttpClient::new(),
            window: NamedWindow::default(),
            repairs: RepairLessons::default(),
            clock,
        };
        Self { endpoint, options, images: config.images.unwrap_or_default() }
    }
}

fn request_headers(api_key: Option<&Secret>) -> Vec<(&'static str, String)> {
    let key = api_key.map(|key| ("x-api-key", key.expose().to_owned()));
    key.into_iter().chain([("anthropic-version", VERSION.to_owned())]).collect()
}

impl AnthropicModel {
    /// The request body in the format of the API.
    pub(crate) fn request_body(&self, request: &ModelRequest) -> serde_json::Result<Vec<u8>> {
        let body = serde_json::to_vec(&AnthropicRequest::new(
            &self.endpoint.name,
            &self.options,
            request,
        ))?;
        with_answer_schema(body, request, answer_schema::set_anthropic_schema)
    }
}

#[async_trait]
impl Model for AnthropicModel {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    async fn facts(&self) -> ModelFacts {
        let thinking = self.options.form.can_think();
        let context = self.endpoint.window.get();
        ModelFacts { images: self.images, context, thinking, ..ModelFacts::default() }
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let room = self.options.thinking_for(request.options.effort).room;
        let most = Some(self.options.max_tokens(room));
        let body = |request: &ModelRequest| self.request_body(request);
        self.endpoint.ask_model::<AnthropicAnswer>(request, most, body, deltas).await
    }
}

/// Reads a model of the list.
fn offered_model(model: &Value) -> Option<OfferedModel> {
    let tokens = |key: &str| read_count(&model[key]).filter(|tokens| *tokens > 0);
    let (context, max_output) = (tokens("max_input_tokens"), tokens("max_tokens"));
    let name = model["id"].as_str()?.to_owned();
    Some(OfferedModel {
        name,
        facts: SourcedFacts { context, max_output, ..SourcedFacts::default() },
    })
}

fn next_page(page: &Value) -> Option<(&'static str, String)> {
    let last = page["last_id"].as_str().filter(|_| page["has_more"] == true)?;
    Some(("after_id", last.to_owned()))
}

#[async_trait]
impl ServedModel for AnthropicModel {
    /// See Anthropic API reference, "List Models".
    async fn list_models(&self) -> Result<Vec<OfferedModel>, ModelListError> {
        let url = self.endpoint.url.replace("/v1/messages", "/v1/models?limit=1000");
        let form = ListForm { key: "data", model: offered_model, next: next_page };
        self.endpoint.list_models::<AnthropicAnswer>(&url, form).await
    }

    /// Asks for the model first, because the list omits some valid names (Anthropic API reference,
    /// "Get a Model").
    async fn probe_model(&self) -> Result<ProbeResult, ModelError> {
        let (endpoint, model) = (&self.endpoint, &self.options.model);
        let models = endpoint.url.replace("/v1/messages", "/v1/models");
        let one = format!("{models}/{model}");
        if !model.is_empty() && endpoint.get_json::<AnthropicAnswer>(&one).await?.is_some() {
            return Ok(ProbeResult::Works);
        }
        let names = |list: &Value| texts_at_key(&list["data"], "id");
        let list = format!("{models}?limit=1000");
        match endpoint.find_in_list::<AnthropicAnswer>(&list, names, model).await? {
            Some(found) => Ok(found),
            None if model.is_empty() => Ok(ProbeResult::KeyUnchecked),
            None => {
                endpoint
                    .probe_with_request::<AnthropicAnswer>(|request| self.request_body(request))
                    .await
            }
        }
    }

    fn key_ring(&self) -> &KeyRing {
        &self.endpoint.keys
    }
}

#[cfg(test)]
#[path = "deferral_tests.rs"]
mod deferral_tests;

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

#[cfg(test)]
#[path = "thinking_tests.rs"]
mod thinking_tests;
