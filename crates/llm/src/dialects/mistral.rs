//! `mistral`: `[TOOL_CALLS]` and a list of objects, or a name followed by an object.

use avocet_protocol::{Arguments, SentCall, ToolCall, ToolSpec};
use serde_json::Value;

use super::call::{self, Sure};
use super::lenient::{self, MissingBrackets};
use super::{Dialect, DialectMatch, ReplyPosition, begins, calls, json, strip, words};

const OPENING: &str = "[TOOL_CALLS]";
/// Tokens that may stand between the name and the object.
const BETWEEN: [&str; 2] = ["[CALL_ID]", "[ARGS]"];

#[derive(Debug)]
pub(super) struct Mistral;

impl Dialect for Mistral {
    fn name(&self) -> &'static str {
        "mistral"
    }

    fn has_control_words(&self) -> bool {
        true
    }

    fn syntax(&self) -> &'static str {
        "Write [TOOL_CALLS] and, in the same line, a JSON list of objects with \"name\" and \
         \"arguments\"."
    }

    fn render_calls(&self, calls: &[SentCall], _: &[ToolSpec]) -> String {
        let calls = calls.iter().map(|call| words::object(call, "name", "arguments"));
        format!("{OPENING}[{}]", calls.collect::<Vec<_>>().join(", "))
    }

    fn at_start(&self, place: &ReplyPosition<'_>) -> DialectMatch {
        let Some(rest) = strip(place.rest, OPENING) else {
            return if begins(OPENING, place.rest) {
                DialectMatch::Open
            } else {
                DialectMatch::Nothing
            };
        };
        if !place.is_all {
            return DialectMatch::Open;
        }
        let body = rest.trim_start();
        let at = place.rest.len() - body.len();
        let found = if body.starts_with(['[', '{']) {
            json::objects(&place.after(at), Sure::Marked)
        } else {
            named(&place.after(at))
        };
        found.map_or(DialectMatch::Nothing, |(bytes, found)| calls(at + bytes, found))
    }
}

/// Reads `read_file{"path": "a"}` or `read_file[CALL_ID]1[ARGS]{"path": "a"}`.
fn named(place: &ReplyPosition<'_>) -> Option<(usize, Vec<ToolCall>)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let (name, mut rest) =
        place.rest.split_at(place.rest.find(|c| !is_name(c)).unwrap_or(place.rest.len()));
    if name.is_empty() {
        return None;
    }
    for word in BETWEEN {
        if let Some(after) = strip(rest.trim_start(), word) {
            rest = after.trim_start_matches(is_name);
        }
    }
    let body = rest.trim_start();
    if !body.starts_with('{') {
        return call::known_elsewhere(name, place.tools).map(|_| {
            (
                place.rest.len() - rest.len(),
                vec![call::call(name, call::arguments(""), place.tools)],
            )
        });
    }
    let (arguments, bytes) = match lenient::value(body, MissingBrackets::added_unless(place.is_cut))
    {
        Ok((Value::Object(object), bytes)) => (Arguments::Object(object), bytes),
        _ => {
            let bytes = lenient::extent(body);
            (Arguments::Malformed(body[..bytes].to_owned()), bytes)
        }
    };
    let read = place.rest.len() - body.len() + bytes;
    Some((read, vec![call::call(name, arguments, place.tools)]))
}
