//! Finds tool calls in their own markup. They are kept, because the dialect reader needs them.

/// A call at the start of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallMatch {
    /// The length of a call's opening in bytes, and the tokens before which the call ends.
    Call(usize, &'static [&'static str]),
    /// A call may begin here.
    Open,
    Nothing,
}

/// Openings of calls, in lower case, and their end tokens.
const CALLS: [(&str, &[&str]); 9] = [
    ("<tool_call", &["</tool_call"]),
    ("<function_call", &["</function_call"]),
    ("<tool_use", &["</tool_use"]),
    ("<function=", &["</function"]),
    ("<function name", &["</function"]),
    ("<invoke", &["</invoke"]),
    ("<|tool_call|>", &["<|/tool_call|>", "</tool_call", "<|im_end|>", "<|end|>"]),
    ("<|python_tag|>", &["<|eom_id|>", "<|eot_id|>", "<|start_header_id|>", "<|im_end|>"]),
    ("[tool_calls]", &["</s>", "[TOOL_RESULTS]", "<|im_end|>"]),
];
/// Control tokens before a header that may name a function.
const HEADS: [&str; 2] = ["<|channel|>", "<|start|>"];
/// The end of a header.
const MESSAGE: &str = "<|message|>";
/// The end of a message to a function.
const ENDS: &[&str] = &["<|call|>", "<|end|>", "<|return|>", "<|start|>"];
/// Maximum bytes of a header.
const LONGEST: usize = 300;

/// The call at the start of a text; `is_all` means that the text is complete.
pub(super) fn at_start(text: &str, is_all: bool) -> CallMatch {
    let starts = |word: &str| text.get(..word.len()).is_some_and(|t| t.eq_ignore_ascii_case(word));
    let begins = |word: &str| word.get(..text.len()).is_some_and(|w| w.eq_ignore_ascii_case(text));
    if let Some((word, ends)) = CALLS.iter().find(|(word, _)| starts(word)) {
        return CallMatch::Call(word.len(), ends);
    }
    if let Some(head) = HEADS.iter().find(|head| text.starts_with(*head)) {
        return header(text, head.len(), is_all);
    }
    let mut words = CALLS.iter().map(|(word, _)| *word).chain(HEADS);
    if !is_all && words.any(begins) { CallMatch::Open } else { CallMatch::Nothing }
}

/// Checks the header after the first `head` bytes. It belongs to a call if the assistant writes it
/// and its recipient is a function. Headers of results and of people begin differently.
fn header(text: &str, head: usize, is_all: bool) -> CallMatch {
    let near = &text[head..text.floor_char_boundary(LONGEST)];
    let ends = [near.find(MESSAGE), near.find(['{', '\n'])];
    let end = ends.into_iter().flatten().min();
    let is_own =
        |header: &str| roles(text).iter().any(|role| header.trim_start().starts_with(role));
    let to_function = |header: &str| {
        header.split_once("to=").is_some_and(|(_, to)| {
            !to.is_empty() && !to.starts_with("assistant") && !to.starts_with("user")
        })
    };
    match end.map(|end| &near[..end]) {
        Some(header) if is_own(header) && to_function(header) => {
            CallMatch::Call(head + header.len(), ENDS)
        }
        None if !is_all && text.len() < LONGEST && is_own_so_far(text, near) => CallMatch::Open,
        _ => CallMatch::Nothing,
    }
}

/// Possible beginnings of the header of a message from the assistant.
fn roles(text: &str) -> &'static [&'static str] {
    if text.starts_with(HEADS[0]) { &["commentary", "analysis", "to="] } else { &["assistant"] }
}

/// Returns `true` if an incomplete header can still name a function.
fn is_own_so_far(text: &str, header: &str) -> bool {
    let header = header.trim_start();
    roles(text).iter().any(|role| role.starts_with(header) || header.starts_with(role))
}

/// Returns the end of a call in a text, or as `Err` the bytes that certainly belong to it so far.
/// `is_all` means that the text is complete.
pub(super) fn end(text: &str, ends: &[&str], is_all: bool) -> Result<usize, usize> {
    let found = text.match_indices(['<', '[']).map(|(at, _)| at).find(|at| {
        let rest = &text[*at..];
        ends.iter().any(|end| {
            let length = end.len().min(rest.len());
            let is_whole = length == end.len();
            rest.get(..length).is_some_and(|start| start.eq_ignore_ascii_case(&end[..length]))
                && (is_whole || !is_all)
        })
    });
    let is_whole = |at: usize| {
        ends.iter().any(|end| {
            text[at..].get(..end.len()).is_some_and(|start| start.eq_ignore_ascii_case(end))
        })
    };
    match found {
        Some(at) if is_whole(at) => Ok(at),
        Some(at) => Err(at),
        None => Err(text.len()),
    }
}
