//! Models behind Ollama's own API (Ollama API, "Generate a chat completion"). This API reports the
//! abilities of a model and accepts a context size.

pub(crate) mod answer;
mod card;
mod config;
mod request;

use std::sync::Arc;

use async_trait::async_trait;
use avocet_net::{HttpClient, NetError};
use avocet_protocol::{
    Clock, Deltas, Effort, Model, ModelError, ModelFacts, ModelReply, ModelRequest, Price, Secret,
};
use serde_json::Value;

use crate::answer_schema::{self, with_answer_schema};
use crate::endpoint::{Endpoint, ListForm, NamedWindow, OfferedModel, Probe, one_page, texts};
use crate::facts::{Facts, Learned};
use crate::keys::{ApiKeys, KeyRing};
use crate::known_model::Served;
use crate::repair::Repairs;
use answer::OllamaAnswer;
use card::{Card, Cards};
use request::{OllamaOptions, OllamaRequest, Think};

pub use config::OllamaConfig;

/// Maximum default context in tokens: a larger one needs more memory than many machines have.
const LARGEST_CONTEXT: u64 = 32_768;

/// A model behind an Ollama server.
#[derive(Debug)]
pub struct Ollama {
    endpoint: Endpoint,
    cards: Cards,
    config: OllamaConfig,
}

impl Ollama {
    /// Creates the model `model` of the provider that the configuration calls `provider`.
    ///
    /// # Errors
    /// [`NetError`] if creating the HTTP client fails.
    pub fn new(
        provider: &str,
        model: &str,
        config: &OllamaConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, NetError> {
        let (server, http) = (config.server(), HttpClient::new()?);
        let cards = Cards {
            url: format!("{server}/api/show"),
            model: model.to_owned(),
            api_key: config.api_key.as_ref().and_then(ApiKeys::first).cloned(),
            http: http.clone(),
            clock: clock.clone(),
            asked: Default::default(),
        };
        let endpoint = Endpoint {
            name: format!("{provider}/{model}"),
            url: format!("{server}/api/chat"),
            keys: KeyRing::new(config.api_key.as_ref()),
            headers,
            retries: config.max_retries,
            limits: config.limits(),
            http,
            window: NamedWindow::default(),
            repairs: Repairs::default(),
            clock,
        };
        Ok(Self { endpoint, cards, config: config.clone() })
    }

    /// The context size to ask for; `None` if it is unknown, so that the server uses its default.
    fn context(&self, card: Card) -> Option<u64> {
        let most = card.context.unwrap_or(u64::MAX);
        let by_default = card.context.map(|_| LARGEST_CONTEXT);
        let wanted = self.config.context_tokens.or(card.num_ctx).or(by_default);
        wanted.map(|tokens| tokens.min(most))
    }

    fn options(&self, card: Card, effort: Option<Effort>) -> OllamaOptions {
        let OllamaConfig { max_output_tokens, think, keep_alive_seconds, .. } = self.config;
        let can_think = card.thinking != Some(false);
        let room = effort.filter(|_| can_think).map_or(0, Effort::room);
        let by_effort = effort.map(|effort| Think::of(&self.cards.model, effort));
        let think = by_effort.or(think.map(Think::Switch));
        OllamaOptions {
            model: self.cards.model.clone(),
            num_ctx: self.context(card),
            // The server counts thoughts as output.
            num_predict: max_output_tokens.map(|most| most.saturating_add(room)),
            // A model without this ability refuses the option.
            think: think.filter(|_| can_think),
            keep_alive: keep_alive_seconds,
        }
    }

    /// Adds advice to an error.
    fn advised(&self, error: ModelError) -> ModelError {
        let name = &self.cards.model;
        match error {
            ModelError::Unreachable { model, detail } if !detail.contains("cannot be sent") => {
                let detail = format!("{detail}; is Ollama running? Start it: ollama serve");
                ModelError::Unreachable { model, detail }
            }
            ModelError::Refused { model, detail, lasting } => {
                let advice = match () {
                    () if detail.contains("page not found") => {
                        "; is base_url the address of an Ollama server?".to_owned()
                    }
                    () if detail.starts_with("404") => format!("; fetch it: ollama pull {name}"),
                    () if detail.contains("does not support tools") => {
                        "; set tools = \"json\" in the provider's table".to_owned()
                    }
                    () => String::new(),
                };
                ModelError::Refused { model, detail: detail + &advice, lasting }
            }
            other => other,
        }
    }
}

fn headers(api_key: Option<&Secret>) -> Vec<(&'static str, String)> {
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
    Some(OfferedModel { name, facts: Facts { price, ..Facts::default() } })
}

#[async_trait]
impl Served for Ollama {
    /// See Ollama API, "List Local Models".
    async fn offered(&self) -> Result<Vec<OfferedModel>, ModelError> {
        let url = format!("{}/api/tags", self.config.server());
        let form = ListForm { key: "models", model: offered_model, next: one_page };
        let found = self.endpoint.offered::<OllamaAnswer>(&url, form).await;
        found.map_err(|error| self.advised(error))
    }

    async fn learned(&self) -> Learned {
        let Card { images, tools, .. } = self.cards.card().await;
        Learned { facts: self.facts().await, images, native_tools: tools }
    }

    /// See Ollama API, "List Local Models".
    async fn probe(&self) -> Result<Probe, ModelError> {
        let (endpoint, model) = (&self.endpoint, &self.cards.model);
        let names = |list: &Value| texts(&list["models"], "name");
        let url = format!("{}/api/tags", self.config.server());
        let listed = endpoint.listed::<OllamaAnswer>(&url, names, model).await;
        match listed.map_err(|error| self.advised(error))? {
            // Cloud models work without a download.
            Some(Probe::NoModel { .. }) if is_in_the_cloud(model) => Ok(Probe::KeyUnchecked),
            Some(found) => Ok(found),
            None => {
                let detail =
                    "there is no list of models; is base_url the address of an Ollama server?";
                let (model, detail) = (endpoint.name.clone(), detail.to_owned());
                Err(ModelError::Refused { model, detail, lasting: true })
            }
        }
    }

    fn keys(&self) -> &KeyRing {
        &self.endpoint.keys
    }
}

#[async_trait]
impl Model for Ollama {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    async fn facts(&self) -> ModelFacts {
        let card = self.cards.card().await;
        ModelFacts {
            context: self.endpoint.window.get().or(self.context(card)),
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
        let options = self.options(self.cards.card().await, request.options.effort);
        let most = options.num_predict;
        let body = |request: &ModelRequest| {
            let body = OllamaRequest::new(&self.endpoint.name, &options, request);
            with_answer_schema(serde_json::to_vec(&body)?, request, answer_schema::ollama)
        };
        let answered = self.endpoint.ask::<OllamaAnswer>(request, most, body, deltas).await;
        answered.map_err(|error| self.advised(error))
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

#[cfg(test)]
#[path = "card_tests.rs"]
mod card_tests;
