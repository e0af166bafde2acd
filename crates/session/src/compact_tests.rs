//! Tests of a `/compact` that is stopped, shown, repeated or killed: others go on meanwhile, and
//! notices report only facts.

use avocet_protocol::{Ledger, Timestamp};

use super::*;

const DOING: &str = "I condense what was said before.";

/// A model that greets, and runs `summary` when it is asked for a summary.
fn summarising(summary: impl Fn() -> Scripted + Send + Sync + 'static) -> ScriptedModel {
    ScriptedModel::answering(move |request| match last_said(request) {
        text if text.contains("<conversation>") => summary(),
        _ => Scripted::says(&"hello ".repeat(12)),
    })
}

/// Starts a daemon that is about to compact one answer.
async fn condensing(summary: impl Fn() -> Scripted + Send + Sync + 'static) -> World {
    let world = World::new(summarising(summary)).await;
    world.say("hi").await;
    world.channel.texts(1).await;
    world.say("/compact").await;
    assert_eq!(world.channel.texts(2).await[1], DOING);
    world
}

#[tokio::test]
async fn compact_is_shown_by_status_and_cancelled_by_stop() {
    let world = condensing(|| Scripted::Hang).await;
    world.asked(2).await;
    world.say("/status").await;
    let status = world.channel.texts(3).await.remove(2);
    assert!(status.starts_with("I am condensing what was said before."), "{status}");
    world.say("/compact now").await;
    let already = "I am to condense what was said before already.";
    assert_eq!(world.channel.texts(4).await[3], already);
    world.say("/stop").await;
    assert_eq!(world.channel.texts(5).await[4], "Stopped.");
    world.say("go on").await;
    let last = world.asked(3).await.pop().unwrap();
    assert!(format!("{:?}", last.messages).contains("hi"), "it stays as it was");
    world.channel.texts(6).await;
    world.say("/status now").await;
    let status = world.channel.texts(7).await.remove(6);
    assert!(!status.contains("condensing"), "{status}");
}

#[tokio::test]
async fn compact_that_is_cancelled_records_the_input_of_its_request() {
    let world = condensing(|| Scripted::Hang).await;
    let request = world.asked(2).await.remove(1);
    world.say("/stop").await;
    world.channel.texts(3).await;
    world.idle().await;
    let today = world.store.spent(None, &session("a"), Timestamp(0)).await.unwrap().day;
    assert_eq!(today.usage.input, 100 + request.estimated_tokens());
}

#[tokio::test]
async fn new_cancels_a_compaction_without_a_notice() {
    let world = condensing(|| Scripted::Hang).await;
    world.asked(2).await;
    world.say("/new").await;
    world.idle().await;
    world.say("hello").await;
    let texts = world.channel.texts(4).await;
    assert!(texts[2].starts_with("I start afresh"), "{texts:?}");
    assert!(texts[3].starts_with("hello "), "{texts:?}");
}

#[tokio::test]
async fn compact_panic_is_reported_and_the_session_goes_on() {
    let world = condensing(|| panic!("a bug in the model")).await;
    let notice = "I could not condense what was said before; it stays as it is. There was an \
                  internal error: a bug in the model.";
    assert_eq!(world.channel.texts(3).await[2], notice);
    world.say("go on").await;
    assert!(world.channel.texts(4).await[3].starts_with("hello "));
}

#[tokio::test]
async fn compact_is_not_begun_again_after_a_crash() {
    let world = condensing(|| Scripted::Hang).await;
    world.asked(2).await;
    world.sent().await;
    let world = world.restart(summarising(|| panic!("it is begun once"))).await;
    let notice = "I was interrupted while condensing; say /compact again.";
    assert_eq!(world.channel.texts(3).await[2], notice);
    world.say("go on").await;
    assert!(world.channel.texts(4).await[3].starts_with("hello "));
}
