//! The marks around the calls that models write as text: one row for each family. To read a family
//! whose calls differ from others only in their marks, a row here is all that is needed.

use crate::visible::tokens::{TokenStart, match_token};

/// The place of a mark in a section of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkPlace {
    /// It opens a section or a call.
    Open,
    /// It closes a section or a call.
    Close,
    /// It separates the name of a call from its arguments.
    Between,
}

/// The marks of a family, in lower case with `|` and `_`, as [`match_token`] takes them.
#[derive(Debug)]
pub(crate) struct CallMarks {
    /// The name of the dialect.
    pub(crate) dialect: &'static str,
    /// Openings of a section of calls.
    pub(crate) opens: &'static [&'static str],
    /// Closings of the section.
    pub(crate) closes: &'static [&'static str],
    /// Marks inside of a section.
    pub(crate) within: &'static [(&'static str, MarkPlace)],
    /// Other tokens before which the section ends, such as the opening of a result.
    pub(crate) before: &'static [&'static str],
}

/// All families with tokens of their own.
pub(crate) const CALL_MARKS: [CallMarks; 11] = [
    marks_row("apertus", &["<|tools_prefix|>"], &["<|tools_suffix|>"]),
    marks_row("cohere", &["<|start_action|>"], &["<|end_action|>"]),
    CallMarks {
        within: &[
            ("<|tool_call_begin|>", MarkPlace::Open),
            ("<|tool_call_end|>", MarkPlace::Close),
            ("<|tool_sep|>", MarkPlace::Between),
        ],
        ..marks_row(
            "deepseek",
            &["<|tool_calls_begin|>", "<|tool_call_begin|>"],
            &["<|tool_calls_end|>"],
        )
    },
    marks_row(
        "deepseek",
        &["<|dsml|"],
        &["</|dsml|function_calls>", "</|dsml|tool_calls>", "</|dsml|calls>"],
    ),
    CallMarks {
        before: &["<start_function_response>", "<|tool_response>"],
        ..marks_row(
            "gemma",
            &["<start_function_call>", "<|tool_call>"],
            &["<end_function_call>", "<tool_call|>"],
        )
    },
    CallMarks {
        before: &["</tool_call", "<|im_end|>", "<|end|>"],
        ..marks_row("hermes", &["<|tool_call|>"], &["<|/tool_call|>"])
    },
    CallMarks {
        before: &["<|message_", "<|content_model_end_sampling|>"],
        ..marks_row("inkling", &["<|content_invoke_tool_json|>"], &["<|end_message|>"])
    },
    CallMarks {
        within: &[
            ("<|tool_call_begin|>", MarkPlace::Open),
            ("<|tool_call_end|>", MarkPlace::Close),
            ("<|tool_call_argument_begin|>", MarkPlace::Between),
            ("<|tool_call_arguments_begin|>", MarkPlace::Between),
        ],
        ..marks_row(
            "kimi",
            &[
                "<|tool_calls_section_begin|>",
                "<|tool_call_section_begin|>",
                "<|open|>tools<|sep|>",
            ],
            &["<|tool_calls_section_end|>", "<|tool_call_section_end|>", "<|close|>tools<|sep|>"],
        )
    },
    CallMarks {
        before: &["<|im_end|>"],
        ..marks_row("lfm", &["<|tool_call_start|>"], &["<|tool_call_end|>"])
    },
    CallMarks {
        before: &["[/tool_calls]", "</tool_call", "<|im_end|>"],
        ..marks_row(
            "minimax",
            &["]<]minimax[>[<tool_call>", "<]minimax[>[<tool_call>"],
            &["]<]minimax[>[</tool_call>", "<]minimax[>[</tool_call>"],
        )
    },
    CallMarks {
        within: &[("[call_id]", MarkPlace::Between), ("[args]", MarkPlace::Between)],
        before: &["</s>", "[tool_results]", "<|im_end|>"],
        ..marks_row("mistral", &["[tool_calls]"], &["[/tool_calls]"])
    },
];

/// Openings of calls in tags, and the closing tags, without their ends.
pub(crate) const CALL_TAGS: [(&str, &[&str]); 10] = [
    ("<tool_call", &["</tool_call"]),
    ("<function_call", &["</function_call"]),
    ("<tool_use", &["</tool_use"]),
    ("<function=", &["</function"]),
    ("<function name", &["</function"]),
    ("<invoke", &["</invoke"]),
    ("<minimax:tool_call", &["</minimax:tool_call"]),
    ("<seed:tool_call", &["</seed:tool_call"]),
    ("<longcat_tool_call", &["</longcat_tool_call"]),
    ("<|python_tag|>", &["<|eom_id|>", "<|eot_id|>", "<|start_header_id|>", "<|im_end|>"]),
];

const fn marks_row(
    dialect: &'static str,
    opens: &'static [&'static str],
    closes: &'static [&'static str],
) -> CallMarks {
    CallMarks { dialect, opens, closes, within: &[], before: &[] }
}

/// Returns `true` if a text can begin with a mark or a tag of calls, judged by its first two
/// characters. Most brackets in an answer are something else.
pub(crate) fn may_begin(text: &str) -> bool {
    const AFTER_ANGLE: [char; 11] = ['|', '｜', '/', ']', ' ', 'e', 'f', 'i', 'l', 'm', 's'];
    let mut chars = text.chars();
    let second = |chars: &mut std::str::Chars<'_>| chars.next().map(|c| c.to_ascii_lowercase());
    match chars.next() {
        Some('<') => second(&mut chars).is_none_or(|c| c == 't' || AFTER_ANGLE.contains(&c)),
        Some('[') => second(&mut chars).is_none_or(|c| matches!(c, 't' | '/' | 'a' | 'c' | ' ')),
        Some(']') => second(&mut chars).is_none_or(|c| matches!(c, '<' | ' ')),
        _ => false,
    }
}

/// All tokens of the table, with their places.
fn mark_tokens() -> impl Iterator<Item = (&'static str, MarkPlace)> {
    CALL_MARKS.iter().flat_map(|marks| {
        // The prefix of tags is no mark itself.
        let opens = marks.opens.iter().filter(|word| word.ends_with(['>', ']']));
        let ends = marks.closes.iter().map(|word| (*word, MarkPlace::Close));
        opens.map(|word| (*word, MarkPlace::Open)).chain(ends).chain(marks.within.iter().copied())
    })
}

/// Returns the token of calls at the start of a text, and its length in bytes.
pub(crate) fn call_token(text: &str) -> Option<(MarkPlace, usize)> {
    if !may_begin(text) {
        return None;
    }
    mark_tokens().find_map(|(word, kind)| match match_token(text, word) {
        TokenStart::Whole(bytes) => Some((kind, bytes)),
        TokenStart::Part | TokenStart::Nothing => None,
    })
}

/// Finds a token of calls at the start of a text outside of a call, where it has no meaning. With a
/// blank in it, it can be a part of the text.
pub(crate) fn stray_token(text: &str) -> TokenStart {
    if !may_begin(text) {
        return TokenStart::Nothing;
    }
    let mut is_part = false;
    for (word, _) in mark_tokens().filter(|(_, kind)| *kind != MarkPlace::Open) {
        match match_token(text, word) {
            start @ TokenStart::Whole(bytes) if !text[..bytes].contains(' ') => return start,
            TokenStart::Part => is_part = true,
            TokenStart::Whole(_) | TokenStart::Nothing => {}
        }
    }
    if is_part { TokenStart::Part } else { TokenStart::Nothing }
}
