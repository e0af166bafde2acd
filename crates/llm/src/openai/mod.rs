//! Any endpoint with OpenAI's chat completions (OpenAI itself, OpenRouter, Ollama, llama.cpp, vLLM,
//! LM Studio), or with its Responses API, which is in `responses/`.

pub(crate) mod answer;
mod base_url;
pub(crate) mod codes;
mod compatibility;
mod config;
mod facts;
mod options;
mod request;
pub(crate) mod responses;
mod state;
mod thinking;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use avocet_net::NetError;
use avocet_protocol::clock::Clock;
use avocet_protocol::model::{Deltas, Model, ModelError, ModelFacts, ModelReply, ModelRequest};
use avocet_text::Secret;
use serde_json::Value;

use crate::answer_schema::{self, with_answer_schema};
use crate::endpoint::{
    ListForm, ModelEndpoint, ModelListError, NamedWindow, OfferedModel, ProbeResult, one_page,
    openai_model, texts_at_key,
};
use crate::keys::KeyRing;
use crate::known_model::ServedModel;
use crate::repair::RepairLessons;
use crate::written_tools::WrittenTools;
use answer::OpenAiChatAnswer;
use facts::ContextSize;
use options::OpenAiOptions;
use responses::ResponsesAnswer;

pub use compatibility::{MaxTokensField, OpenAiApi, SystemRole};
pub use config::OpenAiConfig;

/// A model behind an endpoint with one of OpenAI's APIs. Calls that it writes as text stay in the
/// text with their markup: [`DialectModel`](crate::DialectModel) reads them.
#[derive(Debug)]
pub struct OpenAi {
    endpoint: ModelEndpoint,
    api: OpenAiApi,
    options: OpenAiOptions,
    images: bool,
    context: ContextSize,
    /// The tools in the form of the chat completions.
    chat_tools: WrittenTools,
    /// `true` once the model has sent the phase of a message.
    has_phases: AtomicBool,
}

impl OpenAi {
    /// Creates the model `model` of the provider that the configuration calls `provider`.
    ///
    /// # Errors
    /// [`NetError`] if creating the HTTP client fails.
    pub fn new(
        provider: &str,
        model: &str,
        config: &OpenAiConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, NetError> {
        let endpoint = ModelEndpoint {
            name: format!("{provider}/{model}"),
            url: format!("{}/{}", config.base_url.trim_end_matches('/'), api_path(config.api)),
            keys: KeyRing::new(config.api_key.as_ref()),
            headers: request_headers,
            retries: config.max_retries,
            limits: config.request_timeouts(),
            http: config.create_client()?,
            window: NamedWindow::default(),
            repairs: RepairLessons::default(),
            clock,
        };
        let options = OpenAiOptions::new(model, config);
        let context = ContextSize::from_base_url(&config.base_url);
        Ok(Self {
            endpoint,
            api: config.api,
            options,
            images: config.images.unwrap_or_default(),
            context,
            chat_tools: WrittenTools::default(),
            has_phases: AtomicBool::new(false),
        })
    }
}

fn api_path(api: OpenAiApi) -> &'static str {
    match api {
        OpenAiApi::Chat => "chat/completions",
        OpenAiApi::Responses => "responses",
    }
}

fn request_headers(api_key: Option<&Secret>) -> Vec<(&'static str, String)> {
    api_key.map(|key| ("authorization", format!("Bearer {}", key.expose()))).into_iter().collect()
}

impl OpenAi {
    /// The request body in the format of the API.
    pub(crate) fn request_body(&self, request: &ModelRequest) -> serde_json::Result<Vec<u8>> {
        let (name, options) = (&self.endpoint.name, &self.options);
        let adjustments = self.endpoint.repairs.current_adjustments();
        match self.api {
            OpenAiApi::Chat => {
                let body =
                    request::write_body(name, options, adjustments, request, &self.chat_tools)?;
                let body = options.with_extra(body)?;
                with_answer_schema(body, request, answer_schema::openai_chat)
            }
            OpenAiApi::Responses => {
                let learned = (adjustments, self.has_phases.load(Ordering::Relaxed));
                let body = responses::ResponsesRequest::new(name, options, learned, request);
                let body = options.with_extra(serde_json::to_vec(&body)?)?;
                with_answer_schema(body, request, answer_schema::openai_responses)
            }
        }
    }
}

#[async_trait]
impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    async fn facts(&self) -> ModelFacts {
        let context = self.context.ask_context(&self.endpoint, &self.options.model).await;
        let context = self.endpoint.window.get().or(context);
        let thinking = self.options.thinking.can_think();
        ModelFacts { context, images: self.images, thinking, ..ModelFacts::default() }
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let (endpoint, body) =
            (&self.endpoint, |request: &ModelRequest| self.request_body(request));
        let most = self.options.max_tokens(request.options.effort);
        match self.api {
            OpenAiApi::Chat => {
                endpoint.ask_model::<OpenAiChatAnswer>(request, most, body, deltas).await
            }
            OpenAiApi::Responses => {
                let asking = endpoint.ask_model::<ResponsesAnswer>(request, most, body, deltas);
                let mut reply = asking.await?;
                self.has_phases.fetch_or(responses::learn_phase(&mut reply), Ordering::Relaxed);
                Ok(reply)
            }
        }
    }
}

#[async_trait]
impl ServedModel for OpenAi {
    /// See OpenAI API reference, "List models".
    async fn list_models(&self) -> Result<Vec<OfferedModel>, ModelListError> {
        let form = ListForm { key: "data", model: openai_model, next: one_page };
        let offered =
            self.endpoint.list_models::<OpenAiChatAnswer>(self.context.list_url(), form).await;
        let (Err(ModelListError::Missing { .. })
        | Err(ModelListError::Failed(ModelError::Refused { .. }))) = offered
        else {
            return offered;
        };
        let Some(meant) = self.find_base_url().await else { return offered };
        let detail = format!("the list of models is at {meant}; write that as base_url");
        let model = self.endpoint.name.clone();
        Err(ModelError::Refused { model, detail: detail.into(), lasting: true }.into())
    }

    async fn probe_model(&self) -> Result<ProbeResult, ModelError> {
        let (endpoint, model) = (&self.endpoint, &self.options.model);
        let names = |list: &Value| texts_at_key(&list["data"], "id");
        let listed = endpoint
            .find_in_list::<OpenAiChatAnswer>(self.context.list_url(), names, model)
            .await?;
        let begun = match (listed, self.api) {
            (Some(found), _) => return Ok(found),
            (None, _) if model.is_empty() => Ok(ProbeResult::KeyUnchecked),
            (None, OpenAiApi::Chat) => {
                endpoint
                    .probe_with_request::<OpenAiChatAnswer>(|request| self.request_body(request))
                    .await
            }
            (None, OpenAiApi::Responses) => {
                endpoint
                    .probe_with_request::<ResponsesAnswer>(|request| self.request_body(request))
                    .await
            }
        };
        match begun {
            Ok(ProbeResult::KeyUnchecked) | Err(ModelError::Refused { .. }) => {
                let meant = self.find_base_url().await;
                meant.map_or(begun, |meant| Ok(ProbeResult::OtherBaseUrl { meant }))
            }
            begun => begun,
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
#[path = "odd_tests.rs"]
mod odd_tests;
