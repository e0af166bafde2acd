//! Timeouts (F20): a slow model may finish, a silent one is stopped. The tests control the clock.

use std::sync::Arc;

use avocet_protocol::model::{ModelError, ModelReply};
use avocet_testkit::http::Piece;
use avocet_testkit::{ManualClock, ModelAnswer};
use serde_json::json;

use super::server::WireModel;
use super::{AnswerBit, ModelSetup, ProviderWire, StreamEnd, wire_head};
use crate::testing::{
    SECOND, WritingServer, ask_for_ever, ask_model, ask_through_drops, ask_with_retries,
    dripping_answer,
};

pub(super) async fn f20_complete_without_a_server_is_unreachable_without_waiting<
    W: ProviderWire,
>() {
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (clock, setup) =
        (Arc::<ManualClock>::default(), ModelSetup { retries: 1, ..ModelSetup::from_wire::<W>() });
    let model = W::create_model(format!("http://{address}"), &setup, clock.clone());
    model.facts().await;
    // Only the delay before the retry takes time.
    let error = ask_with_retries(model.as_ref(), &clock, 1).await.reply.unwrap_err();
    assert!(matches!(error, ModelError::Unreachable { .. }), "{error:?}");
}

pub(super) async fn f20_complete_times_out_at_a_silent_model_with_a_live_connection<
    W: ProviderWire,
>() {
    let chunk = |event: &String| Piece::chunk(event.as_bytes());
    let greeting: Vec<Piece> = W::greeting_events().iter().map(chunk).collect();
    let alive = [chunk(&W::keep_alive_event()), chunk(&W::keep_alive_event())];
    let said: Vec<Piece> =
        W::answer_events(&[AnswerBit::Text("one ")], StreamEnd::Lost).iter().map(chunk).collect();
    let head = [wire_head::<W>()];
    let (begins, falls) = ("no answer began within 120 s", "no data arrived any more within 60 s");
    let greeted = [&head[..], &greeting].concat();
    // The pieces at the start, the pieces after half of the timeout, and the expected result.
    let table = [
        (vec![], vec![], 120, begins, ""),
        (vec![], head.to_vec(), 120, begins, ""),
        (head.to_vec(), greeting.clone(), 120, begins, ""),
        (greeted, alive.to_vec(), 120, begins, ""),
        ([&head[..], &said].concat(), alive.to_vec(), 60, falls, "one "),
        ([&head[..], &said].concat(), greeting, 60, falls, "one "),
    ];
    for (first, later, seconds, detail, shown) in table {
        let limit = seconds * SECOND;
        let (answer, mut written) = WritingServer::begin_answer(first);
        let served = WireModel::<W>::start(vec![answer], ModelSetup::without_retries::<W>()).await;
        let passing = async {
            written.write_all().await;
            served.clock.sleeper_within(limit..=limit).await;
            served.clock.advance(limit / 2);
            written.write_more(later).await;
            written.write_all().await;
            served.clock.advance(limit / 2);
        };
        let asked = tokio::join!(ask_model(served.model.as_ref()), passing).0;
        let error = asked.reply.unwrap_err().to_string();
        assert_eq!(error, format!("{} did not answer in time: {detail}", W::NAME));
        assert_eq!(asked.shown, shown);
    }
}

pub(super) async fn f20_complete_counts_reasoning_and_calls_as_activity<W: ProviderWire>() {
    let written = [AnswerBit::Thought("hm"), AnswerBit::Whole(0, "one", json!({}))];
    for bit in written {
        let begun = W::answer_events(&[bit], StreamEnd::Lost).concat();
        let pieces = vec![wire_head::<W>(), Piece::chunk(begun.as_bytes())];
        let (answer, mut written) = WritingServer::begin_answer(pieces);
        let served = WireModel::<W>::start(vec![answer], ModelSetup::without_retries::<W>()).await;
        let passing = async {
            written.write_all().await;
            served.clock.sleeper_within(60 * SECOND..=60 * SECOND).await;
            served.clock.advance(60 * SECOND);
        };
        let error = tokio::join!(ask_model(served.model.as_ref()), passing).0.reply.unwrap_err();
        assert!(error.to_string().contains("no data arrived any more"), "{error}");
    }
}

pub(super) async fn f20_complete_returns_a_whole_answer_before_its_connection_ends<
    W: ProviderWire,
>() {
    let body = W::answer_events(&[AnswerBit::Text("all of it")], StreamEnd::Done).concat();
    let pieces = vec![wire_head::<W>(), Piece::chunk(body.as_bytes()), Piece::Hang];
    let served =
        WireModel::<W>::start(vec![ModelAnswer::Raw(pieces)], ModelSetup::without_retries::<W>())
            .await;
    let asked = ask_for_ever(served.model.as_ref(), &served.clock).await;
    assert_eq!(asked.reply.unwrap().text, "all of it");
}

pub(super) async fn f20_complete_ends_a_slow_but_active_model_only_at_the_total_timeout<
    W: ProviderWire,
>() {
    assert_eq!(dripped_reply::<W>(40, 20).await.unwrap().text, "word ".repeat(20));
    let error = dripped_reply::<W>(50, 18).await.unwrap_err().to_string();
    let late = "did not answer in time: it did not end within 900 s";
    assert_eq!(error, format!("{} {late}", W::NAME));
}

/// The reply of a model that sends twenty words, the first `words` of them `seconds` apart.
async fn dripped_reply<W: ProviderWire>(
    seconds: u32,
    words: usize,
) -> Result<ModelReply, ModelError> {
    let events = W::answer_events(&vec![AnswerBit::Text("word "); 20], StreamEnd::Done);
    // Data before the first word arrives with it. Data after the last word arrives in one piece.
    let first = events.iter().position(|event| event.contains("word ")).unwrap();
    let last = events.iter().rposition(|event| event.contains("word ")).unwrap();
    let drops = [&[events[..=first].concat()], &events[first + 1..=last]].concat();
    let drops = [&drops[..], &[events[last + 1..].concat()]].concat();
    let (answer, permits) = dripping_answer(wire_head::<W>(), &drops);
    let setup = ModelSetup { first_token_seconds: 60, ..ModelSetup::without_retries::<W>() };
    let served = WireModel::<W>::start(vec![answer], setup).await;
    let model = served.model.as_ref();
    ask_through_drops(model, &served.clock, &permits, seconds, words).await.reply
}
