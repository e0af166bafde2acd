//! Tests of `/stop all` and `/resume all`.

use std::sync::atomic::{AtomicUsize, Ordering};

use avocet_protocol::store::{Actor, StopAll};
use avocet_protocol::tool::EndPrograms;

use super::people::household;
use super::*;

/// Counts how often the programs in the background were killed.
#[derive(Debug, Default)]
pub(super) struct CountedKills(AtomicUsize);

impl EndPrograms for CountedKills {
    fn kill_all(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

const STOPPED: &str = "Everything is stopped: all answers, tasks, jobs, schedules and programs.";
const ENDED: &str = "My owner has stopped everything I do. I do not finish what I was doing here. New \
    messages wait until my owner lets me go on.";
const WAITS: &str = "My owner has stopped everything I do. Your message is kept and waits, as later \
    ones do until my owner lets me go on.";

/// Hangs at a text that begins so, and repeats other texts.
fn hanging() -> ScriptedModel {
    ScriptedModel::answering(|request| match last_said(request) {
        text if text.starts_with("hang in a tool") => Scripted::calls(&[("hang", json!({}))]),
        text if text.starts_with("hang") => Scripted::Hang,
        text => Scripted::says(text),
    })
}

impl SessionHarness {
    async fn tell(&self, sender: &str, chat: &str, text: &str) -> MessageId {
        self.publish_from(sender, chat, text).await.unwrap()
    }

    /// Waits until a message has an outcome.
    async fn ended(&self, message: MessageId) -> Outcome {
        loop {
            if let Some(outcome) = self.outcome(message).await {
                return outcome;
            }
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn stop_all_ends_all_turns_and_keeps_messages_until_resume_all() {
    let harness = SessionHarness::with(hanging(), household()).await;
    let bobs = harness.tell("bob", "b", "hang in a tool of b").await;
    let mine = harness.tell("me", "own", "hang here").await;
    harness.asked(2).await;
    let queued = harness.tell("bob", "b", "queued").await;
    harness.tell("me", "own", "/stop all").await;
    assert!(harness.sent_to("own", 1).await.starts_with(STOPPED));
    assert_eq!(harness.ended(bobs).await, Outcome::Stopped);
    assert_eq!(harness.ended(mine).await, Outcome::Stopped);
    assert_eq!(harness.sent_to("b", 1).await, ENDED);
    let kills = harness.setup.programs.clone();
    while kills.0.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }

    // One notice for each chat, whatever comes.
    for text in ["first", "second"] {
        harness.tell("bob", "b2", text).await;
        harness.idle().await;
    }
    assert_eq!(harness.sent_to("b2", 1).await, WAITS);
    harness.tell("bob", "b2", "/status").await;
    let status = harness.sent_to("b2", 2).await;
    assert!(
        status.contains("My owner has stopped everything I do") && status.contains("2 more"),
        "{status}"
    );
    harness.tell("me", "own", "/status").await;
    let status = harness.sent_to("own", 2).await;
    assert!(status.contains("by terminal:local:me in terminal:local:own"), "{status}");
    harness.tell("me", "own", "/stop everything").await;
    assert!(harness.sent_to("own", 3).await.starts_with("Everything is stopped since"));
    assert_eq!(harness.model.requests().len(), 2);

    // A restart keeps it.
    let harness = harness.restart(hanging()).await;
    let late = harness.tell("bob", "b", "late").await;
    harness.idle().await;
    harness.tell("me", "own", "/resume").await;
    assert!(harness.sent_to("own", 4).await.starts_with("Write /resume all"));
    assert_eq!((harness.model.requests().len(), harness.outcome(late).await), (0, None));
    harness.tell("me", "own", "/resume all").await;
    assert!(harness.sent_to("own", 5).await.starts_with("I go on."));
    assert_eq!(harness.ended(late).await, Outcome::Replied);
    assert_eq!(harness.ended(queued).await, Outcome::Replied);
    let answers = [harness.sent_to("b", 2).await, harness.sent_to("b", 3).await];
    assert_eq!(answers, ["queued", "late"]);
    let answers = [harness.sent_to("b2", 3).await, harness.sent_to("b2", 4).await];
    assert_eq!(answers, ["first", "second"]);
    harness.tell("me", "own", "/resume ALL").await;
    assert!(harness.sent_to("own", 6).await.starts_with("Nothing is stopped"));
}

#[tokio::test]
async fn stop_all_and_resume_all_are_for_owners_only() {
    let harness = SessionHarness::with(hanging(), household()).await;
    harness.tell("bob", "b", "/stop all").await;
    let refusal = "/stop all is for my owner. /stop stops what I do here.";
    assert_eq!(harness.sent_to("b", 1).await, refusal);
    assert_eq!(*harness.store.current_stop(), None);
    harness.tell("me", "own", "/stop all").await;
    assert!(harness.sent_to("own", 1).await.starts_with(STOPPED));
    harness.tell("bob", "b", "/resume all").await;
    assert_eq!(harness.sent_to("b", 2).await, "/resume is for my owner.");
    assert!(harness.store.current_stop().is_some());

    // A program says who the owners of its account are.
    let Allow::Listed(lists) = household().allow else { panic!("a list") };
    let allow = Allow::Listed(AllowLists { decides_own_only: true, ..lists });
    let harness = SessionHarness::with(hanging(), Setup { allow, ..household() }).await;
    harness.tell("me", "own", "/stop all").await;
    let refused = harness.sent_to("own", 1).await;
    assert!(refused.starts_with("It concerns chats of other accounts, too"), "{refused}");
    assert_eq!(*harness.store.current_stop(), None);
}

/// The process dies when the stop is in the log and no turn has ended.
#[tokio::test]
async fn start_ends_the_turns_that_a_killed_stop_all_left_open() {
    let harness = SessionHarness::with(hanging(), household()).await;
    let bobs = harness.tell("bob", "b", "hang in a tool of b").await;
    harness.asked(1).await;
    assert!(harness.store.stop_all(&Actor::Host, None).await.unwrap());
    assert_eq!(harness.outcome(bobs).await, None);
    let harness = harness.restart(hanging()).await;
    assert_eq!(harness.ended(bobs).await, Outcome::Stopped);
    assert_eq!(harness.sent_to("b", 1).await, ENDED);
    harness.tell("me", "own", "hello").await;
    let told = harness.sent_to("own", 1).await;
    assert!(told.contains("Your message is kept and waits"), "{told}");
    assert_eq!(harness.model.requests().len(), 0);
    // A second kill repeats no notice.
    let harness = harness.restart(hanging()).await;
    harness.tell("me", "own", "/resume all").await;
    assert!(harness.sent_to("own", 2).await.starts_with("I go on."));
    assert_eq!(harness.sent_to("own", 3).await, "hello");
    harness.sent().await;
    let taken = harness.channel.texts(4).await;
    assert_eq!(taken.len(), 4, "{taken:?}");
}
