//! Temporary errors: retried, up to a maximum number of attempts (F31).

use avocet_protocol::model::ModelError;
use avocet_testkit::ModelAnswer;
use avocet_testkit::http::Piece;

use super::server::WireModel;
use super::{AnswerBit, ProviderWire, StreamEnd, refused_answer, streamed_answer, wire_head};
use crate::testing::{SECOND, ask_model, ask_through, ask_with_retries};

pub(super) async fn f31_complete_retries_transient_errors_and_restarts_the_shown_text<
    W: ProviderWire,
>() {
    const SO: &[AnswerBit<'_>] = &[AnswerBit::Text("so ")];
    let raw = |pieces: &[Piece]| ModelAnswer::Raw([&[wire_head::<W>()][..], pieces].concat());
    let begun = Piece::chunk(W::answer_events(SO, StreamEnd::Lost).concat().as_bytes());
    let table = [
        (refused_answer::<W>(408, "too slow"), "good"),
        (refused_answer::<W>(429, "slow down"), "good"),
        (refused_answer::<W>(500, "oops"), "good"),
        (refused_answer::<W>(503, "loading"), "good"),
        (refused_answer::<W>(529, "overloaded"), "good"),
        (streamed_answer::<W>(SO, StreamEnd::Failed(429, "slow down")), "so <good"),
        (streamed_answer::<W>(SO, StreamEnd::Failed(500, "out of memory")), "so <good"),
        (streamed_answer::<W>(SO, StreamEnd::Lost), "so <good"),
        (raw(&[begun.clone(), Piece::Reset]), "so <good"),
        (raw(&[begun, Piece::Close]), "so <good"),
        (raw(&[Piece::Reset]), "good"),
        (raw(&[Piece::end()]), "good"),
        (ModelAnswer::Raw(vec![Piece::Close]), "good"),
        (ModelAnswer::Events(vec!["data: no json\n\n".to_owned()]), "good"),
        (super::at_once(&serde_json::json!("what?")), "good"),
    ];
    for (number, (first, shown)) in table.into_iter().enumerate() {
        let served = WireModel::<W>::new(vec![first, ModelAnswer::says("good")]).await;
        let asked = ask_with_retries(served.model.as_ref(), &served.clock, 1).await;
        assert_eq!(asked.reply.unwrap().text, "good", "{number}");
        assert_eq!(asked.shown, shown, "{number}");
        assert_eq!(served.server.accepted_requests().len(), 2, "{number}");
    }
}

pub(super) async fn complete_retries_only_as_often_as_configured<W: ProviderWire>() {
    let served = WireModel::<W>::new(vec![refused_answer::<W>(503, "loading model")]).await;
    let asked = ask_with_retries(served.model.as_ref(), &served.clock, 3).await;
    let error = asked.reply.unwrap_err().to_string();
    assert_eq!(error, format!("{} is busy (503: loading model); try again later", W::NAME));
    assert_eq!(served.server.accepted_requests().len(), 4);
}

pub(super) async fn complete_obeys_retry_after_but_does_not_wait_for_a_long_one<W: ProviderWire>() {
    let after = |seconds: &str| {
        let headers = vec![("retry-after", seconds.to_owned())];
        ModelAnswer::Status(429, headers, "{}".to_owned())
    };
    let served = WireModel::<W>::new(vec![after("30"), ModelAnswer::says("good")]).await;
    let asked = ask_through(served.model.as_ref(), &served.clock, 30 * SECOND).await;
    assert_eq!(asked.reply.unwrap().text, "good");

    let served = WireModel::<W>::new(vec![after("3600")]).await;
    let Err(ModelError::Busy { retry_after, .. }) = ask_model(served.model.as_ref()).await.reply
    else {
        panic!()
    };
    assert_eq!((retry_after, served.server.accepted_requests().len()), (Some(3600 * SECOND), 1));
}
