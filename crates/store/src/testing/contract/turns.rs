//! Rules of claiming, steering and settling turns.

use std::time::Duration;

use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::{
    Attachment, AttachmentKind, AttachmentSource, Content, InboundKind, LoggedInbound, Outcome,
    Planned, Receipt, SessionId,
};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::{
    AcceptedAs, Claim, CommandAction, CommandEffect, CommandReply, SendEnd, SettledTurn,
    Settlement, StoreError, Suspects,
};
use avocet_protocol::tool::WaitKind;
use avocet_protocol::turn::{AnswerEnding, FailureCode, TurnFailure, TurnState};

use super::Backend;
use super::world::{World, failure, good, message, new_wait, reply, session, taken};

pub(super) async fn set_mode(world: &World<'_>, session: &SessionId, mode: QueueMode) {
    let command = world.command(session, &format!("/queue {}", mode.as_str())).await;
    let action = CommandAction::SetMode(mode);
    world.ports.inbox.settle_command(command, &action, &CommandReply::default()).await.unwrap();
}

/// Turns of a session follow the order of the log; other sessions run in parallel.
pub async fn claim_takes_messages_of_a_session_one_at_a_time_in_order(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    for text in ["1", "2", "3"] {
        world.say(&a, text).await;
    }
    world.say(&b, "other").await;
    let first = world.take(&a).await;
    assert_eq!(first.state, TurnState::Running);
    assert_eq!(world.claim(&a).await, Claim::Nothing, "one at a time");
    assert_eq!(world.texts(&b).await, ["other"]);
    world.reply(first.id, "one").await;
    assert_eq!(world.texts(&a).await, ["2"]);
    assert_eq!(world.texts(&a).await, ["3"]);
    assert_eq!(world.claim(&a).await, Claim::Nothing);
}

/// A claim in queue mode collect takes all messages of a burst after it has ended.
pub async fn claim_in_collect_mode_takes_all_waiting_messages(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    set_mode(&world, &a, QueueMode::Collect).await;
    for text in ["1", "2", "3"] {
        world.say(&a, text).await;
    }
    let burst = Duration::from_millis(500);
    let still_coming = world.ports.turns.claim(&a, Suspects::Exclude, burst).await.unwrap();
    assert!(matches!(still_coming, Claim::Later(_)), "{still_coming:?}");
    assert_eq!(world.texts(&a).await, ["1", "2", "3"]);

    let b = session("b");
    world.say(&b, "1").await;
    let no_burst = taken(world.ports.turns.claim(&b, Suspects::Exclude, burst).await.unwrap());
    assert_eq!(no_burst.turn.origin.messages().len(), 1, "only collect waits for a burst");
}

/// Queue mode interrupt: the old turn stays ended after a crash right after the acceptance.
pub async fn accept_in_interrupt_mode_ends_the_running_turn_in_its_transaction(
    backend: &impl Backend,
) {
    let world = World::new(backend).await;
    let a = session("a");
    set_mode(&world, &a, QueueMode::Interrupt).await;
    let first = world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let second = world.accept(&message(&a, "2", InboundKind::Text)).await;
    assert_eq!(second.what, AcceptedAs::Interrupt(vec![turn.id]));
    assert_eq!(world.outcome(first).await, Some(Outcome::Stopped));
    let world = world.restart().await;
    assert_eq!(world.texts(&a).await, ["2"]);
}

/// Queue mode steer: the last result of a step binds the waiting messages to the turn; later
/// messages begin the next turn.
pub async fn the_last_result_binds_waiting_messages_in_steer_mode(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    set_mode(&world, &a, QueueMode::Steer).await;
    let first = world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let calls = world.step(turn.id, 0, &["read", "read"]).await;
    world.finish(calls[0]).await;
    let second = world.say(&a, "2").await;
    let third = world.say(&a, "3").await;
    let steered = world.ports.log.finish_call(calls[1], &good(), None, &[]).await.unwrap();
    let ids = steered.map(|messages| messages.iter().map(|message| message.id).collect());
    assert_eq!(ids, Some(vec![second, third]));

    let world = world.restart().await;
    let turn = world.take(&a).await;
    assert_eq!(turn.origin.messages().len(), 1);
    assert_eq!(turn.steps[0].steered.len(), 2, "a resumed turn keeps its steering messages");
    let late = world.say(&a, "too late").await;
    assert!(world.settle(turn.id, &reply("done")).await.unwrap().more);
    let outcomes = [world.outcome(first).await, world.outcome(second).await];
    assert_eq!(outcomes, [Some(Outcome::Merged); 2]);
    assert_eq!(world.outcome(third).await, Some(Outcome::Replied));
    assert_eq!(world.outcome(late).await, None);
    assert_eq!(world.texts(&a).await, ["too late"]);
}

/// Messages that steered a turn get an outcome, too, at the end of the turn.
pub async fn ended_messages_returns_the_outcome_of_every_message_of_a_turn(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    set_mode(&world, &a, QueueMode::Steer).await;
    world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let call = world.step(turn.id, 0, &["read"]).await[0];
    world.say(&a, "2").await;
    world.finish(call).await;
    let turns = &world.ports.turns;
    assert_eq!(turns.ended_messages(turn.id).await.unwrap(), []);
    let mut settled = world.settle(turn.id, &reply("done")).await.unwrap().ended;
    world.say(&a, "of the next turn").await;
    let ended = turns.ended_messages(turn.id).await.unwrap();
    let outcomes: Vec<_> = ended.iter().map(|message| message.outcome).collect();
    assert_eq!(outcomes, [Outcome::Merged, Outcome::Replied]);
    assert!(ended.iter().all(|message| message.address == a.address()));
    assert_ne!(ended[0].key, ended[1].key);
    settled.sort_by(|one, other| one.key.cmp(&other.key));
    let mut ended = ended;
    ended.sort_by(|one, other| one.key.cmp(&other.key));
    assert_eq!(settled, ended);
}

/// A turn is settled in one transaction, and only once.
pub async fn settle_ends_a_turn_once_with_its_reply_and_outcome(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let id = world.say(&a, "1").await;
    assert_eq!(world.outcome(id).await, None);
    let turn = world.take(&a).await;
    let mut end = reply("one");
    end.answer.as_mut().unwrap().ending = AnswerEnding::CutOff;
    let settled = world.settle(turn.id, &end).await.unwrap();
    let SettledTurn { parent, more, started, ended } = settled;
    assert_eq!((parent, more, started, ended.len()), (None, false, None, 1));
    let again = world.settle(turn.id, &reply("two")).await;
    assert_eq!(again, Err(StoreError::Stale(turn.id.to_string())));

    let world = world.restart().await;
    let settled = world.turn(&a).await;
    assert_eq!((settled.state, settled.final_text()), (TurnState::Done, Some("one")));
    let status = world.ports.query.message(id).await.unwrap().unwrap();
    assert_eq!(status.outcome, Some(Outcome::Replied));
    assert_eq!((status.reply.as_deref(), status.ending), (Some("one"), AnswerEnding::CutOff));
    assert!(!status.failed && status.usage.is_some() && status.calls.is_empty(), "{status:?}");
    assert_eq!(world.delivered_texts(&a).await, ["one"]);
    assert_eq!(world.claim(&a).await, Claim::Nothing);
}

/// The end of a turn starts the send of the chat's next chunk, if `start_send` is set and the chunk
/// is ready to be sent. A crash after that leaves an unknown outcome.
pub async fn settle_starts_the_send_of_the_next_chunk(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let settle = async |world: &World<'_>, text: &str, chunks: Vec<Content>, start_send| {
        world.say(&a, text).await;
        let turn = world.take(&a).await;
        let planned = Planned { address: a.address(), chunks };
        let end = Settlement { reply: Some(planned), start_send, ..reply(text) };
        world.settle(turn.id, &end).await.unwrap().started
    };
    let outbox = &world.ports.outbox;
    assert_eq!(settle(&world, "1", vec![Content::text("1")], false).await, None, "not asked");
    assert_eq!(world.delivered_texts(&a).await, ["1"]);

    let chunks = ["2", "3"].map(Content::text).to_vec();
    let started = settle(&world, "2", chunks, true).await.unwrap();
    assert_eq!((started.delivery.content.text.as_str(), started.attempts), ("2", 0));
    assert_eq!(outbox.head(&a.address()).await.unwrap(), None, "its send is under way");
    let sent = SendEnd::Sent(Receipt { platform_id: None });
    assert!(outbox.finish(started.delivery.id, &sent).await.unwrap(), "another chunk is open");
    let third = outbox.head(&a.address()).await.unwrap().unwrap().delivery;
    assert_eq!((third.content.text.as_str(), third.repeat), ("3", false));

    outbox.start(third.id, false).await.unwrap();
    let unknown = SendEnd::Unknown { error: "reset".to_owned() };
    outbox.finish(third.id, &unknown).await.unwrap();
    let behind = settle(&world, "4", vec![Content::text("4")], true).await;
    assert_eq!(behind, None, "a chunk before it is of unknown outcome");
    assert_eq!(world.delivered_texts(&a).await, ["3", "4"]);

    let source = AttachmentSource::Workspace("a.txt".to_owned());
    let attachments = vec![Attachment::new(AttachmentKind::Document, source)];
    let file = Content { attachments, ..Content::text("5") };
    assert_eq!(settle(&world, "5", vec![file], true).await, None, "its file must be read first");
    assert_eq!(world.delivered_texts(&a).await, ["5"]);

    let started = settle(&world, "6", vec![Content::text("6")], true).await;
    let world = world.restart().await;
    let head = world.ports.outbox.head(&a.address()).await.unwrap().unwrap();
    assert_eq!((head.unknown, head.attempts), (true, 1));
    assert_eq!(Some(head.delivery.id), started.map(|started| started.delivery.id));
}

/// Every message has exactly one outcome; those that were answered together are merged.
pub async fn settle_marks_the_last_message_replied_and_the_others_merged(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    set_mode(&world, &a, QueueMode::Collect).await;
    let ids = [world.say(&a, "1").await, world.say(&a, "2").await];
    world.texts(&a).await;
    assert_eq!(world.outcome(ids[0]).await, Some(Outcome::Merged));
    assert_eq!(world.outcome(ids[1]).await, Some(Outcome::Replied));
}

/// All messages of a turn without an answer get its outcome, including steering messages and
/// answers to its questions.
pub async fn settle_without_an_answer_gives_every_message_its_outcome(backend: &impl Backend) {
    let mut world = World::new(backend).await;
    for outcome in [Outcome::Error, Outcome::Dropped, Outcome::Stopped] {
        let a = session(outcome.as_str());
        set_mode(&world, &a, QueueMode::Steer).await;
        let say = async |text: &str| world.say(&a, &format!("{text} {}", outcome.as_str())).await;
        let mut ids = vec![say("first").await];
        let turn = world.take(&a).await;
        let call = world.step(turn.id, 0, &["ask"]).await[0];
        world.wait(&new_wait(call, WaitKind::Answer, Timestamp(1_000))).await;
        let answer = message(&a, &format!("answer {}", outcome.as_str()), InboundKind::Text);
        ids.push(world.accept(&answer).await.id);
        world.take(&a).await;
        ids.push(say("steers").await);
        world.ports.log.close_step(turn.id, 0).await.unwrap();

        world = world.restart().await;
        assert_eq!(world.take(&a).await.steps[0].steered.len(), 1);
        if outcome == Outcome::Stopped {
            let stop = world.command(&a, "/stop").await;
            let (action, reply) = (CommandAction::Stop(None), CommandReply::default());
            world.ports.inbox.settle_command(stop, &action, &reply).await.unwrap();
        } else {
            world.settle(turn.id, &Settlement { outcome, ..failure("no") }).await.unwrap();
        }
        for id in ids {
            assert_eq!(world.outcome(id).await, Some(outcome), "{id}");
        }
    }
}

/// A failed turn shows a notice, and later turns read it.
pub async fn settle_keeps_an_error_as_a_notice(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let id = world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let reason = TurnFailure {
        code: FailureCode::RateLimited,
        model: Some("a/b".to_owned()),
        status: Some(429),
        retry_after_seconds: Some(7),
    };
    let end = Settlement { failure: Some(reason.clone()), ..failure("no model") };
    world.settle(turn.id, &end).await.unwrap();
    assert_eq!(world.outcome(id).await, Some(Outcome::Error));
    let status = world.ports.query.message(id).await.unwrap().unwrap();
    assert_eq!((status.failed, status.failure), (true, Some(reason)));
    world.say(&a, "2").await;
    let next = world.take(&a).await;
    let history = world.ports.log.history(&a, next.id, usize::MAX).await.unwrap();
    assert_eq!(history.turns[0].notice.as_deref(), Some("no model"));
    assert_eq!(history.turns[0].state, TurnState::Failed);
}

/// `/retry` repeats the last failed turn with all its messages, each of them once. It is refused
/// for other people, while another turn is open, and after `/new`.
pub async fn retry_reruns_a_failed_turn_for_its_sender_or_an_owner(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let mut number = 0;
    let mut retry = async |world: &World<'_>, sender: Option<&str>| {
        number += 1;
        let command = world.command(&a, &format!("/retry {number}")).await;
        let sender = sender.map(|sender| sender.parse().unwrap());
        let action = CommandAction::Retry { wait: None, sender };
        let inbox = &world.ports.inbox;
        inbox.settle_command(command, &action, &CommandReply::default()).await.unwrap()
    };
    set_mode(&world, &a, QueueMode::Collect).await;
    world.say(&a, "1").await;
    world.say(&a, "2").await;
    let failed = world.take(&a).await;
    assert_eq!(retry(&world, None).await, CommandEffect::Nothing, "it is still open");
    world.settle(failed.id, &failure("no model")).await.unwrap();

    assert_eq!(retry(&world, Some("another")).await, CommandEffect::Nothing);
    let again = CommandEffect::Resolved(a.clone());
    let retried = async || {
        let past = world.ports.log.history(&a, TurnId(i64::MAX), usize::MAX).await.unwrap();
        let keys = past.turns[0].origin.messages().iter().map(|one| &one.message.inbound.key);
        keys.map(|key| key.as_str().starts_with("retried ")).collect::<Vec<_>>()
    };
    assert_eq!(retried().await, [false, false]);
    assert_eq!(retry(&world, Some("user")).await, again);
    assert_eq!(retried().await, [true, true], "the past shows the keys as they are now");
    let world = world.restart().await;
    let turn = world.take(&a).await;
    let texts: Vec<_> = turn.origin.messages().iter().map(LoggedInbound::model_text).collect();
    assert_eq!(texts, ["1", "2"]);
    assert_ne!(turn.id, failed.id);
    let keys = turn.origin.messages().iter().map(|one| one.message.inbound.key.as_str());
    assert_eq!(keys.collect::<Vec<_>>(), ["1", "2"], "what a reply refers to");
    world.settle(turn.id, &failure("still no model")).await.unwrap();

    assert_eq!(retry(&world, None).await, again, "an owner, and the retry that failed");
    world.texts(&a).await;
    assert_eq!(retry(&world, None).await, CommandEffect::Nothing, "the turn has an answer");

    world.say(&a, "3").await;
    let failed = world.take(&a).await.id;
    world.settle(failed, &failure("no model")).await.unwrap();
    let new = world.command(&a, "/new").await;
    let (action, reply) = (CommandAction::Forget, CommandReply::default());
    world.ports.inbox.settle_command(new, &action, &reply).await.unwrap();
    assert_eq!(retry(&world, None).await, CommandEffect::Nothing, "it is forgotten");
}

/// Attachments can change only while their turn runs, and the rest of the message stays.
pub async fn set_attachments_is_accepted_only_while_the_turn_runs(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let at = |source| vec![Attachment::new(AttachmentKind::Image, source)];
    let mut photo = message(&a, "look", InboundKind::Text);
    photo.inbound.content.attachments = at(AttachmentSource::Platform("f".to_owned()));
    let id = world.accept(&photo).await.id;
    let later = world.say(&a, "later").await;
    let turn = world.take(&a).await;
    let saved = at(AttachmentSource::Workspace("inbox/m1-0.jpg".to_owned()));
    let log = world.ports.log.clone();
    log.set_attachments(turn.id, id, &saved).await.unwrap();
    let not_ours = log.set_attachments(turn.id, later, &saved).await;
    assert_eq!(not_ours, Err(StoreError::Stale(later.to_string())));
    let query = &world.ports.query;
    assert_eq!(query.received_files(&a, id).await.unwrap(), (Some(turn.id), saved.clone()));
    assert_eq!(query.received_files(&session("b"), id).await.unwrap(), (None, Vec::new()));

    drop(log);
    let world = world.restart().await;
    let turn = world.take(&a).await;
    photo.inbound.content.attachments = saved;
    assert_eq!(turn.origin.messages()[0].message, photo);
    world.reply(turn.id, "a beach").await;
    let over = world.ports.log.set_attachments(turn.id, id, &[]).await;
    assert_eq!(over, Err(StoreError::Stale(turn.id.to_string())));
}

/// The sessions that a daemon must serve after a start or lost wake-ups.
pub async fn open_sessions_lists_sessions_with_work(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b, c) = (session("a"), session("b"), session("c"));
    for session in [&a, &b, &c] {
        world.say(session, "1").await;
    }
    world.texts(&c).await;
    world.take(&b).await;
    world.command(&c, "/status").await;
    let open = world.ports.turns.open_sessions().await.unwrap();
    assert_eq!(open, std::slice::from_ref(&a), "b runs, c has only a command");
    let world = world.restart().await;
    let open = world.ports.turns.open_sessions().await.unwrap();
    assert_eq!(open, [b.clone(), a]);
    let claimed =
        taken(world.ports.turns.claim(&b, Suspects::Include, Duration::ZERO).await.unwrap());
    assert_eq!(claimed.turn.origin.messages()[0].model_text(), "1");
}

/// Messages that arrive late are answered together. A message written just now is answered alone.
pub async fn f37_claim_takes_a_backlog_in_one_turn(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    for text in ["1", "2", "3"] {
        let mut late = message(&a, text, InboundKind::Text);
        late.inbound.written_at = Some(Timestamp(0));
        world.accept(&late).await;
    }
    world.say(&a, "now").await;
    let late = world.texts(&a).await;
    let said: Vec<_> =
        late.iter().filter_map(|text| text.split_once(" before it arrived]\n")).collect();
    assert_eq!(said.iter().map(|(_, text)| *text).collect::<Vec<_>>(), ["1", "2", "3"], "{late:?}");
    assert_eq!(world.texts(&a).await, ["now"]);
}

/// Linked chats share a session, but each message is answered in its own chat.
pub async fn claim_in_collect_mode_separates_linked_chats(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    set_mode(&world, &a, QueueMode::Collect).await;
    for (text, chat) in [("1", "a"), ("2", "a"), ("3", "b"), ("4", "a")] {
        let mut message = message(&a, text, InboundKind::Text);
        message.inbound.address = session(chat).address();
        world.accept(&message).await;
    }
    assert_eq!(world.texts(&a).await, ["1", "2"]);
    assert_eq!(world.texts(&a).await, ["3"]);
    assert_eq!(world.texts(&a).await, ["4"]);
}
