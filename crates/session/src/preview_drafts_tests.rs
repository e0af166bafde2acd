//! Tests of previews in the drafts of a platform.

use avocet_protocol::chat::DraftError;

use super::previews::{INTERVAL, write};
use super::*;

const BEGINNING: &str = "Once upon a time there was a ";
const STORY: &str = "Once upon a time there was a goose.";

/// Makes a chat with drafts, and a model that writes the texts sent by the test.
async fn drafted() -> (SessionHarness, flume::Sender<Option<String>>) {
    let (pen, pieces) = flume::bounded(100);
    let model = ScriptedModel::new(vec![Scripted::Written(pieces)]);
    let channel = Arc::new(FakeChannel::with_drafts(INTERVAL));
    (SessionHarness::on(TempStore::new(), channel, model, Setup::default()).await, pen)
}

impl SessionHarness {
    /// Lets the model write the beginning of a story, and waits for its first update.
    async fn begins_story(&self, pen: &flume::Sender<Option<String>>) {
        self.say("tell me").await;
        write(pen, BEGINNING);
        self.interval().await;
    }

    /// Waits until the story is the only message, which was sent once.
    async fn ends_story(&self, pen: flume::Sender<Option<String>>) {
        write(&pen, "goose.");
        drop(pen);
        assert_eq!(self.shows(STORY).await.len(), 1);
        self.idle().await;
        self.delivered().await;
        let sent = self.channel.taken(1).await;
        assert!(sent.len() == 1 && sent[0].shown_as.is_none() && !sent[0].repeat, "{sent:?}");
        let status = self.store.log_status().await.unwrap();
        assert_eq!((status.pending, status.unconfirmed, status.dead), (0, 0, 0));
    }
}

#[tokio::test]
async fn draft_shows_the_growing_text_and_the_answer_is_one_message() {
    let (harness, pen) = drafted().await;
    harness.begins_story(&pen).await;
    harness.channel.drafts(1).await;
    write(&pen, "white ");
    harness.interval().await;
    let drafts = harness.channel.drafts(2).await;
    let texts: Vec<&str> = drafts.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["Once upon a time there was a …", "Once upon a time there was a white …"]);
    assert_eq!(drafts[0].0, drafts[1].0, "the turn keeps its draft");
    assert_eq!(harness.channel.taken(0).await, [], "a draft is no message");
    pen.send(None).unwrap();
    write(&pen, BEGINNING);
    harness.ends_story(pen).await;
}

#[tokio::test]
async fn draft_is_shown_again_before_the_platform_removes_it() {
    let (harness, pen) = drafted().await;
    harness.begins_story(&pen).await;
    harness.channel.drafts(1).await;
    harness.pass(Duration::from_secs(25)).await;
    let drafts = harness.channel.drafts(2).await;
    assert_eq!(drafts[0], drafts[1]);
    harness.ends_story(pen).await;
}

#[tokio::test]
async fn draft_that_is_refused_becomes_a_preview_message_at_once() {
    let (harness, pen) = drafted().await;
    harness.channel.fail_draft(DraftError::Unsupported);
    harness.begins_story(&pen).await;
    harness.shows("Once upon a time there was a …").await;
    write(&pen, "goose.");
    drop(pen);
    assert_eq!(harness.shows(STORY).await.len(), 1);
    harness.idle().await;
    harness.delivered().await;
    let sent = harness.channel.taken(2).await;
    assert!(sent.iter().all(|one| one.id == sent[0].id && !one.repeat), "{sent:?}");
    assert_eq!(harness.channel.drafts(0).await, []);
}

#[tokio::test]
async fn draft_that_has_to_wait_or_fails_is_tried_again() {
    for error in [DraftError::Later(INTERVAL), DraftError::Failed("no connection".to_owned())] {
        let (harness, pen) = drafted().await;
        harness.channel.fail_draft(error);
        harness.begins_story(&pen).await;
        harness.interval().await;
        let drafts = harness.channel.drafts(1).await;
        assert_eq!(drafts[0].1, "Once upon a time there was a …");
        harness.ends_story(pen).await;
    }
}

#[tokio::test]
async fn draft_becomes_messages_if_the_text_exceeds_one() {
    let (harness, pen) = drafted().await;
    harness.begins_story(&pen).await;
    harness.channel.drafts(1).await;
    write(&pen, &"word ".repeat(100));
    harness.interval().await;
    let first = harness.channel.shows(|texts| texts.len() == 1).await;
    assert!(first[0].starts_with("Once upon") && first[0].len() == FakeChannel::LIMIT, "{first:?}");
    harness.interval().await;
    harness.channel.shows(|texts| texts.len() == 2).await;
    drop(pen);
    harness.idle().await;
    harness.delivered().await;
    let shown = harness.channel.shows(|_| true).await;
    let whole = format!("{BEGINNING}{}", "word ".repeat(100));
    assert_eq!((shown.len(), shown.concat()), (2, whole.trim_end().to_owned()));
    assert_eq!(harness.channel.drafts(1).await.len(), 1);
}
