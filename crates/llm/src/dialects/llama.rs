//! `llama`: `<|python_tag|>` and an object with `name` and `parameters`, or calls in Python syntax.

use avocet_protocol::model::{SentCall, ToolCall};
use avocet_protocol::tool::ToolSpec;

use super::call::CallEvidence;
use super::{
    Dialect, DialectMatch, ReplyPosition, is_beginning_of, json, match_of_calls, python,
    strip_ignoring_case, words,
};

const TAG: &str = "<|python_tag|>";
/// Info strings of blocks with calls in Python syntax.
const FENCES: [&str; 2] = ["tool_code", "python_tag"];
/// Maximum bytes of a name.
const LONGEST_NAME: usize = 80;
/// Maximum bytes of a list, unless the model was instructed to use this dialect.
const LONGEST: usize = 4000;

#[derive(Debug)]
pub(super) struct LlamaDialect;

impl Dialect for LlamaDialect {
    fn name(&self) -> &'static str {
        "llama"
    }

    fn has_control_words(&self) -> bool {
        true
    }

    fn syntax_text(&self) -> &'static str {
        "Write <|python_tag|> and, in the same line, a JSON object with \"name\" and \"parameters\". \
         One line per call."
    }

    fn render_calls(&self, calls: &[SentCall], _: &[ToolSpec]) -> String {
        let calls = calls
            .iter()
            .map(|call| format!("{TAG}{}", words::call_as_object(call, "name", "parameters")));
        calls.collect::<Vec<_>>().join("\n")
    }

    fn at_start(&self, place: &ReplyPosition<'_>) -> DialectMatch {
        if place.rest.starts_with('[') {
            return read_list(place);
        }
        let Some(rest) = strip_ignoring_case(place.rest, TAG) else {
            return if is_beginning_of(TAG, place.rest) {
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
        // A tag without calls is meaningless and is removed.
        read_tagged(&place.advanced_by(at))
            .map_or(DialectMatch::Replaced(TAG.len(), String::new()), |(bytes, found)| {
                match_of_calls(at + bytes, found)
            })
    }

    fn takes_fence(&self, info: &str) -> bool {
        FENCES.iter().any(|fence| fence.eq_ignore_ascii_case(info))
    }

    fn in_fence(&self, place: &ReplyPosition<'_>) -> Option<(usize, Vec<ToolCall>)> {
        python::read_calls(place, "\n;", place.evidence_without_markup())
    }
}

/// Reads objects separated by semicolons, or Python syntax.
fn read_tagged(place: &ReplyPosition<'_>) -> Option<(usize, Vec<ToolCall>)> {
    if !place.rest.starts_with(['{', '[']) {
        return python::read_calls(place, "\n;", CallEvidence::Instructed);
    }
    let (mut at, mut found) = json::read_objects(place, CallEvidence::Marked)?;
    while let Some(rest) = place.rest[at..].trim_start().strip_prefix(';') {
        let start = place.rest.len() - rest.len();
        let Some((bytes, more)) =
            json::read_objects(&place.advanced_by(start), CallEvidence::Marked)
        else {
            break;
        };
        found.extend(more);
        at = start + bytes;
    }
    Some((at, found))
}

/// Reads `[read_file(path="a"), read_file(path="b")]`. While an answer streams, text is withheld
/// only up to a limit. Complete answers get the same limit, so that both give the same result.
fn read_list(place: &ReplyPosition<'_>) -> DialectMatch {
    let inner = &place.rest[1..];
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ' ');
    let behind_name = inner.trim_start_matches(is_name);
    let has_name = inner.len() - behind_name.len() < LONGEST_NAME;
    if behind_name.is_empty() && !place.is_all && has_name {
        return DialectMatch::Open;
    }
    if !has_name || !behind_name.starts_with('(') {
        return DialectMatch::Nothing;
    }
    let may_be = |bytes: usize| place.is_instructed || bytes < LONGEST;
    match python::read_calls(&place.advanced_by(1), ",", place.evidence_without_markup()) {
        Some((bytes, found)) if inner[bytes..].trim_start().starts_with(']') => {
            let end = bytes + inner[bytes..].find(']').unwrap_or_default();
            if may_be(end) { match_of_calls(1 + end + 1, found) } else { DialectMatch::Nothing }
        }
        _ if !place.is_all && may_be(inner.len()) => DialectMatch::Open,
        _ => DialectMatch::Nothing,
    }
}
