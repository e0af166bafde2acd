//! The request body (Ollama API, "Generate a chat completion").

use std::collections::BTreeMap;

use avocet_protocol::model::{Effort, Image, ImageRef, Message, ModelRequest, SentCall};
use avocet_protocol::tool::{ToolSpec, is_rare};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::schema;

/// Options of all requests to a model.
#[derive(Debug)]
pub(super) struct OllamaOptions {
    /// The server's name for the model.
    pub(super) model: String,
    pub(super) num_ctx: Option<u64>,
    pub(super) num_predict: Option<u32>,
    pub(super) think: Option<ThinkField>,
    /// Seconds; a negative value keeps the model loaded for ever.
    pub(super) keep_alive: Option<i64>,
}

/// The thinking of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum ThinkField {
    Switch(bool),
    /// A level, for models with levels instead of a switch.
    Level(&'static str),
}

impl ThinkField {
    /// The value for a model. gpt-oss has levels, and ignores a switch (Ollama, "Thinking").
    pub(super) fn from_effort(model: &str, effort: Effort) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model);
        match effort {
            effort if name.starts_with("gpt-oss") => Self::Level(effort.max(Effort::Low).as_str()),
            effort => Self::Switch(effort != Effort::Off),
        }
    }
}

/// A request body. Serialised without a copy of its texts.
#[derive(Debug, Serialize)]
pub(super) struct OllamaRequest<'r> {
    model: &'r str,
    messages: Vec<OllamaMessage<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<OllamaTool<'r>>,
    stream: bool,
    /// Always `false`: a request that is too long is refused instead of truncated. Older servers
    /// ignore this.
    truncate: bool,
    /// Always `false`: an answer that fills the context ends there, and the request stays in the
    /// context.
    shift: bool,
    options: WireOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<ThinkField>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keep_alive: Option<i64>,
}

#[derive(Debug, Serialize)]
struct WireOptions {
    #[serde(skip_serializing_if = "Option::is_none")]
    num_ctx: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_predict: Option<u32>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum OllamaMessage<'r> {
    System {
        content: &'r str,
    },
    User {
        content: &'r str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        images: Vec<String>,
    },
    Assistant {
        content: &'r str,
        #[serde(skip_serializing_if = "Option::is_none")]
        thinking: Option<&'r str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'r>>,
    },
    Tool {
        tool_name: &'r str,
        content: &'r str,
    },
}

#[derive(Debug, Serialize)]
struct WireCall<'r> {
    function: WireFunction<'r>,
}

#[derive(Debug, Serialize)]
struct WireFunction<'r> {
    name: &'r str,
    arguments: &'r Map<String, Value>,
}

#[derive(Debug, Serialize)]
struct OllamaTool<'r> {
    r#type: &'static str,
    function: WireToolFunction<'r>,
}

#[derive(Debug, Serialize)]
struct WireToolFunction<'r> {
    name: &'r str,
    description: &'r str,
    parameters: Value,
}

impl<'r> OllamaRequest<'r> {
    /// `name` is the model's name; only its own reasoning is sent back.
    pub(super) fn new(name: &str, options: &'r OllamaOptions, request: &'r ModelRequest) -> Self {
        let OllamaOptions { model, num_ctx, num_predict, think, keep_alive } = options;
        let mut names = BTreeMap::new();
        let mut messages = Vec::with_capacity(request.messages.len());
        for message in &request.messages {
            if let Message::Assistant { calls, .. } = message {
                names.extend(calls.iter().map(|call| (&*call.id, &*call.name)));
            }
            messages.push(wire_message(message, name, &names, request));
        }
        Self {
            model,
            messages,
            tools: request.tools.iter().map(OllamaTool::from).collect(),
            stream: true,
            truncate: false,
            shift: false,
            options: WireOptions { num_ctx: *num_ctx, num_predict: *num_predict },
            think: *think,
            keep_alive: *keep_alive,
        }
    }
}

/// `names` are the tool names of the calls so far, by call id, because a result contains the name.
fn wire_message<'r>(
    message: &'r Message,
    name: &str,
    names: &BTreeMap<&'r str, &'r str>,
    request: &ModelRequest,
) -> OllamaMessage<'r> {
    match message {
        Message::System { text } => OllamaMessage::System { content: text },
        Message::User { text, images } => {
            let images = images.iter().filter_map(|image| encode_picture(image, request)).collect();
            OllamaMessage::User { content: text, images }
        }
        Message::Assistant { text, calls, reasoning } => {
            let own = reasoning.as_ref().filter(|own| own.model == name && !calls.is_empty());
            OllamaMessage::Assistant {
                content: text,
                thinking: own.and_then(|own| own.content.as_str()),
                tool_calls: calls.iter().map(WireCall::from).collect(),
            }
        }
        Message::ToolResult { call, result, .. } => {
            let tool_name = names.get(&**call).copied().unwrap_or("unknown");
            OllamaMessage::Tool { tool_name, content: result }
        }
    }
}

/// A picture of the request; `None` for an unsupported type, because the server would refuse the
/// whole request.
fn encode_picture(image: &ImageRef, request: &ModelRequest) -> Option<String> {
    let Image { media_type, bytes } = request.images.get(image)?;
    if *media_type == "image/gif" {
        tracing::warn!(path = image.path, "the model takes no GIF; it is not shown the picture");
        return None;
    }
    Some(STANDARD.encode(bytes))
}

impl<'r> From<&'r SentCall> for WireCall<'r> {
    fn from(call: &'r SentCall) -> Self {
        let SentCall { name, arguments, .. } = call;
        Self { function: WireFunction { name, arguments } }
    }
}

impl<'r> From<&'r ToolSpec> for OllamaTool<'r> {
    fn from(tool: &'r ToolSpec) -> Self {
        let ToolSpec { name, description, parameters, .. } = tool;
        let parameters = spelt_out(parameters);
        Self { r#type: "function", function: WireToolFunction { name, description, parameters } }
    }
}

/// Converts a schema in which `true` means any value: the server accepts only objects.
fn spelt_out(schema: &Value) -> Value {
    let Value::Object(schema) = schema else { return json!({}) };
    let standard = schema.iter().filter(|(key, _)| !schema::is_ours(key));
    let spelt = standard.map(|(key, value)| {
        let value = match (key.as_str(), value) {
            ("properties", Value::Object(all)) => {
                let shown = all.iter().filter(|(_, one)| !is_rare(one));
                shown.map(|(name, one)| (name.clone(), spelt_out(one))).collect()
            }
            ("anyOf", Value::Array(all)) => all.iter().map(spelt_out).collect(),
            _ => value.clone(),
        };
        (key.clone(), value)
    });
    spelt.collect()
}
