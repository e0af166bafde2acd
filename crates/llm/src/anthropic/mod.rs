//! Any endpoint with Anthropic's Messages API (Anthropic API reference, "Messages").

pub(crate) mod answer;
mod config;
mod request;
mod thinking;

use std::sync::Arc;

use async_trait::async_trait;
use avocet_net::{HttpClient, NetError};
use avocet_protocol::{
    Clock, Deltas, Model, ModelError, ModelFacts, ModelReply, ModelRequest, Secret,
};
use serde_json::Value;

use crate::answer_schema::{self, with_answer_schema};
use crate::endpoint::{Endpoint, ListForm, NamedWindow, OfferedModel, Probe, texts};
use crate::facts::{Facts, shipped_facts};
use crate::keys::KeyRing;
use crate::known_model::Served;
use crate::repair::Repairs;
use crate::wire_json::read_count;
use answer::AnthropicAnswer;
use request::{AnthropicOptions, AnthropicRequest};
use thinking::ThinkingForm;

pub use config::AnthropicConfig;

/// The API version in the request headers.
const VERSION: &str = "2023-06-01";

/// A model behind an endpoint with the Messages API.
#[derive(Debug)]
pub struct Anthropic {
    endpoint: Endpoint,
    options: AnthropicOptions,
    images: bool,
}

impl Anthropic {
    /// Creates the model `model` of the provider that the configuration calls `provider`.
    ///
    /// # Errors
    /// [`NetError`] if creating the HTTP client fails.
    pub fn new(
        provider: &str,
        model: &str,
        config: &AnthropicConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, NetError> {
        // The API counts reasoning as output. An operator's limit above the built-in one wins.
        let known = shipped_facts(model, &config.base_url).max_output;
        let most_tokens = known.map_or(u32::MAX, |most| u32::try_from(most).unwrap_or(u32::MAX));
        let most_tokens = most_tokens.max(config.max_output_tokens);
        let options = AnthropicOptions {
            model: model.to_owned(),
            max_tokens: config.max_output_tokens,
            thinking_tokens: config.thinking_tokens,
            form: ThinkingForm::of(model),
            most_tokens,
            caching: config.prompt_caching,
            deferral: config.deferred_tools.into(),
        };
        let endpoint = Endpoint {
            name: format!("{provider}/{model}"),
            url: format!("{}/v1/messages", config.base_url.trim_end_matches('/')),
            keys: KeyRing::new(config.api_key.as_ref()),
            headers,
            retries: config.max_retries,
            limits: config.limits(),
            http: HttpClient::new()?,
            window: NamedWindow::default(),
            repairs: Repairs::default(),
            clock,
        };
        Ok(Self { endpoint, options, images: config.images.unwrap_or_default() })
    }
}

fn headers(api_key: Option<&Secret>) -> Vec<(&'static str, String)> {
    let key = api_key.map(|key| ("x-api-key", key.expose().to_owned()));
    key.into_iter().chain([("anthropic-version", VERSION.to_owned())]).collect()
}

impl Anthropic {
    /// The request body in the format of the API.
    pub(crate) fn body(&self, request: &ModelRequest) -> serde_json::Result<Vec<u8>> {
        let body = serde_json::to_vec(&AnthropicRequest::new(
            &self.endpoint.name,
            &self.options,
            request,
        ))?;
        with_answer_schema(body, request, answer_schema::anthropic)
    }
}

#[async_trait]
impl Model for Anthropic {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    async fn facts(&self) -> ModelFacts {
        let thinking = self.options.form.ability();
        let context = self.endpoint.window.get();
        ModelFacts { images: self.images, context, thinking, ..ModelFacts::default() }
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let room = self.options.thinking(request.options.effort).room;
        let most = Some(self.options.max_tokens(room));
        let body = |request: &ModelRequest| self.body(request);
        self.endpoint.ask::<AnthropicAnswer>(request, most, body, deltas).await
    }
}

/// Reads a model of the list.
fn offered_model(model: &Value) -> Option<OfferedModel> {
    let tokens = |key: &str| read_count(&model[key]).filter(|tokens| *tokens > 0);
    let (context, max_output) = (tokens("max_input_tokens"), tokens("max_tokens"));
    let name = model["id"].as_str()?.to_owned();
    Some(OfferedModel { name, facts: Facts { context, max_output, ..Facts::default() } })
}

fn next_page(page: &Value) -> Option<(&'static str, String)> {
    let last = page["last_id"].as_str().filter(|_| page["has_more"] == true)?;
    Some(("after_id", last.to_owned()))
}

#[async_trait]
impl Served for Anthropic {
    /// See Anthropic API reference, "List Models".
    async fn offered(&self) -> Result<Vec<OfferedModel>, ModelError> {
        let url = self.endpoint.url.replace("/v1/messages", "/v1/models?limit=1000");
        let form = ListForm { key: "data", model: offered_model, next: next_page };
        self.endpoint.offered::<AnthropicAnswer>(&url, form).await
    }

    /// Asks for the model first, because the list omits some valid names (Anthropic API reference,
    /// "Get a Model").
    async fn probe(&self) -> Result<Probe, ModelError> {
        let (endpoint, model) = (&self.endpoint, &self.options.model);
        let models = endpoint.url.replace("/v1/messages", "/v1/models");
        let one = format!("{models}/{model}");
        if !model.is_empty() && endpoint.look::<AnthropicAnswer>(&one).await?.is_some() {
            return Ok(Probe::Works);
        }
        let names = |list: &Value| texts(&list["data"], "id");
        let list = format!("{models}?limit=1000");
        match endpoint.listed::<AnthropicAnswer>(&list, names, model).await? {
            Some(found) => Ok(found),
            None if model.is_empty() => Ok(Probe::KeyUnchecked),
            None => endpoint.begins::<AnthropicAnswer>(|request| self.body(request)).await,
        }
    }

    fn keys(&self) -> &KeyRing {
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
