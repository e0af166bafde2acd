//! How long a model may take (F20): a slow one is not cut, a silent one is. Time is the test's.

use std::sync::Arc;

use avocet_protocol::{ModelError, ModelReply};
use avocet_testkit::http::Piece;
use avocet_testkit::openai::stream_head;
use avocet_testkit::{ManualClock, ModelAnswer};

use super::server::Served;
use super::{Bit, End, Setup, Wire};
use crate::testing::{SECOND, ask_patiently, ask_through, ask_through_drops, dripping};

pub(super) async fn f20_nobody_there_is_not_waited_for<W: Wire>() {
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (clock, setup) = (Arc::<ManualClock>::default(), Setup { retries: 1, ..Setup::of::<W>() });
    let model = W::model(format!("http://{address}"), &setup, clock.clone());
    model.facts().await;
    // Nothing but the wait before it is tried again takes time.
    let error = ask_patiently(model.as_ref(), &clock, 1).await.reply.unwrap_err();
    assert!(matches!(error, ModelError::Unreachable { .. }), "{error:?}");
}

pub(super) async fn f20_a_silent_model_is_cut_although_the_connection_lives<W: Wire>() {
    let chunk = |event: &String| Piece::chunk(event.as_bytes());
    let greeting: Vec<Piece> = W::greeting().iter().map(chunk).collect();
    let alive = [chunk(&W::alive()), chunk(&W::alive())];
    let said: Vec<Piece> = W::events(&[Bit::Text("one ")], End::Lost).iter().map(chunk).collect();
    let (head, greeted) = ([stream_head()], [&greeting[..], &alive].concat());
    let table = [
        (vec![], 120, "no answer began within 120 s", ""),
        (head.to_vec(), 120, "no answer began within 120 s", ""),
        ([&head[..], &greeted].concat(), 120, "no answer began within 120 s", ""),
        (
            [&head[..], &said, &alive].concat(),
            60,
            "it fell silent, no more came within 60 s",
            "one ",
        ),
    ];
    for (mut pieces, seconds, detail, shown) in table {
        pieces.push(Piece::Hang);
        let served = Served::<W>::start(vec![ModelAnswer::Raw(pieces)], Setup::once::<W>()).await;
        let asked = ask_through(served.model.as_ref(), &served.clock, seconds * SECOND).await;
        let error = asked.reply.unwrap_err().to_string();
        assert_eq!(error, format!("{} did not answer in time: {detail}", W::NAME));
        assert_eq!(asked.shown, shown);
    }
}

pub(super) async fn f20_a_slow_model_that_keeps_sending_is_not_cut_before_its_total<W: Wire>() {
    assert_eq!(dripped::<W>(40, 20).await.unwrap().text, "word ".repeat(20));
    let error = dripped::<W>(50, 18).await.unwrap_err().to_string();
    let late = "did not answer in time: it did not come to an end within 900 s";
    assert_eq!(error, format!("{} {late}", W::NAME));
}

/// The reply of a model that says twenty words, so many of them so many seconds apart.
async fn dripped<W: Wire>(seconds: u32, words: usize) -> Result<ModelReply, ModelError> {
    let events = W::events(&vec![Bit::Text("word "); 20], End::Done);
    // What comes before the first word comes with it, and what comes after the last at once.
    let first = events.iter().position(|event| event.contains("word ")).unwrap();
    let last = events.iter().rposition(|event| event.contains("word ")).unwrap();
    let drops = [&[events[..=first].concat()], &events[first + 1..=last]].concat();
    let drops = [&drops[..], &[events[last + 1..].concat()]].concat();
    let (answer, permits) = dripping(&drops);
    let setup = Setup { first_token_seconds: 60, ..Setup::once::<W>() };
    let served = Served::<W>::start(vec![answer], setup).await;
    let model = served.model.as_ref();
    ask_through_drops(model, &served.clock, &permits, seconds, words).await.reply
}
