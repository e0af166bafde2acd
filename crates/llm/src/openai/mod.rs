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
use avocet_protocol::{
    Clock, Deltas, Model, ModelError, ModelFacts, ModelReply, ModelRequest, Secret,
};
use serde_json::Value;

use crate::answer_schema::{self, with_answer_schema};
use crate::endpoint::{
    Endpoint, ListForm, NamedWindow, OfferedModel, Probe, one_page, openai_model, texts,
};
use crate::keys::KeyRing;
use crate::known_model::Served;
use crate::repair::Repairs;
use answer::OpenAiChatAnswer;
use facts::ContextSize;
pub(crate) use facts::listed_context;
use options::OpenAiOptions;
use responses::ResponsesAnswer;

pub use compatibility::{MaxTokensField, OpenAiApi, SystemRole};
pub use config::OpenAiConfig;

/// A model behind an endpoint with one of OpenAI's APIs. Calls that it writes as text stay in the
/// text with their markup: [`Dialected`](crate::Dialected) reads them.
#[derive(Debug)]
pub struct OpenAi {
    endpoint: Endpoint,
    api: OpenAiApi,
    options: OpenAiOptions,
    images: bool,
    context: ContextSize,
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
        let endpoint = Endpoint {
            name: format!("{provider}/{model}"),
            url: format!("{}/{}", config.base_url.trim_end_matches('/'), path(config.api)),
            keys: KeyRing::new(config.api_key.as_ref()),
            headers,
            retries: config.max_retries,
            limits: config.limits(),
            http: config.client()?,
            window: NamedWindow::default(),
            repairs: Repairs::default(),
            clock,
        };
        let options = OpenAiOptions::new(model, config);
        let context = ContextSize::at(&config.base_url);
        Ok(Self {
            endpoint,
            api: config.api,
            options,
            images: config.images.unwrap_or_default(),
            context,
            has_phases: AtomicBool::new(false),
        })
    }
}

fn path(api: OpenAiApi) -> &'static str {
    match api {
        OpenAiApi::Chat => "chat/completions",
        OpenAiApi::Responses => "responses",
    }
}

fn headers(api_key: Option<&Secret>) -> Vec<(&'static str, String)> {
    api_key.map(|key| ("authorization", format!("Bearer {}", key.expose()))).into_iter().collect()
}

impl OpenAi {
    /// The request body in the format of the API.
    pub(crate) fn body(&self, request: &ModelRequest) -> serde_json::Result<Vec<u8>> {
        let (name, options) = (&self.endpoint.name, &self.options);
        let adjustments = self.endpoint.repairs.adjustments();
        match self.api {
            OpenAiApi::Chat => {
                let body = request::body(name, options, adjustments, request)?;
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
        let context = self.context.asked(&self.endpoint, &self.options.model).await;
        let context = self.endpoint.window.get().or(context);
        let thinking = self.options.thinking.ability();
        ModelFacts { context, images: self.images, thinking, ..ModelFacts::default() }
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let (endpoint, body) = (&self.endpoint, |request: &ModelRequest| self.body(request));
        let most = self.options.max_tokens(request.options.effort);
        match self.api {
            OpenAiApi::Chat => endpoint.ask::<OpenAiChatAnswer>(request, most, body, deltas).await,
            OpenAiApi::Responses => {
                let asking = endpoint.ask::<ResponsesAnswer>(request, most, body, deltas);
                let mut reply = asking.await?;
                self.has_phases.fetch_or(responses::learn_phase(&mut reply), Ordering::Relaxed);
                Ok(reply)
            }
        }
    }
}

#[async_trait]
impl Served for OpenAi {
    /// See OpenAI API reference, "List models".
    async fn offered(&self) -> Result<Vec<OfferedModel>, ModelError> {
        let form = ListForm { key: "data", model: openai_model, next: one_page };
        let offered = self.endpoint.offered::<OpenAiChatAnswer>(self.context.url(), form).await;
        if !matches!(offered, Err(ModelError::Refused { .. })) {
            return offered;
        }
        match self.find_base_url().await {
            Some(meant) => Err(ModelError::Refused {
                model: self.endpoint.name.clone(),
                detail: format!("the list of models is at {meant}; write that as base_url"),
                lasting: true,
            }),
            None => offered,
        }
    }

    async fn probe(&self) -> Result<Probe, ModelError> {
        let (endpoint, model) = (&self.endpoint, &self.options.model);
        let names = |list: &Value| texts(&list["data"], "id");
        let listed = endpoint.listed::<OpenAiChatAnswer>(self.context.url(), names, model).await?;
        let begun = match (listed, self.api) {
            (Some(found), _) => return Ok(found),
            (None, _) if model.is_empty() => Ok(Probe::KeyUnchecked),
            (None, OpenAiApi::Chat) => {
                endpoint.begins::<OpenAiChatAnswer>(|request| self.body(request)).await
            }
            (None, OpenAiApi::Responses) => {
                endpoint.begins::<ResponsesAnswer>(|request| self.body(request)).await
            }
        };
        match begun {
            Ok(Probe::KeyUnchecked) | Err(ModelError::Refused { .. }) => {
                let meant = self.find_base_url().await;
                meant.map_or(begun, |meant| Ok(Probe::OtherBaseUrl { meant }))
            }
            begun => begun,
        }
    }

    fn keys(&self) -> &KeyRing {
        &self.endpoint.keys
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

#[cfg(test)]
#[path = "odd_tests.rs"]
mod odd_tests;
