//! Limits the length of an answer. Whatever a server sends, one answer takes a bounded amount of
//! memory. A longer answer is cut there and marked as truncated ([`ModelReply::truncated`]).
//!
//! [`ModelReply::truncated`]: avocet_protocol::model::ModelReply

use avocet_protocol::model::{Arguments, ToolCall};

/// Bytes that are kept of one answer: text, reasoning and arguments together. About 500,000 tokens.
pub(crate) const MAX_ANSWER: usize = 2 * 1024 * 1024;
/// More bytes than any model's tokens have on average. A server that honours the token limit stays
/// below the byte limit that is computed with this figure.
const MOST_BYTES_A_TOKEN: usize = 32;
/// Bytes that each item of an answer counts in addition to its text, so that a million empty calls
/// exceed the limit as well.
pub(crate) const ITEM: usize = 64;
/// Bytes that are kept of the arguments of a call that was cut off and thus cannot run.
const KEPT_OF_CUT_ARGUMENTS: usize = 1024;

/// Maximum bytes of an answer that may have this many tokens.
pub(crate) fn max_answer(tokens: Option<u32>) -> usize {
    let tokens = tokens.and_then(|tokens| usize::try_from(tokens).ok());
    tokens.map_or(MAX_ANSWER, |tokens| MAX_ANSWER.min(tokens.saturating_mul(MOST_BYTES_A_TOKEN)))
}

/// The beginning of a text, at most `most` bytes, cut at a character boundary.
pub(crate) fn text_beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Shortens the arguments of calls that cannot run because the answer was cut inside of them.
pub(super) fn shorten_cut_calls(calls: &mut [ToolCall]) {
    for call in calls {
        if let Arguments::Malformed(text) = &mut call.arguments {
            text.truncate(text.floor_char_boundary(KEPT_OF_CUT_ARGUMENTS));
        }
    }
}

/// Closes the open strings and brackets at the end of a JSON text that was cut. The result is valid
/// JSON if the cut is inside of a value. That is the case if one value is longer than all the rest.
pub(super) fn close_json(json: &str) -> String {
    let (mut open, mut in_string) = (Vec::new(), false);
    // The end of the string: before an escape that was cut, and before the first half of a
    // surrogate pair.
    let mut end = json.len();
    let mut bytes = json.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' if in_string => {
                let escape = &json.as_bytes()[at..];
                let length = escape_length(escape);
                if escape.len() < length {
                    end = at;
                    break;
                }
                // The rest of the escape may be a quote.
                bytes.nth(length - 2);
            }
            b'"' => in_string = !in_string,
            b'{' if !in_string => open.push('}'),
            b'[' if !in_string => open.push(']'),
            b'}' | b']' if !in_string => drop(open.pop()),
            _ => {}
        }
    }
    let mut closed = json[..end].to_owned();
    if in_string {
        closed.push('"');
    }
    closed.extend(open.iter().rev());
    closed
}

/// Length in bytes of the escape at the start: 12 for a surrogate pair (RFC 8259, section 7).
fn escape_length(escape: &[u8]) -> usize {
    match escape.get(1) {
        Some(b'u') if is_first_half(escape) => 12,
        Some(b'u') => 6,
        _ => 2,
    }
}

fn is_first_half(escape: &[u8]) -> bool {
    let digits = escape.get(2..4).unwrap_or_default();
    digits.len() == 2
        && digits[0].eq_ignore_ascii_case(&b'd')
        && matches!(digits[1], b'8' | b'9' | b'a'..=b'b' | b'A'..=b'B')
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn max_answer_goes_by_the_tokens_up_to_a_limit() {
        let table = [(None, MAX_ANSWER), (Some(100), 3200), (Some(u32::MAX), MAX_ANSWER)];
        for (tokens, bytes) in table {
            assert_eq!(max_answer(tokens), bytes, "{tokens:?}");
        }
    }

    #[test]
    fn closed_json_can_be_read_wherever_a_string_was_cut() {
        let whole = json!({ "a": [1, { "text": "über \"x\" \\ \n \u{1F600} [{" }], "b": 1 });
        let escaped = whole.to_string().replace('\u{1F600}', "\\ud83d\\ude00");
        let text_at = escaped.find("über").unwrap();
        let end = escaped.find("\"}]").unwrap();
        for cut in (text_at..end).filter(|cut| escaped.is_char_boundary(*cut)) {
            let closed = close_json(&escaped[..cut]);
            let read: Value = serde_json::from_str(&closed).unwrap_or_else(|error| {
                panic!("{closed}: {error}");
            });
            let text = read["a"][1]["text"].as_str().unwrap();
            assert!(whole["a"][1]["text"].as_str().unwrap().starts_with(text), "{closed}");
        }
    }

    #[test]
    fn shorten_cut_calls_leaves_whole_calls() {
        let malformed = Arguments::Malformed("ä".repeat(10_000));
        let whole = Arguments::parse("{\"a\": 1}");
        let mut calls = [malformed, whole.clone()]
            .map(|arguments| ToolCall { name: "one".to_owned(), arguments });
        shorten_cut_calls(&mut calls);
        assert_eq!(calls[0].arguments, Arguments::Malformed("ä".repeat(512)));
        assert_eq!(calls[1].arguments, whole);
    }
}
