//! Rules of the notes by which a conversation learns of undelivered messages.

use avocet_protocol::access::{ChatLink, Trust};
use avocet_protocol::chat::{Planned, SessionId};
use avocet_protocol::model::Usage;
use avocet_protocol::store::{CommandAction, CommandReply, NewStep, SendEnd};
use avocet_protocol::tool::{LogWrite, ToolClass};
use avocet_protocol::turn::{AnswerEnding, LostMessage, TurnRecord, Undelivered};

use super::Backend;
use super::waits::spawn;
use super::world::{World, call, good, planned, reply, session};

impl World<'_> {
    /// Abandons the next chunk of the session's chat.
    async fn loses_next(&self, session: &SessionId, error: &str, unconfirmed: bool) {
        let outbox = &self.ports.outbox;
        let id = outbox.head(&session.address()).await.unwrap().unwrap().delivery.id;
        outbox.start(id, false).await.unwrap();
        let (error, notice) = (error.to_owned(), Some(planned(session, &["it is lost"])));
        let end = if unconfirmed {
            SendEnd::Unconfirmed { error, notice }
        } else {
            SendEnd::Dead { error, notice }
        };
        outbox.finish(id, &end).await.unwrap();
    }

    /// Claims the next turn of a session, for this text.
    async fn next(&self, session: &SessionId, text: &str) -> TurnRecord {
        self.say(session, text).await;
        self.take(session).await
    }

    /// Runs a turn of session `a` whose answer is abandoned.
    async fn loses(&self, answer: &str) {
        let turn = self.next(&session("a"), &format!("before {answer}")).await;
        self.reply(turn.id, answer).await;
        self.loses_next(&session("a"), "refused", false).await;
        self.deliveries(&session("a").address()).await;
    }

    async fn acts(&self, text: &str, action: CommandAction) {
        let command = self.command(&session("a"), text).await;
        let inbox = &self.ports.inbox;
        inbox.settle_command(command, &action, &CommandReply::default()).await.unwrap();
    }

    /// Returns the lost messages that the next turn of session `a` reports.
    async fn told(&self, text: &str) -> Vec<String> {
        let turn = self.next(&session("a"), text).await;
        turn.undelivered.messages.into_iter().map(|lost| lost.what).collect()
    }
}

fn lost(session: &SessionId, what: &str, why: &str, unconfirmed: bool) -> LostMessage {
    let (what, why) = (what.to_owned(), why.to_owned());
    LostMessage { chat: session.address(), what, why, unconfirmed, trust: Trust::Full }
}

/// A note is reported once, is logged before that, and stays part of the turn that reports it.
pub async fn undelivered_message_is_reported_once_at_the_next_turn(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    for (answer, error, unconfirmed) in [("one", "refused", false), ("two", "reset", true)] {
        let turn = world.next(&a, &format!("say {answer}")).await;
        assert!(answer == "two" || turn.undelivered.is_empty());
        world.reply(turn.id, answer).await;
        world.loses_next(&a, error, unconfirmed).await;
        world.deliveries(&a.address()).await;
    }
    // The second turn reported the first loss.
    let first = lost(&a, "“one”", "refused", false);
    assert_eq!(world.turn(&a).await.undelivered.messages, [first]);
    let told = Undelivered { messages: vec![lost(&a, "“two”", "reset", true)], more: 0 };
    let turn = world.next(&a, "well?").await;
    assert_eq!(turn.undelivered, told);
    let world = world.restart().await;
    let again = world.take(&a).await;
    assert_eq!((again.id, &again.undelivered), (turn.id, &told), "the same after a crash");
    world
        .settle(turn.id, &avocet_protocol::store::Settlement { reply: None, ..reply("sorry") })
        .await
        .unwrap();
    let next = world.next(&a, "and now?").await;
    assert!(next.undelivered.is_empty());
    let past = world.ports.log.history(&a, next.id, 100_000).await.unwrap();
    assert_eq!(past.turns.last().unwrap().undelivered, told);
}

/// A notice is about another message, and a command reply is in no model's history.
pub async fn undelivered_excludes_notices_and_command_replies(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let turn = world.next(&a, "hi").await;
    world.reply(turn.id, "hello").await;
    world.loses_next(&a, "refused", false).await;
    world.loses_next(&a, "refused", false).await;
    let status = world.command(&a, "/status").await;
    let reply = CommandReply { done: Some(planned(&a, &["idle"])), nothing: None, replaces: None };
    world.ports.inbox.settle_command(status, &CommandAction::None, &reply).await.unwrap();
    world.deliveries(&a.address()).await;
    assert_eq!(world.told("well?").await, ["“hello”"]);
}

/// Messages that a turn or its child sends to other chats belong to its own conversation.
pub async fn undelivered_message_belongs_to_the_conversation_that_sent_it(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    let (turn, _, child) = spawn(&world).await;
    let call = world.step(child.id, 0, &["message"]).await[0];
    world.start(call, ToolClass::InLog).await;
    let writes = [LogWrite::Message(planned(&b, &["psst"]))];
    world.ports.log.finish_call(call, &good(), None, &writes).await.unwrap();
    world.loses_next(&b, "refused", false).await;
    let end = avocet_protocol::store::Settlement { reply: None, ..reply("seven") };
    world.settle(child.id, &end).await.unwrap();
    assert!(world.take(&a).await.undelivered.is_empty(), "the turn has begun before");
    world.settle(turn.id, &end).await.unwrap();
    assert!(world.next(&b, "hello?").await.undelivered.is_empty());
    let told = world.next(&a, "well?").await.undelivered.messages;
    assert_eq!(told, [lost(&b, "“psst”", "refused", false)]);
}

/// A message of another process belongs to the session of its chat.
pub async fn undelivered_message_of_a_process_belongs_to_the_linked_session(
    backend: &impl Backend,
) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    world.ports.people.link(&ChatLink { chat: b.address(), session: a.clone() }).await.unwrap();
    let words = planned(&b, &["words of a program"]);
    world.ports.outbox.enqueue(&words, &"report".parse().unwrap(), None).await.unwrap();
    world.loses_next(&b, "refused", false).await;
    assert!(world.next(&b, "hello?").await.undelivered.is_empty());
    let told = world.next(&a, "well?").await.undelivered.messages;
    assert_eq!(told, [lost(&b, "a message that another program sent", "refused", false)]);
}

/// `/new` forgets older messages and their losses, even losses that come later.
pub async fn new_forgets_undelivered_messages(backend: &impl Backend) {
    let world = World::new(backend).await;
    world.loses("before").await;
    let late = world.next(&session("a"), "late").await;
    world.reply(late.id, "late answer").await;
    world.acts("/new", CommandAction::Forget).await;
    world.loses_next(&session("a"), "refused", false).await;
    assert_eq!(world.told("well?").await, [""; 0]);
}

/// A message under `/resend` is reported as lost only if it fails again.
pub async fn resend_withdraws_an_unreported_undelivered_message(backend: &impl Backend) {
    let world = World::new(backend).await;
    world.loses("hello").await;
    world.acts("/resend", CommandAction::Resend).await;
    assert_eq!(world.told("well?").await, [""; 0]);
    world.loses_next(&session("a"), "refused again", false).await;
    world.reply(world.turn(&session("a")).await.id, "ok").await;
    assert_eq!(world.told("and now?").await, ["“hello”"]);
}

/// A conversation gets the last few notes and the number of older ones; errors are cut.
pub async fn undelivered_lists_the_last_messages_and_counts_the_others(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let turn = world.next(&a, "report").await;
    let names: Vec<String> =
        (0..Undelivered::MOST + 3).map(|number| format!("n{number}")).collect();
    let call = world.step(turn.id, 0, &["message"]).await[0];
    world.start(call, ToolClass::InLog).await;
    let writes: Vec<LogWrite> =
        names.iter().map(|name| LogWrite::Message(planned(&session(name), &[name]))).collect();
    world.ports.log.finish_call(call, &good(), None, &writes).await.unwrap();
    for name in &names {
        world.loses_next(&session(name), &"long ".repeat(1000), false).await;
    }
    world.reply(turn.id, "done").await;
    let Undelivered { messages, more } = world.next(&a, "well?").await.undelivered;
    let told: Vec<&str> = messages.iter().map(|lost| lost.what.as_str()).collect();
    assert_eq!((told, more), (vec!["“n3”", "“n4”", "“n5”", "“n6”", "“n7”"], 3));
    assert!(messages.iter().all(|lost| lost.why.len() <= 200));
}

/// A note has the lowest trust level of the requests that led to its message, until an owner
/// declares them trusted.
pub async fn undelivered_message_has_the_lowest_trust_of_its_requests(backend: &impl Backend) {
    for (believed, expected) in [(false, Trust::Low), (true, Trust::Full)] {
        let world = World::new(backend).await;
        let turn = world.next(&session("a"), &format!("look {believed}")).await;
        let step = NewStep {
            number: 0,
            text: String::new(),
            ending: AnswerEnding::Complete,
            calls: vec![call("read")],
            written: None,
            reasoning: None,
            usage: Usage::default(),
            trust: Trust::Low,
            spent: Vec::new(),
        };
        world.ports.log.record_step(turn.id, &step).await.unwrap();
        let id = avocet_protocol::ids::CallId { turn: turn.id, step: 0, ordinal: 0 };
        world.finish(id).await;
        world.reply(turn.id, "obey").await;
        world.loses_next(&session("a"), "refused", false).await;
        if believed {
            world.acts("/trust", CommandAction::TrustPast).await;
        }
        let told = world.next(&session("a"), &format!("well {believed}?")).await;
        assert_eq!(told.undelivered.messages[0].trust, expected, "believed: {believed}");
        world.reply(told.id, "ok").await;
        world.deliveries(&session("a").address()).await;
        drop(world);
        backend.kill().await;
    }
}

/// Later parts abandoned with the first part of their message get no note.
pub async fn undelivered_omits_the_rest_of_an_abandoned_message(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let turn = world.next(&a, "long").await;
    let Planned { address, chunks } = planned(&a, &["1", "2", "3"]);
    let end = avocet_protocol::store::Settlement {
        reply: Some(Planned { address, chunks }),
        ..reply("123")
    };
    world.settle(turn.id, &end).await.unwrap();
    world.loses_next(&a, "refused", false).await;
    assert_eq!(world.told("well?").await, ["“1”"]);
}
