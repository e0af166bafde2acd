//! Models behind the API of Acme, an invented provider. The book shows this file.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_net::{HttpClient, NetError};
use avocet_protocol::clock::Clock;
use avocet_protocol::model::{
    Deltas, Message, Model, ModelError, ModelFacts, ModelReply, ModelRequest, ToolCall, Usage,
};
use avocet_text::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::dialects::{TextEnd, given_arguments};
use crate::endpoint::{
    AnswerError, AnswerPiece, CompleteAnswer, ITEM, ModelEndpoint, NamedWindow, ProbeResult,
    StreamedAnswer, texts_at_key,
};
use crate::keys::{self, KeyRing};
use crate::known_model::{ConfiguredFacts, ServedModel};
use crate::provider::{AllowedReach, check_base_url};
use crate::repair::RepairLessons;
use crate::schema::WireSchema;
use crate::wire_json::WireJson;
use crate::{ApiKeys, ConfiguredModel, KnownModel, ProviderConfig, RequestTimeouts, SourcedFacts};

/// A provider of kind `acme`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AcmeConfig {
    /// The base URL of the API. Default: `https://api.acme.example`.
    pub(crate) base_url: String,
    /// The API key: `"${ACME_API_KEY}"`.
    pub(crate) api_key: Option<ApiKeys>,
    /// Timeout in seconds until the first piece of an answer. At least 1. Default: 120.
    pub(crate) first_token_seconds: u64,
    /// Maximum number of retries of a request, after errors for which a retry can help. Default: 3.
    pub(crate) max_retries: usize,
    /// Maximum tokens of one answer. Default: the model's own limit.
    pub(crate) max_output_tokens: Option<u32>,
    /// `true` if the models accept images. Default: `false`.
    pub(crate) images: bool,
}

impl Default for AcmeConfig {
    fn default() -> Self {
        Self {
            base_url: "https://api.acme.example".to_owned(),
            api_key: None,
            first_token_seconds: 120,
            max_retries: 3,
            max_output_tokens: None,
            images: false,
        }
    }
}

impl AcmeConfig {
    fn request_timeouts(&self) -> RequestTimeouts {
        let first_token = Duration::from_secs(self.first_token_seconds);
        RequestTimeouts { first_token, ..RequestTimeouts::default() }
    }
}

impl ProviderConfig for AcmeConfig {
    const KIND: &'static str = "acme";

    fn check_config(&self) -> Result<(), (&'static str, String)> {
        check_base_url(&self.base_url, AllowedReach::Everywhere, &["/answer"])?;
        keys::check_keys(self.api_key.as_ref())?;
        self.request_timeouts().check_values()
    }

    fn create_model(
        self,
        provider: &str,
        model: &str,
        facts: SourcedFacts,
        clock: Arc<dyn Clock>,
    ) -> Result<ConfiguredModel, NetError> {
        let max_output = self.max_output_tokens.map(u64::from);
        let table =
            SourcedFacts { images: Some(self.images), max_output, ..SourcedFacts::default() };
        let facts = ConfiguredFacts::new(model, &self.base_url, table, facts);
        let config = Self { max_output_tokens: facts.max_output(), ..self };
        let model = AcmeModel::new(provider, model, config, clock);
        Ok(KnownModel::new(model, facts).into())
    }
}

#[derive(Debug)]
pub(crate) struct AcmeModel {
    endpoint: ModelEndpoint,
    /// The server's name of the model.
    model: String,
    config: AcmeConfig,
}

impl AcmeModel {
    fn new(provider: &str, model: &str, config: AcmeConfig, clock: Arc<dyn Clock>) -> Self {
        let endpoint = ModelEndpoint {
            name: format!("{provider}/{model}"),
            url: format!("{}/answer", config.base_url.trim_end_matches('/')),
            keys: KeyRing::new(config.api_key.as_ref()),
            headers: request_headers,
            retries: config.max_retries,
            limits: config.request_timeouts(),
            http: HttpClient::new(),
            window: NamedWindow::default(),
            repairs: RepairLessons::default(),
            clock,
        };
        Self { endpoint, model: model.to_owned(), config }
    }

    fn request_body(&self, request: &ModelRequest) -> serde_json::Result<Vec<u8>> {
        let messages = request.messages.iter().map(|message| wire_message(message, request));
        let tools = request.tools.iter().map(|tool| {
            let (name, description) = (&tool.name, &tool.description);
            json!({ "name": name, "description": description, "schema": WireSchema(&tool.parameters) })
        });
        serde_json::to_vec(&json!({
            "model": self.model,
            "messages": messages.collect::<Vec<_>>(),
            "tools": tools.collect::<Vec<_>>(),
            "max_tokens": self.config.max_output_tokens,
        }))
    }
}

fn request_headers(api_key: Option<&Secret>) -> Vec<(&'static str, String)> {
    api_key.map(|key| ("x-api-key", key.expose().to_owned())).into_iter().collect()
}

fn wire_message(message: &Message, request: &ModelRequest) -> Value {
    match message {
        Message::System { text } => json!({ "from": "system", "text": text }),
        Message::User { text, images } => {
            let images = images.iter().filter_map(|image| request.images.get(image));
            let images: Vec<String> = images.map(|image| STANDARD.encode(&image.bytes)).collect();
            json!({ "from": "user", "text": text, "images": images })
        }
        Message::Assistant { text, calls, .. } => {
            let calls = calls.iter().map(
                |call| json!({ "id": call.id, "tool": call.name, "arguments": call.arguments }),
            );
            json!({ "from": "model", "text": text, "calls": calls.collect::<Vec<_>>() })
        }
        Message::ToolResult { call, result, .. } => {
            json!({ "from": "tool", "id": call, "text": result })
        }
    }
}

#[async_trait]
impl Model for AcmeModel {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    async fn facts(&self) -> ModelFacts {
        let (images, context) = (self.config.images, self.endpoint.window.get());
        ModelFacts { images, context, ..ModelFacts::default() }
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let most = self.config.max_output_tokens;
        self.endpoint
            .ask_model::<AcmeAnswer>(request, most, |request| self.request_body(request), deltas)
            .await
    }
}

#[async_trait]
impl ServedModel for AcmeModel {
    async fn probe_model(&self) -> Result<ProbeResult, ModelError> {
        let url = format!("{}/models", self.config.base_url.trim_end_matches('/'));
        let names = |list: &Value| texts_at_key(list, "name");
        let listed = self.endpoint.find_in_list::<AcmeAnswer>(&url, names, &self.model).await?;
        Ok(listed.unwrap_or(ProbeResult::KeyUnchecked))
    }

    fn key_ring(&self) -> &KeyRing {
        &self.endpoint.keys
    }
}

/// The part of an answer that has arrived.
#[derive(Debug, Default)]
pub(crate) struct AcmeAnswer {
    text: String,
    /// Bytes of reasoning.
    thought: u64,
    calls: Vec<AcmeCall>,
    usage: Usage,
    end: Option<AcmeEnd>,
    bytes: usize,
}

#[derive(Debug)]
struct AcmeCall {
    tool: String,
    arguments: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AcmeEnd {
    Complete,
    Truncated,
}

impl StreamedAnswer for AcmeAnswer {
    /// The last line ends the answer, so there is nothing to wait for after it.
    const FAREWELL: Duration = Duration::ZERO;

    /// Processes a line of the stream. An answer without a stream is one line with everything.
    fn take_event(&mut self, line: &WireJson<'_>) -> Result<AnswerPiece, AnswerError> {
        let text = line.get("text").read_text().unwrap_or_default();
        let thought = line.get("thought").as_str().unwrap_or_default();
        self.bytes += text.len() + thought.len();
        self.text.push_str(&text);
        self.thought += thought.len() as u64;
        let call = line.get("call");
        let tool = call.get("tool").as_str();
        if let Some(tool) = tool {
            let arguments = call.get("arguments").to_value();
            self.bytes += ITEM + tool.len() + arguments.to_string().len();
            self.calls.push(AcmeCall { tool: tool.to_owned(), arguments });
        }
        let end = match line.get("end").as_str() {
            Some("complete") => Some(AcmeEnd::Complete),
            Some("truncated") => Some(AcmeEnd::Truncated),
            _ => None,
        };
        if end.is_some() {
            let count = |key: &str| line.get(key).read_count().unwrap_or_default();
            self.usage = Usage::new(count("input_tokens"), count("output_tokens"));
            self.end = end;
        }
        Ok(if !text.is_empty() {
            AnswerPiece::Text(text.into_owned())
        } else if end.is_some() {
            AnswerPiece::End
        } else if !thought.is_empty() || tool.is_some() {
            AnswerPiece::Unseen
        } else {
            AnswerPiece::KeepAlive
        })
    }

    fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    fn kept_bytes(&self) -> usize {
        self.bytes
    }

    fn cut_answer(&mut self) {
        self.end = Some(AcmeEnd::Truncated);
    }

    fn finish_answer(self) -> Result<CompleteAnswer, AnswerError> {
        let Some(end) = self.end else {
            return Err("the stream ended before the answer did".to_owned().into());
        };
        let truncated = end == AcmeEnd::Truncated;
        let call = |AcmeCall { tool, arguments }| ToolCall {
            name: tool,
            arguments: given_arguments(&arguments, TextEnd::cut_if(truncated)),
        };
        Ok(CompleteAnswer {
            text: self.text,
            thought: self.thought,
            calls: self.calls.into_iter().map(call).collect(),
            usage: self.usage,
            truncated,
            ..CompleteAnswer::default()
        })
    }
}
