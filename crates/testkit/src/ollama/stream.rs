//! The lines of a streamed answer.

use serde_json::{Value, json};

use super::MODEL;
use crate::answer::Spoken;

/// Returns a line of a stream, as text for a chunk of its body.
#[must_use]
pub fn line(data: &Value) -> String {
    format!("{data}\n")
}

/// Returns the lines of an answer: thought and text word by word, and each call in one line.
pub(super) fn events(spoken: &Spoken) -> Vec<String> {
    let says = |message: Value| {
        json!({ "model": MODEL, "created_at": "2026-01-01T00:00:00Z", "message": message,
            "done": false })
    };
    let mut lines: Vec<Value> = Vec::new();
    lines.extend(
        spoken
            .thinking()
            .map(|word| says(json!({ "role": "assistant", "content": "", "thinking": word }))),
    );
    lines.extend(spoken.words().map(|word| says(json!({ "role": "assistant", "content": word }))));
    for (number, (name, arguments)) in spoken.calls.iter().enumerate() {
        let function = json!({ "index": number, "name": name, "arguments": arguments });
        let call = json!({ "id": format!("call_{number}"), "function": function });
        lines.push(says(json!({ "role": "assistant", "content": "", "tool_calls": [call] })));
    }
    let mut end = says(json!({ "role": "assistant", "content": "" }));
    for (key, value) in [
        ("done", json!(true)),
        ("done_reason", json!("stop")),
        ("total_duration", json!(1_000_000)),
        ("prompt_eval_count", json!(12)),
        ("eval_count", json!(3)),
    ] {
        end[key] = value;
    }
    lines.push(end);
    lines.iter().map(line).collect()
}
