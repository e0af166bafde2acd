//! Reads calls with a tag for each argument: `<function=NAME><parameter=KEY>VALUE</parameter>`,
//! `<invoke name="NAME"><parameter name="KEY">VALUE</parameter>`, and pairs of `<arg_key>` and
//! `<arg_value>`, in the spelling of any family ([`marks`]). Values stand there as they are, without
//! escapes, and may hold markup themselves.

use avocet_protocol::model::{Arguments, ToolCall};
use avocet_protocol::tool::ToolSpec;
use serde_json::{Map, Value};

use super::lenient::{self, MissingBrackets};
use super::marks::{self, MarkPlace, PlainTag, SpelledTag, mark_at_start};
use super::tags::{self, is_one_of};
use super::{ReplyPosition, call, marked, schema};

/// Tags of a call.
const CALLERS: [&str; 3] = ["call", "function", "invoke"];
/// Tags of one argument.
const ONE: [&str; 4] = ["parameter", "param", "arg", "argument"];
const KEY: &str = "arg_key";
const VALUE: &str = "arg_value";
/// The name of the elements of a list.
const ITEM: &str = "item";
/// Attributes that tell if a value is a text: `string="true"`, `type="string"`.
const STRING: &str = "string";
const TYPE: &str = "type";
/// Maximum nesting depth of elements.
const DEEPEST: usize = 16;
/// Maximum bytes of a key.
const LONGEST: usize = 500;

/// An opening tag of a call or of an argument.
struct OpeningTag<'t> {
    name: String,
    /// The name of the call or of the argument in the tag.
    called: Option<String>,
    /// `false` if the tag tells that the value is JSON, `true` if it is a text.
    is_string: Option<bool>,
    tag: SpelledTag<'t>,
}

impl<'t> OpeningTag<'t> {
    fn parse_opening(text: &'t str) -> Option<Self> {
        let spelled = SpelledTag::parse_tag(text).filter(|tag| !tag.closes)?;
        let plain = format!("<{}>", spelled.head);
        let tag = tags::parse_tag(&plain)??;
        if tag.closes || tag.bytes != plain.len() {
            return None;
        }
        let attribute = |wanted: &str| {
            tag.attributes.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.as_str())
        };
        let called = tag.name_in_tag().or_else(|| attribute("key"));
        let string = attribute(STRING).map(|value| value == "true");
        Some(Self {
            name: tag.name.to_owned(),
            called: called.map(|name| name.trim().to_owned()),
            is_string: string.or(attribute(TYPE).map(|kind| kind == STRING)),
            tag: spelled,
        })
    }

    /// The argument that the tag names.
    fn argument_key(&self) -> Option<&str> {
        let is_named_in_tag = is_one_of(&self.name, &ONE) && !self.tag.is_nested();
        if is_named_in_tag { self.called.as_deref() } else { Some(&self.name) }
    }

    /// The text of the value behind the tag, and the length in bytes with its closing tag.
    fn argument_value<'v>(&self, text: &'v str, tool: Option<&ToolSpec>) -> (&'v str, usize) {
        let close = ClosingTag { name: &self.name, spelling: Some(self.tag.spelling) };
        if !self.tag.is_plain()
            && marks::mark_starts(text).any(|at| close.bytes_at_start(&text[at..]).is_some())
        {
            return value_before_close(text, close, tool);
        }
        value_before_close(text, ClosingTag { spelling: None, ..close }, tool)
    }
}

/// The closing tag of a value.
#[derive(Clone, Copy)]
struct ClosingTag<'n> {
    name: &'n str,
    /// The index of the spelling; `None` for any.
    spelling: Option<usize>,
}

impl ClosingTag<'_> {
    /// Bytes of the tag at the start of a text.
    fn bytes_at_start(self, text: &str) -> Option<usize> {
        let tag = PlainTag::parse_named(text, self.name, true)?;
        self.spelling.is_none_or(|spelling| spelling == tag.spelling).then_some(tag.bytes)
    }
}

/// The call in tags at the start of a text, and its length in bytes.
pub(super) fn parse_call(place: &ReplyPosition<'_>) -> Option<(usize, ToolCall)> {
    let text = place.rest;
    let opening =
        OpeningTag::parse_opening(text).filter(|opening| is_one_of(&opening.name, &CALLERS))?;
    let at = opening.tag.bytes;
    let name = opening.called.filter(|name| !name.is_empty())?;
    let known = call::known_elsewhere(&name, place.tools);
    let tool = known.and_then(|name| schema::find_tool(name, place.tools));
    let body = text[at..].trim_start();
    let (arguments, bytes) = if body.starts_with('{') {
        let start = text.len() - body.len();
        let (arguments, bytes) = marked::in_braces(&place.advanced_by(start), tool);
        (arguments, start + bytes)
    } else {
        parse_parameters(place, at, tool)
    };
    let rest = text[bytes..].trim_start();
    let end = closing_bytes(rest, &CALLERS).map_or(bytes, |close| text.len() - rest.len() + close);
    Some((end, call::create_call(&name, arguments, place.tools)))
}

/// The arguments from index `at` of a call, and the index behind them.
fn parse_parameters(
    place: &ReplyPosition<'_>,
    mut at: usize,
    tool: Option<&ToolSpec>,
) -> (Arguments, usize) {
    let (text, first, mut object) = (place.rest, at, Map::new());
    loop {
        let rest = text[at..].trim_start();
        let start = text.len() - rest.len();
        let is_end = closing_bytes(rest, &CALLERS).is_some() || mark_at_start(rest).is_some();
        if is_end || (rest.is_empty() && !place.is_cut) {
            return (Arguments::Object(object), start);
        }
        let opening =
            OpeningTag::parse_opening(rest).filter(|opening| !is_one_of(&opening.name, &CALLERS));
        let Some(opening) = opening else {
            if OpeningTag::parse_opening(rest).is_some() {
                // The next call: the closing tag is missing.
                return (Arguments::Object(object), start);
            }
            let ends = marks::mark_starts(&text[start..]).map(|at| start + at);
            let is_end = |at: &usize| {
                closing_bytes(&text[*at..], &CALLERS).is_some()
                    || mark_at_start(&text[*at..]).is_some()
            };
            let end = ends.into_iter().find(is_end).unwrap_or(text.len());
            return (Arguments::Malformed(text[first..end].trim().to_owned()), end);
        };
        let bytes = opening.tag.bytes;
        let (value, after) = opening.argument_value(&rest[bytes..], tool);
        at = start + bytes + after;
        if let Some(key) = opening.argument_key() {
            let property = tool.and_then(|tool| schema::find_property(tool, key));
            let property = property.map_or(&Value::Null, |(_, property)| property);
            let elements =
                opening.tag.is_nested().then(|| parse_elements(value, property, 0)).flatten();
            let value =
                elements.unwrap_or_else(|| typed_value(key, value, opening.is_string, tool));
            object.insert(key.to_owned(), value);
        }
        if place.is_cut && text[at..].trim().is_empty() {
            return (Arguments::Malformed(text[first..].to_owned()), text.len());
        }
    }
}

/// The arguments in pairs of tags at the start of a text, and their length in bytes; `None` if the
/// text is something else.
pub(super) fn parse_pairs(
    place: &ReplyPosition<'_>,
    tool: Option<&ToolSpec>,
) -> Option<(Arguments, usize)> {
    let (text, mut at, mut object) = (place.rest, 0, Map::new());
    PlainTag::parse_named(text, KEY, false)?;
    loop {
        let rest = skip_breaks(&text[at..]);
        let start = text.len() - rest.len();
        let Some(open) = PlainTag::parse_named(rest, KEY, false) else {
            if place.is_cut && rest.is_empty() {
                return Some((Arguments::Malformed(text.to_owned()), text.len()));
            }
            if rest.is_empty() || mark_at_start(rest).is_some() {
                return Some((Arguments::Object(object), start));
            }
            return Some(malformed_arguments(text, start));
        };
        let inner = &rest[open.bytes..];
        if let Some((all, bytes)) = all_in_key(inner) {
            object.extend(all);
            at = start + open.bytes + bytes;
            continue;
        }
        let near = &inner[..inner.floor_char_boundary(LONGEST)];
        let Some(end) = near.find('<') else { return Some(malformed_arguments(text, start)) };
        let key = near[..end].trim();
        let after_key =
            PlainTag::parse_named(&inner[end..], KEY, true).map_or(0, |close| close.bytes);
        let rest = skip_breaks(&inner[end + after_key..]);
        let Some(open) = PlainTag::parse_named(rest, VALUE, false) else {
            return Some(malformed_arguments(text, start));
        };
        let close = ClosingTag { name: VALUE, spelling: None };
        let (value, bytes) = value_before_close(&rest[open.bytes..], close, tool);
        object.insert(key.to_owned(), typed_value(key, value, None, tool));
        at = text.len() - rest.len() + open.bytes + bytes;
    }
}

/// Arguments that cannot be read, up to the next mark from index `at`.
fn malformed_arguments(text: &str, at: usize) -> (Arguments, usize) {
    let end = marks::next(&text[at..]).map_or(text.len(), |end| at + end);
    (Arguments::Malformed(text[..end].trim().to_owned()), end)
}

/// Reads an object with all arguments in place of a key. Also returns the length in bytes, with the
/// closing tag.
fn all_in_key(text: &str) -> Option<(Map<String, Value>, usize)> {
    let body = text.trim_start();
    if !body.starts_with('{') {
        return None;
    }
    let (Value::Object(object), bytes) =
        lenient::parse_value(body, MissingBrackets::Refused).ok()?
    else {
        return None;
    };
    let rest = body[bytes..].trim_start();
    let close = PlainTag::parse_named(rest, KEY, true).map_or(0, |close| close.bytes);
    Some((object, text.len() - rest.len() + close))
}

/// Removes blanks, and line breaks that are written as `\n`.
pub(super) fn skip_breaks(text: &str) -> &str {
    let mut text = text.trim_start();
    while let Some(rest) = text.strip_prefix("\\n") {
        text = rest.trim_start();
    }
    text
}

/// The text of a value up to its closing tag, and the length in bytes with that tag. A closing tag
/// inside of the value is followed by other text. Without a closing tag, the value ends where the
/// next argument begins or the call ends.
fn value_before_close<'t>(
    text: &'t str,
    close: ClosingTag<'_>,
    tool: Option<&ToolSpec>,
) -> (&'t str, usize) {
    let mut first = None;
    for at in marks::mark_starts(text) {
        let rest = &text[at..];
        if let Some(bytes) = close.bytes_at_start(rest) {
            let after = text[at + bytes..].trim_start();
            if after.is_empty() || marks::is_start(after) || skip_breaks(after).starts_with('<') {
                return (&text[..at], at + bytes);
            }
            first = first.or(Some((&text[..at], at + bytes)));
        } else if let Some(first) = first
            && mark_at_start(rest).is_some()
        {
            return first;
        } else if first.is_none() && is_end(text, at, close, tool) {
            return (&text[..at], at);
        }
    }
    first.unwrap_or((text, text.len()))
}

/// The value in elements: an object, or a list if all of them are items. `None` for other text.
fn parse_elements(text: &str, property: &Value, depth: usize) -> Option<Value> {
    let (mut at, mut entries) = (0, Vec::new());
    while !text[at..].trim().is_empty() && depth < DEEPEST {
        let rest = text[at..].trim_start();
        let opening = OpeningTag::parse_opening(rest).filter(|opening| opening.tag.is_nested())?;
        let bytes = opening.tag.bytes;
        let (inner, after) = opening.argument_value(&rest[bytes..], None);
        entries.push((opening.name, inner));
        at = text.len() - rest.len() + bytes + after;
    }
    let read = |inner: &str, property: &Value| {
        let elements = parse_elements(inner, property, depth + 1);
        elements.unwrap_or_else(|| schema::typed_value(trim_padding(inner), property))
    };
    if entries.is_empty() {
        return None;
    }
    let is_list = entries.iter().all(|(name, _)| name == ITEM);
    if is_list && schema::kind(property) != "object" {
        let items = &property["items"];
        return Some(entries.into_iter().map(|(_, inner)| read(inner, items)).collect());
    }
    let fields = entries.into_iter().map(|(name, inner)| {
        let value = read(inner, &property["properties"][&name]);
        (name, value)
    });
    Some(Value::Object(fields.collect()))
}

/// Returns `true` if a value without a closing tag ends at this index.
fn is_end(text: &str, at: usize, close: ClosingTag<'_>, tool: Option<&ToolSpec>) -> bool {
    let (rest, name) = (&text[at..], close.name);
    if name == VALUE && PlainTag::parse_named(rest, KEY, false).is_some() {
        return true;
    }
    let is_close = mark_at_start(rest).is_some_and(|(kind, _)| kind == MarkPlace::Close);
    if is_close || closing_bytes(rest, &CALLERS).is_some() {
        return !is_inside(&rest[1..], close);
    }
    let is_line = text[..at].trim_end_matches([' ', '\t']).ends_with('\n');
    let is_key = |key: &str| tool.is_none_or(|tool| schema::find_property(tool, key).is_some());
    let opening =
        || OpeningTag::parse_opening(rest).filter(|opening| is_one_of(&opening.name, &ONE));
    is_line
        && is_one_of(name, &ONE)
        && opening().is_some_and(|next| next.argument_key().is_some_and(is_key))
}

/// Returns `true` if the closing tag of a value follows before the next call.
fn is_inside(text: &str, close: ClosingTag<'_>) -> bool {
    for at in marks::mark_starts(text) {
        let rest = &text[at..];
        if close.bytes_at_start(rest).is_some() {
            return true;
        }
        let is_call =
            || OpeningTag::parse_opening(rest).is_some_and(|next| is_one_of(&next.name, &CALLERS));
        if mark_at_start(rest).is_some_and(|(kind, _)| kind == MarkPlace::Open) || is_call() {
            return false;
        }
    }
    false
}

/// Bytes of a closing tag with one of these names.
fn closing_bytes(text: &str, names: &[&str]) -> Option<usize> {
    let tag = PlainTag::parse_tag(text).filter(|tag| tag.closes)?;
    names.iter().any(|name| name.eq_ignore_ascii_case(tag.name)).then_some(tag.bytes)
}

/// Converts the text of a value to its type.
fn typed_value(key: &str, text: &str, is_string: Option<bool>, tool: Option<&ToolSpec>) -> Value {
    let text = trim_padding(text);
    match tool.and_then(|tool| schema::find_property(tool, key)) {
        Some((_, property)) => schema::typed_value(text, property),
        None if is_string == Some(false) => schema::typed_value(text, &Value::Null),
        None => Value::String(text.to_owned()),
    }
}

/// Removes the line breaks next to the tags of a value. A value that begins in the line of its tag
/// keeps the line break at its end if it has several lines.
fn trim_padding(text: &str) -> &str {
    let line_break = |text: &str| text.starts_with('\n') || text.starts_with("\r\n");
    let inner = if line_break(text) {
        text.strip_prefix('\r').unwrap_or(text).strip_prefix('\n').unwrap_or(text)
    } else if text.trim_end_matches(['\r', '\n']).contains('\n') {
        return text;
    } else {
        text
    };
    let inner = inner.strip_suffix('\n').unwrap_or(inner);
    inner.strip_suffix('\r').unwrap_or(inner)
}
