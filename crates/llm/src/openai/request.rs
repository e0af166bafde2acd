//! The request body (OpenAI API reference, "Create chat completion").

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use avocet_protocol::model::{
    Image, ImageRef, Message, MessageBlock, MessagePart, ModelRequest, SentCall, SharedMessage,
};
use avocet_protocol::tool::ToolSpec;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::Value;

use super::compatibility::{MaxTokensField, SystemRole};
use super::options::OpenAiOptions;
use super::state::{StateFields, StateRules};
use super::thinking::EffortFields;
use crate::repair::{RequestAdjustment, RequestAdjustments};
use crate::schema::WireSchema;
use crate::written_tools::WrittenTools;

/// The name of the API of cached JSON.
const API: &str = "chat/completions";
/// The same, for instructions in the role `developer`.
const API_WITH_DEVELOPER: &str = "chat/completions as developer";

/// The fields of a request body that follow `model`, `messages` and `tools`.
#[derive(Debug, Serialize)]
struct OpenAiChatFields<'r> {
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(flatten)]
    effort: EffortFields<'r>,
}

#[derive(Debug, Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum OpenAiChatMessage<'r> {
    System {
        content: &'r str,
    },
    Developer {
        content: &'r str,
    },
    User {
        content: WireContent<'r>,
    },
    Assistant {
        content: Option<&'r str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'r>>,
        #[serde(flatten)]
        state: StateFields<'r>,
    },
    Tool {
        tool_call_id: &'r str,
        content: &'r str,
    },
}

/// A text, or a list of parts if it has pictures.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum WireContent<'r> {
    Text(Cow<'r, str>),
    Parts(Vec<WirePart<'r>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WirePart<'r> {
    Text { text: Cow<'r, str> },
    ImageUrl { image_url: WireImage },
}

#[derive(Debug, Serialize)]
struct WireImage {
    url: String,
}

#[derive(Debug, Serialize)]
struct WireCall<'r> {
    id: &'r str,
    r#type: &'static str,
    function: WireFunction<'r>,
    #[serde(flatten)]
    state: StateFields<'r>,
}

#[derive(Debug, Serialize)]
struct WireFunction<'r> {
    name: &'r str,
    /// JSON in a string.
    arguments: String,
}

#[derive(Debug, Serialize)]
struct OpenAiChatTool<'r> {
    r#type: &'static str,
    function: WireToolFunction<'r>,
}

#[derive(Debug, Serialize)]
struct WireToolFunction<'r> {
    name: &'r str,
    description: &'r str,
    parameters: WireSchema<'r>,
}

/// Writes a request body. Messages and tools of earlier requests are copied as JSON. `name` is the
/// model's name; only its own state is sent back.
pub(super) fn write_body(
    name: &str,
    options: &OpenAiOptions,
    adjustments: RequestAdjustments,
    request: &ModelRequest,
    written: &WrittenTools,
) -> serde_json::Result<Vec<u8>> {
    let rules = StateRules::new(name, adjustments, options.wants_signatures, request);
    let role = options.adjusted_role(adjustments);
    let bytes = usize::try_from(request.messages.estimated_tokens()).unwrap_or_default() * 4;
    let mut body = Vec::with_capacity(bytes);
    body.extend_from_slice(b"{\"model\":");
    serde_json::to_writer(&mut body, &options.model)?;
    body.extend_from_slice(b",\"messages\":");
    add_messages(&mut body, role, rules, request)?;
    // Left out if empty, because the API refuses an empty list.
    if !request.tools.is_empty() {
        let tools = || request.tools.iter().map(OpenAiChatTool::from).collect::<Vec<_>>();
        let json = written.json_of(&request.tools, || serde_json::to_string(&tools()))?;
        body.extend_from_slice(b",\"tools\":");
        body.extend_from_slice(json.as_bytes());
    }
    body.push(b',');
    let fields = serde_json::to_vec(&OpenAiChatFields::new(options, adjustments, request))?;
    body.extend_from_slice(&fields[1..]);
    Ok(body)
}

fn add_messages(
    body: &mut Vec<u8>,
    role: SystemRole,
    rules: StateRules<'_>,
    request: &ModelRequest,
) -> serde_json::Result<()> {
    let (mut instructions, mut mark) = (None, b'[');
    for part in request.messages.parts() {
        if let MessagePart::Block(block) = part
            && instructions.is_none()
            && let Some(json) = block_json(block, rules)
        {
            body.push(mark);
            body.extend_from_slice(json.as_bytes());
            mark = b',';
            continue;
        }
        for shared in part.messages() {
            let is_same = instructions.is_none() && rules.leaves_unchanged(shared.message());
            let written = if is_same { shared_json(shared, role, rules) } else { None };
            if let Some(json) = written {
                body.push(mark);
                body.extend_from_slice(json.as_bytes());
            } else if let Some(message) =
                wire_message(shared.message(), role, rules, &mut instructions, &request.images)
            {
                body.push(mark);
                serde_json::to_writer(&mut *body, &message)?;
            } else {
                continue;
            }
            mark = b',';
        }
    }
    if mark == b'[' {
        body.push(mark);
    }
    body.push(b']');
    Ok(())
}

/// Returns the JSON of the messages of a block, without brackets, if every message is the same in
/// every request.
fn block_json<'b>(block: &'b MessageBlock, rules: StateRules<'_>) -> Option<&'b str> {
    let is_same = |shared: &Arc<SharedMessage>| rules.leaves_unchanged(shared.message());
    if block.has_images() || (block.has_calls() && !block.messages().iter().all(is_same)) {
        return None;
    }
    block.written(API, |messages| {
        // Without instructions, of which only the role differs.
        let role = SystemRole::User;
        let written = messages.iter().map(|shared| message_json(shared.message(), role, rules));
        Some(written.collect::<Option<Vec<_>>>()?.join(","))
    })
}

/// Returns the JSON of a message that is the same in every request, without state.
fn shared_json<'m>(
    shared: &'m SharedMessage,
    role: SystemRole,
    rules: StateRules<'_>,
) -> Option<&'m str> {
    let api = match (shared.message(), role) {
        (Message::System { .. }, SystemRole::Developer) => API_WITH_DEVELOPER,
        // They are a part of another message then.
        (Message::System { .. }, SystemRole::User) => return None,
        _ => API,
    };
    shared.written(api, |message| message_json(message, role, rules))
}

fn message_json(message: &Message, role: SystemRole, rules: StateRules<'_>) -> Option<String> {
    match message {
        Message::System { .. } if role == SystemRole::User => None,
        Message::User { images, .. } if !images.is_empty() => None,
        message => {
            let images = BTreeMap::new();
            serde_json::to_string(&wire_message(message, role, rules, &mut None, &images)?).ok()
        }
    }
}

impl<'r> OpenAiChatFields<'r> {
    fn new(
        options: &'r OpenAiOptions,
        adjustments: RequestAdjustments,
        request: &'r ModelRequest,
    ) -> Self {
        let effort = request.options.effort;
        let named = options.adjusted_max_tokens_field(adjustments);
        let limit = |field| options.max_tokens(effort).filter(|_| named == field);
        let stream = options.stream && !adjustments.has_adjustment(RequestAdjustment::NoStream);
        let counted = stream
            && options.stream_usage
            && !adjustments.has_adjustment(RequestAdjustment::NoStreamOptions);
        let has_effort = !adjustments.has_adjustment(RequestAdjustment::NoEffort);
        Self {
            stream,
            stream_options: counted.then_some(StreamOptions { include_usage: true }),
            max_tokens: limit(MaxTokensField::MaxTokens),
            max_completion_tokens: limit(MaxTokensField::MaxCompletionTokens),
            temperature: options.adjusted_temperature(adjustments),
            effort: if has_effort {
                options.effort_fields(effort)
            } else {
                EffortFields::default()
            },
        }
    }
}

/// Converts a message. With the role `user`, the instructions precede the first user message, which
/// every valid history has.
fn wire_message<'r>(
    message: &'r Message,
    role: SystemRole,
    rules: StateRules<'r>,
    instructions: &mut Option<&'r str>,
    images: &BTreeMap<ImageRef, Image>,
) -> Option<OpenAiChatMessage<'r>> {
    Some(match message {
        Message::System { text } => match role {
            SystemRole::System => OpenAiChatMessage::System { content: text },
            SystemRole::Developer => OpenAiChatMessage::Developer { content: text },
            SystemRole::User => {
                *instructions = Some(text);
                return None;
            }
        },
        Message::User { text, images: shown } => {
            let text = match instructions.take() {
                Some(instructions) => Cow::Owned(format!("{instructions}\n\n{text}")),
                None => Cow::Borrowed(text.as_str()),
            };
            OpenAiChatMessage::User { content: with_images(text, shown, images) }
        }
        Message::Assistant { text, calls, .. } if calls.is_empty() => {
            let (tool_calls, state) = (Vec::new(), StateFields::new());
            OpenAiChatMessage::Assistant { content: Some(text), tool_calls, state }
        }
        Message::Assistant { text, calls, reasoning } => {
            let thought = reasoning.as_ref();
            let calls = calls.iter().enumerate();
            OpenAiChatMessage::Assistant {
                content: (!text.is_empty()).then_some(text),
                tool_calls: calls
                    .map(|(place, call)| wire_call(call, rules.call_fields(thought, place)))
                    .collect(),
                state: rules.message_fields(thought),
            }
        }
        Message::ToolResult { call, result, .. } => {
            OpenAiChatMessage::Tool { tool_call_id: call, content: result }
        }
    })
}

/// The text with those of its pictures that are in the request.
fn with_images<'r>(
    text: Cow<'r, str>,
    shown: &[ImageRef],
    images: &BTreeMap<ImageRef, Image>,
) -> WireContent<'r> {
    let images = shown.iter().filter_map(|image| images.get(image));
    let images =
        images.map(|image| WirePart::ImageUrl { image_url: WireImage { url: data_url(image) } });
    let mut images = images.peekable();
    if images.peek().is_none() {
        return WireContent::Text(text);
    }
    WireContent::Parts([WirePart::Text { text }].into_iter().chain(images).collect())
}

/// A picture as a data URL (RFC 2397).
pub(super) fn data_url(image: &Image) -> String {
    let mut url = format!("data:{};base64,", image.media_type);
    STANDARD.encode_string(&image.bytes, &mut url);
    url
}

fn wire_call<'r>(call: &'r SentCall, state: StateFields<'r>) -> WireCall<'r> {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    let function = WireFunction { name: &call.name, arguments };
    WireCall { id: &call.id, r#type: "function", function, state }
}

impl<'r> From<&'r ToolSpec> for OpenAiChatTool<'r> {
    fn from(tool: &'r ToolSpec) -> Self {
        let ToolSpec { name, description, parameters, .. } = tool;
        let parameters = WireSchema(parameters);
        Self { r#type: "function", function: WireToolFunction { name, description, parameters } }
    }
}
