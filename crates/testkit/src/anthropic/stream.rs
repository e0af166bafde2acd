//! The events of a streamed answer.

use serde_json::{Value, json};

use super::{MODEL, signature};
use crate::answer::Spoken;

/// Returns an event of a stream, as text for a chunk of its body.
#[must_use]
pub fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

/// Returns the events of an answer, in blocks: the thought, the text, each call.
pub(super) fn events(spoken: &Spoken) -> Vec<String> {
    let mut events = vec![
        json!({ "type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 5,
                "cache_creation_input_tokens": 4, "cache_read_input_tokens": 3,
                "output_tokens": 1 },
        } }),
        json!({ "type": "ping" }),
    ];
    let mut index = 0_u64;
    let mut block = |start: Value, deltas: Vec<Value>| {
        let mut add = |event: Value| events.push(event);
        add(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        for delta in deltas {
            add(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        add(json!({ "type": "content_block_stop", "index": index }));
        index += 1;
    };
    if !spoken.thinking.is_empty() {
        let words = spoken.thinking();
        let mut deltas: Vec<Value> =
            words.map(|word| json!({ "type": "thinking_delta", "thinking": word })).collect();
        let signature = signature(&spoken.thinking);
        deltas.push(json!({ "type": "signature_delta", "signature": signature }));
        block(json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas);
    }
    if !spoken.text.is_empty() {
        let deltas = spoken.words().map(|word| json!({ "type": "text_delta", "text": word }));
        block(json!({ "type": "text", "text": "" }), deltas.collect());
    }
    for (number, (name, arguments)) in spoken.calls.iter().enumerate() {
        let id = format!("toolu_{number}");
        let start = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
        block(start, input(arguments));
    }
    let stop = if spoken.calls.is_empty() { "end_turn" } else { "tool_use" };
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": stop,
        "stop_sequence": null }, "usage": { "output_tokens": 3 } }));
    events.push(json!({ "type": "message_stop" }));
    events.iter().map(event).collect()
}

/// Streams an empty piece first, then the arguments in two halves.
fn input(arguments: &Value) -> Vec<Value> {
    let text = arguments.to_string();
    let (start, end) = text.split_at(text.floor_char_boundary(text.len() / 2));
    let halves = ["", start, end].into_iter();
    halves.map(|json| json!({ "type": "input_json_delta", "partial_json": json })).collect()
}
