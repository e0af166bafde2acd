//! Converts a JSON value into calls. Accepts all the key names that models use.

use avocet_protocol::model::{Arguments, ToolCall};
use avocet_protocol::tool::ToolSpec;
use serde_json::{Map, Value};

use super::lenient::{self, LenientError, MissingBrackets};
use super::{ReplyPosition, TextEnd, schema};

/// Keys that only a tool's name has.
const TOOL: [&str; 6] = ["tool", "tool_name", "toolname", "function", "function_name", "action"];
/// A key of a tool's name that is also common elsewhere.
const NAME: &str = "name";
/// Keys of arguments.
const ARGUMENTS: [&str; 8] = [
    "arguments",
    "args",
    "parameters",
    "params",
    "input",
    "action_input",
    "tool_input",
    "tool_args",
];
/// Keys of calls in an object.
const CALLS: [&str; 6] =
    ["tool_calls", "tool_call", "function_call", "function_calls", "calls", "actions"];
/// Keys that may accompany a call without being arguments.
const BESIDE: [&str; 9] = [
    "thought",
    "thoughts",
    "reasoning",
    "explanation",
    "plan",
    "type",
    "id",
    "call_id",
    "tool_call_id",
];
/// Keys that describe a tool instead of calling it.
const DESCRIBES: [&str; 2] = ["description", "properties"];

/// The context of a possible call. It decides how much evidence a call needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEvidence {
    /// The text stands in markup that is used only for calls.
    Marked,
    /// The model was instructed to write calls in this form.
    Instructed,
    /// Free text: only names of offered tools count.
    Known,
}

impl CallEvidence {
    pub(super) fn find_tool<'s>(self, name: &str, tools: &'s [ToolSpec]) -> Option<&'s str> {
        match self {
            Self::Known => find_own_tool(name, tools),
            Self::Marked | Self::Instructed => known_elsewhere(name, tools),
        }
    }
}

impl ReplyPosition<'_> {
    /// The required evidence for a call without markup of its own.
    pub(super) fn evidence_without_markup(&self) -> CallEvidence {
        if self.is_instructed { CallEvidence::Instructed } else { CallEvidence::Known }
    }

    /// Finds the tool that a name refers to, without markup of its own.
    pub(super) fn find_tool(&self, name: &str) -> Option<&str> {
        self.evidence_without_markup().find_tool(name, self.tools)
    }

    /// Parses the JSON at the start of a text as calls. Broken text that begins like a call becomes
    /// a call with malformed arguments.
    pub(super) fn json_calls(&self, text: &str, sure: CallEvidence) -> JsonText {
        match lenient::parse_value(text, MissingBrackets::added_unless(!self.is_all || self.is_cut))
        {
            Ok((value, bytes)) => match calls_in_value(&value, self.tools, sure) {
                Some(calls) => JsonText::Calls(bytes, calls),
                None => JsonText::Other(bytes),
            },
            Err(LenientError::Open) if !self.is_all => JsonText::Open,
            Err(fault) => {
                let sound = match fault {
                    LenientError::At(bytes) => bytes,
                    LenientError::Open => text.len(),
                };
                match self.malformed_call(text, sound, sure) {
                    Some((bytes, call)) if self.is_all || bytes < text.len() => {
                        JsonText::Calls(bytes, vec![call])
                    }
                    Some(_) => JsonText::Open,
                    None => JsonText::Other(sound),
                }
            }
        }
    }

    /// A call from broken text that names its tool near the start.
    fn malformed_call(
        &self,
        text: &str,
        sound: usize,
        sure: CallEvidence,
    ) -> Option<(usize, ToolCall)> {
        const HEAD: usize = 2000;
        let head = &text[..text.floor_char_boundary(HEAD.min(sound))];
        let is_marked = sure == CallEvidence::Marked && text.starts_with('{');
        let written = name_in(head).or_else(|| is_marked.then_some("unknown"))?;
        let known = sure.find_tool(written, self.tools);
        let is_call = match sure {
            CallEvidence::Marked => known.is_some() || is_marked,
            CallEvidence::Instructed => known.is_some(),
            CallEvidence::Known => {
                known.is_some() && split_quotes(head).any(|word| is_one_of(word, &ARGUMENTS))
            }
        };
        if !is_call {
            return None;
        }
        let bytes = lenient::bracket_bytes(text);
        let name = known.unwrap_or(written).to_owned();
        Some((bytes, ToolCall { name, arguments: Arguments::Malformed(text[..bytes].to_owned()) }))
    }
}

/// The content of a JSON text, and its length in bytes.
#[derive(Debug, PartialEq)]
pub(super) enum JsonText {
    Calls(usize, Vec<ToolCall>),
    Other(usize),
    /// The decision needs more text.
    Open,
}

/// Finds the tool that a model means by a name. Case, `_`, `-` and any prefix before a dot are
/// ignored.
pub(super) fn find_own_tool<'s>(name: &str, tools: &'s [ToolSpec]) -> Option<&'s str> {
    find_meant_name(name, || tools.iter().map(|tool| tool.name.as_str()))
}

/// Like [`known`], but also accepts aliases, the tool's names in other programs. Many of these are
/// common words, so use it only if the text is certainly a call.
pub(crate) fn known_elsewhere<'s>(name: &str, tools: &'s [ToolSpec]) -> Option<&'s str> {
    let aliases = || tools.iter().flat_map(|tool| &tool.aliases).map(String::as_str);
    find_own_tool(name, tools).or_else(|| find_meant_name(name, aliases))
}

fn find_meant_name<'s, I: Iterator<Item = &'s str>>(
    name: &str,
    names: impl Fn() -> I,
) -> Option<&'s str> {
    let bare = name.rsplit('.').next().unwrap_or(name);
    let alike = || {
        let mut alike = names().filter(|one| plain_chars(one).eq(plain_chars(bare)));
        alike.next().filter(|_| alike.next().is_none())
    };
    names().find(|one| *one == name.trim()).or_else(alike)
}

fn plain_chars(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

/// Creates a call of the tool with this written name.
pub(super) fn create_call(name: &str, arguments: Arguments, tools: &[ToolSpec]) -> ToolCall {
    let name = known_elsewhere(name, tools).unwrap_or(name.trim()).to_owned();
    let arguments = match (arguments, schema::find_tool(&name, tools)) {
        (Arguments::Object(object), Some(tool)) => {
            Arguments::Object(schema::without_flags(object, tool))
        }
        (arguments, _) => arguments,
    };
    ToolCall { name, arguments }
}

/// Parses arguments from a text: an object that may need repair.
pub(super) fn parse_arguments(text: &str) -> Arguments {
    repair_arguments(text.trim(), TextEnd::Complete)
}

/// Like [`Arguments::parse`], with repairs. A text that was cut off gets no closing brackets,
/// because parts may be missing.
pub(crate) fn repair_arguments(text: &str, end: TextEnd) -> Arguments {
    match Arguments::parse(text) {
        _ if end.is_cut() && text.trim().is_empty() => Arguments::Malformed(text.to_owned()),
        // Servers in PHP write an object without keys as a list.
        Arguments::Malformed(_) if text.trim() == "[]" => Arguments::Object(Map::new()),
        Arguments::Malformed(_) => {
            let inner = without_fence(text);
            match lenient::parse_value(inner, MissingBrackets::added_unless(end.is_cut())) {
                Ok((Value::Object(object), bytes)) => {
                    arguments_sent_twice(object, inner[bytes..].trim())
                        .map_or_else(|| Arguments::Malformed(text.to_owned()), Arguments::Object)
                }
                _ => Arguments::Malformed(text.to_owned()),
            }
        }
        object => object,
    }
}

/// Returns the arguments of a text that some servers send twice, or after an empty object. `rest` is the
/// text behind the first object. `None` if the rest says something else.
fn arguments_sent_twice(first: Map<String, Value>, rest: &str) -> Option<Map<String, Value>> {
    if rest.is_empty() {
        return Some(first);
    }
    match serde_json::from_str(rest) {
        Ok(Value::Object(second)) if first.is_empty() || first == second => Some(second),
        _ => None,
    }
}

/// Removes the lines of a code block in Markdown around a text.
fn without_fence(text: &str) -> &str {
    let inner = text.trim().strip_prefix("```").and_then(|inner| inner.strip_suffix("```"));
    match inner.and_then(|inner| inner.split_once('\n')) {
        Some((_, inner)) => inner,
        None => text,
    }
}

/// Reads the arguments of a native call: an object according to the API, a string from some
/// servers.
pub(crate) fn given_arguments(arguments: &Value, end: TextEnd) -> Arguments {
    match arguments {
        Value::String(text) => repair_arguments(text, end),
        other => repair_arguments(&other.to_string(), end),
    }
}

/// The calls in a value; `None` unless the whole value consists of calls.
pub(super) fn calls_in_value(
    value: &Value,
    tools: &[ToolSpec],
    sure: CallEvidence,
) -> Option<Vec<ToolCall>> {
    match value {
        Value::Array(values) if !values.is_empty() => {
            let calls = values.iter().map(|value| calls_in_value(value, tools, sure));
            calls.collect::<Option<Vec<_>>>().map(|calls| calls.concat())
        }
        Value::Object(object) => in_object(object, tools, sure),
        _ => None,
    }
}

fn in_object(
    object: &Map<String, Value>,
    tools: &[ToolSpec],
    sure: CallEvidence,
) -> Option<Vec<ToolCall>> {
    if let Some(inner @ (Value::Array(_) | Value::Object(_))) = get(object, &CALLS) {
        return calls_in_value(inner, tools, sure);
    }
    match get(object, &TOOL) {
        Some(Value::String(name)) => calls_by_name(name, object, tools, sure, true),
        Some(inner @ Value::Object(_)) => calls_in_value(inner, tools, sure),
        Some(_) => None,
        None => match get(object, &[NAME]) {
            Some(Value::String(name)) => calls_by_name(name, object, tools, sure, false),
            _ if sure == CallEvidence::Known => None,
            _ => by_key(object, tools),
        },
    }
    .filter(|calls| !calls.is_empty())
}

/// Reads `{"tool": name, "params": {...}}`, or arguments beside the name.
fn calls_by_name(
    name: &str,
    object: &Map<String, Value>,
    tools: &[ToolSpec],
    sure: CallEvidence,
    is_tool: bool,
) -> Option<Vec<ToolCall>> {
    let (is_own, is_known) =
        (find_own_tool(name, tools).is_some(), known_elsewhere(name, tools).is_some());
    let describes = object.keys().any(|key| is_one_of(key, &DESCRIBES));
    let given = get(object, &ARGUMENTS);
    let is_call = match sure {
        CallEvidence::Marked => true,
        CallEvidence::Instructed => {
            let is_whole = is_tool || object.keys().all(|key| is_part(key));
            is_known || (is_whole && matches!(given, Some(Value::Object(_))))
        }
        CallEvidence::Known => is_own || (is_known && given.is_some()),
    };
    if !is_call || (describes && sure != CallEvidence::Marked) {
        return None;
    }
    let arguments = match given {
        Some(value) => of_value(value),
        None if is_tool || sure == CallEvidence::Marked => Arguments::Object(beside_name(object)),
        None => return None,
    };
    let call = create_call(name, arguments, tools);
    // Text without an arguments key, or with a common word as a name, often only looks like a call.
    let is_clear = sure != CallEvidence::Known || (is_own && given.is_some());
    let is_call = is_clear || schema::fits_schema(&call, tools);
    is_call.then(|| vec![call])
}

/// Returns `true` if a key can belong to a call.
fn is_part(key: &str) -> bool {
    key == NAME || is_one_of(key, &ARGUMENTS) || is_one_of(key, &BESIDE)
}

/// Arguments from the value of their key.
fn of_value(value: &Value) -> Arguments {
    match value {
        Value::Object(object) => Arguments::Object(object.clone()),
        Value::Null => Arguments::Object(Map::new()),
        Value::String(text) => parse_arguments(text),
        other => Arguments::Malformed(other.to_string()),
    }
}

fn beside_name(object: &Map<String, Value>) -> Map<String, Value> {
    let is_argument = |key: &str| key != NAME && !is_one_of(key, &TOOL) && !is_one_of(key, &BESIDE);
    let arguments = object.iter().filter(|(key, _)| is_argument(key));
    arguments.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Reads `{"read_file": {"path": "a"}}`: the key is the tool, and all its arguments must exist.
fn by_key(object: &Map<String, Value>, tools: &[ToolSpec]) -> Option<Vec<ToolCall>> {
    let mut entries = object.iter().filter(|(key, _)| !is_one_of(key, &BESIDE));
    let (Some((name, Value::Object(arguments))), None) = (entries.next(), entries.next()) else {
        return None;
    };
    let tool = schema::find_tool(name, tools)?;
    let own = arguments.keys().all(|key| schema::find_property(tool, key).is_some());
    own.then(|| vec![create_call(name, Arguments::Object(arguments.clone()), tools)])
}

fn get<'v>(object: &'v Map<String, Value>, keys: &[&str]) -> Option<&'v Value> {
    keys.iter().find_map(|key| {
        object.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value)
    })
}

fn is_one_of(key: &str, keys: &[&str]) -> bool {
    keys.iter().any(|one| one.eq_ignore_ascii_case(key))
}

/// The tool's name in broken JSON: the first quoted text after a name key.
fn name_in(head: &str) -> Option<&str> {
    let mut words = split_quotes(head);
    while let Some(word) = words.next() {
        if word == NAME || is_one_of(word, &TOOL) {
            let colon = words.next()?;
            if colon.trim() == ":" {
                return words.next().filter(|name| !name.is_empty());
            }
        }
    }
    None
}

/// The parts of a text inside and between quotes, alternating.
fn split_quotes(text: &str) -> impl Iterator<Item = &str> {
    text.split(['"', '\'', '“', '”', '„', '‘', '’'])
}
