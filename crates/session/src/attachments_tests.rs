//! Tests of attachments, from the message to the request.

use super::*;

const JPEG: &[u8] = b"\xff\xd8\xff\xe0";

fn photo(reference: &str) -> Vec<Attachment> {
    let source = AttachmentSource::Platform(reference.to_owned());
    vec![Attachment::new(AttachmentKind::Image, source)]
}

#[tokio::test]
async fn attachments_are_saved_before_the_request_and_shown_unchanged_later() {
    let harness = SessionHarness::new(parrot()).await;
    harness.channel.keep("f", [OnFetch::Give(JPEG.to_vec())]);
    harness.say_with("a", "look", photo("f")).await;
    let line = "look\n[image: 4 bytes, saved as inbox/m1-0.jpg]";
    assert_eq!(harness.channel.texts(1).await, [line]);
    assert_eq!(harness.setup.files.get("inbox/m1-0.jpg").as_deref(), Some(JPEG));
    harness.say("and now?").await;
    let requests = harness.asked(2).await;
    let [first, second] = [0, 1].map(|number| requests[number].messages.iter().take(2));
    assert!(first.eq(second), "F33: {requests:?}");
    assert_eq!(harness.channel.fetches(1).await, 1);
}

#[tokio::test]
async fn sender_of_a_picture_that_models_do_not_accept_is_told_so() {
    let harness = SessionHarness::new(parrot()).await;
    let heic = include_bytes!("../../protocol/src/testdata/heic.bin");
    harness.channel.keep("f", [OnFetch::Give(heic.to_vec())]);
    harness.say_with("a", "look", photo("f")).await;
    let line = "look\n[document: 100 bytes, saved as inbox/m1-0.heic, a picture in the format HEIC, \
        which you cannot see]\n\n[I cannot see pictures in the format HEIC. Please send them as \
        JPEG, PNG, GIF or WebP. With ImageMagick, libheif or FFmpeg on its machine, Avocet converts \
        them.]";
    assert_eq!(harness.channel.texts(1).await, [line]);
}

#[tokio::test]
async fn fetch_interrupted_by_a_crash_is_repeated_and_answered_once() {
    let harness = SessionHarness::new(parrot()).await;
    harness.channel.keep("f", [OnFetch::Hang, OnFetch::Give(JPEG.to_vec())]);
    let id = harness.say_with("a", "look", photo("f")).await.id;
    harness.channel.fetches(1).await;
    let harness = harness.restart(parrot()).await;
    let said = harness.channel.texts(1).await;
    assert_eq!(said, ["look\n[image: 4 bytes, saved as inbox/m1-0.jpg]"]);
    assert_eq!(harness.outcome(id).await, Some(Outcome::Replied));
    assert_eq!(harness.asked(1).await.len(), 1);
}

#[tokio::test]
async fn stop_ends_a_turn_that_fetches_an_attachment() {
    let harness = SessionHarness::new(parrot()).await;
    harness.channel.keep("f", [OnFetch::Hang]);
    let id = harness.say_with("a", "look", photo("f")).await.id;
    harness.channel.fetches(1).await;
    harness.say("/stop").await;
    harness.channel.taken(1).await;
    harness.idle().await;
    assert_eq!(harness.outcome(id).await, Some(Outcome::Stopped));
}

#[tokio::test]
async fn attachments_of_a_steering_message_are_saved_before_the_next_request() {
    let permits = Arc::new(Semaphore::new(0));
    let held = permits.clone();
    let model = ScriptedModel::answering(move |request| match last_said(request) {
        "go" => {
            let call = Scripted::calls(&[("echo", json!({}))]);
            Scripted::When(held.clone(), Box::new(call))
        }
        text => Scripted::says(text),
    });
    let harness = SessionHarness::new(model).await;
    harness.channel.keep("f", [OnFetch::Give(JPEG.to_vec())]);
    harness.say("/queue steer").await;
    harness.channel.taken(1).await;
    harness.say("go").await;
    harness.asked(1).await;
    harness.say_with("a", "look at this", photo("f")).await;
    permits.add_permits(1);
    let said = harness.channel.texts(2).await;
    assert_eq!(said[1], "look at this\n[image: 4 bytes, saved as inbox/m3-0.jpg]");
}
