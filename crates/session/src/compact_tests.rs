//! Tests of a `/compact` that is stopped, shown, repeated or killed: others go on meanwhile, and
//! notices report only facts.

use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::Ledger;

use super::*;

const DOING: &str = "I am summarising the earlier conversation.";

/// A model that greets, and runs `summary` when it is asked for a summary.
fn summarising(summary: impl Fn() -> Scripted + Send + Sync + 'static) -> ScriptedModel {
    ScriptedModel::answering(move |request| match last_said(request) {
        text if text.contains("<conversation>") => summary(),
        _ => Scripted::says(&"hello ".repeat(12)),
    })
}

/// Starts a daemon that is about to compact one answer.
async fn condensing(summary: impl Fn() -> Scripted + Send + Sync + 'static) -> SessionHarness {
    let harness = SessionHarness::new(summarising(summary)).await;
    harness.say("hi").await;
    harness.channel.texts(1).await;
    harness.say("/compact").await;
    assert_eq!(harness.channel.texts(2).await[1], DOING);
    harness
}

#[tokio::test]
async fn compact_is_shown_by_status_and_cancelled_by_stop() {
    let harness = condensing(|| Scripted::Hang).await;
    harness.asked(2).await;
    harness.say("/status").await;
    let status = harness.channel.texts(3).await.remove(2);
    assert!(status.starts_with("I am summarising the earlier conversation."), "{status}");
    harness.say("/compact now").await;
    let already = "A summary of the earlier conversation is already planned.";
    assert_eq!(harness.channel.texts(4).await[3], already);
    harness.say("/stop").await;
    assert_eq!(harness.channel.texts(5).await[4], "Stopped.");
    harness.say("go on").await;
    let last = harness.asked(3).await.pop().unwrap();
    assert!(format!("{:?}", last.messages).contains("hi"), "it stays as it was");
    harness.channel.texts(6).await;
    harness.say("/status now").await;
    let status = harness.channel.texts(7).await.remove(6);
    assert!(!status.contains("summarising"), "{status}");
}

#[tokio::test]
async fn compact_that_is_cancelled_records_the_input_of_its_request() {
    let harness = condensing(|| Scripted::Hang).await;
    let request = harness.asked(2).await.remove(1);
    harness.say("/stop").await;
    harness.channel.texts(3).await;
    harness.idle().await;
    let today = harness.store.spent(None, &session("a"), Timestamp(0)).await.unwrap().day;
    assert_eq!(today.usage.input, 100 + request.estimated_tokens());
}

#[tokio::test]
async fn new_cancels_a_compaction_without_a_notice() {
    let harness = condensing(|| Scripted::Hang).await;
    harness.asked(2).await;
    harness.say("/new").await;
    harness.idle().await;
    harness.say("hello").await;
    let texts = harness.channel.texts(4).await;
    assert!(texts[2].starts_with("This is a new conversation"), "{texts:?}");
    assert!(texts[3].starts_with("hello "), "{texts:?}");
}

#[tokio::test]
async fn compact_panic_is_reported_and_the_session_goes_on() {
    let harness = condensing(|| panic!("a bug in the model")).await;
    let notice = "I could not summarise the earlier conversation; it stays unchanged. There was an \
        internal error: a bug in the model.";
    assert_eq!(harness.channel.texts(3).await[2], notice);
    harness.say("go on").await;
    assert!(harness.channel.texts(4).await[3].starts_with("hello "));
}

#[tokio::test]
async fn compact_is_not_begun_again_after_a_crash() {
    let harness = condensing(|| Scripted::Hang).await;
    harness.asked(2).await;
    harness.sent().await;
    let harness = harness.restart(summarising(|| panic!("it is begun once"))).await;
    let notice = "I was interrupted while summarising; send /compact again.";
    assert_eq!(harness.channel.texts(3).await[2], notice);
    harness.say("go on").await;
    assert!(harness.channel.texts(4).await[3].starts_with("hello "));
}

#[tokio::test]
async fn compact_is_confirmed_at_once_and_runs_between_turns() {
    let permits = Arc::new(Semaphore::new(0));
    let gate = permits.clone();
    let harness =
        SessionHarness::new(ScriptedModel::answering(move |request| match last_said(request) {
            "wait" => Scripted::When(gate.clone(), Box::new(Scripted::says("waited"))),
            text if text.contains("<conversation>") => Scripted::says("They greet."),
            _ => Scripted::says(&"hello ".repeat(12)),
        }))
        .await;
    harness.say("hi").await;
    harness.channel.texts(1).await;
    harness.say("wait").await;
    harness.asked(2).await;
    harness.say("/compact").await;
    assert_eq!(harness.channel.texts(2).await[1], "I am summarising the earlier conversation.");
    permits.add_permits(1);
    let texts = harness.channel.texts(4).await;
    assert_eq!(texts[2], "waited");
    assert!(texts[3].starts_with("The earlier conversation is summarised: about "), "{}", texts[3]);
    harness.say("go on").await;
    let last = harness.asked(4).await.pop().unwrap();
    let sent = format!("{:?}", last.messages);
    assert!(sent.contains("They greet.") && !sent.contains("wait"), "{sent}");
}
