//! Pictures, for models that see them.

use avocet_protocol::model::ModelReply;
use avocet_testkit::ModelAnswer;
use serde_json::Value;

use super::server::WireModel;
use super::{AnswerBit, ModelSetup, ProviderWire, StreamEnd, streamed_answer};
use crate::testing::with_image;

/// The beginning of the picture, in base64.
const BEGINS: &str = "/9j/4Ac";

pub(super) async fn complete_sends_images_to_a_model_that_supports_them<W: ProviderWire>() {
    for images in [true, false] {
        let setup = ModelSetup { images, ..ModelSetup::from_wire::<W>() };
        let served = WireModel::<W>::start(vec![ModelAnswer::says("ok")], setup).await;
        assert_eq!(served.model.facts().await.images, images);
    }
    let (_, request) = reply_to_picture::<W>(ModelAnswer::says("a beach"), 1000).await;
    let sent = request.to_string();
    assert!(sent.contains("look"), "{sent}");
    assert_eq!(sent.matches(BEGINS).count(), 1, "the older one is a line of text only");
}

pub(super) async fn complete_estimates_tokens_of_an_image_by_its_kind_not_its_bytes<
    W: ProviderWire,
>() {
    let uncounted = streamed_answer::<W>(&[AnswerBit::Text("a beach")], StreamEnd::Done);
    let (reply, _) = reply_to_picture::<W>(uncounted, 1_000_000).await;
    assert!((1000..2000).contains(&reply.usage().input), "{:?}", reply.usage());
}

/// The reply to a picture of this many bytes, and the request with it.
async fn reply_to_picture<W: ProviderWire>(
    answer: ModelAnswer,
    bytes: usize,
) -> (ModelReply, Value) {
    let served = WireModel::<W>::new(vec![answer]).await;
    let jpeg = [&[0xFF, 0xD8, 0xFF, 0xE0][..], &vec![7; bytes]].concat();
    let reply = served.model.complete(&with_image(&jpeg), &|_| ()).await.unwrap();
    assert_eq!(served.server.refusal_reasons(), [""; 0]);
    (reply, served.server.accepted_requests().remove(0))
}
