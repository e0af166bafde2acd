//! `xml`: `<tool_use><tool>name</tool><args>{...}</args></tool_use>`, and other tag formats:
//! `<function=name>`, `<invoke name="...">`, `<tool name="..." path="..."/>`, `<read_file>`.

use avocet_protocol::model::{Arguments, SentCall, ToolCall};
use avocet_protocol::tool::ToolSpec;
use serde_json::{Map, Value};

use super::call::{create_call, known_elsewhere, parse_arguments};
use super::lenient::{self, MissingBrackets};
use super::tags::{MarkupTag, NAMES, close_of, is_name, is_one_of, parse_tag, unescape_entities};
use super::{
    Dialect, DialectMatch, ReplyPosition, find_ignoring_case, match_of_calls, schema, tags, words,
};

/// Tags that are always calls.
const MARKED: [&str; 4] = ["tool_use", "tool_call", "use_tool", "invoke"];
/// Tags that may be calls.
const PERHAPS: [&str; 3] = ["tool", "function", "call"];
/// Tags around several calls.
const AROUND: [&str; 3] = ["function_calls", "tool_uses", "tool_calls"];
/// Tags that contain all arguments.
const ALL: [&str; 6] = ["args", "arguments", "parameters", "params", "input", "tool_input"];
/// Tags that contain one argument.
const ONE: [&str; 4] = ["parameter", "param", "arg", "argument"];
/// Maximum bytes of a tag.
const LONGEST: usize = 4000;

#[derive(Debug)]
pub(super) struct XmlDialect;

impl Dialect for XmlDialect {
    fn name(&self) -> &'static str {
        "xml"
    }

    fn syntax_text(&self) -> &'static str {
        "Write the tags <tool_use>, <tool> with the tool's name and <args> with its arguments as a \
         JSON object. One <tool_use> per call."
    }

    fn render_calls(&self, calls: &[SentCall], _: &[ToolSpec]) -> String {
        let calls = calls.iter().map(|call| {
            let arguments = words::json_line(&Value::Object(call.arguments.clone()));
            let tool = format!("<tool>{}</tool>\n<args>{arguments}</args>", call.name);
            format!("<tool_use>\n{tool}\n</tool_use>")
        });
        calls.collect::<Vec<_>>().join("\n")
    }

    fn at_start(&self, place: &ReplyPosition<'_>) -> DialectMatch {
        let Some(read) = parse_tag(place.rest) else { return DialectMatch::Nothing };
        let Some(tag) = read else {
            let is_open = !place.is_all && may_open(place);
            return if is_open { DialectMatch::Open } else { DialectMatch::Nothing };
        };
        if tag.closes {
            return DialectMatch::Nothing;
        }
        if is_one_of(tag.name, &AROUND) {
            return match calls_inside_tag(&place.advanced_by(tag.bytes)) {
                Some((bytes, found)) => {
                    let rest = &place.rest[tag.bytes + bytes..];
                    match_of_calls(tag.bytes + bytes + closing_bytes(rest, tag.written), found)
                }
                None if !place.is_all => DialectMatch::Open,
                None => DialectMatch::Nothing,
            };
        }
        if !is_call(&tag, place) {
            return DialectMatch::Nothing;
        }
        if !place.is_all
            && !tag.is_empty
            && find_ignoring_case(place.rest, &close_of(tag.written)).is_none()
        {
            return DialectMatch::Open;
        }
        call_in_element(place, &tag)
            .map_or(DialectMatch::Nothing, |(bytes, call)| match_of_calls(bytes, vec![call]))
    }
}

/// Bytes of the closing tag and of blanks before it; 0 if another tag follows.
fn closing_bytes(text: &str, name: &str) -> usize {
    match parse_tag(text.trim_start()) {
        Some(Some(tag)) if tag.closes && tag.written.eq_ignore_ascii_case(name) => {
            text.len() - text.trim_start().len() + tag.bytes
        }
        _ => 0,
    }
}

/// The calls at the start of a text inside an enclosing tag, and their length in bytes.
pub(super) fn calls_inside_tag(place: &ReplyPosition<'_>) -> Option<(usize, Vec<ToolCall>)> {
    let (mut at, mut found) = (0, Vec::new());
    loop {
        let rest = place.rest[at..].trim_start();
        let start = place.rest.len() - rest.len();
        let Some(Some(tag)) = parse_tag(rest) else { break };
        let here = place.advanced_by(start);
        if !is_call(&tag, &here) {
            break;
        }
        let Some((bytes, call)) = call_in_element(&here, &tag) else { break };
        found.push(call);
        at = start + bytes;
    }
    (!found.is_empty()).then_some((at, found))
}

fn is_call(tag: &MarkupTag<'_>, place: &ReplyPosition<'_>) -> bool {
    let is_tool = tool_of_tag(tag, place).is_some();
    is_one_of(tag.name, &MARKED) || is_one_of(tag.name, &PERHAPS) || is_tool
}

/// The tool that a tag is named after, and its matching name.
fn tool_of_tag<'t>(
    tag: &MarkupTag<'_>,
    place: &ReplyPosition<'t>,
) -> Option<(&'t str, &'t ToolSpec)> {
    let is_so = |name: &&String| name.eq_ignore_ascii_case(tag.name);
    let own = |tool: &'t ToolSpec| Some(&tool.name).filter(is_so).map(|name| (&**name, tool));
    let other = |tool: &'t ToolSpec| tool.aliases.iter().find(is_so).map(|name| (&**name, tool));
    let others = || place.tools.iter().find_map(other).filter(|_| place.is_instructed);
    place.tools.iter().find_map(own).or_else(others)
}

/// Returns `true` if an incomplete tag can become a relevant one.
fn may_open(place: &ReplyPosition<'_>) -> bool {
    let name = place.rest.trim_start_matches('<');
    let name = &name[..name.find(|c| !is_name(c)).unwrap_or(name.len())];
    let begins = |word: &str| super::is_beginning_of(word, name);
    let own = MARKED.iter().chain(&PERHAPS).chain(&AROUND).any(|word| begins(word));
    place.rest.len() < LONGEST && (own || name.contains(':') || tag_names(place).any(begins))
}

/// The tool names that tags may have.
fn tag_names<'t>(place: &ReplyPosition<'t>) -> impl Iterator<Item = &'t str> {
    let aliases = place.tools.iter().filter(|_| place.is_instructed).flat_map(|tool| &tool.aliases);
    place.tools.iter().map(|tool| &tool.name).chain(aliases).map(String::as_str)
}

/// The call in a tag and its content, and its length in bytes. If the call was cut off, its
/// arguments are malformed, because parts may be missing.
fn call_in_element(place: &ReplyPosition<'_>, tag: &MarkupTag<'_>) -> Option<(usize, ToolCall)> {
    let (bytes, mut call) = as_if_whole(place, tag)?;
    let inner = &place.rest[tag.bytes..];
    let is_last = place.is_cut && bytes == place.rest.len();
    if is_last && !tag.is_empty && find_ignoring_case(inner, &close_of(tag.written)).is_none() {
        call.arguments = Arguments::Malformed(inner.to_owned());
    }
    Some((bytes, call))
}

fn as_if_whole(place: &ReplyPosition<'_>, tag: &MarkupTag<'_>) -> Option<(usize, ToolCall)> {
    let inner = &place.rest[tag.bytes..];
    let (content, after) =
        if tag.is_empty { ("", 0) } else { tags::element_content(inner, tag.written) };
    let bytes = tag.bytes + after;
    if let Some((name, tool)) = tool_of_tag(tag, place) {
        let arguments = arguments_of(content, tag, Some(tool));
        let call = ToolCall { name: name.to_owned(), arguments };
        // Other markup may use the same tag name.
        let is_sure = place.is_instructed && name == tool.name;
        return (is_sure || schema::fits_schema(&call, place.tools)).then_some((bytes, call));
    }
    let (name, content) = match tag.name_in_tag() {
        Some(name) => (name.to_owned(), content.to_owned()),
        None => name_within(content)?,
    };
    let is_sure = is_one_of(tag.name, &MARKED) || tag.value.is_some();
    let known = if is_sure { known_elsewhere(&name, place.tools) } else { place.find_tool(&name) };
    let tool = known.and_then(|name| schema::find_tool(name, place.tools));
    if name.is_empty() || (tool.is_none() && !is_sure) {
        return None;
    }
    Some((bytes, create_call(&name, arguments_of(&content, tag, tool), place.tools)))
}

/// The tool's name in its own tag, and the remaining content. Also reads a JSON object, which then
/// holds everything.
fn name_within(content: &str) -> Option<(String, String)> {
    let body = content.trim_start();
    if body.starts_with('{') {
        let Ok((Value::Object(object), _)) = lenient::parse_value(body, MissingBrackets::Added)
        else {
            return None;
        };
        let text = |keys: &[&str]| {
            keys.iter().find_map(|key| object.get(*key)?.as_str().map(str::to_owned))
        };
        let arguments = ALL.iter().find_map(|key| object.get(*key));
        return Some((text(&NAMES)?, arguments.map_or_else(String::new, Value::to_string)));
    }
    let mut at = 0;
    while let Some(found) = content[at..].find('<') {
        at += found;
        let Some(Some(tag)) = parse_tag(&content[at..]) else { return None };
        let (inner, after) = tags::element_content(&content[at + tag.bytes..], tag.written);
        let end = at + tag.bytes + after;
        if is_one_of(tag.name, &NAMES) && !tag.closes {
            let rest = format!("{}{}", &content[..at], &content[end..]);
            return Some((unescape_entities(inner.trim()), rest));
        }
        at = end.max(at + 1);
    }
    None
}

/// The arguments of a call: attributes, JSON, or one tag for each.
fn arguments_of(content: &str, tag: &MarkupTag<'_>, tool: Option<&ToolSpec>) -> Arguments {
    let body = content.trim();
    let mut object = Map::new();
    for (name, value) in &tag.attributes {
        if !is_one_of(name, &NAMES) && !is_one_of(name, &["id", "type"]) {
            object.insert((*name).to_owned(), value_of(name, value, tool));
        }
    }
    if body.starts_with('{') || body.starts_with("```") {
        let body = body.trim_start_matches("```json").trim_matches(|c: char| c == '`' || c == '\n');
        return parse_arguments(body);
    }
    let mut at = 0;
    while let Some(found) = body[at..].find('<') {
        if !body[at..at + found].trim().is_empty() {
            return Arguments::Malformed(body.to_owned());
        }
        at += found;
        let Some(Some(tag)) = parse_tag(&body[at..]) else { break };
        let (inner, after) = if tag.is_empty {
            ("", 0)
        } else {
            tags::element_content(&body[at + tag.bytes..], tag.written)
        };
        at += tag.bytes + after;
        if tag.closes {
            continue;
        }
        if is_one_of(tag.name, &ALL) {
            match arguments_of(inner, &MarkupTag::default(), tool) {
                Arguments::Object(inner) => object.extend(inner),
                malformed => return malformed,
            }
            continue;
        }
        let name = if is_one_of(tag.name, &ONE) { tag.name_in_tag() } else { Some(tag.name) };
        let Some(name) = name else { return Arguments::Malformed(body.to_owned()) };
        object.insert(name.to_owned(), value_of(name, inner, tool));
    }
    match body[at..].trim() {
        "" => Arguments::Object(object),
        _ => Arguments::Malformed(body.to_owned()),
    }
}

/// Converts the text of an argument to its type. Removes the line breaks next to its tags.
fn value_of(name: &str, text: &str, tool: Option<&ToolSpec>) -> Value {
    let text = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    let text = match text.trim().strip_prefix("<![CDATA[").and_then(|text| text.strip_suffix("]]>"))
    {
        Some(text) => text.to_owned(),
        None => unescape_entities(text),
    };
    match tool.and_then(|tool| schema::find_property(tool, name)) {
        Some((_, property)) => schema::typed_value(&text, property),
        None => Value::String(text),
    }
}
