//! `react`: `Thought:`, `Action:` and `Action Input:` from the model, `Observation:` from the
//! agent, and `Final Answer:` at the end.

use avocet_protocol::model::{Arguments, SentCall, ToolCall};
use avocet_protocol::tool::ToolSpec;
use serde_json::Value;

use super::call;
use super::lenient::{self, MissingBrackets};
use super::{
    AnsweredCall, Dialect, DialectMatch, ReplyPosition, is_beginning_of, match_of_calls, python,
    schema, strip_ignoring_case, words,
};
use crate::end_marks;

/// Keywords at the start of a line.
const KEYWORDS: [&str; 6] =
    ["thought:", "action:", "action input:", "observation:", "final answer:", "answer:"];

#[derive(Debug)]
pub(super) struct ReactDialect;

impl Dialect for ReactDialect {
    fn name(&self) -> &'static str {
        "react"
    }

    fn syntax_text(&self) -> &'static str {
        "Write a line that begins with \"Action:\" and names the tool, and after it \"Action Input:\" \
         with the arguments as a JSON object. \"Thought:\" may come before. The result comes as \
         \"Observation:\"; when you have the answer, write it after \"Final Answer:\"."
    }

    fn render_calls(&self, calls: &[SentCall], _: &[ToolSpec]) -> String {
        let calls = calls.iter().map(|call| {
            let input = words::json_line(&Value::Object(call.arguments.clone()));
            format!("Action: {}\nAction Input: {input}", call.name)
        });
        calls.collect::<Vec<_>>().join("\n")
    }

    fn render_results(&self, results: &[AnsweredCall<'_>]) -> String {
        let several = results.len() > 1;
        let mut text = String::new();
        for (number, answered) in results.iter().enumerate() {
            let number = if several { format!(" {}", number + 1) } else { String::new() };
            text.push_str(&format!("Observation{number}: {}\n\n", words::write_outcome(answered)));
        }
        text + words::GO_ON
    }

    fn at_start(&self, place: &ReplyPosition<'_>) -> DialectMatch {
        if !place.is_line {
            return DialectMatch::Nothing;
        }
        let line = strip_emphasis(place.rest);
        if !place.is_all && may_be_keyword(line) {
            return DialectMatch::Open;
        }
        if text_after_keyword(line, "thought:").is_some() {
            return read_thought(place);
        }
        if text_after_keyword(line, "action:").is_some() {
            return read_actions(place);
        }
        let answer = text_after_keyword(line, "final answer:");
        match answer.filter(|_| place.is_instructed) {
            Some(_) if place.has_called => DialectMatch::Invented,
            Some(rest) => {
                DialectMatch::Replaced(place.rest.len() - rest.trim_start().len(), String::new())
            }
            None => DialectMatch::Nothing,
        }
    }
}

/// Removes the Markdown emphasis before a keyword.
fn strip_emphasis(line: &str) -> &str {
    line.trim_start_matches(['*', '#', '_', ' '])
}

/// Returns the text after a keyword and the emphasis around it.
fn text_after_keyword<'t>(line: &'t str, word: &str) -> Option<&'t str> {
    let (name, colon) = word.split_at(word.len() - 1);
    let rest = strip_ignoring_case(strip_emphasis(line), name)?.trim_start_matches(['*', '_', ' ']);
    Some(rest.strip_prefix(colon)?.trim_start_matches(['*', '_']))
}

/// Returns `true` if an incomplete line can begin with a keyword.
fn may_be_keyword(line: &str) -> bool {
    let name = line.trim_end_matches(['*', '_', ' ']);
    KEYWORDS.iter().any(|word| is_beginning_of(word, name))
}

fn is_keyword(line: &str) -> bool {
    KEYWORDS.iter().any(|word| text_after_keyword(line, word).is_some())
}

/// Returns the bytes before the next line that begins with a keyword or is an end signal.
fn next_keyword(text: &str) -> Option<usize> {
    let mut at = text.find('\n')? + 1;
    loop {
        let line = text[at..].lines().next().unwrap_or_default();
        if is_keyword(line.trim_start_matches([' ', '\t', '>', '-'])) || end_marks::is_mark(line) {
            return Some(at);
        }
        at += text[at..].find('\n')? + 1;
    }
}

/// Reads a thought. It is shown unless a final answer follows.
fn read_thought(place: &ReplyPosition<'_>) -> DialectMatch {
    let rest = strip_emphasis(place.rest);
    let said = text_after_keyword(rest, "thought:").unwrap_or(rest);
    let before = place.rest.len() - said.len();
    let (text, next) = match next_keyword(said) {
        Some(end) => (&said[..end], &said[end..]),
        None if !place.is_all => return DialectMatch::Open,
        None => (said, ""),
    };
    let bytes = before + text.len();
    if text_after_keyword(next, "final answer:").is_some() && place.is_instructed {
        return DialectMatch::Replaced(bytes, String::new());
    }
    let lead = next.len() - next.trim_start_matches([' ', '\t', '>', '-']).len();
    let is_action = text_after_keyword(&next[lead..], "action:").is_some();
    if is_action && !place.is_all {
        return DialectMatch::Open;
    }
    let after = ReplyPosition { is_line: true, ..place.advanced_by(bytes + lead) };
    match read_actions(&after) {
        DialectMatch::Calls(more, _, found) if is_action => {
            DialectMatch::Calls(bytes + lead + more, text.trim().to_owned(), found)
        }
        _ if place.is_instructed => DialectMatch::Replaced(bytes, text.trim_start().to_owned()),
        _ => DialectMatch::Nothing,
    }
}

/// Reads a sequence of `Action:` with input.
fn read_actions(place: &ReplyPosition<'_>) -> DialectMatch {
    if !place.is_all {
        return DialectMatch::Open;
    }
    let (mut at, mut found) = (0, Vec::new());
    loop {
        let rest = place.rest[at..].trim_start();
        let start = place.rest.len() - rest.len();
        let Some(named) = text_after_keyword(rest, "action:") else { break };
        let Some((bytes, more)) = read_action(&place.advanced_by(place.rest.len() - named.len()))
        else {
            break;
        };
        found.extend(more);
        at = start + rest.len() - named.len() + bytes;
    }
    match_of_calls(at, found)
}

/// Reads the call after `Action:`, and its length in bytes.
fn read_action(place: &ReplyPosition<'_>) -> Option<(usize, Vec<ToolCall>)> {
    let rest = place.rest.trim_start();
    if let Some(read) = read_object(place) {
        return Some(read);
    }
    let quoted = rest.trim_start_matches(['`', '*', '"', '[']);
    if let Some((bytes, call)) = python::read_call(
        &place.advanced_by(place.rest.len() - quoted.len()),
        place.evidence_without_markup(),
    ) {
        return Some((place.rest.len() - quoted.len() + bytes, vec![call]));
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let (name, after) = quoted.split_at(quoted.find(|c| !is_name(c)).unwrap_or(quoted.len()));
    let name = name.trim_end_matches('.');
    let after = after.trim_start_matches(['`', '*', '"', ']', '(', ')', '.', ',']);
    let blank = after.trim_start_matches([' ', '\t', '\r', '\n', '>', '-']);
    let inline =
        text_after_keyword(blank, "action input:").or_else(|| text_after_keyword(blank, "input:"));
    let is_line = after.trim_start_matches([' ', '\t', '\r']).starts_with('\n') || blank.is_empty();
    let is_call = match place.find_tool(name) {
        // A name alone in its line may be ordinary text.
        Some(known) => {
            let is_whole = place.is_instructed
                || schema::fits_schema(&call_without_arguments(known), place.tools);
            inline.is_some() || blank.starts_with('{') || (is_line && is_whole)
        }
        None => place.is_instructed && inline.is_some() && !name.is_empty(),
    };
    if !is_call {
        return None;
    }
    let given = match inline {
        Some(given) => given,
        None if blank.starts_with('{') => blank,
        None => {
            let call = call::create_call(name, call::parse_arguments(""), place.tools);
            return Some((place.rest.len() - after.len(), vec![call]));
        }
    };
    let start = place.rest.len() - given.len();
    let (arguments, bytes) = read_input(&place.advanced_by(start));
    let call = call::create_call(name, arguments, place.tools);
    let is_cut = place.is_cut && start + bytes == place.rest.len();
    let call = if is_cut { call } else { schema::with_sole_text(call, place.tools) };
    Some((start + bytes, vec![call]))
}

fn call_without_arguments(name: &str) -> ToolCall {
    ToolCall { name: name.to_owned(), arguments: call::parse_arguments("") }
}

/// Reads a JSON object that names the tool and its input, with or without a code fence.
fn read_object(place: &ReplyPosition<'_>) -> Option<(usize, Vec<ToolCall>)> {
    let rest = place.rest.trim_start();
    let fenced = rest.strip_prefix("```").map(|rest| rest.trim_start_matches(char::is_alphabetic));
    let body = fenced.map_or(rest, str::trim_start);
    if !body.starts_with(['{', '[']) {
        return None;
    }
    let at = place.rest.len() - body.len();
    match place.advanced_by(at).json_calls(body, place.evidence_without_markup()) {
        call::JsonText::Calls(bytes, calls) => {
            Some((at + bytes + fence_end(fenced, body, bytes), calls))
        }
        call::JsonText::Other(_) | call::JsonText::Open => None,
    }
}

/// Returns the bytes of the closing fence after the first `bytes` bytes of the body.
fn fence_end(fenced: Option<&str>, body: &str, bytes: usize) -> usize {
    let after = body[bytes..].trim_start().strip_prefix("```").filter(|_| fenced.is_some());
    after.map_or(0, |after| body.len() - bytes - after.len())
}

/// Reads the text after `Action Input:`, and its length in bytes: an object with an optional fence,
/// or everything up to the next keyword or blank line.
fn read_input(place: &ReplyPosition<'_>) -> (Arguments, usize) {
    let rest = place.rest.trim_start_matches([' ', '\t', '\r', '\n', '*']);
    let fenced = rest.strip_prefix("```").map(|rest| rest.trim_start_matches(char::is_alphabetic));
    let body = fenced.map_or(rest, str::trim_start);
    let ticked = body.strip_prefix('`').filter(|_| fenced.is_none());
    let body = ticked.unwrap_or(body);
    let at = place.rest.len() - body.len();
    if body.starts_with('{') {
        let (arguments, bytes) =
            match lenient::parse_value(body, MissingBrackets::added_unless(place.is_cut)) {
                Ok((Value::Object(object), bytes)) => (Arguments::Object(object), bytes),
                _ => {
                    let end =
                        next_keyword(body).unwrap_or(body.len()).min(lenient::bracket_bytes(body));
                    (Arguments::Malformed(body[..end].trim_end().to_owned()), end)
                }
            };
        let tick = usize::from(ticked.is_some() && body[bytes..].starts_with('`'));
        return (arguments, at + bytes + tick + fence_end(fenced, body, bytes));
    }
    if is_keyword(rest) {
        return (call::parse_arguments(""), 0);
    }
    let ends = [body.find("\n\n"), body.find("\r\n\r\n"), next_keyword(body)];
    let end = ends.into_iter().flatten().min().unwrap_or(body.len());
    let text = body[..end].trim().trim_end_matches('`').trim_end();
    let is_none = ["none", "null", "n/a", "no input", "{}", "-"]
        .iter()
        .any(|none| text.eq_ignore_ascii_case(none));
    (if is_none { call::parse_arguments("") } else { call::parse_arguments(text) }, at + end)
}
