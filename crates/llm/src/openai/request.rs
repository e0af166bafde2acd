//! A request on the wire (OpenAI API reference, "Create chat completion").

use avocet_protocol::{Message, ModelRequest, SentCall, ToolSpec};
use serde::Serialize;
use serde_json::Value;

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
        content: &'r str,
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
    pub(super) fn new(model: &'r str, max_tokens: Option<u32>, request: &'r ModelRequest) -> Self {
        Self {
            model,
            messages: request.messages.iter().map(WireMessage::from).collect(),
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            tools: request.tools.iter().map(WireTool::from).collect(),
            max_tokens,
        }
    }
}

impl<'r> From<&'r Message> for WireMessage<'r> {
    fn from(message: &'r Message) -> Self {
        match message {
            Message::System { text } => Self::System { content: text },
            Message::User { text } => Self::User { content: text },
            Message::Assistant { text, calls } => Self::Assistant {
                content: (calls.is_empty() || !text.is_empty()).then_some(text),
                tool_calls: calls.iter().map(WireCall::from).collect(),
            },
            Message::ToolResult { call, result } => {
                Self::Tool { tool_call_id: call, content: result }
            }
        }
    }
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
