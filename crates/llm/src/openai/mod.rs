//! Any endpoint that speaks OpenAI's chat completions: OpenAI itself, OpenRouter, Ollama,
//! llama.cpp, vLLM, LM Studio.

mod answer;
mod config;
mod request;

use std::sync::Arc;

use async_trait::async_trait;
use avocet_net::{HttpClient, NetError};
use avocet_protocol::{
    Clock, Deltas, Model, ModelError, ModelFacts, ModelReply, ModelRequest, Secret,
};

use crate::asking::Endpoint;
use crate::known::Served;
use answer::PartialAnswer;
use request::Body;

pub use config::OpenAiConfig;

/// A model behind an endpoint that speaks OpenAI's chat completions. Calls that it writes as text stay in
/// the text, marks and all: [`Dialected`](crate::Dialected) reads them.
#[derive(Debug)]
pub struct OpenAi {
    endpoint: Endpoint,
    /// What the endpoint calls it.
    model: String,
    max_output_tokens: Option<u32>,
    images: bool,
}

impl OpenAi {
    /// The model `model` of the provider that is called `provider` in the configuration.
    ///
    /// # Errors
    /// [`NetError`] if there can be no HTTP client.
    pub fn new(
        provider: &str,
        model: &str,
        config: &OpenAiConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, NetError> {
        let endpoint = Endpoint {
            name: format!("{provider}/{model}"),
            url: format!("{}/chat/completions", config.base_url.trim_end_matches('/')),
            api_key: config.api_key.clone(),
            headers,
            retries: config.max_retries,
            limits: config.limits(),
            http: HttpClient::new()?,
            clock,
        };
        let (model, max_output_tokens) = (model.to_owned(), config.max_output_tokens);
        Ok(Self { endpoint, model, max_output_tokens, images: config.images.unwrap_or_default() })
    }
}

fn headers(api_key: Option<&Secret>) -> Vec<(&'static str, String)> {
    api_key.map(|key| ("authorization", format!("Bearer {}", key.expose()))).into_iter().collect()
}

#[async_trait]
impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    async fn facts(&self) -> ModelFacts {
        ModelFacts { images: self.images, ..ModelFacts::default() }
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let body = || serde_json::to_vec(&Body::new(&self.model, self.max_output_tokens, request));
        self.endpoint.ask::<PartialAnswer>(request, body, deltas).await
    }
}

impl Served for OpenAi {}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
