//! What a model writes behind a call as if it were the call's result: it has not run yet, so nothing
//! there is true.

use super::strip;

/// What a line with a result begins with, in lower case.
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

/// What a result begins with wherever it stands.
const MARKS: [&str; 17] = [
    "<tool_response",
    "<tool_result",
    "<tool_output",
    "<toolresult",
    "<function_result",
    "<function_response",
    "<function_output",
    "<observation",
    "<result",
    "<output",
    "<response",
    "<stdout",
    "[tool_results",
    "[tool result",
    "<|observation|>",
    "<|start|>functions",
    "<|start_header_id|>ipython",
];

/// What is left over where a call was closed twice, or closes what was never opened.
const LEFTOVERS: [&str; 14] = [
    "</tool_call>",
    "</tool_calls>",
    "</function_call>",
    "</function_calls>",
    "</function>",
    "</tool_use>",
    "</tool>",
    "</invoke>",
    "[/TOOL_CALLS]",
    "<|call|>",
    "<|end|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|im_end|>",
];

/// Whether a line is the beginning of a made-up result.
pub(super) fn at_line(line: &str) -> bool {
    let line = line.trim_start_matches(['*', '#', '_', '(', '[', ' ']);
    LABELS.iter().any(|label| strip(line, label).is_some()) || anywhere(line)
}

/// Whether a mark is the beginning of a made-up result.
pub(super) fn anywhere(text: &str) -> bool {
    MARKS.iter().any(|mark| strip(text, mark).is_some())
}

/// The bytes of a mark that a call has left over.
pub(super) fn leftover(text: &str) -> Option<usize> {
    LEFTOVERS.iter().find(|mark| strip(text, mark).is_some()).map(|mark| mark.len())
}
