//! The frame of an answer: the content decides how a body is read, not its media type, and an error
//! in a body with status 200 is an error like any other.

use std::path::Path;

use avocet_protocol::model::ModelError;
use avocet_testkit::ModelAnswer;
use avocet_testkit::http::Piece;

use super::server::{WireModel, ask_once};
use super::{AnswerBit, ModelSetup, ProviderWire, StreamEnd, at_once};
use crate::testing::{ask_model, stream_head};

fn typed_body(media_type: &str, body: &str) -> ModelAnswer {
    let pieces = vec![stream_head(media_type), Piece::chunk(body.as_bytes()), Piece::end()];
    ModelAnswer::Raw(pieces)
}

const MEDIA_TYPES: [&str; 5] = [
    "application/json",
    "application/x-ndjson",
    "text/event-stream",
    "text/html",
    "application/octet-stream",
];

pub(super) async fn complete_reads_an_answer_of_any_media_type<W: ProviderWire>() {
    let stream =
        W::answer_events(&[AnswerBit::Text("so "), AnswerBit::Text("it is")], StreamEnd::Done)
            .concat();
    let whole = W::whole_answer("so it is", None, None);
    let pretty = serde_json::to_string_pretty(&whole).unwrap();
    let answers: Vec<ModelAnswer> = MEDIA_TYPES
        .iter()
        .flat_map(|media_type| {
            [&stream, &whole.to_string(), &pretty].map(|body| typed_body(media_type, body))
        })
        .collect();
    let times = answers.len();
    let served = WireModel::<W>::start(answers, ModelSetup::from_wire::<W>()).await;
    for number in 0..times {
        let asked = ask_model(served.model.as_ref()).await;
        let text = asked.reply.unwrap().text;
        assert_eq!((text.as_str(), asked.shown.as_str()), ("so it is", "so it is"), "{number}");
        assert_eq!(served.server.accepted_requests().len(), number + 1);
    }
}

pub(super) async fn complete_keeps_the_words_of_an_error_with_status_200<W: ProviderWire>() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/errors");
    let mut files = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let body = std::fs::read_to_string(&path).unwrap();
        for media_type in ["text/event-stream", "application/json"] {
            let reply = ask_once::<W>(typed_body(media_type, &body)).await.reply;
            let error = reply.unwrap_err().to_string();
            assert!(error.contains("GPU fell off the bus"), "{}: {error}", path.display());
        }
        files += 1;
    }
    assert!(files >= 5, "{files}");
    let words = typed_body("text/plain", "upstream connect error\n");
    let error = ask_once::<W>(words).await.reply.unwrap_err().to_string();
    assert!(error.contains("upstream connect error"), "{error}");
}

pub(super) async fn complete_returns_too_long_for_an_exceeded_context_with_status_200<
    W: ProviderWire,
>() {
    let says = "request (9000 tokens) exceeds the available context size (8192 tokens)";
    let object = format!(r#"{{"message": "{says}", "type": "exceed_context_size_error"}}"#);
    let bodies = [
        format!("error: {object}\n\n"),
        format!("event: error\ndata: {says}\n\n"),
        format!("data: {{\"error\": {object}}}\n\n"),
        format!("data: {{\"error\": \"{says}\"}}\n\n"),
        format!("{{\"detail\": \"{says}\"}}"),
    ];
    for body in bodies {
        let reply = ask_once::<W>(typed_body("text/event-stream", &body)).await.reply;
        let Err(ModelError::TooLong { window, .. }) = reply else { panic!("{body}: {reply:?}") };
        assert_eq!(window, Some(8192), "{body}");
    }
    // Whole answers are read in the same way.
    let reply = ask_once::<W>(at_once(&W::refusal_body(413, says))).await.reply;
    assert!(matches!(reply, Err(ModelError::TooLong { .. })), "{reply:?}");
}
