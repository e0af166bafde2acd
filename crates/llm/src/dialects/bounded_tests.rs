//! Tests that reading ends in time, whatever a reply repeats.

use std::cell::RefCell;

use avocet_protocol::model::Delta;

use super::{ReplyReader, StreamedReply, TextEnd};
use crate::fuzzing::corpus_tools;
use crate::visible::VisibleText;
use crate::visible::code::scanned;

#[test]
fn dialects_read_endlessly_repeated_marks_in_bounded_time() {
    let tools = corpus_tools();
    let pieces = [
        "{",
        "[",
        "<",
        "`",
        "{\"a\":",
        "[{",
        "<tool_call>",
        "<tool_call>{\"a\":\"",
        "<tool_call>{//",
        "{/*",
        "{//",
        "<function=a>",
        "<invoke name=\"a\">",
        "<tool_use>",
        "[TOOL_CALLS]",
        "Thought:\n",
        "Action:\n",
        "Action: read_file\n",
        "```json\n",
        "```bash\nread_file '",
        "<|channel|>",
        "commentary to=functions.a ",
        "[read_file(",
        "<|python_tag|>",
        "- ",
        "> ",
        "{\"name\": \"read_file\" ",
        "<function_calls>",
        "<read_file>",
        "{\"tool\": \"read_file\"}\n",
        "{'",
        "<tool_use><tool>",
        "<tool_call>a",
        "<tool_call>a<arg_key>",
        "<tool_call>a<arg_key>b</arg_key><arg_value>",
        "<tool_call>a<arg_key>b</arg_key><arg_value>c</arg_value>d",
        "<tool_calls><tool_call>",
        "<tool_call><function=a>",
        "<tool_call><function=a><parameter=b>",
        "<tool_call><function=a><parameter=b>c</parameter>d",
        "<tool_call><function=a>\n<parameter=b>\n</function>",
        "<minimax:tool_call><invoke name=\"a\">",
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁begin｜>a",
        "<｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{",
        "<｜DSML｜",
        "<｜DSML｜invoke name=\"a\">",
        "<|tool_call_end|>",
        "<|tools_prefix|>[{\"",
        "<start_function_call>call:a{",
        "<start_function_call>call:a{b:<escape>",
        "<start_function_call>call:read_file{a:[",
        "<longcat_tool_call>{\"a\":\"",
        "]",
        "]<]minimax[>[",
        "]<]minimax[>[<tool_call>",
        "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"a\">]<]minimax[>[<b>",
        "<|open|>",
        "<|open|>tools<|sep|>",
        "<|open|>tools<|sep|><|open|>call tool=\"a\"<|sep|><|open|>argument key=\"b\"<|sep|>",
        "<|tool_call_start|>[",
        "<|tool_call_start|>[a(",
        "<function_calls>\na(b=",
        "<|START_ACTION|>[{",
        "[TOOL_CALLS]a[ARGS]",
        "<｜DSML｜ calls>",
        "<think><tool_call>",
    ];
    for piece in pieces {
        let text = piece.repeat(10_000 / piece.len());
        for instructed in [None, super::find_dialect("react")] {
            let reader = ReplyReader::new(instructed, &tools);
            reader.read(&text, TextEnd::Complete);
        }
    }
}

/// Streams a text in short pieces up to a chat, and returns the bytes in which ends of lines were
/// searched for.
fn scanned_bytes(text: &str) -> usize {
    let tools = corpus_tools();
    let reader = ReplyReader::new(None, &tools);
    let (mut visible, mut streamed) = (VisibleText::keeping_calls(), StreamedReply::new(reader));
    scanned::take_bytes();
    // All these texts are ASCII.
    for piece in text.as_bytes().chunks(20) {
        let passed = RefCell::new(String::new());
        visible.push(std::str::from_utf8(piece).unwrap(), |delta| {
            if let Delta::Text(text) = delta {
                passed.borrow_mut().push_str(text);
            }
        });
        streamed.push(&passed.into_inner(), |_| ());
    }
    streamed.read(&visible.finish_text(|_| ()), TextEnd::Complete);
    scanned::take_bytes()
}

#[test]
fn streamed_text_that_stays_undecided_is_scanned_in_linear_time() {
    const BYTES: usize = 64 * 1024;
    let pieces =
        ["`", "~", "> ", ">", "1", " ", "> \n", "> a\n", "> `", "`a", "``a```", "``` ", "- ", "a"];
    for piece in pieces {
        let scanned = scanned_bytes(&piece.repeat(BYTES / piece.len()));
        assert!(scanned < 50 * BYTES, "{piece:?}: {scanned} bytes scanned of {BYTES}");
    }
}
