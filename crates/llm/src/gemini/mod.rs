//! Google's Gemini models, behind the Generative Language API (Gemini API reference,
//! "models.streamGenerateContent").

pub(crate) mod answer;
mod config;
mod request;
mod schema;
pub(crate) mod signatures;
mod thinking;

use std::sync::Arc;

use async_trait::async_trait;
use avocet_net::HttpClient;
use avocet_protocol::clock::Clock;
use avocet_protocol::model::{
    Arguments, Deltas, Model, ModelError, ModelFacts, ModelReply, ModelRequest,
};
use avocet_text::Secret;
use serde_json::Value;

use crate::SourcedFacts;
use crate::answer_schema::{self, with_answer_schema};
use crate::endpoint::{
    ListForm, ModelEndpoint, ModelListError, NamedWindow, OfferedModel, ProbeResult, texts_at_key,
};
use crate::facts::{BuiltIn, host_of};
use crate::keys::KeyRing;
use crate::known_model::ServedModel;
use crate::repair::{RepairLessons, RequestAdjustment};
use crate::wire_json::read_count;
use answer::GeminiAnswer;
use request::{GeminiOptions, GeminiRequest, SignedModel};
use thinking::GeminiThinking;

pub use config::GeminiConfig;

/// A model behind the Generative Language API.
#[derive(Debug)]
pub struct GeminiModel {
    endpoint: ModelEndpoint,
    options: GeminiOptions,
    images: bool,
}

impl GeminiModel {
    /// Creates the model `model` of the provider that the configuration calls `provider`.
    #[must_use]
    pub fn new(provider: &str, model: &str, config: &GeminiConfig, clock: Arc<dyn Clock>) -> Self {
        let known = BuiltIn::find_model(model, host_of(&config.base_url)).facts.max_output;
        let most_tokens = known.and_then(|most| u32::try_from(most).ok());
        let options = GeminiOptions {
            max_output_tokens: config.max_output_tokens,
            thinking_tokens: config.thinking_tokens,
            thinking: GeminiThinking::from_model_name(model),
            most_tokens: most_tokens.unwrap_or(u32::MAX),
            wants_signatures: signatures::are_wanted(model),
        };
        let endpoint = ModelEndpoint {
            name: format!("{provider}/{model}"),
            url: request_url(&config.base_url, model),
            keys: KeyRing::new(config.api_key.as_ref()),
            headers: request_headers,
            retries: config.max_retries,
            limits: config.request_timeouts(),
            http: HttpClient::new(),
            window: NamedWindow::default(),
            repairs: RepairLessons::default(),
            clock,
        };
        Self { endpoint, options, images: config.images.unwrap_or(true) }
    }
}

/// The URL for requests to a model. Accepts `gemini-2.5-flash` and the resource name
/// `models/gemini-2.5-flash`.
fn request_url(base_url: &str, model: &str) -> String {
    let base_url = base_url.trim_end_matches('/');
    let collection = if model.contains('/') { "" } else { "models/" };
    format!("{base_url}/v1beta/{collection}{model}{ASK}")
}

/// The part of the URL after the model's address.
const ASK: &str = ":streamGenerateContent?alt=sse";

fn request_headers(api_key: Option<&Secret>) -> Vec<(&'static str, String)> {
    api_key.map(|key| ("x-goog-api-key", key.expose().to_owned())).into_iter().collect()
}

impl GeminiModel {
    /// The request body in the format of the API.
    pub(crate) fn request_body(&self, request: &ModelRequest) -> serde_json::Result<Vec<u8>> {
        let (name, options) = (&self.endpoint.name, &self.options);
        let adjustments = self.endpoint.repairs.current_adjustments();
        let model = SignedModel {
            name,
            wants_signatures: options.wants_signatures
                || adjustments.has_adjustment(RequestAdjustment::FillSignatures),
            refuses_instructions: adjustments.has_adjustment(RequestAdjustment::OtherSystemRole),
        };
        let body = serde_json::to_vec(&GeminiRequest::new(model, options, request))?;
        with_answer_schema(body, request, answer_schema::set_gemini_schema)
    }
}

#[async_trait]
impl Model for GeminiModel {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    async fn facts(&self) -> ModelFacts {
        let context = self.endpoint.window.get();
        let thinking = Some(self.options.thinking.can_think());
        ModelFacts { images: self.images, context, thinking, ..ModelFacts::default() }
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let body = |request: &ModelRequest| self.request_body(request);
        let most = self.options.max_tokens(request.options.effort);
        let mut reply =
            self.endpoint.ask_model::<GeminiAnswer>(request, most, body, deltas).await?;
        for call in &mut reply.calls {
            let tool = request.tools.iter().find(|tool| tool.name == call.name);
            if let (Some(tool), Arguments::Object(object)) = (tool, &mut call.arguments) {
                *object = schema::restore_arguments(&tool.parameters, std::mem::take(object));
            }
        }
        Ok(reply)
    }
}

/// Reads a model of the list; `None` if it makes no text, such as a model for embeddings.
fn offered_model(model: &Value) -> Option<OfferedModel> {
    let methods = model["supportedGenerationMethods"].as_array();
    if methods.is_some_and(|all| !all.iter().any(|one| one == "generateContent")) {
        return None;
    }
    let tokens = |key: &str| read_count(&model[key]).filter(|tokens| *tokens > 0);
    let (context, max_output) = (tokens("inputTokenLimit"), tokens("outputTokenLimit"));
    let name = model["name"].as_str()?.trim_start_matches("models/").to_owned();
    Some(OfferedModel {
        name,
        facts: SourcedFacts { context, max_output, ..SourcedFacts::default() },
    })
}

fn next_page(page: &Value) -> Option<(&'static str, String)> {
    Some(("pageToken", page["nextPageToken"].as_str()?.to_owned()))
}

#[async_trait]
impl ServedModel for GeminiModel {
    /// See Gemini API reference, "models.list".
    async fn list_models(&self) -> Result<Vec<OfferedModel>, ModelListError> {
        let one = self.endpoint.url.trim_end_matches(ASK);
        let (list, _) = one.rsplit_once('/').unwrap_or((one, ""));
        let form = ListForm { key: "models", model: offered_model, next: next_page };
        self.endpoint.list_models::<GeminiAnswer>(&format!("{list}?pageSize=1000"), form).await
    }

    /// See Gemini API reference, "models.get" and "models.list".
    async fn probe_model(&self) -> Result<ProbeResult, ModelError> {
        let endpoint = &self.endpoint;
        let one = endpoint.url.trim_end_matches(ASK);
        let (list, model) = one.rsplit_once('/').unwrap_or((one, ""));
        if !model.is_empty() && endpoint.get_json::<GeminiAnswer>(one).await?.is_some() {
            return Ok(ProbeResult::Works);
        }
        let names = |list: &Value| {
            let names = texts_at_key(&list["models"], "name")?.into_iter();
            Some(names.map(|name| name.trim_start_matches("models/").to_owned()).collect())
        };
        let list = format!("{list}?pageSize=1000");
        match endpoint.find_in_list::<GeminiAnswer>(&list, names, model).await? {
            Some(found) => Ok(found),
            None if model.is_empty() => Ok(ProbeResult::KeyUnchecked),
            None => {
                endpoint
                    .probe_with_request::<GeminiAnswer>(|request| self.request_body(request))
                    .await
            }
        }
    }

    fn key_ring(&self) -> &KeyRing {
        &self.endpoint.keys
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

#[cfg(test)]
#[path = "thinking_tests.rs"]
mod thinking_tests;
