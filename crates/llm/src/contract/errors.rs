//! Permanent errors have the right type and are returned without a retry.

use std::sync::Arc;

use avocet_protocol::model::ModelError;
use avocet_testkit::ModelAnswer;
use avocet_testkit::http::{HttpFake, Piece};

use super::server::{WireModel, ask_once};
use super::{
    AnswerBit, ModelSetup, ProviderWire, StreamEnd, WireAbility, has_ability, refused_answer,
    streamed_answer,
};
use crate::testing::ask_model;

/// Checks that an error has the right type for a status.
fn has_meaning(status: u16, error: &ModelError) -> bool {
    match status {
        400 | 402 | 404 => matches!(error, ModelError::Refused { .. }),
        401 | 403 => matches!(error, ModelError::Unauthorized { .. }),
        413 => matches!(error, ModelError::TooLong { .. }),
        _ => matches!(error, ModelError::Busy { .. }),
    }
}

pub(super) async fn complete_returns_a_refusal_with_its_text_and_does_not_retry<W: ProviderWire>() {
    for status in [400, 401, 402, 403, 404, 413] {
        let served = WireModel::<W>::new(vec![refused_answer::<W>(status, "not like this")]).await;
        let error = ask_model(served.model.as_ref()).await.reply.unwrap_err();
        assert!(has_meaning(status, &error) && !error.is_transient(), "{error:?}");
        let says = format!("{status}: not like this");
        assert!(error.to_string().contains(&says) && error.to_string().contains(W::NAME));
        assert_eq!(served.server.accepted_requests().len(), 1);
    }
    let window_of =
        async |says: &str| match ask_once::<W>(refused_answer::<W>(400, says)).await.reply {
            Err(ModelError::TooLong { window, .. }) => window,
            other => panic!("{says}: {other:?}"),
        };
    // A window comes from the refusal if it names one, and from no other number.
    assert_eq!(window_of("maximum context length is 8192 tokens").await, Some(8192));
    assert_eq!(window_of("prompt is too long: 9999 tokens").await, None);
    let page = ModelAnswer::Status(400, Vec::new(), "<html>\n  Oops.\n</html>".to_owned());
    let error = ask_once::<W>(page).await.reply.unwrap_err().to_string();
    assert_eq!(error, format!("{} refused the request: 400: a web page", W::NAME));
}

pub(super) async fn complete_returns_too_long_for_an_exceeded_context_with_any_status<
    W: ProviderWire,
>() {
    let says = "the request exceeds the available context size, try increasing it";
    let answers = [
        refused_answer::<W>(400, says),
        refused_answer::<W>(500, says),
        streamed_answer::<W>(&[AnswerBit::Text("so ")], StreamEnd::Failed(500, says)),
    ];
    for answer in answers {
        let served = WireModel::<W>::new(vec![answer]).await;
        let error = ask_model(served.model.as_ref()).await.reply.unwrap_err();
        assert!(matches!(error, ModelError::TooLong { .. }), "{error:?}");
        assert_eq!(served.server.accepted_requests().len(), 1);
    }
    let failed = refused_answer::<W>(500, "no memory for a context window of this size");
    assert!(ask_once::<W>(failed).await.reply.unwrap_err().is_transient());
}

pub(super) async fn complete_maps_an_error_within_a_stream_like_its_status<W: ProviderWire>() {
    let statuses = [400, 402, 413, 429, 500, 529];
    for status in if has_ability::<W>(WireAbility::LateStatus) { &statuses[..] } else { &[500] } {
        let status = *status;
        let failed = streamed_answer::<W>(
            &[AnswerBit::Text("so ")],
            StreamEnd::Failed(status, "not like this"),
        );
        let error = ask_once::<W>(failed).await.reply.unwrap_err();
        assert!(has_meaning(status, &error), "{status}: {error:?}");
        assert!(error.to_string().contains("not like this"), "{error}");
    }
}

pub(super) async fn complete_refuses_a_wholly_filtered_answer_and_does_not_retry<
    W: ProviderWire,
>() {
    if !has_ability::<W>(WireAbility::Filters) {
        return;
    }
    for bits in [&[][..], &[AnswerBit::Thought("hm")]] {
        let served =
            WireModel::<W>::new(vec![streamed_answer::<W>(bits, StreamEnd::Filtered)]).await;
        let error = ask_model(served.model.as_ref()).await.reply.unwrap_err();
        assert!(matches!(error, ModelError::Refused { .. }), "{error:?}");
        assert!(error.to_string().contains("the model refuses to answer this"), "{error}");
        assert_eq!(served.server.accepted_requests().len(), 1);
    }
}

pub(super) async fn complete_with_a_wrong_key_is_unauthorized<W: ProviderWire>() {
    let setup = ModelSetup { key: "another", ..ModelSetup::without_retries::<W>() };
    let served = WireModel::<W>::start(vec![ModelAnswer::says("ok")], setup).await;
    let error = ask_model(served.model.as_ref()).await.reply.unwrap_err();
    assert!(matches!(error, ModelError::Unauthorized { .. }), "{error:?}");
    assert_eq!(
        (served.server.accepted_requests().len(), served.server.refusal_reasons().len()),
        (0, 1)
    );
}

pub(super) async fn f15_complete_shows_the_key_in_no_error<W: ProviderWire>() {
    let repeated = format!("wrong key: {}", W::KEY);
    let wordy = [
        refused_answer::<W>(401, &repeated),
        ModelAnswer::Status(500, Vec::new(), repeated.clone()),
        streamed_answer::<W>(&[AnswerBit::Text("so ")], StreamEnd::Failed(500, &repeated)),
    ];
    for answer in wordy {
        let error = ask_once::<W>(answer).await.reply.unwrap_err();
        assert!(!format!("{error} {error:?}").contains(W::KEY), "{error}");
        assert!(error.to_string().contains("[secret]"), "{error}");
    }
    let closed = HttpFake::start(|_| vec![Piece::Close]).await.address();
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [closed.to_string(), unused.to_string(), "no host".to_owned()] {
        let base_url = format!("http://{address}/{}", W::KEY);
        let model = W::create_model(base_url, &ModelSetup::without_retries::<W>(), Arc::default());
        let error = ask_model(model.as_ref()).await.reply.unwrap_err();
        assert!(!format!("{error} {error:?}").contains(W::KEY), "{error:?}");
        assert!(error.to_string().starts_with(W::NAME), "{error}");
    }
}
