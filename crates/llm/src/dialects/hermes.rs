//! `hermes`: JSON between `<tool_call>` and `</tool_call>`, the format of Hermes, Qwen and related
//! models.

use avocet_protocol::{Arguments, SentCall, ToolCall, ToolSpec};

use super::call::{self, Sure};
use super::lenient::{self, MissingBrackets};
use super::{
    Answered, Dialect, DialectMatch, ReplyPosition, calls, json, marked, strip, words, xml,
};
use crate::visible::tokens::{TokenStart, token};

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
pub(super) struct Hermes;

impl Dialect for Hermes {
    fn name(&self) -> &'static str {
        "hermes"
    }

    fn syntax(&self) -> &'static str {
        "Write a JSON object with \"name\" and \"arguments\" between <tool_call> and </tool_call>. \
         One pair of tags per call."
    }

    fn render_calls(&self, calls: &[SentCall], _: &[ToolSpec]) -> String {
        let calls = calls.iter().map(|call| {
            format!("<tool_call>\n{}\n</tool_call>", words::object(call, "name", "arguments"))
        });
        calls.collect::<Vec<_>>().join("\n")
    }

    fn render_results(&self, results: &[Answered<'_>]) -> String {
        let results = results.iter().map(|answered| {
            format!("<tool_response>\n{}\n</tool_response>\n", words::outcome(answered))
        });
        format!("{}\n{}", results.collect::<String>(), words::GO_ON)
    }

    fn at_start(&self, place: &ReplyPosition<'_>) -> DialectMatch {
        let mut is_part = false;
        for opening in OPENINGS {
            match token(place.rest, opening) {
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
    let body = unfenced(inner.trim_start());
    let opening = place.rest.len() - inner.len();
    if !body.starts_with(['{', '['])
        && let Some((bytes, found)) = marked::calls(&place.after(opening))
    {
        return calls(opening + bytes, found);
    }
    if body.starts_with('<') {
        return match xml::inside(&place.after(place.rest.len() - body.len())) {
            Some((bytes, found)) => calls(ended(place.rest, body, bytes), found),
            None => DialectMatch::Nothing,
        };
    }
    let at = place.rest.len() - body.len();
    // An incomplete object ends at the closing tag.
    let is_sound = lenient::value(body, MissingBrackets::Refused).is_ok();
    let end = if is_sound { None } else { closing(body) };
    let bounded = match end {
        Some(end) => {
            ReplyPosition { rest: &body[..end], is_all: true, is_cut: false, ..place.after(at) }
        }
        None => place.after(at),
    };
    match json::objects(&bounded, Sure::Marked).or_else(|| words_of(&bounded)) {
        Some((bytes, found)) => calls(ended(place.rest, body, bytes), found),
        None => DialectMatch::Nothing,
    }
}

/// The index of the closing tag, before the next opening tag.
fn closing(body: &str) -> Option<usize> {
    const NEXT: [&str; 3] = ["</tool", "</func", "<tool_call>"];
    let mut marks = body.match_indices('<').map(|(at, _)| at);
    let at = marks.find(|at| NEXT.iter().any(|mark| strip(&body[*at..], mark).is_some()))?;
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
fn unfenced(text: &str) -> &str {
    match text.strip_prefix("```") {
        Some(rest) => rest.split_once('\n').map_or(rest, |(_, body)| body).trim_start(),
        None => text,
    }
}

/// The end of a call in `whole`. The call ends `bytes` into `body`; the closing tag and short
/// remains before it belong to the call.
fn ended(whole: &str, body: &str, bytes: usize) -> usize {
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
