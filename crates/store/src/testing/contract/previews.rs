//! Rules of previews, and how they become the reply.

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{Content, Delivery, Receipt, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{DeliveryId, PlatformId, TurnId};
use avocet_protocol::store::{
    CommandAction, CommandEffect, CommandReply, Head, NewWait, Preview, Resolution, SendEnd,
    Settlement, Showing, StoppedAnswer, StoreError,
};
use avocet_protocol::tool::{ChildMode, LogWrite, NewChild, WaitKind};
use avocet_protocol::turn::TurnState;

use super::Backend;
use super::world::{World, good, new_wait, planned, reply, session};

fn shown_as() -> PlatformId {
    PlatformId::parse("p1").unwrap()
}

fn shown(text: &str) -> Showing {
    Showing::Shown { content: Content::text(text), platform_id: shown_as() }
}

impl World<'_> {
    /// Starts a turn of session `a`.
    pub(super) async fn running(&self) -> TurnId {
        self.say(&session("a"), "1").await;
        self.take(&session("a")).await.id
    }

    async fn begin(&self, turn: TurnId) -> Preview {
        let (chat, content) = (session("a").address(), Content::text("Let me …"));
        self.ports.outbox.begin_preview(turn, 0, &chat, &content).await.unwrap()
    }

    async fn begun(&self, turn: TurnId) -> DeliveryId {
        match self.begin(turn).await {
            Preview::Begun { id, .. } => id,
            other => panic!("not begun: {other:?}"),
        }
    }

    async fn finished(&self, id: DeliveryId, showing: &Showing) {
        self.ports.outbox.finish_preview(id, showing).await.unwrap();
    }

    /// Begins a preview and records its successful send.
    async fn shown(&self, turn: TurnId) -> DeliveryId {
        let id = self.begun(turn).await;
        self.finished(id, &shown("Let me …")).await;
        id
    }

    pub(super) async fn head(&self) -> Option<Head> {
        self.ports.outbox.head(&session("a").address()).await.unwrap()
    }

    pub(super) async fn says(&self, text: &str) {
        let outbox = &self.ports.outbox;
        outbox
            .enqueue(&planned(&session("a"), &[text]), &text.parse().unwrap(), None)
            .await
            .unwrap();
    }
}

fn text_and_message(delivery: &Delivery) -> (&str, Option<&str>) {
    (&delivery.content.text, delivery.shown_as.as_ref().map(PlatformId::as_str))
}

/// A preview is outside of the delivery queue: other messages are delivered meanwhile.
pub async fn begin_preview_succeeds_once_and_blocks_no_delivery(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turn = world.running().await;
    let id = world.begun(turn).await;
    assert_eq!(world.begin(turn).await, Preview::Over, "its outcome is still unknown");
    assert_eq!(world.ports.outbox.open_chats().await, Ok(vec![]));
    let status = world.ports.query.log_status().await.unwrap();
    let of_session = world.ports.query.session_status(&session("a")).await.unwrap();
    assert_eq!((status.pending, of_session.pending), (0, 0));
    world.says("the bread is ready").await;
    assert_eq!(world.delivered_texts(&session("a")).await, ["the bread is ready"]);
    world.finished(id, &shown("Let me see …")).await;
    assert_eq!(world.begin(turn).await, Preview::Shown(id, shown_as()));
    assert_eq!(world.ports.outbox.preview(turn).await, Ok(Some(shown_as())));
    assert_eq!(world.head().await, None);
}

/// The order within a chat is that of the log.
pub async fn begin_preview_waits_for_pending_messages_of_the_chat(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turn = world.running().await;
    world.says("first").await;
    assert_eq!(world.begin(turn).await, Preview::Later);
    world.deliveries(&session("a").address()).await;
    world.begun(turn).await;
}

/// The reply's first chunk edits the preview; the other chunks come after messages sent meanwhile.
pub async fn preview_becomes_the_first_chunk_of_the_reply(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turn = world.running().await;
    let id = world.shown(turn).await;
    world.says("meanwhile").await;
    let settlement =
        Settlement { reply: Some(planned(&session("a"), &["one", "two"])), ..reply("one two") };
    world.settle(turn, &settlement).await.unwrap();
    assert_eq!(world.ports.outbox.preview(turn).await, Ok(None));
    let sent = world.deliveries(&session("a").address()).await;
    let said: Vec<_> = sent.iter().map(text_and_message).collect();
    assert_eq!(said, [("one", Some("p1")), ("meanwhile", None), ("two", None)]);
    assert_eq!((sent[0].id, sent[0].turn, sent[0].repeat), (id, Some(turn), false));
    let stale = world.ports.outbox.finish_preview(id, &shown("late")).await;
    assert_eq!(stale, Err(StoreError::Stale(id.to_string())));
}

/// Chunks after an abandoned one are abandoned too, even if the first one was a preview.
pub async fn preview_whose_final_edit_is_refused_abandons_the_whole_reply(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turn = world.running().await;
    let id = world.shown(turn).await;
    let settlement =
        Settlement { reply: Some(planned(&session("a"), &["one", "two"])), ..reply("one two") };
    world.settle(turn, &settlement).await.unwrap();
    world.ports.outbox.start(id, false).await.unwrap();
    let dead = SendEnd::Dead { error: "blocked".to_owned(), notice: None };
    world.ports.outbox.finish(id, &dead).await.unwrap();
    assert_eq!(world.ports.query.log_status().await.unwrap().dead, 2);
}

/// If the preview's message was deleted, the reply is sent as a new message.
pub async fn preview_that_was_deleted_makes_the_reply_a_new_message(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turn = world.running().await;
    let id = world.shown(turn).await;
    world.reply(turn, "done").await;
    world.ports.outbox.start(id, false).await.unwrap();
    world.ports.outbox.finish(id, &SendEnd::Anew).await.unwrap();
    let head = world.head().await.unwrap();
    assert_eq!(text_and_message(&head.delivery), ("done", None));
    assert!(!head.unknown && head.delivery.first_sent_at.is_none());
}

/// The platform may have the preview, so the reply follows the rule for unknown outcomes.
pub async fn preview_of_unknown_outcome_makes_the_reply_a_repetition(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turn = world.running().await;
    let id = world.begun(turn).await;
    world.finished(id, &Showing::Unknown).await;
    assert_eq!(world.begin(turn).await, Preview::Over);
    world.reply(turn, "done").await;
    let head = world.head().await.unwrap();
    assert_eq!(text_and_message(&head.delivery), ("done", None));
    assert_eq!((head.delivery.id, head.unknown, head.attempts), (id, true, 1));
    assert!(head.delivery.first_sent_at.is_some());
}

/// A crash during the send has the same effect as an unknown outcome.
pub async fn preview_in_state_sending_at_a_crash_has_an_unknown_outcome(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turn = world.running().await;
    world.begun(turn).await;
    let world = world.restart().await;
    assert_eq!(world.head().await, None, "a preview is outside of the delivery queue");
    world.take(&session("a")).await;
    assert_eq!(world.begin(turn).await, Preview::Over);
    world.reply(turn, "done").await;
    assert!(world.head().await.unwrap().unknown);
}

/// The turn runs again and continues with the same message.
pub async fn preview_that_was_sent_survives_a_crash(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turn = world.running().await;
    let id = world.shown(turn).await;
    let world = world.restart().await;
    world.take(&session("a")).await;
    assert_eq!(world.begin(turn).await, Preview::Shown(id, shown_as()));
    world.reply(turn, "done").await;
    let sent = world.deliveries(&session("a").address()).await;
    assert_eq!(sent.iter().map(text_and_message).collect::<Vec<_>>(), [("done", Some("p1"))]);
}

/// F6: after a certain refusal, the reply is a new message. The reply waits for as long as the
/// platform asked, after a refused send as well as after a refused edit.
pub async fn preview_refusal_delays_the_reply_as_long_as_requested(backend: &impl Backend) {
    let world = World::new(backend).await;
    let refused = Showing::Refused { not_before: Timestamp(77) };
    let turn = world.running().await;
    let id = world.begun(turn).await;
    world.finished(id, &refused).await;
    assert_eq!(world.begin(turn).await, Preview::Over);
    world.reply(turn, "done").await;
    let head = world.head().await.unwrap();
    assert_eq!((head.not_before, head.attempts, head.unknown), (Timestamp(77), 0, false));
    assert_eq!(text_and_message(&head.delivery), ("done", None));
    assert_eq!(head.delivery.first_sent_at, None);
    world.deliveries(&session("a").address()).await;

    world.say(&session("a"), "2").await;
    let turn = world.take(&session("a")).await.id;
    let id = world.shown(turn).await;
    world.finished(id, &refused).await;
    assert_eq!(world.begin(turn).await, Preview::Shown(id, shown_as()));
    world.reply(turn, "done").await;
    let head = world.head().await.unwrap();
    assert_eq!(head.not_before, Timestamp(77));
    assert_eq!(text_and_message(&head.delivery), ("done", Some("p1")));
}

/// F5, F11: the preview keeps its text, and no chunk is left to send.
pub async fn preview_of_a_turn_without_a_reply_stays_unchanged(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let turn = world.running().await;
    world.shown(turn).await;
    world.settle(turn, &Settlement { reply: None, ..reply("said already") }).await.unwrap();
    for showing in [shown("x"), Showing::Unknown, Showing::Refused { not_before: Timestamp(1) }] {
        world.say(&a, &format!("{showing:?}").chars().take(9).collect::<String>()).await;
        let turn = world.take(&a).await.id;
        let id = world.begun(turn).await;
        world.finished(id, &showing).await;
        let stop = world.command(&a, &format!("/stop {turn}")).await;
        let (action, nothing) = (CommandAction::Stop(None), CommandReply::default());
        world.ports.inbox.settle_command(stop, &action, &nothing).await.unwrap();
        assert_eq!(world.ports.outbox.preview(turn).await, Ok(None));
        let stale =
            world.ports.outbox.begin_preview(turn, 0, &a.address(), &Content::text("x")).await;
        assert_eq!(stale, Err(StoreError::Stale(turn.to_string())));
    }
    assert_eq!(world.delivered_texts(&a).await, [""; 0]);
    let world = world.restart().await;
    assert_eq!(world.delivered_texts(&a).await, [""; 0]);
}

/// Is a preview shown; the recorded steps, the step of the answer, its text; the texts of the steps
/// afterwards, and the messages that the deliveries edit.
type StopRow =
    (bool, u32, u32, &'static str, &'static [&'static str], &'static [Option<&'static str>]);

/// A stop keeps the answer so far as the last step, and the preview becomes it with a mark: in the
/// transaction of the stop, so that a crash after it loses nothing.
pub async fn stop_keeps_the_answer_and_edits_its_preview(backend: &impl Backend) {
    let mut world = World::new(backend).await;
    let table: [StopRow; 6] = [
        (true, 0, 0, "Let me see", &["Let me see"], &[Some("p1")]),
        (false, 0, 0, "Let me see", &["Let me see"], &[None]),
        (true, 1, 1, "Let me see", &["let me see", "Let me see"], &[Some("p1")]),
        // The step was recorded meanwhile, and its calls run.
        (true, 1, 0, "Let me see", &["let me see"], &[Some("p1")]),
        (false, 1, 0, "Let me see", &["let me see"], &[]),
        (false, 0, 0, "", &[], &[]),
    ];
    for (row, (is_shown, steps, step, text, texts, sent)) in table.into_iter().enumerate() {
        let a = session("a");
        world.say(&a, &format!("say {row}")).await;
        let turn = world.take(&a).await.id;
        for number in 0..steps {
            world.step(turn, number, &["read"]).await;
        }
        if is_shown {
            world.shown(turn).await;
        }
        let stop = world.command(&a, &format!("/stop {row}")).await;
        let reply = Some(planned(&a, &["Let me see … (stopped)"]));
        let answer = StoppedAnswer { turn, step, text: text.to_owned(), trust: Trust::Low, reply };
        let action = CommandAction::Stop(Some(Box::new(answer)));
        let nothing = CommandReply::default();
        let settle = || world.ports.inbox.settle_command(stop, &action, &nothing);
        assert_eq!(settle().await, Ok(CommandEffect::Stopped(vec![turn])), "row {row}");
        assert!(settle().await.is_err(), "row {row}: it acts once");
        world = world.restart().await;
        let record = world.ports.query.transcript(&a, 1).await.unwrap().pop().unwrap();
        let said: Vec<_> = record.steps.iter().map(|step| step.text.as_str()).collect();
        assert_eq!((said, record.state), (texts.to_vec(), TurnState::Cancelled), "row {row}");
        assert_eq!(record.notice.as_deref(), Some("stopped by the user"), "row {row}");
        let delivered = world.deliveries(&a.address()).await;
        let edits: Vec<_> = delivered.iter().map(|one| text_and_message(one).1).collect();
        assert_eq!(edits, sent, "row {row}: {delivered:?}");
        assert!(delivered.iter().all(|one| one.content.text == "Let me see … (stopped)"));
    }
}

/// A stop after a crash knows the preview only, and marks it.
pub async fn stop_without_an_answer_marks_the_preview(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let turn = world.running().await;
    world.shown(turn).await;
    let stop = world.command(&a, "/stop").await;
    let world = world.restart().await;
    let (action, nothing) = (CommandAction::Stop(None), CommandReply::default());
    let effect = world.ports.inbox.settle_command(stop, &action, &nothing).await;
    assert_eq!(effect, Ok(CommandEffect::Stopped(vec![turn])));
    let delivered = world.deliveries(&a.address()).await;
    let said: Vec<_> = delivered.iter().map(text_and_message).collect();
    assert_eq!(said, [("Let me … (stopped)", Some("p1"))]);
}

/// The progress of a task in the background is a separate message, and people are told of the
/// new message with its answer.
pub async fn preview_of_a_background_task_stays_before_its_reply(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let turn = world.running().await;
    let call = world.step(turn, 0, &["spawn"]).await[0];
    let child = NewChild { mode: ChildMode::Background, ..NewChild::awaited_child("watch") };
    world.ports.log.finish_call(call, &good(), None, &[LogWrite::Spawn(child)]).await.unwrap();
    world.reply(turn, "started").await;
    world.deliveries(&a.address()).await;
    let task = world.take(&SessionId::of_child(call)).await.id;
    let id = world.begun(task).await;
    world.finished(id, &shown("t2 watch: running, step 1")).await;
    let world = world.restart().await;
    let task = world.take(&SessionId::of_child(call)).await.id;
    assert_eq!(world.begin(task).await, Preview::Shown(id, shown_as()), "there is no second one");
    let settlement = Settlement { reply: Some(planned(&a, &["done"])), ..reply("done") };
    world.settle(task, &settlement).await.unwrap();
    let sent = world.deliveries(&a.address()).await;
    let said: Vec<_> = sent.iter().map(text_and_message).collect();
    assert_eq!(said, [("done", None)]);
    assert_eq!(world.ports.outbox.preview(task).await, Ok(None));
}

/// An unconfirmed preview is found by the nonce of its send, so the reply keeps that nonce.
pub async fn preview_passes_its_nonce_to_the_reply(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turn = world.running().await;
    let Preview::Begun { id, nonce } = world.begin(turn).await else { panic!("not begun") };
    world.finished(id, &Showing::Unknown).await;
    world.reply(turn, "Let me see.").await;
    assert_eq!(world.head().await.unwrap().delivery.nonce, nonce);
}

/// The question is a separate message; the answer takes the place of the preview.
pub async fn preview_is_kept_while_its_turn_waits(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a: SessionId = session("a");
    let turn = world.running().await;
    let call = world.step(turn, 0, &["ask"]).await[0];
    world.shown(turn).await;
    let (kind, expires_at) = (WaitKind::Answer, Timestamp(1));
    let prompt = Some(planned(&a, &["What colour?"]));
    let wait = NewWait { prompt, ..new_wait(call, kind, expires_at) };
    let wait = world.wait(&wait).await;
    assert_eq!(world.head().await.unwrap().delivery.content.text, "What colour?");
    let head = world.head().await.unwrap();
    world.ports.outbox.start(head.delivery.id, false).await.unwrap();
    let receipt = Receipt { platform_id: None };
    world.ports.outbox.finish(head.delivery.id, &SendEnd::Sent(receipt)).await.unwrap();
    let world = world.restart().await;
    let answer = Resolution::Answer { text: "red".to_owned(), trust: Trust::Full };
    world.ports.turns.resolve(wait, &answer).await.unwrap();
    world.take(&a).await;
    world.reply(turn, "Red, then.").await;
    let sent = world.deliveries(&a.address()).await;
    assert_eq!(sent.iter().map(text_and_message).collect::<Vec<_>>(), [("Red, then.", Some("p1"))]);
}
