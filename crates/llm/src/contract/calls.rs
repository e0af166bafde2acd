//! Tool calls in all formats (F8).

use avocet_protocol::model::Arguments;
use avocet_testkit::ModelAnswer;
use serde_json::{Value, json};

use super::server::{ask_once, reply_of};
use super::{AnswerBit, ProviderWire, StreamEnd, WireAbility, has_ability, streamed_answer};
use crate::testing::tool_call;

pub(super) async fn complete_joins_calls_from_their_pieces<W: ProviderWire>() {
    let read = json!({ "path": "ä", "start_line": 3 });
    let calls = vec![("read_file".to_owned(), read), ("list_directory".to_owned(), json!({}))];
    for calls in [calls[..1].to_vec(), calls] {
        let expected: Vec<_> = calls.iter().map(|(name, given)| tool_call(name, given)).collect();
        let reply = reply_of::<W>(ModelAnswer::Calls(calls)).await;
        assert_eq!(reply.calls, expected);
        assert!(reply.text.is_empty() && !reply.truncated);
    }
}

pub(super) async fn complete_reads_text_and_a_call_of_one_answer<W: ProviderWire>() {
    let bits = [
        AnswerBit::Text("I look"),
        AnswerBit::Call(0, Some("a"), "one"),
        AnswerBit::Arguments(0, "{}"),
    ];
    let asked = ask_once::<W>(streamed_answer::<W>(&bits, StreamEnd::Done)).await;
    let reply = asked.reply.unwrap();
    assert_eq!((reply.text.as_str(), asked.shown.as_str()), ("I look", "I look"));
    assert_eq!(reply.calls, [tool_call("one", &json!({}))]);
}

pub(super) async fn complete_separates_interleaved_pieces_of_calls<W: ProviderWire>() {
    let bits = [
        AnswerBit::Call(0, Some("a"), "one"),
        AnswerBit::Arguments(0, "{\"x\""),
        AnswerBit::Call(1, Some("b"), "two"),
        AnswerBit::Arguments(1, "{\"y\": "),
        AnswerBit::Arguments(0, ": 1}"),
        AnswerBit::Arguments(1, "2}"),
    ];
    expect_both_calls::<W>(&bits).await;
}

pub(super) async fn f8_complete_distinguishes_calls_with_missing_or_equal_ids<W: ProviderWire>() {
    for id in [None, Some(""), Some("a")] {
        let bits = [
            AnswerBit::Call(0, id, "one"),
            AnswerBit::Arguments(0, "{\"x\": 1}"),
            AnswerBit::Call(1, id, "two"),
            AnswerBit::Arguments(1, "{\"y\": 2}"),
        ];
        expect_both_calls::<W>(&bits).await;
    }
}

/// Checks that these pieces give the calls of `one` and of `two`.
async fn expect_both_calls<W: ProviderWire>(bits: &[AnswerBit<'_>]) {
    let expected = [tool_call("one", &json!({ "x": 1 })), tool_call("two", &json!({ "y": 2 }))];
    assert_eq!(
        reply_of::<W>(streamed_answer::<W>(bits, StreamEnd::Done)).await.calls,
        expected,
        "{bits:?}"
    );
}

pub(super) async fn f8_complete_reads_arguments_in_many_forms<W: ProviderWire>() {
    let given = json!({ "x": { "ü": [1] } });
    let table = [
        (given.clone(), given.clone()),
        (json!(given.to_string()), given),
        (json!({}), json!({})),
        (json!("{}"), json!({})),
        (json!(""), json!({})),
        (Value::Null, json!({})),
    ];
    for (sent, expected) in table {
        let bits = [AnswerBit::Whole(0, "one", sent.clone())];
        let calls = reply_of::<W>(streamed_answer::<W>(&bits, StreamEnd::Done)).await.calls;
        assert_eq!(calls, [tool_call("one", &expected)], "{sent}");
    }
    for nothing in [&[][..], &[AnswerBit::Arguments(0, "")]] {
        let bits = [&[AnswerBit::Call(0, Some("a"), "one")][..], nothing].concat();
        let calls = reply_of::<W>(streamed_answer::<W>(&bits, StreamEnd::Done)).await.calls;
        assert_eq!(calls, [tool_call("one", &json!({}))]);
    }
}

pub(super) async fn f8_complete_keeps_complete_calls_of_a_filtered_answer<W: ProviderWire>() {
    if !has_ability::<W>(WireAbility::Filters) {
        return;
    }
    let whole = [AnswerBit::Call(0, Some("a"), "one"), AnswerBit::Arguments(0, "{\"x\": 1}")];
    for half in ["", "{\"y\"", "{\"y\": 2"] {
        let last = [AnswerBit::Call(1, Some("b"), "two"), AnswerBit::Arguments(1, half)];
        let bits = [&[AnswerBit::Text("I look")], &whole[..], &last].concat();
        let asked = ask_once::<W>(streamed_answer::<W>(&bits, StreamEnd::Filtered)).await;
        let reply = asked.reply.unwrap();
        assert_eq!((reply.text.as_str(), asked.shown.as_str()), ("I look", "I look"));
        assert_eq!(reply.calls[0], tool_call("one", &json!({ "x": 1 })));
        assert_eq!(reply.calls[1].arguments, Arguments::Malformed(half.to_owned()));
        assert_eq!((reply.calls.len(), reply.filtered, reply.truncated), (2, true, false));
        let usage = reply.usage();
        assert!(usage.input > 50 && usage.output >= 4, "{usage:?}");
    }
    let reply = reply_of::<W>(streamed_answer::<W>(&whole, StreamEnd::Filtered)).await;
    assert_eq!((reply.calls, reply.filtered), (vec![tool_call("one", &json!({ "x": 1 }))], true));
}

pub(super) async fn f8_complete_returns_a_truncated_call_as_malformed<W: ProviderWire>() {
    for half in ["", "{\"x\"", "{\"x\": \"a", "{\"x\": 1,"] {
        let bits = [AnswerBit::Call(0, Some("a"), "one"), AnswerBit::Arguments(0, half)];
        let reply = reply_of::<W>(streamed_answer::<W>(&bits, StreamEnd::Full)).await;
        assert_eq!(reply.calls[0].arguments, Arguments::Malformed(half.to_owned()));
        assert!(reply.truncated);
    }
    let said =
        reply_of::<W>(streamed_answer::<W>(&[AnswerBit::Text("half an")], StreamEnd::Full)).await;
    assert_eq!((said.text.as_str(), said.truncated), ("half an", true));
}
