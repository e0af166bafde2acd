//! Decodes JSON that other programs wrote.
//!
//! Programs send JSON that RFC 8259 forbids or leaves open. One such byte must not cost the text around it:
//!
//! | input | read as |
//! |---|---|
//! | half of a surrogate pair (`\ud83d` alone) | U+FFFD |
//! | bytes that are no UTF-8 | U+FFFD |
//! | a control character within a string | the character |
//! | `NaN`, `Infinity`, `-Infinity` | `null` |
//! | a byte order mark in front | nothing |
//! | a key that is there twice | the last value |
//!
//! Valid JSON takes the quick way: it is parsed once, without a copy.

use serde::de::DeserializeOwned;
use serde_json::Value;

const REPLACEMENT: &[u8] = b"\\ufffd";
/// Words that some writers use for numbers that JSON lacks. The longest comes first.
const NUMBERS_WITHOUT_JSON: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];

/// Decodes JSON from outside. Repairs what the table in this module lists, if the text is no valid
/// JSON for `T`.
///
/// # Errors
/// The error of the original text, if the repaired text is no JSON for `T` either.
pub fn decode_json<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(json).or_else(|error| {
        // A `Value` keeps the last of repeated keys, where derived types fail.
        let value: Option<Value> = serde_json::from_slice(&repair_json(json)).ok();
        value.and_then(|value| T::deserialize(value).ok()).ok_or(error)
    })
}

/// Returns the text with each fault of the table replaced. Keeps all other faults.
fn repair_json(json: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(json);
    let mut rest = text.trim_start_matches('\u{feff}').as_bytes();
    let mut repaired = Vec::with_capacity(rest.len() + REPLACEMENT.len());
    let mut is_in_string = false;
    while let [first, ..] = rest {
        let (taken, written) =
            if is_in_string { repair_in_string(rest) } else { repair_outside_string(rest) };
        is_in_string ^= *first == b'"';
        match written {
            Some(written) => repaired.extend_from_slice(&written),
            None => repaired.extend_from_slice(&rest[..taken]),
        }
        rest = &rest[taken..];
    }
    repaired
}

/// Returns the number of bytes to take, and their replacement; `None` if they stay.
fn repair_outside_string(rest: &[u8]) -> (usize, Option<Vec<u8>>) {
    match NUMBERS_WITHOUT_JSON.iter().find(|word| rest.starts_with(word)) {
        Some(word) => (word.len(), Some(b"null".to_vec())),
        None => (1, None),
    }
}

/// Like [`repair_outside_string`], within a string. Takes an escape as a whole.
fn repair_in_string(rest: &[u8]) -> (usize, Option<Vec<u8>>) {
    match rest {
        [b'\\', b'u', ..] => match (read_escape(rest), rest.get(6..).and_then(read_escape)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (12, None),
            (Some(0xd800..=0xdfff), _) => (6, Some(REPLACEMENT.to_vec())),
            (Some(_), _) => (6, None),
            (None, _) => (2, None),
        },
        [b'\\', _, ..] => (2, None),
        [control @ 0..=0x1f, ..] => (1, Some(format!("\\u{control:04x}").into_bytes())),
        _ => (1, None),
    }
}

/// Reads the code unit of an escape such as `\ud83d` at the start.
fn read_escape(rest: &[u8]) -> Option<u32> {
    let digits = rest.strip_prefix(b"\\u")?.get(..4)?;
    let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
    u32::from_str_radix(std::str::from_utf8(digits).ok().filter(|_| is_hex)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[test]
    fn decode_json_repairs_what_other_programs_write() {
        for (input, expected) in [
            (&br#"{"a":"x \ud83d\ude00"}"#[..], json!({ "a": "x \u{1f600}" })),
            (br#"{"a":"\ud83d"}"#, json!({ "a": "\u{fffd}" })),
            (br#"{"a":"\ude00 x"}"#, json!({ "a": "\u{fffd} x" })),
            (br#"{"a":"\ud83d\ud83d\ude00"}"#, json!({ "a": "\u{fffd}\u{1f600}" })),
            (br#"{"a":"\ud83d\n\u00e9"}"#, json!({ "a": "\u{fffd}\n\u{e9}" })),
            (br#"{"\udc00":"\\ud83d"}"#, json!({ "\u{fffd}": "\\ud83d" })),
            (br#"{"a":"\"\ud83d"}"#, json!({ "a": "\"\u{fffd}" })),
            (b"{\"a\":\"\xff\"}", json!({ "a": "\u{fffd}" })),
            (b"{\"a\":\"one\ntwo\tthree\0\"}", json!({ "a": "one\ntwo\tthree\0" })),
            (br#"[NaN, Infinity, -Infinity, "NaN"]"#, json!([null, null, null, "NaN"])),
            (b"\xef\xbb\xbf{}", json!({})),
            (b"\xef\xbb\xbf[\"\\ud800\"]", json!(["\u{fffd}"])),
        ] {
            let decoded: Value = decode_json(input).unwrap();
            assert_eq!(decoded, expected, "{}", String::from_utf8_lossy(input));
        }
    }

    #[test]
    fn decode_json_takes_the_last_of_repeated_keys() {
        #[derive(Debug, PartialEq, Deserialize)]
        struct Named {
            name: String,
        }
        let named: Named = decode_json(br#"{"name":"first","name":"last"}"#).unwrap();
        assert_eq!(named, Named { name: "last".to_owned() });
    }

    #[test]
    fn decode_json_returns_the_error_of_the_original_text() {
        for input in
            [&b""[..], b"{", br#"{"a":"\ud8"#, br#"{"a":"\u"}"#, br#""\ud83d"#, b"hello", b"{}{}"]
        {
            let error = decode_json::<Value>(input).unwrap_err();
            let original = serde_json::from_slice::<Value>(input).unwrap_err();
            assert_eq!(error.to_string(), original.to_string());
        }
    }

    proptest! {
        #[test]
        fn decode_json_survives_any_bytes(bytes: Vec<u8>) {
            drop(decode_json::<Value>(&bytes));
        }

        #[test]
        fn decode_json_keeps_the_text_around_a_lone_half(
            before in r"\PC*", after in r"\PC*", half in 0xd800_u32..0xe000
        ) {
            let [start, end] = [&before, &after].map(|text| {
                let quoted = json!(text).to_string();
                quoted[1..quoted.len() - 1].to_owned()
            });
            let decoded: String =
                decode_json(format!("\"{start}\\u{half:04x}{end}\"").as_bytes()).unwrap();
            prop_assert_eq!(decoded, format!("{before}\u{fffd}{after}"));
        }
    }
}
