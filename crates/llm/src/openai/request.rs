//! A request on the wire (OpenAI API reference, "Create chat completion").

use avocet_protocol::{Message, ModelRequest, SentCall, ToolSpec};
use serde_json::{Value, json};

pub(super) fn body(model: &str, max_output_tokens: Option<u32>, request: &ModelRequest) -> Value {
    let messages: Vec<Value> = request.messages.iter().map(message).collect();
    let mut body = json!({
        "model": model,
        "messages": messages,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    // An empty list is refused.
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    if let Some(limit) = max_output_tokens {
        body["max_tokens"] = json!(limit);
    }
    body
}

fn message(message: &Message) -> Value {
    match message {
        Message::System { text } => json!({ "role": "system", "content": text }),
        Message::User { text } => json!({ "role": "user", "content": text }),
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({ "role": "assistant", "content": text })
        }
        Message::Assistant { text, calls } => {
            let content = (!text.is_empty()).then_some(text);
            let calls: Vec<Value> = calls.iter().map(call).collect();
            json!({ "role": "assistant", "content": content, "tool_calls": calls })
        }
        Message::ToolResult { call, result } => {
            json!({ "role": "tool", "tool_call_id": call, "content": result })
        }
    }
}

fn call(call: &SentCall) -> Value {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    let function = json!({ "name": call.name, "arguments": arguments });
    json!({ "id": call.id, "type": "function", "function": function })
}

fn tool(tool: &ToolSpec) -> Value {
    let ToolSpec { name, description, parameters } = tool;
    let function = json!({ "name": name, "description": description, "parameters": parameters });
    json!({ "type": "function", "function": function })
}
