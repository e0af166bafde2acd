//! `hermes`: JSON between `<tool_call>` and `</tool_call>`, the format of Hermes, Qwen and related
//! models.

use avocet_protocol::model::{Arguments, SentCall, ToolCall};
use avocet_protocol::tool::ToolSpec;

use super::call::{self, CallEvidence};
use super::lenient::{self, MissingBrackets};
use super::{
    AnsweredCall, Dialect, DialectMatch, ReplyPosition, json, marked, match_of_calls,
    strip_ignoring_case, words, xml,
};
use crate::visible::tokens::{TokenStart, match_token};

/// Opening tags of calls.
const OPENINGS: [&str; 6] = [
    "<tool_call>",
    "<tool_calls>",
    "<toolcall>",
    "<tool-call>",
    "<function_call>",
    "<|tool_call|>",
];

#[derive(Debug)]
pub(super) struct HermesDialect;

impl Dialect for HermesDialect {
    fn name(&self) -> &'static str {
        "hermes"
    }

    fn syntax_text(&self) -> &'static str {
        "Write a JSON object with \"name\" and \"arguments\" between <tool_call> and </tool_call>. \
         One pair of tags per call."
    }

    fn render_calls(&self, calls: &[SentCall], _: &[ToolSpec]) -> String {
        let calls = calls.iter().map(|call| {
            format!(
                "<tool_call>\n{}\n</tool_call>",
                words::call_as_object(call, "name", "arguments")
            )
        });
        calls.collect::<Vec<_>>().join("\n")
    }

    fn render_results(&self, results: &[AnsweredCall<'_>]) -> String {
        let results = results.iter().map(|answered| {
            format!("<tool_response>\n{}\n</tool_response>\n", words::write_outcome(answered))
        });
        format!("{}\n{}", results.collect::<String>(), words::GO_ON)
    }

    fn at_start(&self, place: &ReplyPosition<'_>) -> DialectMatch {
        let mut is_part = false;
        for opening in OPENINGS {
            match match_token(place.rest, opening) {
                TokenStart::Whole(bytes) => return in_tag(place, &place.rest[bytes..]),
                TokenStart::Part => is_part = true,
                TokenStart::Nothing => {}
            }
        }
        if is_part { DialectMatch::Open } else { DialectMatch::Nothing }
    }
}

/// Reads the content after the opening tag: one object or several. The fence is optional, and the
/// closing tag may be missing.
fn in_tag(place: &ReplyPosition<'_>, inner: &str) -> DialectMatch {
    if !place.is_all {
        return DialectMatch::Open;
    }
    let body = strip_fence(inner.trim_start());
    let opening = place.rest.len() - inner.len();
    if !body.starts_with(['{', '['])
        && let Some((bytes, found)) = marked::calls_in_section(&place.advanced_by(opening))
    {
        return match_of_calls(opening + bytes, found);
    }
    if body.starts_with('<') {
        return match xml::calls_inside_tag(&place.advanced_by(place.rest.len() - body.len())) {
            Some((bytes, found)) => match_of_calls(end_of_call(place.rest, body, bytes), found),
            None => DialectMatch::Nothing,
        };
    }
    let at = place.rest.len() - body.len();
    // An incomplete object ends at the closing tag.
    let is_sound = lenient::parse_value(body, MissingBrackets::Refused).is_ok();
    let end = if is_sound { None } else { find_closing_tag(body) };
    let bounded = match end {
        Some(end) => ReplyPosition {
            rest: &body[..end],
            is_all: true,
            is_cut: false,
            ..place.advanced_by(at)
        },
        None => place.advanced_by(at),
    };
    match json::read_objects(&bounded, CallEvidence::Marked).or_else(|| words_of(&bounded)) {
        Some((bytes, found)) => match_of_calls(end_of_call(place.rest, body, bytes), found),
        None => DialectMatch::Nothing,
    }
}

/// The index of the closing tag, before the next opening tag.
fn find_closing_tag(body: &str) -> Option<usize> {
    const NEXT: [&str; 3] = ["</tool", "</func", "<tool_call>"];
    let mut marks = body.match_indices('<').map(|(at, _)| at);
    let at = marks
        .find(|at| NEXT.iter().any(|mark| strip_ignoring_case(&body[*at..], mark).is_some()))?;
    body[at..].starts_with("</").then_some(at)
}

/// A tool's name followed by anything except an object.
fn words_of(place: &ReplyPosition<'_>) -> Option<(usize, Vec<ToolCall>)> {
    let name =
        call::known_elsewhere(place.rest.split_whitespace().next()?, place.tools)?.to_owned();
    let arguments = Arguments::Malformed(place.rest.trim().to_owned());
    Some((place.rest.len(), vec![ToolCall { name, arguments }]))
}

/// Removes the opening fence of a text.
fn strip_fence(text: &str) -> &str {
    match text.strip_prefix("```") {
        Some(rest) => rest.split_once('\n').map_or(rest, |(_, body)| body).trim_start(),
        None => text,
    }
}

/// The end of a call in `whole`. The call ends `bytes` into `body`; the closing tag and short
/// remains before it belong to the call.
fn end_of_call(whole: &str, body: &str, bytes: usize) -> usize {
    let read = whole.len() - body.len() + bytes;
    let rest = &whole[read..];
    let close = rest.trim_start_matches(|c: char| c.is_whitespace() || "`}]\"'".contains(c));
    match close.strip_prefix("</").or_else(|| close.strip_prefix("<|/")) {
        Some(tag) => {
            let end = tag.find('>').map_or(tag.len(), |end| end + 1);
            whole.len() - tag.len() + end
        }
        None => read,
    }
}
