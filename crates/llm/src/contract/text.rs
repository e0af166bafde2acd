//! Text: shown while it streams, independent of the division into pieces, with token counts, and
//! without hidden parts.

use avocet_protocol::model::{Spent, Usage};
use avocet_testkit::ModelAnswer;
use serde_json::json;

use super::server::{WireModel, ask_once, reply_of};
use super::{
    AnswerBit, ModelSetup, ProviderWire, StreamEnd, WireAbility, at_once, has_ability,
    streamed_answer, wire_head,
};
use crate::testing::{ask_model, cut_up, tool_call};

pub(super) async fn complete_streams_the_text_and_counts_its_tokens<W: ProviderWire>() {
    const TEXT: &str = "all of it, word for word";
    let asked = ask_once::<W>(ModelAnswer::says(TEXT)).await;
    let reply = asked.reply.unwrap();
    assert_eq!((reply.text.as_str(), asked.shown.as_str()), (TEXT, TEXT));
    assert!(!reply.truncated && reply.calls.is_empty() && reply.reasoning.is_none());
    let spent = Spent { model: W::NAME.to_owned(), usage: W::USAGE, cost: None };
    assert_eq!(reply.spent, [spent]);
}

/// An answer with text and a call, with multi-byte characters.
fn mixed_bits() -> [AnswerBit<'static>; 4] {
    let end = AnswerBit::Arguments(0, "\"é\"}");
    [
        AnswerBit::Text("grün 😀 "),
        AnswerBit::Call(0, Some("a"), "one"),
        AnswerBit::Arguments(0, "{\"ü\":"),
        end,
    ]
}

pub(super) async fn complete_returns_the_same_reply_wherever_the_stream_is_cut<W: ProviderWire>() {
    let stream = W::answer_events(&mixed_bits(), StreamEnd::Done).concat().into_bytes();
    let mut answers: Vec<ModelAnswer> = (1..stream.len())
        .map(|place| cut_up(wire_head::<W>(), &stream, &[place, stream.len()]))
        .collect();
    answers.push(cut_up(wire_head::<W>(), &stream, &[1]));
    let times = answers.len();
    let served = WireModel::<W>::start(answers, ModelSetup::without_retries::<W>()).await;
    for place in 0..times {
        let asked = ask_model(served.model.as_ref()).await;
        let reply = asked.reply.unwrap();
        assert_eq!(
            (reply.text.as_str(), asked.shown.as_str()),
            ("grün 😀 ", "grün 😀 "),
            "{place}"
        );
        assert_eq!(reply.calls, [tool_call("one", &json!({ "ü": "é" }))], "{place}");
    }
}

pub(super) async fn complete_fails_transiently_if_the_network_cuts_the_answer_off<
    W: ProviderWire,
>() {
    let stream = W::answer_events(&mixed_bits(), StreamEnd::Done).concat().into_bytes();
    let answers: Vec<ModelAnswer> = (0..stream.len())
        .map(|end| cut_up(wire_head::<W>(), &stream[..end], &[stream.len()]))
        .collect();
    let served = WireModel::<W>::start(answers, ModelSetup::without_retries::<W>()).await;
    let mut cut_off = 0;
    for end in 0..stream.len() {
        let asked = ask_model(served.model.as_ref()).await;
        assert!("grün 😀 ".starts_with(&asked.shown), "{end}: {}", asked.shown);
        match asked.reply {
            Err(error) => {
                assert!(error.is_transient(), "{end}: {error}");
                cut_off = end;
            }
            // Only data after the finish reason was missing.
            Ok(reply) => assert_eq!(reply.calls, [tool_call("one", &json!({ "ü": "é" }))], "{end}"),
        }
    }
    assert!(cut_off > stream.len() / 2, "{cut_off} of {}", stream.len());
}

pub(super) async fn complete_reads_an_answer_without_a_stream<W: ProviderWire>() {
    let cached = if has_ability::<W>(WireAbility::CountedCache) { 3 } else { 0 };
    let usage = Usage { cached, ..Usage::new(10, 2) };
    let whole = W::whole_answer("hello", Some(("one", json!({ "x": 1 }))), Some(usage));
    let asked = ask_once::<W>(at_once(&whole)).await;
    let reply = asked.reply.unwrap();
    assert_eq!((reply.text.as_str(), asked.shown.as_str()), ("hello", "hello"));
    assert_eq!(reply.calls, [tool_call("one", &json!({ "x": 1 }))]);
    assert_eq!(reply.usage(), usage);
}

pub(super) async fn complete_estimates_tokens_that_the_server_does_not_count<W: ProviderWire>() {
    let uncounted = [
        streamed_answer::<W>(&[AnswerBit::Text("12345678")], StreamEnd::Done),
        at_once(&W::whole_answer("12345678", None, None)),
    ];
    for answer in uncounted {
        let usage = reply_of::<W>(answer).await.usage();
        assert!(usage.output == 2 && usage.input > 50, "{usage:?}");
        assert_eq!((usage.cached, usage.cache_written), (0, 0));
    }
    let called = AnswerBit::Whole(0, "look", json!({ "at": 1 }));
    let all = [
        AnswerBit::Thought("I reason."),
        AnswerBit::Thought("So."),
        AnswerBit::Text("1234"),
        called,
    ];
    let bytes = "I reason.So.1234look{\"at\":1}".len() as u64;
    assert_eq!(
        reply_of::<W>(streamed_answer::<W>(&all, StreamEnd::Done)).await.usage().output,
        bytes / 4
    );
}

pub(super) async fn f22_complete_counts_reasoning_and_keeps_it_out_of_the_reply<W: ProviderWire>() {
    let words = ["I ", "reason.</thi", "nk>\n\nIt is `<thi", "nk>`.<|im_", "end|>"];
    let asked_once =
        ask_once::<W>(streamed_answer::<W>(&words.map(AnswerBit::Text), StreamEnd::Done)).await;
    let reply = asked_once.reply.unwrap();
    assert_eq!(reply.text, "It is `<think>`.");
    assert_eq!(asked_once.shown, "I reason.<It is `<think>`.", "taken back once it was known");
    assert_eq!(reply.usage().output, words.concat().len() as u64 / 4);

    let thoughts =
        [AnswerBit::Thought("I "), AnswerBit::Thought("reason."), AnswerBit::Text("It is.")];
    let in_their_place = ask_once::<W>(streamed_answer::<W>(&thoughts, StreamEnd::Done)).await;
    let text = in_their_place.reply.unwrap().text;
    assert_eq!((text.as_str(), in_their_place.shown.as_str()), ("It is.", "It is."));

    let whole = ask_once::<W>(at_once(&W::whole_answer(&words.concat(), None, None))).await;
    let text = whole.reply.unwrap().text;
    assert_eq!((text.as_str(), whole.shown.as_str()), ("It is `<think>`.", "It is `<think>`."));
}

pub(super) async fn complete_shows_thoughts_apart_from_the_text<W: ProviderWire>() {
    let in_tags = ["<thi", "nk>I ", "reason.</think>", "It is."].map(AnswerBit::Text);
    let asked_once = ask_once::<W>(streamed_answer::<W>(&in_tags, StreamEnd::Done)).await;
    assert_eq!((&*asked_once.thoughts, &*asked_once.shown), ("I reason.", "It is."));

    let none = ask_once::<W>(ModelAnswer::says("It is.")).await;
    assert_eq!((&*none.thoughts, &*none.shown), ("", "It is."));
    if !has_ability::<W>(WireAbility::ShownThoughts) {
        return;
    }
    let in_place =
        [AnswerBit::Thought("I "), AnswerBit::Thought("reason."), AnswerBit::Text("It is.")];
    let asked_once = ask_once::<W>(streamed_answer::<W>(&in_place, StreamEnd::Done)).await;
    assert_eq!((&*asked_once.thoughts, &*asked_once.shown), ("I reason.", "It is."));
}

pub(super) async fn f40_complete_returns_an_empty_text_for_an_answer_without_text<
    W: ProviderWire,
>() {
    let answers = [
        streamed_answer::<W>(&[], StreamEnd::Done),
        ModelAnswer::says(""),
        streamed_answer::<W>(&[AnswerBit::Text("<think>what now</think>\n")], StreamEnd::Done),
        streamed_answer::<W>(&[AnswerBit::Thought("what now")], StreamEnd::Done),
        ModelAnswer::thinks("what now", ModelAnswer::says("")),
        at_once(&W::whole_answer("", None, None)),
    ];
    for answer in answers {
        let asked = ask_once::<W>(answer).await;
        let reply = asked.reply.unwrap();
        assert_eq!((reply.text.as_str(), asked.shown.as_str()), ("", ""));
        assert!(reply.calls.is_empty() && !reply.truncated);
    }
}
