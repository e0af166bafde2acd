//! Tests of the progress display, from the model to the platform.

use avocet_protocol::{SendError, WaitKind};
use avocet_testkit::OnSend;

use super::*;

/// Differs from every other sleep, so that tests can find it.
const INTERVAL: Duration = Duration::from_millis(1100);
const MINUTE: Duration = Duration::from_mins(1);

/// Makes a chat with editable messages, and a model that writes the texts sent by the test.
async fn written(setup: Setup) -> (World, flume::Sender<Option<String>>) {
    let (pen, pieces) = flume::bounded(100);
    let model = ScriptedModel::new(vec![Scripted::Written(pieces)]);
    (world(model, setup).await, pen)
}

pub(super) async fn world(model: ScriptedModel, setup: Setup) -> World {
    let channel = Arc::new(FakeChannel::with_preview(INTERVAL));
    World::on(TempStore::new(), channel, model, setup).await
}

fn write(pen: &flume::Sender<Option<String>>, text: &str) {
    pen.send(Some(text.to_owned())).unwrap();
}

impl World {
    /// Waits until the preview sleeps for its interval, and lets the interval pass.
    pub(super) async fn interval(&self) {
        self.pass(INTERVAL).await;
    }

    async fn pass(&self, time: Duration) {
        self.clock.sleeper_within(time..=time).await;
        self.clock.advance(time);
    }

    /// Waits like `shows`, for any number of intervals.
    async fn shows_at_last(&self, text: &str) {
        loop {
            tokio::select! {
                biased;
                _ = self.shows(text) => return,
                () = self.interval() => {}
            }
        }
    }

    /// Waits until all deliveries are done.
    pub(super) async fn delivered(&self) {
        while self.store.log_status().await.unwrap().pending > 0 {
            tokio::task::yield_now().await;
        }
    }

    pub(super) async fn shows(&self, text: &str) -> Vec<String> {
        self.channel.shows(|texts| texts.last().is_some_and(|last| last == text)).await
    }
}

#[tokio::test]
async fn preview_grows_in_one_message_and_becomes_the_answer() {
    let (world, pen) = written(Setup::default()).await;
    let id = world.say("a story").await;
    write(&pen, "Once upon a ti");
    world.interval().await;
    world.shows("Once upon a …").await;
    write(&pen, "me there was");
    world.interval().await;
    world.shows("Once upon a time there …").await;
    write(&pen, " a bird.");
    drop(pen);
    assert_eq!(world.shows("Once upon a time there was a bird.").await.len(), 1);
    world.idle().await;
    let taken = world.channel.taken(3).await;
    assert!(taken.iter().all(|one| one.id == taken[0].id && !one.repeat), "{taken:?}");
    assert_eq!(world.outcome(id).await, Some(Outcome::Replied));
    world.delivered().await;
    let status = world.store.log_status().await.unwrap();
    assert_eq!((status.pending, status.unconfirmed, status.dead), (0, 0, 0));
}

#[tokio::test]
async fn preview_is_omitted_for_a_short_answer() {
    let (world, pen) = written(Setup::default()).await;
    world.say("well?").await;
    write(&pen, "Yes. ");
    drop(pen);
    world.shows("Yes.").await;
    assert_eq!(world.channel.taken(1).await.len(), 1);
}

#[tokio::test]
async fn preview_becomes_the_first_message_of_a_long_answer() {
    let (world, pen) = written(Setup::default()).await;
    world.say("a long story").await;
    let words = "word ".repeat(200);
    write(&pen, &words);
    world.interval().await;
    let first = world.channel.shows(|texts| !texts.is_empty()).await.remove(0);
    assert!(first.len() <= FakeChannel::LIMIT && first.ends_with("word …"), "{first}");
    drop(pen);
    let all = world.channel.shows(|texts| texts.len() == 3).await;
    assert_eq!(all.concat(), words.trim_end());
}

#[tokio::test]
async fn preview_replaces_text_that_the_model_retracts() {
    let (world, pen) = written(Setup::default()).await;
    world.say("go").await;
    write(&pen, "Let me think about ");
    world.interval().await;
    world.shows("Let me think about …").await;
    pen.send(None).unwrap();
    write(&pen, "It is seven ");
    world.interval().await;
    world.shows("It is seven …").await;
    drop(pen);
    assert_eq!(world.shows("It is seven").await.len(), 1);
}

#[tokio::test]
async fn preview_waits_for_pending_messages_of_the_chat() {
    let (world, pen) = written(Setup::default()).await;
    let asked = Duration::from_secs(30);
    world.channel.script([OnSend::Say(SendError::RetryAfter(asked))]);
    world.say("/status").await;
    world.clock.sleeper_within(asked..=asked).await;
    world.say("a story").await;
    write(&pen, "Once upon a time ");
    world.interval().await;
    world.clock.sleeper_within(INTERVAL..=INTERVAL).await;
    assert!(world.channel.taken(0).await.is_empty());
    world.clock.advance(asked);
    world.shows_at_last("Once upon a time …").await;
    let shown = world.shows("Once upon a time …").await;
    assert!(shown.len() == 2 && shown[0].contains("queue mode"), "{shown:?}");
}

#[tokio::test]
async fn preview_waits_for_a_free_slot_of_the_platform() {
    let (world, pen) = written(Setup::default()).await;
    let pause = Duration::from_secs(30);
    world.channel.set_pause(pause);
    world.say("a story").await;
    write(&pen, "Once upon a time ");
    world.interval().await;
    world.clock.sleeper_within(INTERVAL..=INTERVAL).await;
    world.channel.set_pause(Duration::ZERO);
    world.clock.advance(INTERVAL);
    world.shows("Once upon a time …").await;
    // The same for an edit, which is made when a slot is free.
    world.channel.set_pause(pause);
    write(&pen, "there was ");
    world.interval().await;
    world.clock.sleeper_within(pause..=pause).await;
    assert_eq!(world.channel.taken(1).await.len(), 1);
    world.channel.set_pause(Duration::ZERO);
    world.clock.advance(pause);
    world.shows("Once upon a time there was …").await;
}

#[tokio::test]
async fn f6_preview_stops_and_the_answer_waits_after_flood_control_even_over_a_restart() {
    let (world, pen) = written(Setup::default()).await;
    let asked = Duration::from_secs(1000);
    world.say("a story").await;
    write(&pen, "Once upon a time ");
    world.interval().await;
    world.shows("Once upon a time …").await;
    world.channel.script([OnSend::Say(SendError::RetryAfter(asked))]);
    write(&pen, "there was ");
    world.interval().await;
    write(&pen, "a bird ");
    world.clock.sleeper_within(asked..=asked).await;
    drop(pen);
    // The delivery worker of the answer waits just as long, even after a restart.
    world.idle().await;
    let world = world.restart(ScriptedModel::new(Vec::new())).await;
    assert_eq!(world.channel.taken(1).await.len(), 1, "nothing was sent meanwhile");
    world.clock.sleeper(MINUTE).await;
    world.clock.advance(2 * asked);
    assert_eq!(world.shows("Once upon a time there was a bird").await.len(), 1);
}

#[tokio::test]
async fn f6_preview_that_is_refused_is_abandoned_and_the_answer_is_sent() {
    for refusal in [
        SendError::Failed("no route".to_owned()),
        SendError::Refused("no rights".to_owned()),
        SendError::RetryAfter(Duration::from_secs(1)),
    ] {
        let (world, pen) = written(Setup::default()).await;
        world.channel.script([OnSend::Say(refusal)]);
        world.say("a story").await;
        write(&pen, "Once upon a time ");
        world.interval().await;
        world.channel.tried(1).await;
        write(&pen, "there was ");
        drop(pen);
        world.idle().await;
        world.clock.advance(Duration::from_secs(2));
        assert_eq!(world.channel.texts(1).await, ["Once upon a time there was"]);
        assert!(!world.channel.taken(1).await[0].repeat);
    }
}

#[tokio::test]
async fn f5_preview_of_unknown_outcome_is_followed_by_one_marked_answer() {
    let (world, pen) = written(Setup::default()).await;
    world.channel.script([OnSend::TakeAndReset]);
    world.say("a story").await;
    write(&pen, "Once upon a time ");
    world.interval().await;
    world.shows("Once upon a time …").await;
    write(&pen, "there was ");
    drop(pen);
    world.shows("Once upon a time there was").await;
    let repeats: Vec<bool> = world.channel.taken(2).await.iter().map(|one| one.repeat).collect();
    assert_eq!(repeats, [false, true]);
}

#[tokio::test]
async fn f5_preview_edit_of_unknown_outcome_is_repeated_unmarked() {
    let (world, pen) = written(Setup::default()).await;
    world.say("a story").await;
    write(&pen, "Once upon a time ");
    world.interval().await;
    world.shows("Once upon a time …").await;
    world.channel.script([OnSend::TakeAndReset]);
    drop(pen);
    world.pass(SECOND).await;
    let taken = world.channel.taken(3).await;
    assert!(taken.iter().all(|one| !one.repeat), "{taken:?}");
    assert_eq!(world.shows("Once upon a time").await.len(), 1);
    world.idle().await;
    assert_eq!(world.store.log_status().await.unwrap().unconfirmed, 0);
}

#[tokio::test]
async fn preview_edit_that_hangs_times_out_before_the_answer_is_sent() {
    let (world, pen) = written(Setup::default()).await;
    world.say("a story").await;
    write(&pen, "Once upon a time ");
    world.interval().await;
    world.shows("Once upon a time …").await;
    world.channel.script([OnSend::Hang]);
    write(&pen, "there was ");
    world.interval().await;
    let limit = Duration::from_secs(10);
    world.clock.sleeper_within(limit..=limit).await;
    drop(pen);
    world.clock.advance(limit);
    assert_eq!(world.shows("Once upon a time there was").await.len(), 1);
}

#[tokio::test]
async fn preview_that_was_deleted_is_followed_by_a_new_message() {
    let (world, pen) = written(Setup::default()).await;
    world.say("a story").await;
    write(&pen, "Once upon a time ");
    world.interval().await;
    world.shows("Once upon a time …").await;
    world.channel.delete_all();
    drop(pen);
    assert_eq!(world.shows("Once upon a time").await.len(), 1);
    assert!(!world.channel.taken(2).await[1].repeat);
}

#[tokio::test]
async fn preview_continues_in_the_same_message_after_a_crash() {
    let (world, pen) = written(Setup::default()).await;
    world.say("a story").await;
    write(&pen, "Once upon a time ");
    world.interval().await;
    world.shows("Once upon a time …").await;
    write(&pen, "there ");
    world.clock.sleeper_within(INTERVAL..=INTERVAL).await;
    let (pen, pieces) = flume::bounded(100);
    let world = world.restart(ScriptedModel::new(vec![Scripted::Written(pieces)])).await;
    write(&pen, "In the beginning was ");
    world.interval().await;
    assert_eq!(world.shows("In the beginning was …").await.len(), 1);
    write(&pen, "the word.");
    drop(pen);
    assert_eq!(world.shows("In the beginning was the word.").await.len(), 1);
}

#[tokio::test]
async fn f11_stop_ends_the_preview() {
    let (world, pen) = written(Setup::default()).await;
    world.say("a story").await;
    write(&pen, "Once upon a time ");
    world.interval().await;
    world.shows("Once upon a time …").await;
    write(&pen, "there was ");
    world.clock.sleeper_within(INTERVAL..=INTERVAL).await;
    world.say("/stop").await;
    world.shows("Stopped.").await;
    world.idle().await;
    world.clock.advance(MINUTE);
    let all = world.shows("Stopped.").await;
    assert_eq!(all, ["Once upon a time …", "Stopped."]);
    world.delivered().await;
}

#[tokio::test]
async fn f5_preview_is_removed_if_the_message_tool_has_sent_the_answer() {
    let (pen, pieces) = flume::bounded(100);
    let model = ScriptedModel::new(vec![
        Scripted::calls(&[("say", json!({ "text": "It is done, as you asked." }))]),
        Scripted::Written(pieces),
    ]);
    let world = world(model, Setup::default()).await;
    world.say("do it").await;
    world.shows("It is done, as you asked.").await;
    write(&pen, "It is done, as you ");
    world.interval().await;
    world.shows("It is done, as you …").await;
    write(&pen, "asked.");
    drop(pen);
    world.idle().await;
    assert_eq!(world.shows("It is done, as you asked.").await.len(), 1);
}

#[tokio::test]
async fn preview_names_a_slow_tool_and_becomes_the_answer() {
    let setup = Setup { post_hangs: true, ..Setup::default() };
    let calls = Scripted::calls(&[("post", json!({}))]);
    let world = world(ScriptedModel::new(vec![calls]), setup).await;
    world.say("do it").await;
    world.pass(MINUTE).await;
    world.shows("Still working: post (1 min)").await;
    world.pass(MINUTE).await;
    let shown = world.shows("Still working: post (2 min)").await;
    assert_eq!(shown.len(), 1);
    let answer = ScriptedModel::new(vec![Scripted::says("It is done.")]);
    let world = world.restart(answer).await;
    world.channel.shows(|texts| texts.last().is_some_and(|text| text.contains("/skip"))).await;
    world.say("/skip").await;
    let shown = world.channel.shows(|texts| texts.iter().any(|text| text == "It is done.")).await;
    assert_eq!(shown[0], "It is done.", "in the place of the preview");
}

#[tokio::test]
async fn typing_is_shown_until_the_turn_ends_or_waits() {
    let model = ScriptedModel::new(vec![Scripted::calls(&[("ask", json!({}))]), Scripted::Hang]);
    let world = World::new(model).await;
    let events = world.events.subscribe(&session("a"));
    let four = Duration::from_secs(4);
    world.say("go").await;
    while events.recv_async().await.unwrap() != (TurnEvent::Waiting { kind: WaitKind::Answer }) {}
    world.idle().await;
    let before = world.channel.typed(1).await;
    world.clock.advance(four);
    assert_eq!(world.channel.typed(0).await, before, "while it waits nobody writes");
    world.say("red").await;
    world.channel.typed(before + 1).await;
    for again in 2..4 {
        world.pass(four).await;
        assert_eq!(world.channel.typed(before + again).await, before + again);
    }
    assert_eq!(world.channel.texts(1).await, ["What colour?"], "a channel without previews");
}
