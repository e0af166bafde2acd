//! Rules of the titles of sessions, and of the messages that a chat gets from outside of its turns.

use avocet_protocol::access::ChatLink;
use avocet_protocol::chat::{InboundKind, NewInbound, Receipt, SessionId};
use avocet_protocol::ids::{DedupeKey, DeliveryId};
use avocet_protocol::store::{
    ChangeSession, CommandAction, CommandReply, DeliveredText, SendEnd, SentState, SessionGroup,
    SessionSummary, Settlement,
};

use super::Backend;
use super::world::{World, message, planned, reply, session};

impl World<'_> {
    async fn summary(&self, of: &SessionId) -> SessionSummary {
        let sessions = self.ports.query.sessions(10, None).await.unwrap();
        sessions.into_iter().find(|row| row.session == *of).unwrap()
    }

    async fn title(&self, of: &SessionId) -> Option<String> {
        self.summary(of).await.title
    }

    async fn forget(&self, session: &SessionId) {
        let command = self.command(session, "/new").await;
        let nothing = CommandReply { done: None, nothing: None, replaces: None };
        let inbox = &self.ports.inbox;
        inbox.settle_command(command, &CommandAction::Forget, &nothing).await.unwrap();
    }

    async fn sent(&self, session: &SessionId) -> Vec<DeliveredText> {
        self.ports.query.sent(session, 50, None).await.unwrap()
    }

    async fn sent_texts(&self, session: &SessionId) -> Vec<String> {
        self.sent(session).await.into_iter().map(|sent| sent.text).collect()
    }

    async fn send(&self, chat: &SessionId, key: &str, chunks: &[&str]) -> DeliveryId {
        let key = DedupeKey::parse(key).unwrap();
        self.ports.outbox.enqueue(&planned(chat, chunks), &key, None).await.unwrap().id
    }
}

/// A waiting message is newer than those of turns. Commands and bots give no title.
pub async fn sessions_have_the_first_message_since_new_as_title(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    let mut first = message(&a, "first", InboundKind::Text);
    first.inbound.content.text = "first\n  question".to_owned();
    world.accept(&first).await;
    assert_eq!(world.title(&a).await.as_deref(), Some("first question"), "it waits; in one line");
    let turn = world.take(&a).await;
    world.reply(turn.id, "an answer").await;
    world.say(&a, "second").await;
    assert_eq!(world.title(&a).await.as_deref(), Some("first question"), "the second one waits");
    let turn = world.take(&a).await;
    world.reply(turn.id, "an answer").await;
    assert_eq!(world.title(&a).await.as_deref(), Some("first question"));
    world.forget(&a).await;
    assert_eq!(world.title(&a).await, None);
    world.say(&a, "third").await;
    let turn = world.take(&a).await;
    world.reply(turn.id, "an answer").await;
    world.say(&a, "fourth").await;
    assert_eq!(world.title(&a).await.as_deref(), Some("third"), "after /new");

    world.command(&b, "/status").await;
    let mut bot = message(&b, "from a bot", InboundKind::Text);
    bot.inbound.sender.is_bot = true;
    world.accept(&bot).await;
    assert_eq!(world.title(&b).await, None);
    let mut long = message(&b, "long", InboundKind::Text);
    long.inbound.content.text = "x".repeat(5000);
    world.accept(&long).await;
    let title = world.title(&b).await.unwrap();
    assert_eq!(title.len(), SessionSummary::READ_CHARS);
}

/// A title, a pin and the archiving are kept separately; a message ends the archiving.
pub async fn sessions_keep_the_labels_that_people_give_them(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    world.say(&a, "first").await;
    world.say(&b, "other").await;
    let unchanged =
        ChangeSession { session: a.clone(), title: None, is_pinned: None, is_archived: None };
    let unknown = ChangeSession { session: session("none"), ..unchanged.clone() };
    assert!(!world.ports.labels.change_labels(&unknown).await.unwrap());
    for (change, expected, group) in [
        (
            ChangeSession { title: Some("The garden".to_owned()), ..unchanged.clone() },
            (Some("The garden"), false, false),
            SessionGroup::Other,
        ),
        (
            ChangeSession { is_pinned: Some(true), ..unchanged.clone() },
            (Some("The garden"), true, false),
            SessionGroup::Pinned,
        ),
        (
            ChangeSession { is_archived: Some(true), ..unchanged.clone() },
            (Some("The garden"), true, true),
            SessionGroup::Archived,
        ),
        (
            ChangeSession {
                title: Some(String::new()),
                is_pinned: Some(false),
                ..unchanged.clone()
            },
            (Some("first"), false, true),
            SessionGroup::Archived,
        ),
    ] {
        assert!(world.ports.labels.change_labels(&change).await.unwrap());
        let row = world.summary(&a).await;
        assert_eq!((row.title.as_deref(), row.is_pinned, row.is_archived), expected, "{change:?}");
        for one in SessionGroup::ALL {
            let rows = world.ports.query.sessions_of(Some(one), 10, None).await.unwrap();
            let is_listed = rows.iter().any(|row| row.session == a);
            assert_eq!(is_listed, one == group, "{change:?} in {}", one.as_str());
            let has_other = rows.iter().any(|row| row.session == b);
            assert_eq!(has_other, one == SessionGroup::Other, "another session");
        }
    }
    let titled = ChangeSession { title: Some("Old".to_owned()), ..unchanged };
    world.ports.labels.change_labels(&titled).await.unwrap();
    world.say(&a, "again").await;
    let row = world.summary(&a).await;
    assert_eq!((row.title.as_deref(), row.is_archived), (Some("Old"), false));
    world.forget(&a).await;
    assert_eq!(world.title(&a).await.as_deref(), Some("Old"), "/new keeps a title of a person");
}

/// Answers to commands, texts of other processes and of other sessions, but no replies.
pub async fn sent_lists_messages_outside_of_the_turns_of_a_session(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    world.say(&a, "question").await;
    let turn = world.take(&a).await;
    world.reply(turn.id, "the reply").await;
    let command = world.command(&a, "/status").await;
    let done = Some(planned(&a, &["all", "is", "well"]));
    let reply_to_command = CommandReply { done: done.clone(), nothing: done, replaces: None };
    let action = CommandAction::Forget;
    world.ports.inbox.settle_command(command, &action, &reply_to_command).await.unwrap();
    world.send(&a, "k1", &["from a", "process"]).await;
    world.send(&b, "k1", &["to another chat"]).await;
    let other = SessionId::parse("schedule:local:1").unwrap();
    let asked = message(&a, "task", InboundKind::Text);
    world.accept(&NewInbound { session: other.clone(), ..asked }).await;
    let turn = world.take(&other).await;
    let report = Settlement { reply: Some(planned(&a, &["a", "report"])), ..reply("a report") };
    world.settle(turn.id, &report).await.unwrap();

    let sent = world.sent(&a).await;
    let shown: Vec<(&str, SentState)> =
        sent.iter().map(|sent| (sent.text.as_str(), sent.state)).collect();
    let pending = SentState::Pending;
    let texts = [("a\nreport", pending), ("from a\nprocess", pending), ("all\nis\nwell", pending)];
    assert_eq!(shown, texts);
    let query = &world.ports.query;
    assert_eq!(query.sent(&a, 1, None).await.unwrap(), sent[..1]);
    assert_eq!(query.sent(&a, 9, Some(sent[0].delivery)).await.unwrap(), sent[1..]);
    assert_eq!(query.sent(&a, 9, Some(sent[2].delivery)).await.unwrap(), []);
    assert_eq!(world.sent_texts(&b).await, ["to another chat"]);
    world.deliveries(&a.address()).await;
    assert!(world.sent(&a).await.iter().all(|sent| sent.state == SentState::Sent));
}

/// A text whose platform has taken it with styles is no longer Markdown.
pub async fn sent_tells_text_with_styles_from_markdown(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let mut styled = planned(&a, &["• one\n• two"]);
    styled.chunks[0].styles = Some(Vec::new());
    for (key, plan) in [("k1", planned(&a, &["- one\n- two"])), ("k2", styled)] {
        let key = DedupeKey::parse(key).unwrap();
        world.ports.outbox.enqueue(&plan, &key, None).await.unwrap();
    }
    let sent = world.sent(&a).await;
    assert_eq!(sent.iter().map(|sent| sent.is_plain).collect::<Vec<_>>(), [true, false]);
}

/// The worst state of the parts is that of the message.
pub async fn sent_shows_the_worst_state_of_the_parts(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.send(&a, "k1", &["one", "two", "three"]).await;
    for (state, end) in [
        (SentState::Pending, SendEnd::Sent(Receipt { platform_id: None })),
        (SentState::Dead, SendEnd::Dead { error: "no".to_owned(), notice: None }),
    ] {
        let head = world.ports.outbox.head(&a.address()).await.unwrap().unwrap().delivery.id;
        world.ports.outbox.start(head, false).await.unwrap();
        world.ports.outbox.finish(head, &end).await.unwrap();
        let [sent] = &world.sent(&a).await[..] else { panic!("one message") };
        assert_eq!((sent.text.as_str(), sent.state), ("one\ntwo\nthree", state));
    }
}

/// A session shows what its linked chats get, too.
pub async fn sent_includes_the_chats_linked_to_a_session(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    world.send(&b, "k1", &["hello"]).await;
    assert_eq!(world.sent_texts(&a).await, [""; 0]);
    let link = ChatLink { chat: b.address(), session: a.clone() };
    world.ports.people.link(&link).await.unwrap();
    assert_eq!(world.sent_texts(&a).await, ["hello"]);
}
