//! Reads the calls in a section of markup that models use only for calls. The families write them
//! in a few shapes, and mix these: a JSON object, a name followed by its arguments, a tag for each
//! argument, or a call in Python syntax.

use avocet_protocol::model::{Arguments, ToolCall};
use avocet_protocol::tool::ToolSpec;
use serde_json::{Map, Value};

use super::call::{self, CallEvidence, JsonText};
use super::lenient::{self, MissingBrackets};
use super::marks::{self, MarkPlace, mark_at_start};
use super::{ReplyPosition, arguments_in_tags as in_tags, escaped, python, schema};

/// Maximum nesting depth of openings before a call.
const DEEPEST: usize = 3;
/// Remains of a call before its closing tag.
const REMAINS: [char; 5] = ['}', ']', '`', '"', '\''];
/// Prefixes of names.
const PREFIXES: [&str; 2] = ["call:", "functions."];
/// The word before the separator and the name in DeepSeek V3.
const FUNCTION: &str = "function";

/// The calls in a section whose opening precedes the place, and the number of bytes up to its end.
/// The closing markup may be missing. The text of the reply must be complete.
pub(super) fn calls_in_section(place: &ReplyPosition<'_>) -> Option<(usize, Vec<ToolCall>)> {
    let (mut at, mut found, mut depth) = (0, Vec::new(), 1);
    while depth > 0 {
        let is_blank = |c: char| c.is_whitespace() || matches!(c, ',' | ';');
        let rest = place.rest[at..].trim_start_matches(is_blank);
        let start = place.rest.len() - rest.len();
        if let Some((kind, bytes)) = mark_at_start(rest) {
            match kind {
                MarkPlace::Open => depth += 1,
                MarkPlace::Close => depth -= 1,
                MarkPlace::Between => {}
            }
            // Otherwise, a long row of openings would be read again from each of them.
            if found.is_empty() && depth > DEEPEST {
                return None;
            }
            at = start + bytes;
        } else if let Some((bytes, calls)) = next_calls(&place.advanced_by(start), found.is_empty())
        {
            found.extend(calls);
            at = start + bytes;
        } else {
            let remains =
                rest.trim_start_matches(|c: char| c.is_whitespace() || REMAINS.contains(&c));
            let is_close = mark_at_start(remains).is_some_and(|(kind, _)| kind == MarkPlace::Close);
            if found.is_empty() || !is_close || remains.len() == rest.len() {
                break;
            }
            at = place.rest.len() - remains.len();
        }
    }
    (!found.is_empty()).then_some((at, found))
}

/// The calls in the next shape, and their length in bytes. Text behind the first call may only look
/// like one.
fn next_calls(place: &ReplyPosition<'_>, is_first: bool) -> Option<(usize, Vec<ToolCall>)> {
    let sure = if is_first { CallEvidence::Marked } else { CallEvidence::Instructed };
    let single = |(bytes, call)| (bytes, vec![call]);
    match place.rest.chars().next()? {
        '[' => python::read_list(place, CallEvidence::Marked).or_else(|| in_json(place)),
        '{' => in_json(place),
        '<' | ']' => in_tags::parse_call(place).map(single),
        _ => python::read_call(place, sure).or_else(|| named_call(place)).map(single),
    }
}

/// Reads an object with the name and the arguments, or a list of these. An object may also have the
/// name as its only key.
fn in_json(place: &ReplyPosition<'_>) -> Option<(usize, Vec<ToolCall>)> {
    let bounded = up_to_mark(place);
    match bounded.json_calls(bounded.rest, CallEvidence::Marked) {
        JsonText::Calls(bytes, calls) => Some((bytes, calls)),
        JsonText::Other(_) => {
            match lenient::parse_value(bounded.rest, missing_brackets(&bounded)) {
                Ok((value, bytes)) => Some((bytes, by_name(&value, place.tools)?)),
                Err(_) => broken_call(&bounded),
            }
        }
        JsonText::Open => None,
    }
}

/// A call from broken text whose first key is a tool.
fn broken_call(place: &ReplyPosition<'_>) -> Option<(usize, Vec<ToolCall>)> {
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '[' | '{');
    let quoted = place.rest.trim_start_matches(is_mark).strip_prefix('"')?;
    let name = call::known_elsewhere(quoted.split('"').next()?, place.tools)?.to_owned();
    let bytes = lenient::bracket_bytes(place.rest);
    let arguments = Arguments::Malformed(place.rest[..bytes].to_owned());
    Some((bytes, vec![ToolCall { name, arguments }]))
}

fn by_name(value: &Value, tools: &[ToolSpec]) -> Option<Vec<ToolCall>> {
    match value {
        Value::Array(values) if !values.is_empty() => {
            let calls = values.iter().map(|value| by_name(value, tools));
            calls.collect::<Option<Vec<_>>>().map(|calls| calls.concat())
        }
        Value::Object(object) => {
            call::calls_in_value(value, tools, CallEvidence::Marked).or_else(|| {
                let mut entries = object.iter();
                let (Some((name, Value::Object(arguments))), None) =
                    (entries.next(), entries.next())
                else {
                    return None;
                };
                Some(vec![call::create_call(name, Arguments::Object(arguments.clone()), tools)])
            })
        }
        _ => None,
    }
}

/// The place up to the next mark, if its JSON is broken or incomplete before that.
fn up_to_mark<'t>(place: &ReplyPosition<'t>) -> ReplyPosition<'t> {
    if lenient::parse_value(place.rest, MissingBrackets::Refused).is_ok() {
        return *place;
    }
    match marks::next(place.rest) {
        Some(end) => ReplyPosition { rest: &place.rest[..end], is_cut: false, ..*place },
        None => *place,
    }
}

fn missing_brackets(place: &ReplyPosition<'_>) -> MissingBrackets {
    MissingBrackets::added_unless(place.is_cut)
}

/// Reads a name and its arguments: an object, perhaps in a fence, or pairs of tags.
fn named_call(place: &ReplyPosition<'_>) -> Option<(usize, ToolCall)> {
    let (mut name, mut at) = name_at(place.rest, 0)?;
    let mut body = after_separators(place.rest, at);
    if name.eq_ignore_ascii_case(FUNCTION) && body.is_separated {
        (name, at) = name_at(place.rest, body.at)?;
        body = after_separators(place.rest, at);
    }
    let tool = call::known_elsewhere(name, place.tools);
    let tool = tool.and_then(|name| schema::find_tool(name, place.tools));
    let rest = &place.rest[body.at..];
    let (arguments, bytes) = if rest.starts_with(['{', '`']) {
        in_braces(&place.advanced_by(body.at), tool)
    } else if let Some(pairs) = in_tags::parse_pairs(&place.advanced_by(body.at), tool) {
        pairs
    } else {
        let is_end = rest.is_empty() || mark_at_start(rest).is_some();
        let is_closed = mark_at_start(rest).is_some_and(|(kind, _)| kind == MarkPlace::Close);
        match () {
            () if is_end && place.is_cut && rest.is_empty() => {
                (Arguments::Malformed(place.rest.to_owned()), 0)
            }
            () if is_closed || (is_end && (tool.is_some() || body.is_separated)) => {
                (Arguments::Object(Map::new()), 0)
            }
            () if body.is_separated => {
                let end = marks::next(rest).unwrap_or(rest.len());
                (call::parse_arguments(&rest[..end]), end)
            }
            () => return None,
        }
    };
    Some((body.at + bytes, call::create_call(name, arguments, place.tools)))
}

/// The name at index `at` of a text without its prefixes and its number, and the index behind it.
fn name_at(text: &str, at: usize) -> Option<(&str, usize)> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
    let rest = &text[at..];
    let rest = rest.trim_start();
    let start = text.len() - rest.len();
    let written = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
    let name =
        PREFIXES.iter().fold(written, |name, prefix| name.strip_prefix(prefix).unwrap_or(name));
    let name = match name.rsplit_once(':') {
        Some((name, number)) if number.chars().all(|c| c.is_ascii_digit()) => name,
        _ => name,
    };
    (!name.is_empty()).then_some((name, start + written.len()))
}

/// The start of the arguments behind a name.
struct BodyStart {
    at: usize,
    /// `true` if a mark separates the arguments from the name.
    is_separated: bool,
}

fn after_separators(text: &str, mut at: usize) -> BodyStart {
    let mut is_separated = false;
    loop {
        let rest = in_tags::skip_breaks(&text[at..]);
        at = text.len() - rest.len();
        match mark_at_start(rest) {
            Some((MarkPlace::Between, bytes)) => {
                at += bytes + id_bytes(&rest[bytes..]);
                is_separated = true;
            }
            _ => return BodyStart { at, is_separated },
        }
    }
}

/// The length in bytes of the id of a call, if another separator follows it.
fn id_bytes(text: &str) -> usize {
    let id = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let is_separated =
        mark_at_start(&text[id..]).is_some_and(|(kind, _)| kind == MarkPlace::Between);
    if is_separated { id } else { 0 }
}

/// The arguments in braces, perhaps in a fence, and their length in bytes.
pub(super) fn in_braces(place: &ReplyPosition<'_>, tool: Option<&ToolSpec>) -> (Arguments, usize) {
    let body = place.rest;
    let fenced =
        body.strip_prefix("```").map(|rest| rest.split_once('\n').map_or("", |(_, body)| body));
    let inner = fenced.unwrap_or(body).trim_start();
    let before = body.len() - inner.len();
    let bounded = up_to_mark(&place.advanced_by(before));
    let value = lenient::parse_value(inner, MissingBrackets::Refused);
    let (arguments, bytes) = match value {
        Ok((Value::Object(object), bytes)) => (Arguments::Object(object), bytes),
        _ => match (
            escaped::parse_object(inner, tool),
            lenient::parse_value(bounded.rest, missing_brackets(&bounded)),
        ) {
            (Some((object, bytes)), _) | (None, Ok((Value::Object(object), bytes))) => {
                (Arguments::Object(object), bytes)
            }
            (None, _) => {
                let text = bounded.rest.trim_end();
                (Arguments::Malformed(text.to_owned()), bounded.rest.len())
            }
        },
    };
    let end = before + bytes;
    let rest = body[end..].trim_start();
    match rest.strip_prefix("```") {
        Some(after) if fenced.is_some() => (arguments, body.len() - after.len()),
        _ => (arguments, end),
    }
}
