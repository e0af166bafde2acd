use serde_json::json;

use super::*;
use crate::endpoint::CompleteAnswer;

/// An answer that keeps its events.
#[derive(Debug, Default)]
struct KeptEvents(Vec<Value>);

impl StreamedAnswer for KeptEvents {
    fn take_event(&mut self, event: &WireJson<'_>) -> Result<AnswerPiece, AnswerError> {
        self.0.push(event.to_value());
        let text = event.get("text").as_str().unwrap_or_default();
        Ok(AnswerPiece::Text(text.to_owned()))
    }

    fn has_ended(&self) -> bool {
        false
    }

    fn kept_bytes(&self) -> usize {
        0
    }

    fn cut_answer(&mut self) {}

    fn finish_answer(self) -> Result<CompleteAnswer, AnswerError> {
        Ok(CompleteAnswer::default())
    }
}

/// The text of some events, with `|` after each.
fn text_of(events: &[&str]) -> String {
    let (mut kept, mut decoder, mut text) =
        (KeptEvents::default(), EventDecoder::default(), String::new());
    let mut push = |taken: TakenEvents| {
        if let AnswerPiece::Text(more) = taken.piece {
            text.push_str(&more);
        }
        text.push('|');
    };
    for event in events {
        push(decoder.take_data(&mut kept, event, false).unwrap());
    }
    push(decoder.release_held(&mut kept).unwrap());
    text
}

#[test]
fn event_decoder_joins_the_halves_of_a_character() {
    let table: &[(&[&str], &str)] = &[
        (&[r#"{"text":"a \ud83d"}"#, r#"{"text":"\ude00 b"}"#], "|a 😀 b||"),
        (&[r#"{"text":"\ud83d"}"#, r#"{"text":"\ude00"}"#, r#"{"text":"b"}"#], "|😀|b||"),
        // One piece ends in a half and begins with another.
        (
            &[r#"{"text":"\ud83d"}"#, r#"{"text":"\ude00\ud83d"}"#, r#"{"text":"\ude01"}"#],
            "||😀😁||",
        ),
        // Other events in between.
        (&[r#"{"text":"\ud83d"}"#, ": alive", r#"{"n":1}"#, r#"{"text":"\ude00"}"#], "|||😀||"),
        // Halves that stay alone.
        (&[r#"{"text":"a \ud83d"}"#, r#"{"text":"b"}"#], "|a \u{fffd}b||"),
        (&[r#"{"text":"\ude00 b"}"#], "\u{fffd} b||"),
        (&[r#"{"text":"a \ud83d"}"#], "|a \u{fffd}|"),
        (
            &[r#"{"text":"a \udc00\ud83d b"}"#, r#"{"text":"\ude00"}"#],
            "a \u{fffd}\u{fffd} b|\u{fffd}||",
        ),
        (&[r#"{"text":"\ud83d\ud83d\ude00"}"#, r#"{"text":"c"}"#], "\u{fffd}😀|c||"),
        // Whole pairs and escaped backslashes are no halves.
        (&[r#"{"text":"\ud83d\ude00 \\ud83d"}"#, r#"{"text":"c"}"#], "😀 \\ud83d|c||"),
    ];
    for (events, expected) in table {
        assert_eq!(text_of(events), *expected, "{events:?}");
    }
}

#[test]
fn event_decoder_joins_halves_at_the_same_place_only() {
    let take = |events: &[&str]| {
        let (mut kept, mut decoder) = (KeptEvents::default(), EventDecoder::default());
        for event in events {
            decoder.take_data(&mut kept, event, false).unwrap();
        }
        decoder.release_held(&mut kept).unwrap();
        kept.0
    };
    let others = take(&[r#"{"text":"a \ud83d","id":"x"}"#, r#"{"thought":"\ude00","text":"b"}"#]);
    let expected =
        [json!({ "text": "a \u{fffd}", "id": "x" }), json!({ "thought": "\u{fffd}", "text": "b" })];
    assert_eq!(others, expected);
    let parts = take(&[r#"{"parts":[{"text":"a \ud83d"},{"text":"\ude00 b"}]}"#]);
    assert_eq!(parts, [json!({ "parts": [{ "text": "a " }, { "text": "😀 b" }] })]);
    let held = take(&[r#"{"a":"\ud83d"}"#, "{\"n\":1}", "{\"n\":2}", "{\"n\":3}", "{\"n\":4}"]);
    assert_eq!((held.len(), &held[0]), (5, &json!({ "a": "\u{fffd}" })));
}

#[test]
fn event_decoder_reads_json_with_faults() {
    let mut kept = KeptEvents::default();
    let mut decoder = EventDecoder::default();
    for data in [
        r#"{"a": NaN, "a": 2}"#,
        "{\"a\": \"one\ntwo\"}",
        r#"{"a": 1}{"a": 2}"#,
        r#"[{"a": 1}, null, {"a": 2}]"#,
        "{\"a\": 1}\n{\"a\": 2}",
        "[DONE]",
        "\"text\"",
        ": OPENROUTER PROCESSING",
    ] {
        drop(decoder.take_data(&mut kept, data, false));
    }
    let (one, two) = (json!({ "a": 1 }), json!({ "a": 2 }));
    let lines = json!({ "a": "one\ntwo" });
    let expected = [&two, &lines, &one, &two, &one, &two, &one, &two];
    assert_eq!(kept.0.iter().collect::<Vec<_>>(), expected);
    let unreadable = decoder.take_data(&mut kept, "{\"a\": }", false).unwrap_err();
    assert!(matches!(unreadable, AnswerError::Unreadable(_)));
}

#[test]
fn event_decoder_finds_errors_in_all_formats() {
    let fails = |data: &str, is_error: bool| {
        EventDecoder::default().take_data(&mut KeptEvents::default(), data, is_error).unwrap_err()
    };
    let status = |status, says: &str| AnswerError::Status(status, says.to_owned());
    let middle = |says: &str| AnswerError::Unreadable(format!("it failed in the middle: {says}"));
    let table = [
        (r#"{"error": {"code": 500, "message": "oops"}}"#, false, status(500, "oops")),
        (r#"{"error": "oops"}"#, false, middle("oops")),
        (
            r#"{"error": {"code": "insufficient_quota"}}"#,
            false,
            status(402, "it failed (insufficient_quota)"),
        ),
        (r#"{"object": "error", "message": "oops", "code": 500}"#, false, status(500, "oops")),
        (r#"{"type": "error", "message": "oops", "status": "503"}"#, false, status(503, "oops")),
        (r#"{"detail": "oops"}"#, false, middle("oops")),
        (r#"{"detail": [{"loc": [], "msg": "oops"}]}"#, false, middle("oops")),
        (r#"{"message": "oops", "status": 500}"#, true, status(500, "oops")),
        (r#"{"message": "oops"}"#, false, middle("oops")),
        (r#"{"base_resp": {"status_code": 1008, "status_msg": "oops"}}"#, false, middle("oops")),
        ("oops", true, middle("oops")),
    ];
    for (data, is_error, expected) in table {
        assert_eq!(fails(data, is_error), expected, "{data}");
    }
    for data in [
        r#"{"error": ""}"#,
        r#"{"error": {}}"#,
        r#"{"error": false}"#,
        r#"{"error": 0}"#,
        r#"{"error": null, "message": {"content": "so"}}"#,
        r#"{"error": {"message": "", "code": null}}"#,
        r#"{"detail": "high", "choices": [{"delta": {"content": "so"}}]}"#,
        r#"{"type": "ping"}"#,
    ] {
        assert!(
            EventDecoder::default().take_data(&mut KeptEvents::default(), data, false).is_ok(),
            "{data}"
        );
    }
}
