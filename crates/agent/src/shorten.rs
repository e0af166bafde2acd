//! Shortens results and arguments: of a step long ago, the model needs only the outline. Pure
//! functions of the log, so that every request shortens alike.

use avocet_protocol::model::{Message, SentCall};
use avocet_protocol::store::Past;
use serde_json::Value;

/// Sets how much of a message stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeepLimits {
    /// Bytes of a result, or of one text of the arguments.
    pub(crate) bytes: usize,
    /// `true` if the reasoning before the calls stays. Providers require it for the current turn.
    pub(crate) thoughts: bool,
}

/// For turns that are older than the last ones.
pub(crate) const OLD: KeepLimits = KeepLimits { bytes: Past::SHORT, thoughts: false };
/// For the older steps of the current turn.
pub(crate) const OLD_STEP: KeepLimits = KeepLimits { bytes: Past::SHORT, thoughts: true };

/// Shortens results and arguments to `keep`. The message's own text stays, as do values that are
/// too long by less than the length of the remark.
pub(crate) fn shorten_message(message: Message, keep: KeepLimits) -> Message {
    match message {
        Message::ToolResult { call, ok, result } => {
            Message::ToolResult { result: shorten_text(result, keep, &call), ok, call }
        }
        Message::Assistant { text, calls, reasoning } => {
            let calls = calls.into_iter().map(|call| shortened_call(call, keep)).collect();
            let reasoning = reasoning.filter(|_| keep.thoughts);
            Message::Assistant { text, calls, reasoning }
        }
        other => other,
    }
}

fn shortened_call(call: SentCall, keep: KeepLimits) -> SentCall {
    let SentCall { id, name, mut arguments } = call;
    arguments.values_mut().for_each(|value| shorten_value(value, keep));
    SentCall { id, name, arguments }
}

fn shorten_value(value: &mut Value, keep: KeepLimits) {
    match value {
        Value::String(text) if text.len() > keep.bytes.saturating_add(Past::REMARK) => {
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

fn shorten_text(text: String, keep: KeepLimits, handle: &str) -> String {
    if text.len() <= keep.bytes.saturating_add(Past::REMARK) {
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
    fn shortened_cuts_results_and_arguments_but_not_text() {
        let keep = KeepLimits { bytes: 5, thoughts: false };
        let long = &format!("äöüß{}", "z".repeat(120));
        let shown = |message| serde_json::to_value(shorten_message(message, keep)).unwrap();
        let arguments = json!({ "path": "a.rs", "edits": [{ "text": long }], "line": 123_456 });
        let arguments = arguments.as_object().unwrap().clone();
        let call = SentCall { id: "t1.0.0".into(), name: "write_file".into(), arguments };
        let assistant = shown(Message::assistant(long.as_str(), vec![call]));
        assert_eq!(assistant["text"], *long);
        let expected = json!({ "path": "a.rs", "edits": [{ "text": "äö[… 128 bytes in all]" }], "line": 123_456 });
        assert_eq!(assistant["calls"][0]["arguments"], expected);
        let result = Message::ToolResult { call: "t1.0.0".into(), ok: true, result: long.clone() };
        assert_eq!(
            shown(result)["result"],
            "äö\n[shortened: 4 of 128 bytes shown; the whole result: read_result with handle \
             \"t1.0.0\"]"
        );
        assert_eq!(shown(Message::user(long.as_str()))["text"], *long);
    }
}
