//! Tests of the progress display, from the model to the platform.

use avocet_protocol::channel::SendError;
use avocet_protocol::tool::WaitKind;
use avocet_testkit::OnSend;

use super::*;

/// Differs from every other sleep, so that tests can find it.
pub(super) const INTERVAL: Duration = Duration::from_millis(1100);
const MINUTE: Duration = Duration::from_mins(1);

/// Makes a chat with editable messages, and a model that writes the texts sent by the test.
pub(super) async fn written(setup: Setup) -> (SessionHarness, flume::Sender<Option<String>>) {
    let (pen, pieces) = flume::bounded(100);
    let model = ScriptedModel::new(vec![Scripted::Written(pieces)]);
    (harness(model, setup).await, pen)
}

pub(super) async fn harness(model: ScriptedModel, setup: Setup) -> SessionHarness {
    let channel = Arc::new(FakeChannel::with_preview(INTERVAL));
    SessionHarness::on(TempStore::new(), channel, model, setup).await
}

pub(super) fn write(pen: &flume::Sender<Option<String>>, text: &str) {
    pen.send(Some(text.to_owned())).unwrap();
}

impl SessionHarness {
    /// Waits until the preview sleeps for its interval, and lets the interval pass.
    pub(super) async fn interval(&self) {
        self.pass(INTERVAL).await;
    }

    pub(super) async fn pass(&self, time: Duration) {
        self.clock.sleeper_within(time..=time).await;
        self.clock.advance(time);
    }

    /// Waits like `shows`, for any number of intervals.
    pub(super) async fn shows_at_last(&self, text: &str) {
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
    let (harness, pen) = written(Setup::default()).await;
    let id = harness.say("a story").await;
    write(&pen, "Once upon a ti");
    harness.interval().await;
    harness.shows("Once upon a …").await;
    write(&pen, "me there was");
    harness.interval().await;
    harness.shows("Once upon a time there …").await;
    write(&pen, " a bird.");
    drop(pen);
    assert_eq!(harness.shows("Once upon a time there was a bird.").await.len(), 1);
    harness.idle().await;
    let taken = harness.channel.taken(3).await;
    assert!(taken.iter().all(|one| one.id == taken[0].id && !one.repeat), "{taken:?}");
    assert_eq!(harness.outcome(id).await, Some(Outcome::Replied));
    harness.delivered().await;
    let status = harness.store.log_status().await.unwrap();
    assert_eq!((status.pending, status.unconfirmed, status.dead), (0, 0, 0));
}

#[tokio::test]
async fn preview_is_omitted_for_a_short_answer() {
    let (harness, pen) = written(Setup::default()).await;
    harness.say("well?").await;
    write(&pen, "Yes. ");
    drop(pen);
    harness.shows("Yes.").await;
    assert_eq!(harness.channel.taken(1).await.len(), 1);
}

#[tokio::test]
async fn preview_replaces_text_that_the_model_retracts() {
    let (harness, pen) = written(Setup::default()).await;
    harness.say("go").await;
    write(&pen, "Let me think about ");
    harness.interval().await;
    harness.shows("Let me think about …").await;
    pen.send(None).unwrap();
    write(&pen, "It is seven ");
    harness.interval().await;
    harness.shows("It is seven …").await;
    drop(pen);
    assert_eq!(harness.shows("It is seven").await.len(), 1);
}

#[tokio::test]
async fn preview_waits_for_pending_messages_of_the_chat() {
    let (harness, pen) = written(Setup::default()).await;
    let asked = Duration::from_secs(30);
    harness.channel.script([OnSend::Say(SendError::RetryAfter(asked))]);
    harness.say("/status").await;
    harness.clock.sleeper_within(asked..=asked).await;
    harness.say("a story").await;
    write(&pen, "Once upon a time ");
    harness.interval().await;
    harness.clock.sleeper_within(INTERVAL..=INTERVAL).await;
    assert!(harness.channel.taken(0).await.is_empty());
    harness.clock.advance(asked);
    harness.shows_at_last("Once upon a time …").await;
    let shown = harness.shows("Once upon a time …").await;
    assert!(shown.len() == 2 && shown[0] == "I am not doing anything.", "{shown:?}");
}

#[tokio::test]
async fn preview_waits_for_a_free_slot_of_the_platform() {
    let (harness, pen) = written(Setup::default()).await;
    let pause = Duration::from_secs(30);
    harness.channel.set_pause(pause);
    harness.say("a story").await;
    write(&pen, "Once upon a time ");
    harness.interval().await;
    harness.clock.sleeper_within(INTERVAL..=INTERVAL).await;
    harness.channel.set_pause(Duration::ZERO);
    harness.clock.advance(INTERVAL);
    harness.shows("Once upon a time …").await;
    // The same for an edit, which is made when a slot is free.
    harness.channel.set_pause(pause);
    write(&pen, "there was ");
    harness.interval().await;
    harness.clock.sleeper_within(pause..=pause).await;
    assert_eq!(harness.channel.taken(1).await.len(), 1);
    harness.channel.set_pause(Duration::ZERO);
    harness.clock.advance(pause);
    harness.shows("Once upon a time there was …").await;
}

#[tokio::test]
async fn f6_preview_stops_and_the_answer_waits_after_flood_control_even_over_a_restart() {
    let (harness, pen) = written(Setup::default()).await;
    let asked = Duration::from_secs(1000);
    harness.say("a story").await;
    write(&pen, "Once upon a time ");
    harness.interval().await;
    harness.shows("Once upon a time …").await;
    harness.channel.script([OnSend::Say(SendError::RetryAfter(asked))]);
    write(&pen, "there was ");
    harness.interval().await;
    write(&pen, "a bird ");
    harness.clock.sleeper_within(asked..=asked).await;
    drop(pen);
    // The delivery worker of the answer waits just as long, even after a restart.
    harness.idle().await;
    let harness = harness.restart(ScriptedModel::new(Vec::new())).await;
    assert_eq!(harness.channel.taken(1).await.len(), 1, "nothing was sent meanwhile");
    harness.clock.sleeper(MINUTE).await;
    harness.clock.advance(2 * asked);
    assert_eq!(harness.shows("Once upon a time there was a bird").await.len(), 1);
}

#[tokio::test]
async fn f6_preview_that_is_refused_is_abandoned_and_the_answer_is_sent() {
    for refusal in [
        SendError::Failed("no route".to_owned()),
        SendError::Refused("no rights".to_owned()),
        SendError::RetryAfter(Duration::from_secs(1)),
    ] {
        let (harness, pen) = written(Setup::default()).await;
        harness.channel.script([OnSend::Say(refusal)]);
        harness.say("a story").await;
        write(&pen, "Once upon a time ");
        harness.interval().await;
        harness.channel.tried(1).await;
        write(&pen, "there was ");
        drop(pen);
        harness.idle().await;
        harness.clock.advance(Duration::from_secs(2));
        assert_eq!(harness.channel.texts(1).await, ["Once upon a time there was"]);
        assert!(!harness.channel.taken(1).await[0].repeat);
    }
}

#[tokio::test]
async fn f5_preview_of_unknown_outcome_is_followed_by_one_marked_answer() {
    let (harness, pen) = written(Setup::default()).await;
    harness.channel.script([OnSend::TakeAndReset]);
    harness.say("a story").await;
    write(&pen, "Once upon a time ");
    harness.interval().await;
    harness.shows("Once upon a time …").await;
    write(&pen, "there was ");
    drop(pen);
    harness.shows("Once upon a time there was").await;
    let repeats: Vec<bool> = harness.channel.taken(2).await.iter().map(|one| one.repeat).collect();
    assert_eq!(repeats, [false, true]);
}

#[tokio::test]
async fn f5_preview_edit_of_unknown_outcome_is_repeated_unmarked() {
    let (harness, pen) = written(Setup::default()).await;
    harness.say("a story").await;
    write(&pen, "Once upon a time ");
    harness.interval().await;
    harness.shows("Once upon a time …").await;
    harness.channel.script([OnSend::TakeAndReset]);
    drop(pen);
    harness.pass(SECOND / 4).await;
    let taken = harness.channel.taken(3).await;
    assert!(taken.iter().all(|one| !one.repeat), "{taken:?}");
    assert_eq!(harness.shows("Once upon a time").await.len(), 1);
    harness.idle().await;
    assert_eq!(harness.store.log_status().await.unwrap().unconfirmed, 0);
}

#[tokio::test]
async fn preview_edit_that_hangs_times_out_before_the_answer_is_sent() {
    let (harness, pen) = written(Setup::default()).await;
    harness.say("a story").await;
    write(&pen, "Once upon a time ");
    harness.interval().await;
    harness.shows("Once upon a time …").await;
    harness.channel.script([OnSend::Hang]);
    write(&pen, "there was ");
    harness.interval().await;
    let limit = Duration::from_secs(10);
    harness.clock.sleeper_within(limit..=limit).await;
    drop(pen);
    harness.clock.advance(limit);
    assert_eq!(harness.shows("Once upon a time there was").await.len(), 1);
}

#[tokio::test]
async fn preview_that_was_deleted_is_followed_by_a_new_message() {
    let (harness, pen) = written(Setup::default()).await;
    harness.say("a story").await;
    write(&pen, "Once upon a time ");
    harness.interval().await;
    harness.shows("Once upon a time …").await;
    harness.channel.delete_all();
    drop(pen);
    assert_eq!(harness.shows("Once upon a time").await.len(), 1);
    assert!(!harness.channel.taken(2).await[1].repeat);
}

#[tokio::test]
async fn preview_continues_in_the_same_message_after_a_crash() {
    let (harness, pen) = written(Setup::default()).await;
    harness.say("a story").await;
    write(&pen, "Once upon a time ");
    harness.interval().await;
    harness.shows("Once upon a time …").await;
    write(&pen, "there ");
    harness.clock.sleeper_within(INTERVAL..=INTERVAL).await;
    let (pen, pieces) = flume::bounded(100);
    let harness = harness.restart(ScriptedModel::new(vec![Scripted::Written(pieces)])).await;
    write(&pen, "In the beginning was ");
    harness.interval().await;
    assert_eq!(harness.shows("In the beginning was …").await.len(), 1);
    write(&pen, "the word.");
    drop(pen);
    assert_eq!(harness.shows("In the beginning was the word.").await.len(), 1);
}

#[tokio::test]
async fn f11_stop_keeps_the_answer_in_the_preview_and_in_the_next_request() {
    let (pen, pieces) = flume::bounded(100);
    let again = Scripted::says("and there was a bird.");
    let model = ScriptedModel::new(vec![Scripted::Written(pieces), again]);
    let harness = harness(model, Setup::default()).await;
    let events = harness.events.subscribe(&session("a"));
    let asked = harness.say("a story").await;
    write(&pen, "Once upon a time ");
    harness.interval().await;
    harness.shows("Once upon a time …").await;
    write(&pen, "there wa");
    let is_text = |event: &TurnEvent| *event == TurnEvent::Text { delta: "there wa".to_owned() };
    while !is_text(&events.recv_async().await.unwrap()) {}
    harness.say("stop!").await;
    harness.shows("Stopped.").await;
    harness.idle().await;
    harness.delivered().await;
    harness.clock.advance(MINUTE);
    let all = harness.shows("Stopped.").await;
    assert_eq!(all, ["Once upon a time there wa … (stopped)", "Stopped."]);
    assert_eq!(harness.outcome(asked).await, Some(Outcome::Stopped));
    harness.say("Go on").await;
    harness.shows("and there was a bird.").await;
    let request = harness.model.requests().pop().unwrap();
    let said = request.messages.iter().filter_map(|message| match message {
        Message::Assistant { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let said = said.collect::<Vec<_>>().join("\n");
    assert_eq!(said, "Once upon a time there wa\n\n[stopped by the user]");
}

#[tokio::test]
async fn f11_stop_marks_the_preview_of_a_running_tool() {
    let setup = Setup { post_hangs: true, ..Setup::default() };
    let calls = Scripted::calls(&[("post", json!({}))]);
    let harness = harness(ScriptedModel::new(vec![calls]), setup).await;
    harness.say("do it").await;
    harness.pass(5 * SECOND).await;
    harness.shows("Running post (5 s) …").await;
    harness.say("/stop").await;
    harness.shows("Stopped.").await;
    harness.idle().await;
    harness.delivered().await;
    assert_eq!(harness.shows("Stopped.").await, ["… (stopped)", "Stopped."]);
}

#[tokio::test]
async fn f5_preview_is_removed_if_the_message_tool_has_sent_the_answer() {
    let (pen, pieces) = flume::bounded(100);
    let model = ScriptedModel::new(vec![
        Scripted::calls(&[("say", json!({ "text": "It is done, as you asked." }))]),
        Scripted::Written(pieces),
    ]);
    let harness = harness(model, Setup::default()).await;
    harness.say("do it").await;
    harness.shows("It is done, as you asked.").await;
    write(&pen, "It is done, as you ");
    harness.interval().await;
    harness.shows("It is done, as you …").await;
    write(&pen, "asked.");
    drop(pen);
    harness.idle().await;
    assert_eq!(harness.shows("It is done, as you asked.").await.len(), 1);
}

#[tokio::test]
async fn preview_names_a_slow_tool_and_becomes_the_answer() {
    let setup = Setup { post_hangs: true, ..Setup::default() };
    let calls = Scripted::calls(&[("post", json!({}))]);
    let harness = harness(ScriptedModel::new(vec![calls]), setup).await;
    harness.say("do it").await;
    harness.pass(5 * SECOND).await;
    harness.shows("Running post (5 s) …").await;
    harness.pass(10 * SECOND).await;
    let shown = harness.shows("Running post (15 s) …").await;
    assert_eq!(shown.len(), 1);
    let answer = ScriptedModel::new(vec![Scripted::says("It is done.")]);
    let harness = harness.restart(answer).await;
    harness.channel.shows(|texts| texts.last().is_some_and(|text| text.contains("/skip"))).await;
    harness.say("/skip").await;
    let shown = harness.channel.shows(|texts| texts.iter().any(|text| text == "It is done.")).await;
    assert_eq!(shown[0], "It is done.", "in the place of the preview");
}

#[tokio::test]
async fn typing_is_shown_until_the_turn_ends_or_waits() {
    let model = ScriptedModel::new(vec![Scripted::calls(&[("ask", json!({}))]), Scripted::Hang]);
    let harness = SessionHarness::new(model).await;
    let events = harness.events.subscribe(&session("a"));
    let four = Duration::from_secs(4);
    harness.say("go").await;
    while events.recv_async().await.unwrap() != (TurnEvent::Waiting { kind: WaitKind::Answer }) {}
    harness.idle().await;
    let before = harness.channel.typed(1).await;
    harness.clock.advance(four);
    assert_eq!(harness.channel.typed(0).await, before, "a waiting turn shows no typing indicator");
    harness.say("red").await;
    harness.channel.typed(before + 1).await;
    for again in 2..4 {
        harness.pass(four).await;
        assert_eq!(harness.channel.typed(before + again).await, before + again);
    }
    assert_eq!(harness.channel.texts(1).await, ["What colour?"], "a channel without previews");
}
