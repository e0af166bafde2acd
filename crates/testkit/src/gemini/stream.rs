//! The events of a streamed answer.

use serde_json::{Value, json};

use super::{MODEL, signature};
use crate::answer::Spoken;

/// Returns an event of a stream, as text for a chunk of its body. Like the real API, it ends lines
/// with CRLF.
#[must_use]
pub fn event(data: &Value) -> String {
    format!("data: {data}\r\n\r\n")
}

/// Returns the events of an answer: word by word, then each call in one event. The first call is
/// signed.
pub(super) fn events(spoken: &Spoken) -> Vec<String> {
    let mut parts: Vec<Value> = spoken.words().map(|word| json!({ "text": word })).collect();
    for (number, (name, arguments)) in spoken.calls.iter().enumerate() {
        let id = format!("call_{number}");
        let mut part = json!({ "functionCall": { "id": id, "name": name, "args": arguments } });
        if number == 0 {
            part["thoughtSignature"] = json!(signature(&spoken.thinking));
        }
        parts.push(part);
    }
    if spoken.calls.is_empty() && !spoken.thinking.is_empty() {
        parts.push(json!({ "text": "", "thoughtSignature": signature(&spoken.thinking) }));
    }
    let mut events: Vec<String> =
        parts.into_iter().map(|part| event(&chunk(&[part], None))).collect();
    events.push(event(&chunk(&[json!({ "text": "" })], Some("STOP"))));
    events
}

fn chunk(parts: &[Value], finish: Option<&str>) -> Value {
    let mut candidate = json!({ "content": { "parts": parts, "role": "model" }, "index": 0 });
    let mut usage = json!({ "promptTokenCount": 12, "cachedContentTokenCount": 4,
        "totalTokenCount": 12 });
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
        usage["candidatesTokenCount"] = json!(3);
        usage["thoughtsTokenCount"] = json!(5);
        usage["totalTokenCount"] = json!(20);
    }
    json!({ "candidates": [candidate], "usageMetadata": usage, "modelVersion": MODEL,
        "responseId": "r1" })
}
