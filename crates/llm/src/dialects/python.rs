//! Reads calls in Python syntax: `read_file(path="a", limit=3)`. Outside of markup, only offered
//! tools count, because much other text has this form.

use avocet_protocol::model::{Arguments, ToolCall};
use avocet_protocol::tool::ToolSpec;
use serde_json::{Map, Value};

use super::call::{self, CallEvidence};
use super::lenient::{self, MissingBrackets};
use super::{ReplyPosition, marks, schema};

/// The calls at the start of a text, separated by blanks or characters of `between`, and their
/// length in bytes.
pub(super) fn read_calls(
    place: &ReplyPosition<'_>,
    between: &str,
    sure: CallEvidence,
) -> Option<(usize, Vec<ToolCall>)> {
    let (text, mut at, mut found) = (place.rest, 0, Vec::new());
    loop {
        let rest =
            text[at..].trim_start_matches(|c: char| c.is_whitespace() || between.contains(c));
        let start = text.len() - rest.len();
        let Some((bytes, call)) = read_call(&place.advanced_by(start), sure) else { break };
        found.push(call);
        at = start + bytes;
    }
    (!found.is_empty()).then_some((at, found))
}

/// The calls in a list at the start of a text, and their length in bytes with its brackets. The
/// closing bracket may be missing.
pub(super) fn read_list(
    place: &ReplyPosition<'_>,
    sure: CallEvidence,
) -> Option<(usize, Vec<ToolCall>)> {
    let (bytes, found) = read_calls(&place.advanced_by(1), ",", sure)?;
    let rest = place.rest[1 + bytes..].trim_start_matches(|c: char| c.is_whitespace() || c == ',');
    let end = place.rest.len() - rest.strip_prefix(']').unwrap_or(rest).len();
    Some((end, found))
}

/// One call, and its length in bytes; `print(...)` around it is ignored.
pub(super) fn read_call(
    place: &ReplyPosition<'_>,
    sure: CallEvidence,
) -> Option<(usize, ToolCall)> {
    let text = place.rest;
    if let Some(inner) = text.strip_prefix("print(") {
        let (bytes, call) = read_call(&place.advanced_by("print(".len()), sure)?;
        let end = inner[bytes..].find(')')?;
        return Some(("print(".len() + bytes + end + 1, call));
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let (name, rest) = text.split_at(text.find(|c| !is_name(c))?);
    let inner = rest.strip_prefix('(').filter(|_| !name.is_empty())?;
    let name = name.trim_end_matches(".call");
    let name = match sure {
        CallEvidence::Marked => call::known_elsewhere(name, place.tools).unwrap_or(name),
        CallEvidence::Instructed | CallEvidence::Known => sure.find_tool(name, place.tools)?,
    };
    let before = text.len() - inner.len();
    let (arguments, bytes) = match read_arguments(inner, schema::find_tool(name, place.tools)) {
        Some((object, bytes)) => (Arguments::Object(object), before + bytes),
        None => {
            let ends = [inner.find('\n'), marks::next(inner)].into_iter().flatten();
            let end = ends.min().unwrap_or(inner.len());
            (Arguments::Malformed(inner[..end].to_owned()), before + end)
        }
    };
    Some((bytes, ToolCall { name: name.to_owned(), arguments }))
}

/// The arguments up to the closing bracket. Those without a name are assigned in the order of the
/// schema.
fn read_arguments(text: &str, tool: Option<&ToolSpec>) -> Option<(Map<String, Value>, usize)> {
    let mut object = Map::new();
    let mut unnamed = tool.map(schema::required_names).unwrap_or_default().into_iter();
    let mut rest = text.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix(')') {
            return Some((object, text.len() - after.len()));
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, after) = rest.split_at(rest.find(|c| !is_name(c))?);
        let (name, given) = match after.trim_start().strip_prefix('=') {
            Some(given) if !name.is_empty() => (name, given.trim_start()),
            _ => (unnamed.next()?, rest),
        };
        let (value, bytes) = read_literal(given)?;
        object.insert(name.to_owned(), value);
        rest = given[bytes..].trim_start();
        rest = match rest.strip_prefix(',') {
            Some(rest) => rest.trim_start(),
            None if rest.starts_with(')') => rest,
            None => return None,
        };
    }
}

fn read_literal(text: &str) -> Option<(Value, usize)> {
    for quotes in ["\"\"\"", "'''"] {
        if let Some(inner) = text.strip_prefix(quotes) {
            let end = inner.find(quotes)?;
            return Some((Value::String(inner[..end].to_owned()), end + 6));
        }
    }
    lenient::parse_value(text, MissingBrackets::Refused).ok()
}
