//! Rules of the texts that a chat receives from other sessions than its own.

use avocet_protocol::access::{ChatLink, Trust};
use avocet_protocol::chat::{InboundKind, NewInbound, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::{CommandAction, CommandReply, Settlement};
use avocet_protocol::tool::{LogWrite, ToolClass};
use avocet_protocol::turn::{SessionReport, SessionReports, TurnRecord};

use super::Backend;
use super::world::{World, failure, good, message, planned, reply, session};

/// The session of a scheduled task.
fn other() -> SessionId {
    SessionId::parse("schedule:local:1").unwrap()
}

impl World<'_> {
    /// Claims a turn of [`other`], whose answer goes to the chat of session `a`.
    async fn takes_elsewhere(&self, text: &str) -> TurnRecord {
        let asked = message(&session("a"), text, InboundKind::Text);
        self.accept(&NewInbound { session: other(), ..asked }).await;
        self.take(&other()).await
    }

    /// Sends a text to the chat of session `a` as the answer of [`other`].
    async fn answers_elsewhere(&self, text: &str) {
        let beginning: String = text.chars().take(20).collect();
        let turn = self.takes_elsewhere(&format!("task: {beginning}")).await;
        self.settle(turn.id, &reply(text)).await.unwrap();
    }

    /// Returns the reports of the next turn of a session, for this text.
    async fn reported(&self, to: &SessionId, text: &str) -> SessionReports {
        self.say(to, text).await;
        let turn = self.take(to).await;
        self.settle(turn.id, &Settlement { reply: None, ..reply("ok") }).await.unwrap();
        turn.reports
    }

    async fn reported_texts(&self, to: &SessionId, text: &str) -> Vec<String> {
        let reports = self.reported(to, text).await;
        reports.texts.into_iter().map(|report| report.text).collect()
    }
}

/// An answer is reported once to the own session of its chat, and stays part of the turn that shows
/// it.
pub async fn report_is_shown_once_by_the_next_turn_of_the_chats_own_session(
    backend: &impl Backend,
) {
    let world = World::new(backend).await;
    let a = session("a");
    world.answers_elsewhere("the weather").await;
    world.say(&a, "well?").await;
    let turn = world.take(&a).await;
    let [SessionReport { from, chat, text, trust, .. }] = &turn.reports.texts[..] else {
        panic!("{:?}", turn.reports)
    };
    assert_eq!((from, chat, text.as_str()), (&other(), &a.address(), "the weather"));
    assert_eq!((*trust, turn.reports.more), (Trust::Full, 0));
    let world = world.restart().await;
    let again = world.take(&a).await;
    assert_eq!((again.id, &again.reports), (turn.id, &turn.reports), "the same after a crash");
    world.settle(turn.id, &Settlement { reply: None, ..reply("sunny") }).await.unwrap();
    world.say(&a, "and now?").await;
    let next = world.take(&a).await;
    assert!(next.reports.is_empty());
    let past = world.ports.log.history(&a, next.id, 100_000).await.unwrap();
    assert_eq!(past.turns.last().unwrap().reports, turn.reports);
}

/// An answer in the own session of the chat, or without a reply, is no report.
pub async fn report_excludes_the_own_session_and_silent_turns(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "hello").await;
    let turn = world.take(&a).await;
    world.settle(turn.id, &reply("hi")).await.unwrap();
    let turn = world.takes_elsewhere("anything new?").await;
    world.settle(turn.id, &Settlement { reply: None, ..reply("nothing") }).await.unwrap();
    assert!(world.reported(&a, "well?").await.is_empty());
}

/// An error notice is reported like an answer, but as untrusted text.
pub async fn report_of_a_failure_is_untrusted(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turn = world.takes_elsewhere("fail").await;
    world.settle(turn.id, &failure("it failed")).await.unwrap();
    let told = world.reported(&session("a"), "well?").await.texts;
    assert_eq!((told[0].text.as_str(), told[0].trust), ("it failed", Trust::Low));
}

/// A linked chat has the session of another chat as its own.
pub async fn report_goes_to_the_linked_session_of_the_chat(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    let link = ChatLink { chat: a.address(), session: b.clone() };
    world.ports.people.link(&link).await.unwrap();
    world.answers_elsewhere("linked").await;
    assert!(world.reported(&a, "hello?").await.is_empty());
    assert_eq!(world.reported_texts(&b, "well?").await, ["linked"]);
}

/// The message tool reports its texts to other chats.
pub async fn report_contains_texts_of_the_message_tool_for_other_chats(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    world.say(&a, "tell b").await;
    let turn = world.take(&a).await;
    let call = world.step(turn.id, 0, &["message"]).await[0];
    world.start(call, ToolClass::InLog).await;
    let writes = [&a, &b].map(|to| LogWrite::Message(planned(to, &["dinner", "at eight"])));
    world.ports.log.finish_call(call, &good(), None, &writes).await.unwrap();
    world.settle(turn.id, &Settlement { reply: None, ..reply("told") }).await.unwrap();
    assert!(world.reported(&a, "well?").await.is_empty());
    assert_eq!(world.reported_texts(&b, "what?").await, ["dinner\nat eight"]);
}

/// A turn shows the last few reports and the number of older ones; long texts are cut.
pub async fn reports_lists_the_last_texts_and_counts_the_others(backend: &impl Backend) {
    let world = World::new(backend).await;
    for number in 0..SessionReports::MOST + 3 {
        world.answers_elsewhere(&format!("n{number}{}", " long".repeat(1000))).await;
    }
    let SessionReports { texts, more } = world.reported(&session("a"), "well?").await;
    let told: Vec<&str> = texts.iter().map(|report| &report.text[..2]).collect();
    assert_eq!((told, more), (vec!["n3", "n4", "n5", "n6", "n7"], 3));
    assert!(texts.iter().all(|one| one.text.len() == SessionReport::MAX_CHARS));
    assert!(texts.iter().all(|one| one.at > Timestamp(0)));
}

/// `/new` forgets texts that were not shown yet.
pub async fn new_forgets_unshown_reports(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.answers_elsewhere("old").await;
    let command = world.command(&a, "/new").await;
    let inbox = &world.ports.inbox;
    let nothing = CommandReply::default();
    inbox.settle_command(command, &CommandAction::Forget, &nothing).await.unwrap();
    assert!(world.reported(&a, "well?").await.is_empty());
}
