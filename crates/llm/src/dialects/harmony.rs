//! `harmony`: a message on a channel to `functions.NAME`, the format of gpt-oss ("OpenAI harmony
//! response format", function calls). Also reads it if a server has removed the control tokens.

use avocet_protocol::model::{Arguments, SentCall};
use avocet_protocol::tool::ToolSpec;
use serde_json::Value;

use super::lenient::{self, MissingBrackets};
use super::{
    Dialect, DialectMatch, ReplyPosition, call, find_ignoring_case, is_beginning_of,
    match_of_calls, strip_ignoring_case, words,
};

const MESSAGE: &str = "<|message|>";
const FUNCTIONS: &str = "functions.";
/// Beginnings of a message.
const STARTS: [&str; 2] = ["<|channel|>", "<|start|>assistant"];
/// The same without control tokens.
const BARE: [&str; 6] = [
    "to=functions.",
    "commentary to=",
    "analysis to=",
    "assistant to=",
    "assistantcommentary to=",
    "assistantanalysis to=",
];
/// Ends of a message.
const ENDS: [&str; 4] = ["<|call|>", "<|end|>", "<|return|>", "<|start|>"];
/// Maximum bytes of a header.
const LONGEST: usize = 300;

#[derive(Debug)]
pub(super) struct HarmonyDialect;

impl Dialect for HarmonyDialect {
    fn name(&self) -> &'static str {
        "harmony"
    }

    fn has_control_words(&self) -> bool {
        true
    }

    fn syntax_text(&self) -> &'static str {
        "Write a message on the commentary channel to functions.NAME, with the arguments as a JSON \
         object. One message per call."
    }

    fn render_calls(&self, calls: &[SentCall], _: &[ToolSpec]) -> String {
        let calls = calls.iter().map(|call| {
            let arguments = words::json_line(&Value::Object(call.arguments.clone()));
            let name = &call.name;
            format!(
                "<|channel|>commentary to={FUNCTIONS}{name} <|constrain|>json{MESSAGE}{arguments}<|call|>"
            )
        });
        calls.collect::<Vec<_>>().join("<|start|>assistant")
    }

    fn at_start(&self, place: &ReplyPosition<'_>) -> DialectMatch {
        let rest = place.rest;
        let is_marked = STARTS.iter().any(|start| strip_ignoring_case(rest, start).is_some());
        let is_bare =
            place.is_line && BARE.iter().any(|start| strip_ignoring_case(rest, start).is_some());
        if !is_marked && !is_bare {
            let may_begin = |words: &[&str]| words.iter().any(|word| is_beginning_of(word, rest));
            let may = may_begin(&STARTS) || (place.is_line && may_begin(&BARE));
            return if may { DialectMatch::Open } else { DialectMatch::Nothing };
        }
        let near = &rest[..rest.floor_char_boundary(LONGEST)];
        let body = match find_ignoring_case(near, MESSAGE) {
            Some(at) => at + MESSAGE.len(),
            None if near.len() == rest.len() && !place.is_all => return DialectMatch::Open,
            None => match near.find('{') {
                Some(at) => at,
                None => return DialectMatch::Nothing,
            },
        };
        read_message(place, body, is_marked)
    }
}

/// Reads a message with its body at index `body`.
fn read_message(place: &ReplyPosition<'_>, body: usize, is_marked: bool) -> DialectMatch {
    let Some(name) = recipient_of(&place.rest[..body]) else { return DialectMatch::Nothing };
    let known = if is_marked { call::known_elsewhere } else { call::find_own_tool };
    let is_known = known(name, place.tools).is_some();
    let is_sure = is_known || (is_marked && name.starts_with(FUNCTIONS));
    if !is_sure {
        return DialectMatch::Nothing;
    }
    if !place.is_all {
        return DialectMatch::Open;
    }
    let text = &place.rest[body..];
    let (arguments, bytes) = read_arguments(text, place.is_cut);
    let rest = &text[bytes..];
    let after = rest.trim_start();
    let close = ENDS[..3].iter().find_map(|end| strip_ignoring_case(after, end));
    let bytes = body + bytes + close.map_or(0, |after| rest.len() - after.len());
    let name = name.strip_prefix(FUNCTIONS).unwrap_or(name);
    match_of_calls(bytes, vec![call::create_call(name, arguments, place.tools)])
}

/// The arguments in a body, and their length in bytes. Anything except an object is malformed.
fn read_arguments(text: &str, is_cut: bool) -> (Arguments, usize) {
    let ends = ENDS.iter().filter_map(|end| find_ignoring_case(text, end));
    let end = ends.min().unwrap_or(text.len());
    match lenient::parse_value(text, MissingBrackets::added_unless(is_cut)) {
        Ok((Value::Object(object), bytes)) => (Arguments::Object(object), bytes),
        _ => (call::parse_arguments(&text[..end]), end),
    }
}

/// The recipient after `to=` in a header; `None` unless it can be a function.
fn recipient_of(header: &str) -> Option<&str> {
    let (_, to) = header.split_once("to=")?;
    let to = to.split(|c: char| c.is_whitespace() || c == '<' || c == '{').next()?;
    (!to.is_empty() && to != "assistant" && to != "user").then_some(to)
}
