//! Pictures, for models that see them.

use avocet_protocol::ModelReply;
use avocet_testkit::ModelAnswer;
use serde_json::Value;

use super::server::Served;
use super::{Bit, Setup, StreamEnd, Wire, streamed};
use crate::testing::with_image;

/// The beginning of the picture, in base64.
const BEGINS: &str = "/9j/4Ac";

pub(super) async fn complete_sends_images_to_a_model_that_supports_them<W: Wire>() {
    for images in [true, false] {
        let setup = Setup { images, ..Setup::of::<W>() };
        let served = Served::<W>::start(vec![ModelAnswer::says("ok")], setup).await;
        assert_eq!(served.model.facts().await.images, images);
    }
    let (_, request) = shown::<W>(ModelAnswer::says("a beach"), 1000).await;
    let sent = request.to_string();
    assert!(sent.contains("look"), "{sent}");
    assert_eq!(sent.matches(BEGINS).count(), 1, "the older one is a line of text only");
}

pub(super) async fn complete_estimates_tokens_of_an_image_by_its_kind_not_its_bytes<W: Wire>() {
    let uncounted = streamed::<W>(&[Bit::Text("a beach")], StreamEnd::Done);
    let (reply, _) = shown::<W>(uncounted, 1_000_000).await;
    assert!((1000..2000).contains(&reply.usage().input), "{:?}", reply.usage());
}

/// The reply to a picture of this many bytes, and the request with it.
async fn shown<W: Wire>(answer: ModelAnswer, bytes: usize) -> (ModelReply, Value) {
    let served = Served::<W>::new(vec![answer]).await;
    let jpeg = [&[0xFF, 0xD8, 0xFF, 0xE0][..], &vec![7; bytes]].concat();
    let reply = served.model.complete(&with_image(&jpeg), &|_| ()).await.unwrap();
    assert_eq!(served.server.refusals(), [""; 0]);
    (reply, served.server.requests().remove(0))
}
