//! Finds results that a model invents after a call. They are false, because the call has yet to
//! run.

use super::marks::{MarkPlace, PlainTag, mark_at_start};
use super::strip_ignoring_case;
use crate::visible::tokens::{TokenStart, match_token};

/// Beginnings of a line with a result, in lower case.
const LABELS: [&str; 18] = [
    "observation",
    "result:",
    "results:",
    "result of",
    "output:",
    "outputs:",
    "response:",
    "returned:",
    "returns:",
    "tool result",
    "tool output",
    "tool response",
    "tool returned",
    "function result",
    "function output",
    "function returned",
    "user:",
    "human:",
];

/// Beginnings of a result anywhere in a line.
const MARKS: [&str; 22] = [
    "<tool_response",
    "<tool_result",
    "<tool_output",
    "<toolresult",
    "<function_result",
    "<function_response",
    "<function_output",
    "<longcat_tool_response",
    "<start_function_response",
    "<tool_outputs",
    "<|tool_response>",
    "<observation",
    "<result",
    "<output",
    "<response",
    "<stdout",
    "[tool_results",
    "[tool result",
    "<|observation|>",
    "<|im_system|>",
    "<|start|>functions",
    "<|start_header_id|>ipython",
];

/// Closing tags that remain of a call that was closed twice, or that have no start.
const TAGS: [&str; 7] =
    ["arg_value", "function", "function_call", "invoke", "parameter", "tool", "tool_use"];
/// Tokens that remain of a call.
const TOKENS: [&str; 6] =
    ["<|call|>", "<|end|>", "<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<|end_of_sentence|>"];

/// Returns `true` if a line begins an invented result.
pub(super) fn at_line(line: &str) -> bool {
    let line = line.trim_start_matches(['*', '#', '_', '(', '[', ' ']);
    LABELS.iter().any(|label| strip_ignoring_case(line, label).is_some())
        || begins_invented_result(line)
}

/// Returns `true` if a text begins with the mark of an invented result.
pub(super) fn begins_invented_result(text: &str) -> bool {
    MARKS.iter().any(|mark| strip_ignoring_case(text, mark).is_some())
}

/// The length in bytes of leftover markup of a call.
pub(super) fn leftover_bytes(text: &str) -> Option<usize> {
    let is_tag = |tag: &PlainTag<'_>| {
        tag.closes && TAGS.iter().any(|name| name.eq_ignore_ascii_case(tag.name))
    };
    let close =
        mark_at_start(text).filter(|(kind, _)| *kind == MarkPlace::Close).map(|(_, bytes)| bytes);
    let tag = || PlainTag::parse_tag(text).filter(is_tag).map(|tag| tag.bytes);
    let token = || {
        TOKENS.iter().find_map(|word| match match_token(text, word) {
            TokenStart::Whole(bytes) => Some(bytes),
            TokenStart::Part | TokenStart::Nothing => None,
        })
    };
    close.or_else(tag).or_else(token)
}
