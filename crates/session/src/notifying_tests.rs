//! Tests of answers that have to notify people: an edit would not.

use avocet_protocol::chat::ChatKind;
use avocet_protocol::store::{JobLimits, JobState};

use super::previews::{INTERVAL, harness, write, written};
use super::*;

impl SessionHarness {
    /// Lets intervals pass until the last message begins like this.
    async fn shows_beginning(&self, text: &str) {
        let begins = |texts: &[String]| texts.last().is_some_and(|last| last.starts_with(text));
        loop {
            tokio::select! {
                biased;
                _ = self.channel.shows(begins) => return,
                () = self.interval() => {}
            }
        }
    }
}

/// The platform decides which content notifies somebody.
#[tokio::test]
async fn answer_that_notifies_is_a_new_message_without_its_preview() {
    let (harness, pen) = written(Setup::default()).await;
    harness.say("a story").await;
    write(&pen, "Once upon a ti");
    harness.shows_beginning("Once upon a …").await;
    write(&pen, "me, @ann.");
    drop(pen);
    harness.idle().await;
    harness.delivered().await;
    assert_eq!(harness.shows("Once upon a time, @ann.").await.len(), 1);
    let taken = harness.channel.taken(2).await;
    assert!(taken.last().unwrap().shown_as.is_none(), "{taken:?}");
}

#[tokio::test]
async fn answer_of_a_job_is_a_new_message_instead_of_its_progress() {
    let (pen, pieces) = flume::bounded(100);
    let calls = Scripted::calls(&[("echo", json!({ "n": 1 }))]);
    let model = ScriptedModel::new(vec![calls, Scripted::Written(pieces)]);
    let harness = harness(model, Setup::default()).await;
    let job = jobs::submit(&harness, JobLimits::default()).await;
    harness.shows_beginning("Job j1 is running: ").await;
    write(&pen, "It works.\n\nTASK COMPLETE");
    drop(pen);
    jobs::reaches(&harness, job.id, JobState::Completed).await;
    harness.delivered().await;
    let texts = harness.channel.shows(|texts| !texts.is_empty()).await;
    assert!(texts.len() == 1 && texts[0].starts_with("It works."), "{texts:?}");
    let taken = harness.channel.taken(2).await;
    assert!(taken.last().unwrap().shown_as.is_none(), "{taken:?}");
}

#[tokio::test]
async fn report_of_a_schedule_is_one_new_message_without_a_preview() {
    let (pen, pieces) = flume::bounded(100);
    let harness =
        harness(ScriptedModel::new(vec![Scripted::Written(pieces)]), Setup::default()).await;
    let id = harness.scheduled(false, "me", ChatKind::Private).await;
    let write_slowly = async {
        write(&pen, "It rains ");
        harness.asked(1).await;
        for _ in 0..100 {
            harness.clock.advance(INTERVAL);
            tokio::task::yield_now().await;
        }
        write(&pen, "again.");
        drop(pen);
    };
    tokio::join!(harness.runs(id), write_slowly);
    harness.delivered().await;
    let taken = harness.channel.taken(1).await;
    assert_eq!(taken.len(), 1, "{taken:?}");
    assert_eq!((taken[0].content.text.as_str(), &taken[0].shown_as), ("It rains again.", &None));
}
