//! Models behind Ollama's own API (Ollama API, "Generate a chat completion"). This API reports the
//! abilities of a model and accepts a context size.

pub(crate) mod answer;
mod card;
mod config;
mod request;

use std::sync::Arc;

use async_trait::async_trait;
use avocet_net::HttpClient;
use avocet_protocol::clock::Clock;
use avocet_protocol::model::{
    Deltas, Effort, Model, ModelError, ModelFacts, ModelReply, ModelRequest, Price,
};
use avocet_text::Secret;
use serde_json::Value;

use crate::answer_schema::{self, with_answer_schema};
use crate::endpoint::{
    ListForm, ModelEndpoint, ModelListError, NamedWindow, OfferedModel, ProbeResult, one_page,
    texts_at_key,
};
use crate::facts::{LearnedFacts, SourcedFacts};
use crate::keys::{ApiKeys, KeyRing};
use crate::known_model::ServedModel;
use crate::repair::RepairLessons;
use answer::OllamaAnswer;
use card::{CachedCard, ModelCard};
use request::{OllamaOptions, OllamaRequest, ThinkField};

pub use config::OllamaConfig;

/// Maximum default context in tokens: a larger one needs more memory than many machines have.
const LARGEST_CONTEXT: u64 = 32_768;

/// A model behind an Ollama server.
#[derive(Debug)]
pub struct OllamaModel {
    endpoint: ModelEndpoint,
    cards: CachedCard,
    config: OllamaConfig,
}

impl OllamaModel {
    /// Creates the model `model` of the provider that the configuration calls `provider`.
    #[must_use]
    pub fn new(provider: &str, model: &str, config: &OllamaConfig, clock: Arc<dyn Clock>) -> Self {
        let (server, http) = (config.server_url(), HttpClient::new());
        let cards = CachedCard {
            url: format!("{server}/api/show"),
            model: model.to_owned(),
            api_key: config.api_key.as_ref().and_then(ApiKeys::first_key).cloned(),
            http: http.clone(),
            clock: clock.clone(),
            asked: Default::default(),
        };
        let endpoint = ModelEndpoint {
            name: format!("{provider}/{model}"),
            url: format!("{server}/api/chat"),
            keys: KeyRing::new(config.api_key.as_ref()),
            headers: request_headers,
            retries: config.max_retries,
            limits: config.request_timeouts(),
            http,
            window: NamedWindow::default(),
            repairs: RepairLessons::default(),
            clock,
        };
        Self { endpoint, cards, config: config.clone() }
    }

    /// The context size to ask for; `None` if it is unknown, so that the server uses its default.
    fn context_to_ask(&self, card: ModelCard) -> Option<u64> {
        let most = card.context.unwrap_or(u64::MAX);
        let by_default = card.context.map(|_| LARGEST_CONTEXT);
        let wanted = self.config.context_tokens.or(card.num_ctx).or(by_default);
        wanted.map(|tokens| tokens.min(most))
    }

    fn request_options(&self, card: ModelCard, effort: Option<Effort>) -> OllamaOptions {
        let OllamaConfig { max_output_tokens, think, keep_alive_seconds, .. } = self.config;
        let can_think = card.thinking != Some(false);
        let room = effort.filter(|_| can_think).map_or(0, Effort::thinking_tokens);
        let by_effort = effort.map(|effort| ThinkField::from_effort(&self.cards.model, effort));
        let think = by_effort.or(think.map(ThinkField::Switch));
        OllamaOptions {
            model: self.cards.model.clone(),
            num_ctx: self.context_to_ask(card),
            // The server counts thoughts as output.
            num_predict: max_output_tokens.map(|most| most.saturating_add(room)),
            // A model without this ability refuses the option.
            think: think.filter(|_| can_think),
            keep_alive: keep_alive_seconds,
        }
    }

    fn add_advice(&self, error: ModelError) -> ModelError {
        let name = &self.cards.model;
        match error {
            ModelError::Unreachable { model, mut detail }
                if !detail.text.contains("cannot be sent") =>
            {
                detail.text.push_str("; is Ollama running? Start it: ollama serve");
                ModelError::Unreachable { model, detail }
            }
            ModelError::Refused { model, mut detail, lasting } => {
                let advice = match () {
                    () if detail.text.contains("page not found") => {
                        "; is base_url the address of an Ollama server?".to_owned()
                    }
                    () if detail.status == Some(404) => format!("; fetch it: ollama pull {name}"),
                    () if detail.text.contains("does not support tools") => {
                        "; set tools = \"json\" in the provider's table".to_owned()
                    }
                    () => String::new(),
                };
                detail.text.push_str(&advice);
                ModelError::Refused { model, detail, lasting }
            }
            other => other,
        }
    }
}

fn request_headers(api_key: Option<&Secret>) -> Vec<(&'static str, String)> {
    api_key.map(|key| ("authorization", format!("Bearer {}", key.expose()))).into_iter().collect()
}

/// Returns `true` if the model runs on Ollama's paid servers instead of a local machine.
fn is_in_the_cloud(model: &str) -> bool {
    model.ends_with("-cloud") || model.ends_with(":cloud")
}

/// Reads a model of the list. A local model is free of charge.
fn offered_model(model: &Value) -> Option<OfferedModel> {
    let name = model["name"].as_str()?.to_owned();
    let price = (!is_in_the_cloud(&name)).then(Price::default);
    Some(OfferedModel { name, facts: SourcedFacts { price, ..SourcedFacts::default() } })
}

#[async_trait]
impl ServedModel for OllamaModel {
    /// See Ollama API, "List Local Models".
    async fn list_models(&self) -> Result<Vec<OfferedModel>, ModelListError> {
        let url = format!("{}/api/tags", self.config.server_url());
        let form = ListForm { key: "models", model: offered_model, next: one_page };
        let found = self.endpoint.list_models::<OllamaAnswer>(&url, form).await;
        found.map_err(|error| match error {
            ModelListError::Failed(error) => self.add_advice(error).into(),
            missing @ ModelListError::Missing { .. } => missing,
        })
    }

    async fn learn_facts(&self) -> LearnedFacts {
        let ModelCard { images, tools, .. } = self.cards.get_card().await;
        LearnedFacts { facts: self.facts().await, images, native_tools: tools }
    }

    /// See Ollama API, "List Local Models".
    async fn probe_model(&self) -> Result<ProbeResult, ModelError> {
        let (endpoint, model) = (&self.endpoint, &self.cards.model);
        let names = |list: &Value| texts_at_key(&list["models"], "name");
        let url = format!("{}/api/tags", self.config.server_url());
        let listed = endpoint.find_in_list::<OllamaAnswer>(&url, names, model).await;
        match listed.map_err(|error| self.add_advice(error))? {
            // Cloud models work without a download.
            Some(ProbeResult::NoModel { .. }) if is_in_the_cloud(model) => {
                Ok(ProbeResult::KeyUnchecked)
            }
            Some(found) => Ok(found),
            None => {
                let detail =
                    "there is no list of models; is base_url the address of an Ollama server?";
                let (model, detail) = (endpoint.name.clone(), detail.into());
                Err(ModelError::Refused { model, detail, lasting: true })
            }
        }
    }

    fn key_ring(&self) -> &KeyRing {
        &self.endpoint.keys
    }
}

#[async_trait]
impl Model for OllamaModel {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    async fn facts(&self) -> ModelFacts {
        let card = self.cards.get_card().await;
        ModelFacts {
            context: self.endpoint.window.get().or(self.context_to_ask(card)),
            thinking: card.thinking,
            images: card.images.unwrap_or_default(),
            price: (!is_in_the_cloud(&self.cards.model)).then(Price::default),
            ..ModelFacts::default()
        }
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let options = self.request_options(self.cards.get_card().await, request.options.effort);
        let most = options.num_predict;
        let body = |request: &ModelRequest| {
            let body = OllamaRequest::new(&self.endpoint.name, &options, request);
            with_answer_schema(
                serde_json::to_vec(&body)?,
                request,
                answer_schema::set_ollama_schema,
            )
        };
        let answered = self.endpoint.ask_model::<OllamaAnswer>(request, most, body, deltas).await;
        answered.map_err(|error| self.add_advice(error))
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

#[cfg(test)]
#[path = "card_tests.rs"]
mod card_tests;
