//! A request on the wire (OpenAI API reference, "Create chat completion").

use avocet_protocol::{Image, ImageRef, Message, ModelRequest, SentCall, ToolSpec};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::Value;

use super::Options;

/// A request; serialised without a copy of what it says.
#[derive(Debug, Serialize)]
pub(super) struct Body<'r> {
    model: &'r str,
    messages: Vec<WireMessage<'r>>,
    stream: bool,
    stream_options: StreamOptions,
    /// An empty list is refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'r str>,
}

#[derive(Debug, Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum WireMessage<'r> {
    System {
        content: &'r str,
    },
    User {
        content: WireContent<'r>,
    },
    Assistant {
        content: Option<&'r str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'r>>,
    },
    Tool {
        tool_call_id: &'r str,
        content: &'r str,
    },
}

/// A text, or, where pictures go with it, parts.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum WireContent<'r> {
    Text(&'r str),
    Parts(Vec<WirePart<'r>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WirePart<'r> {
    Text { text: &'r str },
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
}

#[derive(Debug, Serialize)]
struct WireFunction<'r> {
    name: &'r str,
    /// JSON in a string.
    arguments: String,
}

#[derive(Debug, Serialize)]
struct WireTool<'r> {
    r#type: &'static str,
    function: WireToolFunction<'r>,
}

#[derive(Debug, Serialize)]
struct WireToolFunction<'r> {
    name: &'r str,
    description: &'r str,
    parameters: &'r Value,
}

impl<'r> Body<'r> {
    pub(super) fn new(options: &'r Options, request: &'r ModelRequest) -> Self {
        Self {
            model: &options.model,
            messages: request.messages.iter().map(|message| wire(message, request)).collect(),
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            tools: request.tools.iter().map(WireTool::from).collect(),
            max_tokens: options.max_output_tokens,
            reasoning_effort: options.reasoning_effort.as_deref(),
        }
    }
}

fn wire<'r>(message: &'r Message, request: &'r ModelRequest) -> WireMessage<'r> {
    match message {
        Message::System { text } => WireMessage::System { content: text },
        Message::User { text, images } => {
            WireMessage::User { content: with_images(text, images, request) }
        }
        Message::Assistant { text, calls, .. } => WireMessage::Assistant {
            content: (calls.is_empty() || !text.is_empty()).then_some(text),
            tool_calls: calls.iter().map(WireCall::from).collect(),
        },
        Message::ToolResult { call, result } => {
            WireMessage::Tool { tool_call_id: call, content: result }
        }
    }
}

/// The text, and those of its pictures that the request carries.
fn with_images<'r>(text: &'r str, images: &[ImageRef], request: &ModelRequest) -> WireContent<'r> {
    let image_part = |image| WirePart::ImageUrl { image_url: WireImage { url: data_url(image) } };
    let mut parts: Vec<WirePart<'r>> =
        images.iter().filter_map(|image| request.images.get(image)).map(image_part).collect();
    if parts.is_empty() {
        return WireContent::Text(text);
    }
    parts.insert(0, WirePart::Text { text });
    WireContent::Parts(parts)
}

/// A picture as a URL that holds it (RFC 2397).
pub(super) fn data_url(image: &Image) -> String {
    let mut url = format!("data:{};base64,", image.media_type);
    STANDARD.encode_string(&image.bytes, &mut url);
    url
}

impl<'r> From<&'r SentCall> for WireCall<'r> {
    fn from(call: &'r SentCall) -> Self {
        let arguments = Value::Object(call.arguments.clone()).to_string();
        Self {
            id: &call.id,
            r#type: "function",
            function: WireFunction { name: &call.name, arguments },
        }
    }
}

impl<'r> From<&'r ToolSpec> for WireTool<'r> {
    fn from(tool: &'r ToolSpec) -> Self {
        let ToolSpec { name, description, parameters } = tool;
        Self { r#type: "function", function: WireToolFunction { name, description, parameters } }
    }
}
