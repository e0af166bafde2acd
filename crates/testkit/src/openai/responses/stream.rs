//! The events of a streamed answer.

use serde_json::{Value, json};

use super::{MODEL, TOOL_SEARCH, thought};
use crate::answer::Spoken;

/// Returns an event of a stream, as text for a chunk of its body.
#[must_use]
pub fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

/// Returns the whole answer in the form of the last event.
#[must_use]
pub fn response(status: &str, output: &[Value], usage: &Value) -> Value {
    json!({ "id": "resp_1", "object": "response", "created_at": 1, "status": status,
        "model": MODEL, "error": null, "incomplete_details": null, "output": output,
        "store": false, "usage": usage })
}

/// Returns an answer without streaming.
pub(super) fn whole(text: &str) -> Value {
    let spoken = Spoken { text: text.to_owned(), ..Spoken::default() };
    response("completed", &items(&spoken), &usage())
}

fn usage() -> Value {
    json!({ "input_tokens": 12, "input_tokens_details": { "cached_tokens": 4 },
        "output_tokens": 3, "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": 15 })
}

/// Returns the events of an answer, item by item: the thought, the text, each call.
pub(super) fn events(spoken: &Spoken) -> Vec<String> {
    let started = response("in_progress", &[], &Value::Null);
    let mut events = vec![
        json!({ "type": "response.created", "response": started }),
        json!({ "type": "response.in_progress", "response": started }),
    ];
    let items = items(spoken);
    for (index, item) in items.iter().enumerate() {
        events.push(json!({ "type": "response.output_item.added", "output_index": index,
            "item": begun(item) }));
        events.extend(pieces(index, item, spoken));
        events.push(json!({ "type": "response.output_item.done", "output_index": index,
            "item": item }));
    }
    let whole = response("completed", &items, &usage());
    events.push(json!({ "type": "response.completed", "response": whole }));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events.iter().map(event).collect()
}

fn items(spoken: &Spoken) -> Vec<Value> {
    let mut items = Vec::new();
    if !spoken.thinking.is_empty() {
        items.push(thought("rs_1", &spoken.thinking));
    }
    if !spoken.text.is_empty() || spoken.calls.is_empty() {
        let part = json!({ "type": "output_text", "text": spoken.text, "annotations": [] });
        let phase = if spoken.calls.is_empty() { "final_answer" } else { "commentary" };
        items.push(json!({ "id": "msg_1", "type": "message", "role": "assistant",
            "status": "completed", "phase": phase, "content": [part] }));
    }
    items.extend(spoken.calls.iter().enumerate().map(|(number, (name, arguments))| {
        if name == TOOL_SEARCH {
            return json!({ "id": format!("tsc_{number}"), "type": "tool_search_call",
                "status": "completed", "execution": "client",
                "call_id": format!("call_{number}"), "arguments": arguments });
        }
        json!({ "id": format!("fc_{number}"), "type": "function_call", "status": "completed",
            "call_id": format!("call_{number}"), "name": name,
            "arguments": arguments.to_string() })
    }));
    items
}

/// Returns an item without its content, for the event that begins it.
fn begun(item: &Value) -> Value {
    let mut begun = item.clone();
    let (key, nothing) = match item["type"].as_str() {
        Some("message") => ("content", json!([])),
        Some("function_call") => ("arguments", json!("")),
        Some("tool_search_call") => ("arguments", json!({})),
        // The beginning of the encrypted thought.
        _ => ("encrypted_content", json!("gAAAA")),
    };
    begun[key] = nothing;
    begun
}

/// Returns the events between the beginning and the end of an item.
fn pieces(index: usize, item: &Value, spoken: &Spoken) -> Vec<Value> {
    let id = &item["id"];
    let of = |kind: &str, key: &str, value: &str| {
        let kind = format!("response.{kind}");
        json!({ "type": kind, "item_id": id, "output_index": index, "content_index": 0,
            key: value })
    };
    match item["type"].as_str() {
        Some("message") => {
            let part = json!({ "type": "output_text", "text": "", "annotations": [] });
            let mut pieces = vec![json!({ "type": "response.content_part.added", "item_id": id,
                "output_index": index, "content_index": 0, "part": part })];
            pieces.extend(spoken.words().map(|word| of("output_text.delta", "delta", word)));
            pieces.push(of("output_text.done", "text", &spoken.text));
            let part = &item["content"][0];
            pieces.push(json!({ "type": "response.content_part.done", "item_id": id,
                "output_index": index, "content_index": 0, "part": part }));
            pieces
        }
        Some("function_call") => {
            let text = item["arguments"].as_str().unwrap_or_default();
            let (start, end) = text.split_at(text.floor_char_boundary(text.len() / 2));
            let delta = |piece| of("function_call_arguments.delta", "delta", piece);
            vec![delta(start), delta(end), of("function_call_arguments.done", "arguments", text)]
        }
        _ => Vec::new(),
    }
}
