//! `json`: an object with the tool and its arguments, bare or in a fence.

use avocet_protocol::model::{SentCall, ToolCall};
use avocet_protocol::tool::ToolSpec;

use super::call::{self, CallEvidence};
use super::{Dialect, DialectMatch, ReplyPosition, match_of_calls, words};

/// Info strings of blocks that may hold calls.
const FENCES: [&str; 10] = [
    "",
    "json",
    "json5",
    "jsonc",
    "tool",
    "tool_call",
    "tool_calls",
    "tool_use",
    "function_call",
    "action",
];

#[derive(Debug)]
pub(super) struct JsonDialect;

impl Dialect for JsonDialect {
    fn name(&self) -> &'static str {
        "json"
    }

    fn syntax_text(&self) -> &'static str {
        "Write a fenced block with a JSON object: the tool under \"tool\", its arguments under \
         \"params\". One block per call."
    }

    fn render_calls(&self, calls: &[SentCall], _: &[ToolSpec]) -> String {
        let blocks = calls
            .iter()
            .map(|call| format!("```json\n{}\n```", words::call_as_object(call, "tool", "params")));
        blocks.collect::<Vec<_>>().join("\n\n")
    }

    fn at_start(&self, place: &ReplyPosition<'_>) -> DialectMatch {
        if !place.rest.starts_with(['{', '[']) {
            return DialectMatch::Nothing;
        }
        match place.json_calls(place.rest, place.evidence_without_markup()) {
            call::JsonText::Calls(bytes, found) => match_of_calls(bytes, found),
            call::JsonText::Other(bytes) => DialectMatch::Plain(bytes),
            call::JsonText::Open => DialectMatch::Open,
        }
    }

    fn takes_fence(&self, info: &str) -> bool {
        FENCES.iter().any(|fence| fence.eq_ignore_ascii_case(info))
    }

    fn may_be_call(&self, place: &ReplyPosition<'_>) -> bool {
        let body = place.rest.trim_start();
        body.is_empty() || body.starts_with(['{', '[', ','])
    }

    fn in_fence(&self, place: &ReplyPosition<'_>) -> Option<(usize, Vec<ToolCall>)> {
        read_objects(place, place.evidence_without_markup())
    }
}

/// Reads a sequence of objects as calls; commas between them are optional.
pub(super) fn read_objects(
    place: &ReplyPosition<'_>,
    sure: CallEvidence,
) -> Option<(usize, Vec<ToolCall>)> {
    let (mut at, mut found) = (0, Vec::new());
    loop {
        let rest = place.rest[at..].trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        let start = place.rest.len() - rest.len();
        if !rest.starts_with(['{', '[']) {
            break;
        }
        let call::JsonText::Calls(bytes, calls) = place.json_calls(rest, sure) else { break };
        found.extend(calls);
        at = start + bytes;
    }
    (!found.is_empty()).then_some((at, found))
}
