//! Entry points for the fuzz targets in `fuzz/` and for ordinary tests. Each one reads arbitrary
//! bytes in its own way and panics if an invariant is violated.

mod answers;
mod tools;

use std::cell::RefCell;

use avocet_protocol::model::Delta;
use serde_json::Value;

use crate::dialects::lenient::{self, LenientError, MissingBrackets};
use crate::dialects::{
    ParsedReply, ReplyReader, StreamedReply, TextEnd, find_dialect, known_names,
};
use crate::visible::VisibleText;

#[cfg(test)]
pub(crate) use answers::read_body;
pub(crate) use answers::split_pieces;
pub use answers::{
    fuzz_anthropic, fuzz_gemini, fuzz_ollama, fuzz_openai_chat, fuzz_openai_responses, fuzz_sse,
};
pub(crate) use tools::corpus_tools;

/// Reads bytes, and panics if the result is wrong.
pub type LlmFuzzTarget = fn(&[u8]);

/// All entry points, by the name of their fuzz target.
pub const TARGETS: [(&str, LlmFuzzTarget); 19] = [
    ("anthropic", fuzz_anthropic),
    ("endless", fuzz_endless),
    ("families", fuzz_families),
    ("gemini", fuzz_gemini),
    ("harmony", fuzz_harmony),
    ("hermes", fuzz_hermes),
    ("hidden", fuzz_hidden),
    ("json", fuzz_json),
    ("lenient", fuzz_lenient),
    ("llama", fuzz_llama),
    ("mistral", fuzz_mistral),
    ("ollama", fuzz_ollama),
    ("openai_chat", fuzz_openai_chat),
    ("openai_responses", fuzz_openai_responses),
    ("react", fuzz_react),
    ("shell", fuzz_shell),
    ("sse", fuzz_sse),
    ("streamed", fuzz_streamed),
    ("xml", fuzz_xml),
];

/// Length in bytes to which a text is repeated. Quadratic time takes seconds at this length.
const ENDLESS: usize = 64 * 1024;

/// Reads a reply of a model that was instructed to write the format of its own family.
pub fn fuzz_families(data: &[u8]) {
    const FAMILIES: [&str; 14] = [
        "apertus", "cohere", "deepseek", "gemma", "glm", "hunyuan", "inkling", "kimi", "lfm",
        "longcat", "minimax", "olmo", "qwen", "seed",
    ];
    FAMILIES.iter().for_each(|family| fuzz_dialect(family, data));
}

/// Reads a reply of a model that was instructed to write harmony.
pub fn fuzz_harmony(data: &[u8]) {
    fuzz_dialect("harmony", data);
}

/// Reads a reply of a model that was instructed to write hermes.
pub fn fuzz_hermes(data: &[u8]) {
    fuzz_dialect("hermes", data);
}

/// Reads a reply of a model that was instructed to write json.
pub fn fuzz_json(data: &[u8]) {
    fuzz_dialect("json", data);
}

/// Reads a reply of a model that was instructed to write llama.
pub fn fuzz_llama(data: &[u8]) {
    fuzz_dialect("llama", data);
}

/// Reads a reply of a model that was instructed to write mistral.
pub fn fuzz_mistral(data: &[u8]) {
    fuzz_dialect("mistral", data);
}

/// Reads a reply of a model that was instructed to write react.
pub fn fuzz_react(data: &[u8]) {
    fuzz_dialect("react", data);
}

/// Reads a reply of a model that was instructed to write shell.
pub fn fuzz_shell(data: &[u8]) {
    fuzz_dialect("shell", data);
}

/// Reads a reply of a model that was instructed to write xml.
pub fn fuzz_xml(data: &[u8]) {
    fuzz_dialect("xml", data);
}

/// Checks that a reply in pieces gives the same result and the same shown text as a complete one.
pub fn fuzz_streamed(data: &[u8]) {
    for instructed in known_names().map(Some).chain([None]) {
        streams_as_whole(instructed, &String::from_utf8_lossy(data));
    }
}

/// Checks that the visible text is the same however an answer is divided.
pub fn fuzz_hidden(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let visible = |pieces: &[&str]| {
        let shown = RefCell::new(String::new());
        let show = |delta: Delta<'_>| match delta {
            Delta::Text(text) => shown.borrow_mut().push_str(text),
            Delta::Restart => shown.borrow_mut().clear(),
            Delta::Thought(_) | Delta::Retry(_) | Delta::Lost(_) => {}
        };
        let mut visible = VisibleText::default();
        pieces.iter().for_each(|piece| visible.push(piece, show));
        let text = visible.finish_text(show);
        assert_eq!(shown.into_inner(), text, "what was shown is not what there is");
        text
    };
    assert_eq!(visible(&[&text]), visible(&in_pieces(&text)));
}

/// Checks that a text repeated many times is read in time: the fuzzer has a timeout.
pub fn fuzz_endless(data: &[u8]) {
    read_endlessly(data, ENDLESS);
}

/// Checks that JSON is read like `serde_json` reads it, and that a repaired value, written as JSON,
/// reads back the same.
pub fn fuzz_lenient(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let strict = serde_json::from_str::<Value>(&text);
    for brackets in [MissingBrackets::Refused, MissingBrackets::Added] {
        match (lenient::parse_value(&text, brackets), &strict) {
            (Ok((value, bytes)), strict) => {
                assert!(text.is_char_boundary(bytes));
                let again = lenient::parse_value(&value.to_string(), MissingBrackets::Refused)
                    .map(|(value, _)| value);
                assert!(again.is_ok_and(|again| is_like(&again, &value)), "{value}");
                assert!(
                    strict.as_ref().is_ok_and(|strict| is_like(strict, &value)) || strict.is_err()
                );
            }
            // With a duplicate name, the intended value is unknown.
            (Err(fault), Ok(strict)) => {
                assert!(
                    matches!(fault, LenientError::At(at) if at <= text.len()),
                    "{strict}: {fault:?}"
                );
                assert!(
                    lenient::parse_value(&strict.to_string(), MissingBrackets::Refused).is_ok(),
                    "{strict}"
                );
            }
            (Err(LenientError::At(at)), Err(_)) => assert!(text.is_char_boundary(at)),
            (Err(LenientError::Open), Err(_)) => {}
        }
    }
}

fn fuzz_dialect(name: &str, data: &[u8]) {
    let (text, tools) = (String::from_utf8_lossy(data), corpus_tools());
    let reader = ReplyReader::new(find_dialect(name), &tools);
    assert!(reader.instructed.is_some(), "there is no {name}");
    for end in [TextEnd::Complete, TextEnd::Cut] {
        let read = reader.read(&text, end);
        assert_eq!(read.calls.is_empty(), read.dialect.is_none());
        // Only two line breaks between parts of a text are added.
        assert!(read.text.len() <= text.len() + 2 * read.calls.len(), "{:?}", read.text);
    }
    streams_as_whole(Some(name), &text);
}

fn streams_as_whole(instructed: Option<&str>, text: &str) {
    // It could not be told from the mark of a restart, which `read_streamed` writes.
    if text.contains('⟲') {
        return;
    }
    let tools = corpus_tools();
    let reader = ReplyReader::new(instructed.and_then(find_dialect), &tools);
    let (whole, _, _) = read_streamed(reader, &[text], TextEnd::Complete);
    let (read, meanwhile, shown) = read_streamed(reader, &in_pieces(text), TextEnd::Complete);
    assert_eq!(read.calls, whole.calls, "{instructed:?}");
    assert_eq!((&read.text, read.is_done), (&whole.text, whole.is_done), "{instructed:?}");
    // Only blanks before a call are taken back, because other blanks replace them.
    let last = shown.rsplit('⟲').next().unwrap_or_default();
    assert_eq!(last.trim_end(), read.text.trim_end(), "{instructed:?}");
    assert!(read.text.starts_with(meanwhile.trim_end()), "{instructed:?}: {meanwhile:?} was shown");
}

fn read_endlessly(data: &[u8], bytes: usize) {
    if data.is_empty() {
        return;
    }
    let (text, tools) = (String::from_utf8_lossy(data), corpus_tools());
    let whole = text.repeat(bytes / text.len() + 1);
    let reader = ReplyReader::new(None, &tools);
    let read = reader.read(&whole, TextEnd::Complete);
    let (again, _, _) = read_streamed(reader, &in_pieces(&whole), TextEnd::Complete);
    assert!(read.calls.len() <= whole.len() && again.calls.len() <= whole.len());
}

/// Reads a reply in these pieces. Also returns the text that was shown before the end, and after
/// it; `⟲` marks a restart, which takes back shown text.
pub(crate) fn read_streamed(
    reader: ReplyReader<'_>,
    pieces: &[&str],
    end: TextEnd,
) -> (ParsedReply, String, String) {
    let shown = RefCell::new(String::new());
    let show = |delta: Delta<'_>| match delta {
        Delta::Text(text) => shown.borrow_mut().push_str(text),
        Delta::Restart => shown.borrow_mut().push('⟲'),
        Delta::Thought(_) | Delta::Retry(_) | Delta::Lost(_) => {}
    };
    let streamed = RefCell::new(StreamedReply::new(reader));
    let mut visible = VisibleText::keeping_calls();
    let pass = |delta: Delta<'_>| match delta {
        Delta::Text(text) => streamed.borrow_mut().push(text, show),
        Delta::Restart => {
            streamed.borrow_mut().discard_shown();
            shown.borrow_mut().clear();
        }
        Delta::Thought(_) | Delta::Retry(_) | Delta::Lost(_) => {}
    };
    pieces.iter().for_each(|piece| visible.push(piece, pass));
    let text = visible.finish_text(pass);
    let meanwhile = shown.borrow().clone();
    let streamed = streamed.into_inner();
    let read = streamed.read(&text, end);
    streamed.finish_text(&read.text, show);
    (read, meanwhile, shown.into_inner())
}

/// Returns `true` if two values are equal. Fractions may differ in the last digit.
fn is_like(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_like(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same = |(name, value)| other.get(name).is_some_and(|other| is_like(value, other));
            one.len() == other.len() && one.iter().all(same)
        }
        (Value::Number(one), Value::Number(other)) => match (one.as_f64(), other.as_f64()) {
            (Some(one), Some(other)) => (one - other).abs() <= one.abs() * 1e-9,
            (one, other) => one == other,
        },
        (one, other) => one == other,
    }
}

/// Divides a text into pieces of 1 to 16 bytes. The lengths depend on its content.
fn in_pieces(text: &str) -> Vec<&str> {
    let (mut rest, mut lengths, mut pieces) = (text, piece_lengths(text.as_bytes()), Vec::new());
    while !rest.is_empty() {
        let length = rest.ceil_char_boundary(lengths.next().unwrap_or(1));
        let (piece, more) = rest.split_at(length);
        pieces.push(piece);
        rest = more;
    }
    pieces
}

/// Lengths from 1 to 16 that depend on the data (FNV-1a, then xorshift).
fn piece_lengths(data: &[u8]) -> impl Iterator<Item = usize> + use<> {
    let hash = data.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut state = hash | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state & 0xf) as usize + 1
    })
}

#[cfg(test)]
#[path = "fuzzing_tests.rs"]
mod tests;
