//! Any endpoint that speaks OpenAI's chat completions: OpenAI itself, OpenRouter, Ollama,
//! llama.cpp, vLLM, LM Studio.

mod answer;
mod config;
mod request;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_net::{HttpClient, HttpResponse, NetError};
use avocet_protocol::{
    Clock, Delta, Deltas, Model, ModelError, ModelReply, ModelRequest, Secret, Usage,
};
use futures_util::StreamExt;
use serde_json::Value;

use crate::Limits;
use crate::detail::{clean, says};
use crate::hidden::Visible;
use crate::limits::limited;
use crate::retry::{Shown, retrying};
use crate::sse;
use answer::Answer;
use request::Body;

pub use config::OpenAiConfig;

/// The most that is read of an answer that is no stream, in bytes.
const MAX_BODY: usize = 16 * 1024 * 1024;
/// About what a token is, where the provider does not count.
const BYTES_A_TOKEN: u64 = 4;
/// About what a picture costs, whatever its size in bytes.
const TOKENS_AN_IMAGE: u64 = 1000;

/// A model behind an endpoint that speaks OpenAI's chat completions. Calls that it writes as text stay in
/// the text, marks and all: [`Dialected`](crate::Dialected) reads them.
#[derive(Debug)]
pub struct OpenAi {
    /// `provider/model`.
    name: String,
    /// What the endpoint calls it.
    model: String,
    url: String,
    api_key: Option<Secret>,
    max_output_tokens: Option<u32>,
    images: bool,
    retries: usize,
    limits: Limits,
    http: HttpClient,
    clock: Arc<dyn Clock>,
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
        Ok(Self {
            name: format!("{provider}/{model}"),
            model: model.to_owned(),
            url: format!("{}/chat/completions", config.base_url.trim_end_matches('/')),
            api_key: config.api_key.clone(),
            max_output_tokens: config.max_output_tokens,
            images: config.images,
            retries: config.max_retries,
            limits: config.limits(),
            http: HttpClient::new()?,
            clock,
        })
    }

    async fn attempt(
        &self,
        request: &ModelRequest,
        shown: &Shown<'_>,
    ) -> Result<ModelReply, ModelError> {
        let body = Body::new(&self.model, self.max_output_tokens, request);
        let body = serde_json::to_vec(&body).map_err(|error| self.bad_answer(error.to_string()))?;
        let input = estimated_tokens(body.len() as u64, request);
        let asking = self.ask_once(body, input, shown);
        self.limited(self.limits.total, "it did not come to an end", asking).await
    }

    async fn ask_once(
        &self,
        body: Vec<u8>,
        input: u64,
        shown: &Shown<'_>,
    ) -> Result<ModelReply, ModelError> {
        const SILENT: &str = "no answer began";
        let first_token = self.limits.first_token;
        let began = self.clock.elapsed();
        let response = self.limited(first_token, SILENT, self.post(body)).await?;
        if response.status() != 200 {
            let refusal = async { Err(self.refusal(response).await) };
            return self.limited(first_token, SILENT, refusal).await;
        }
        if response.is("application/json") {
            let whole = async {
                let text = response.text(MAX_BODY).await.map_err(|error| self.broken(&error))?;
                Answer::whole(&text).map_err(|fault| self.bad_answer(fault))
            };
            let reply = counted(self.limited(first_token, SILENT, whole).await?, input);
            let mut visible = Visible::keeping_calls();
            visible.push(&reply.text, |_| {});
            let text = visible.finish(|_| {});
            shown.show(Delta::Text(&text));
            return Ok(ModelReply { text, ..reply });
        }
        let mut events = sse::events(response);
        let (mut answer, mut visible) = (Answer::default(), Visible::keeping_calls());
        let mut patience = first_token.saturating_sub(self.clock.elapsed() - began);
        let mut silent = SILENT;
        loop {
            let next =
                async { events.next().await.transpose().map_err(|error| self.broken(&error)) };
            let event = match self.limited(patience, silent, next).await? {
                Some(event) if event.trim() != "[DONE]" => event,
                _ => break,
            };
            if let Some(text) = answer.take(&event).map_err(|fault| self.bad_answer(fault))? {
                visible.push(&text, |delta| shown.show(delta));
            }
            if answer.has_begun() {
                (patience, silent) = (self.limits.gap, "it fell silent, no more came");
            }
        }
        let reply = counted(answer.finish().map_err(|fault| self.bad_answer(fault))?, input);
        let text = visible.finish(|delta| shown.show(delta));
        Ok(ModelReply { text, ..reply })
    }

    async fn post(&self, body: Vec<u8>) -> Result<HttpResponse, ModelError> {
        let posted = self.http.post_json(&self.url, self.api_key.as_ref(), body).await;
        posted.map_err(|error| match error {
            NetError::Broken(detail) => self.bad_answer(detail),
            NetError::Invalid(detail) | NetError::Connect(detail) => {
                ModelError::Unreachable { model: self.name.clone(), detail: self.clean(&detail) }
            }
        })
    }

    async fn limited<T>(
        &self,
        limit: Duration,
        what: &str,
        part: impl Future<Output = Result<T, ModelError>>,
    ) -> Result<T, ModelError> {
        limited(self.clock.as_ref(), &self.name, limit, what, part).await
    }

    fn bad_answer(&self, fault: impl AsRef<str>) -> ModelError {
        ModelError::BadAnswer { model: self.name.clone(), detail: self.clean(fault.as_ref()) }
    }

    fn broken(&self, error: &NetError) -> ModelError {
        self.bad_answer(error.to_string())
    }

    /// What an answer other than 200 means, and who can do something about it.
    async fn refusal(&self, response: HttpResponse) -> ModelError {
        let (status, retry_after) = (response.status(), response.retry_after());
        let body = response.text(MAX_BODY).await.unwrap_or_default();
        let error = serde_json::from_str::<Value>(&body).unwrap_or_default();
        let says = says(&error).unwrap_or(&body);
        let detail = self.clean(&format!("{status}: {}", says.trim()));
        let model = self.name.clone();
        let code = error["error"]["code"].as_str().unwrap_or_default();
        match status {
            401 | 403 => ModelError::Unauthorized { model, detail },
            402 => ModelError::Refused { model, detail },
            429 if code == "insufficient_quota" => ModelError::Refused { model, detail },
            408 | 409 | 425 | 429 | 500.. => ModelError::Busy { model, detail, retry_after },
            _ if is_about_length(says, code) => ModelError::TooLong { model, detail },
            _ => ModelError::Refused { model, detail },
        }
    }

    fn clean(&self, text: &str) -> String {
        clean(text, self.api_key.as_ref())
    }
}

/// A reply to a request that costs so many tokens, where the provider does not count.
fn counted(reply: ModelReply, input: u64) -> ModelReply {
    let usage = match reply.usage {
        Usage { input: 0, output: 0 } => {
            Usage { input, output: reply.text.len() as u64 / BYTES_A_TOKEN }
        }
        usage => usage,
    };
    ModelReply { usage, ..reply }
}

/// What a request costs, where the provider does not count.
fn estimated_tokens(length: u64, request: &ModelRequest) -> u64 {
    // Base64 is a third longer than what it stands for.
    let of_images = request.images.values().map(|image| image.bytes.len() as u64 * 4 / 3).sum();
    let text = length.saturating_sub(of_images) / BYTES_A_TOKEN;
    text + request.images.len() as u64 * TOKENS_AN_IMAGE
}

/// Whether a refusal speaks of the context's length, in the words of OpenAI, vLLM, llama.cpp,
/// Ollama, LM Studio and OpenRouter.
fn is_about_length(says: &str, code: &str) -> bool {
    const WORDS: [&str; 6] = [
        "context length",
        "context window",
        "context size",
        "maximum context",
        "too many tokens",
        "prompt is too long",
    ];
    let says = says.to_lowercase();
    code == "context_length_exceeded" || WORDS.iter().any(|words| says.contains(words))
}

#[async_trait]
impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.name
    }

    fn takes_images(&self) -> bool {
        self.images
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let shown = Shown::new(deltas);
        let take_back = |delta: Delta<'_>| shown.show(delta);
        let attempt = || self.attempt(request, &shown);
        retrying(self.clock.as_ref(), self.retries, &take_back, attempt).await
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
