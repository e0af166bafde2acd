//! Permanent errors have the right type and are returned without a retry.

use std::sync::Arc;

use avocet_protocol::ModelError;
use avocet_testkit::ModelAnswer;
use avocet_testkit::http::{HttpFake, Piece};

use super::server::{Served, asked};
use super::{Ability, Bit, Setup, StreamEnd, Wire, can, refused, streamed};
use crate::testing::ask;

/// Checks that an error has the right type for a status.
fn meaning(status: u16, error: &ModelError) -> bool {
    match status {
        400 | 402 | 404 => matches!(error, ModelError::Refused { .. }),
        401 | 403 => matches!(error, ModelError::Unauthorized { .. }),
        413 => matches!(error, ModelError::TooLong { .. }),
        _ => matches!(error, ModelError::Busy { .. }),
    }
}

pub(super) async fn complete_returns_a_refusal_with_its_text_and_does_not_retry<W: Wire>() {
    for status in [400, 401, 402, 403, 404, 413] {
        let served = Served::<W>::new(vec![refused::<W>(status, "not like this")]).await;
        let error = ask(served.model.as_ref()).await.reply.unwrap_err();
        assert!(meaning(status, &error) && !error.is_transient(), "{error:?}");
        let says = format!("{status}: not like this");
        assert!(error.to_string().contains(&says) && error.to_string().contains(W::NAME));
        assert_eq!(served.server.requests().len(), 1);
    }
    let window_of = async |says: &str| match asked::<W>(refused::<W>(400, says)).await.reply {
        Err(ModelError::TooLong { window, .. }) => window,
        other => panic!("{says}: {other:?}"),
    };
    // A window comes from the refusal if it names one, and from no other number.
    assert_eq!(window_of("maximum context length is 8192 tokens").await, Some(8192));
    assert_eq!(window_of("prompt is too long: 9999 tokens").await, None);
    let page = ModelAnswer::Status(400, Vec::new(), "<html>\n  Oops.\n</html>".to_owned());
    let error = asked::<W>(page).await.reply.unwrap_err().to_string();
    assert_eq!(error, format!("{} refused the request: 400: a web page", W::NAME));
}

pub(super) async fn complete_returns_too_long_for_an_exceeded_context_with_any_status<W: Wire>() {
    let says = "the request exceeds the available context size, try increasing it";
    let answers = [
        refused::<W>(400, says),
        refused::<W>(500, says),
        streamed::<W>(&[Bit::Text("so ")], StreamEnd::Failed(500, says)),
    ];
    for answer in answers {
        let served = Served::<W>::new(vec![answer]).await;
        let error = ask(served.model.as_ref()).await.reply.unwrap_err();
        assert!(matches!(error, ModelError::TooLong { .. }), "{error:?}");
        assert_eq!(served.server.requests().len(), 1);
    }
    let failed = refused::<W>(500, "no memory for a context window of this size");
    assert!(asked::<W>(failed).await.reply.unwrap_err().is_transient());
}

pub(super) async fn complete_maps_an_error_within_a_stream_like_its_status<W: Wire>() {
    let statuses = [400, 402, 413, 429, 500, 529];
    for status in if can::<W>(Ability::LateStatus) { &statuses[..] } else { &[500] } {
        let status = *status;
        let failed = streamed::<W>(&[Bit::Text("so ")], StreamEnd::Failed(status, "not like this"));
        let error = asked::<W>(failed).await.reply.unwrap_err();
        assert!(meaning(status, &error), "{status}: {error:?}");
        assert!(error.to_string().contains("not like this"), "{error}");
    }
}

pub(super) async fn complete_refuses_a_wholly_filtered_answer_and_does_not_retry<W: Wire>() {
    if !can::<W>(Ability::Filters) {
        return;
    }
    for bits in [&[][..], &[Bit::Thought("hm")]] {
        let served = Served::<W>::new(vec![streamed::<W>(bits, StreamEnd::Filtered)]).await;
        let error = ask(served.model.as_ref()).await.reply.unwrap_err();
        assert!(matches!(error, ModelError::Refused { .. }), "{error:?}");
        assert!(error.to_string().contains("the model refuses to answer this"), "{error}");
        assert_eq!(served.server.requests().len(), 1);
    }
}

pub(super) async fn complete_with_a_wrong_key_is_unauthorized<W: Wire>() {
    let setup = Setup { key: "another", ..Setup::once::<W>() };
    let served = Served::<W>::start(vec![ModelAnswer::says("ok")], setup).await;
    let error = ask(served.model.as_ref()).await.reply.unwrap_err();
    assert!(matches!(error, ModelError::Unauthorized { .. }), "{error:?}");
    assert_eq!((served.server.requests().len(), served.server.refusals().len()), (0, 1));
}

pub(super) async fn f15_complete_shows_the_key_in_no_error<W: Wire>() {
    let repeated = format!("wrong key: {}", W::KEY);
    let wordy = [
        refused::<W>(401, &repeated),
        ModelAnswer::Status(500, Vec::new(), repeated.clone()),
        streamed::<W>(&[Bit::Text("so ")], StreamEnd::Failed(500, &repeated)),
    ];
    for answer in wordy {
        let error = asked::<W>(answer).await.reply.unwrap_err();
        assert!(!format!("{error} {error:?}").contains(W::KEY), "{error}");
        assert!(error.to_string().contains("[secret]"), "{error}");
    }
    let closed = HttpFake::start(|_| vec![Piece::Close]).await.address();
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [closed.to_string(), unused.to_string(), "no host".to_owned()] {
        let base_url = format!("http://{address}/{}", W::KEY);
        let model = W::model(base_url, &Setup::once::<W>(), Arc::default());
        let error = ask(model.as_ref()).await.reply.unwrap_err();
        assert!(!format!("{error} {error:?}").contains(W::KEY), "{error:?}");
        assert!(error.to_string().starts_with(W::NAME), "{error}");
    }
}
