//! Shorter results and arguments: what a step did long ago is needed by its outline only. A pure
//! function of what is in the log, so that every request shortens alike.

use avocet_protocol::{Message, SentCall};
use serde_json::Value;

/// How much of a text stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keep {
    /// Bytes of a result, or of one text of the arguments.
    pub(crate) bytes: usize,
}

/// Of what is older than the last turns.
pub(crate) const OLD: Keep = Keep { bytes: 400 };

/// A message whose results and arguments are no longer than this; what it says stays.
pub(crate) fn shortened(message: Message, keep: Keep) -> Message {
    match message {
        Message::ToolResult { call, ok, result } => {
            Message::ToolResult { result: text(result, keep, &call), ok, call }
        }
        Message::Assistant { text, calls, .. } => {
            let calls = calls.into_iter().map(|call| shortened_call(call, keep)).collect();
            // Providers want thoughts back for the turn that goes on only.
            Message::Assistant { text, calls, reasoning: None }
        }
        other => other,
    }
}

fn shortened_call(call: SentCall, keep: Keep) -> SentCall {
    let SentCall { id, name, mut arguments } = call;
    arguments.values_mut().for_each(|value| shorten_value(value, keep));
    SentCall { id, name, arguments }
}

fn shorten_value(value: &mut Value, keep: Keep) {
    match value {
        Value::String(text) if text.len() > keep.bytes => {
            let shown = &text[..text.floor_char_boundary(keep.bytes)];
            *text = format!("{shown}[… {} bytes in all]", text.len());
        }
        Value::Array(values) => values.iter_mut().for_each(|value| shorten_value(value, keep)),
        Value::Object(object) => {
            object.values_mut().for_each(|value| shorten_value(value, keep));
        }
        _ => {}
    }
}

fn text(text: String, keep: Keep, handle: &str) -> String {
    if text.len() <= keep.bytes {
        return text;
    }
    let shown = &text[..text.floor_char_boundary(keep.bytes)];
    let (shown_bytes, bytes) = (shown.len(), text.len());
    format!(
        "{shown}\n[shortened: {shown_bytes} of {bytes} bytes shown; the whole result: read_result \
         with handle \"{handle}\"]"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_and_arguments_are_shortened_and_words_are_not() {
        let keep = Keep { bytes: 5 };
        let long = "äöüß";
        let shown = |message| serde_json::to_value(shortened(message, keep)).unwrap();
        let arguments = json!({ "path": "a.rs", "edits": [{ "text": long }], "line": 123_456 });
        let arguments = arguments.as_object().unwrap().clone();
        let call = SentCall { id: "t1.0.0".into(), name: "write_file".into(), arguments };
        let assistant = shown(Message::assistant(long, vec![call]));
        assert_eq!(assistant["text"], long);
        let expected = json!({ "path": "a.rs", "edits": [{ "text": "äö[… 8 bytes in all]" }], "line": 123_456 });
        assert_eq!(assistant["calls"][0]["arguments"], expected);
        let result = Message::ToolResult { call: "t1.0.0".into(), ok: true, result: long.into() };
        assert_eq!(
            shown(result)["result"],
            "äö\n[shortened: 4 of 8 bytes shown; the whole result: read_result with handle \
             \"t1.0.0\"]"
        );
        assert_eq!(shown(Message::user(long))["text"], long);
    }
}
