//! Rules of the search in past conversations.

use avocet_protocol::turn::AnswerEnding;
use std::sync::Arc;

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{ChatKind, Content, InboundKind, NewInbound, Sender, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::TurnId;
use avocet_protocol::model::Usage;
use avocet_protocol::store::{
    CommandAction, CommandReply, HistoryAuthor, HistoryHit, HistoryQuery, NewStep, SessionFilter,
    WideHistoryQuery,
};

use super::Backend;
use super::waits::spawn;
use super::world::{World, failure, message, reply, session};

/// The text of a turn that searches. No rule looks for it.
const ASK: &str = "xylophone";

/// A conversation, a sender and the kind of chat.
#[derive(Clone, Copy)]
struct From {
    session: &'static str,
    sender: &'static str,
    chat: ChatKind,
}

impl From {
    const fn private(session: &'static str, sender: &'static str) -> Self {
        Self { session, sender, chat: ChatKind::Private }
    }

    const fn group(session: &'static str, sender: &'static str) -> Self {
        Self { session, sender, chat: ChatKind::Group }
    }

    fn session(self) -> SessionId {
        session(self.session)
    }

    fn message(self, text: &str) -> NewInbound {
        let mut message = message(&self.session(), text, InboundKind::Text);
        message.inbound.sender = Sender::new(self.sender.parse().unwrap());
        message.inbound.chat = self.chat;
        message
    }
}

/// Runs a turn from its message to its reply.
async fn exchange(world: &World<'_>, from: From, text: &str, answer: &str) -> TurnId {
    world.accept(&from.message(text)).await;
    let turn = world.take(&from.session()).await.id;
    world.reply(turn, answer).await;
    turn
}

/// Searches from a new turn of this conversation, and ends that turn.
async fn hits(world: &World<'_>, from: From, words: &str) -> Vec<HistoryHit> {
    search(world, from, words, None, 10).await
}

async fn search(
    world: &World<'_>,
    from: From,
    words: &str,
    before: Option<Timestamp>,
    limit: usize,
) -> Vec<HistoryHit> {
    // The key of a message is its text, and must differ.
    let number = world.ports.query.log_status().await.unwrap().messages;
    world.accept(&from.message(&format!("{ASK} {number}"))).await;
    let turn = world.take(&from.session()).await.id;
    let query = HistoryQuery { turn, words: words.to_owned(), before, limit };
    let hits = world.ports.history.search_history(&query).await.unwrap();
    world.settle(turn, &failure(ASK)).await.unwrap();
    hits
}

async fn texts(world: &World<'_>, from: From, words: &str) -> Vec<String> {
    let mut texts: Vec<String> =
        hits(world, from, words).await.into_iter().map(|hit| hit.text).collect();
    texts.sort_unstable();
    texts
}

/// A search finds what people wrote, what the model answered, and notices; not the turn that asks.
/// `/new` hides nothing.
pub async fn search_history_finds_messages_answers_and_notices(backend: &impl Backend) {
    let world = World::new(backend).await;
    let me = From::private("a", "me");
    exchange(&world, me, "Where is Zoë's key?", "Under the doormats.").await;
    world.accept(&me.message("and the other key?")).await;
    let failed = world.take(&me.session()).await.id;
    world.settle(failed, &failure("no model for the key")).await.unwrap();

    let found = hits(&world, me, "doormat").await;
    let [answer] = &found[..] else { panic!("{found:?}") };
    assert_eq!((answer.author.clone(), &answer.session), (HistoryAuthor::Agent, &me.session()));
    let keys = ["Where is Zoë's key?", "and the other key?", "no model for the key"];
    assert_eq!(texts(&world, me, "key").await, keys);
    let [found] = &hits(&world, me, "zoe").await[..] else { panic!("one message") };
    let HistoryAuthor::Person(inbound) = &found.author else { panic!("{found:?}") };
    assert_eq!(inbound.sender.id.as_str(), "me");
    assert_eq!(search(&world, me, "key", None, 2).await.len(), 2, "the limit");
    assert_eq!(search(&world, me, "key", Some(found.at), 10).await, [], "none is older");
    assert_eq!(texts(&world, me, "?!").await, [""; 0], "no word");
    assert_eq!(texts(&world, me, "scope OR \"*").await, [""; 0], "no syntax");

    let new = world.command(&me.session(), "/new").await;
    let (action, reply) = (CommandAction::Forget, CommandReply::default());
    world.ports.inbox.settle_command(new, &action, &reply).await.unwrap();
    assert_eq!(texts(&world, me, "doormat").await, ["Under the doormats."], "after /new");
}

/// A private chat finds the private turns of the same person and its own session. A group finds
/// its own session only.
pub async fn search_history_stays_in_the_scope_of_its_person(backend: &impl Backend) {
    let world = World::new(backend).await;
    let table = [
        (From::private("a", "ann"), "ann in a"),
        (From::private("b", "ann"), "ann in b"),
        (From::private("c", "bob"), "bob in c"),
        // Two people share the session b.
        (From::private("b", "bob"), "bob in b"),
        (From::group("g", "ann"), "ann in g"),
        (From::group("g", "bob"), "bob in g"),
        (From::group("h", "bob"), "bob in h"),
    ];
    for (from, name) in table {
        exchange(&world, from, &format!("secret of {name}"), &format!("secret for {name}")).await;
    }
    let table = [
        (From::private("a", "ann"), vec!["ann in a", "ann in b"]),
        (From::private("b", "ann"), vec!["ann in a", "ann in b", "bob in b"]),
        (From::private("c", "bob"), vec!["bob in b", "bob in c"]),
        (From::private("d", "bob"), vec!["bob in b", "bob in c"]),
        (From::private("d", "eve"), vec![]),
        (From::group("g", "ann"), vec!["ann in g", "bob in g"]),
        (From::group("h", "ann"), vec!["bob in h"]),
    ];
    for (from, names) in table {
        let said = names.iter().map(|name| format!("secret of {name}"));
        let mut expected: Vec<String> =
            names.iter().map(|name| format!("secret for {name}")).chain(said).collect();
        expected.sort_unstable();
        let found = texts(&world, from, "secrets").await;
        assert_eq!(found, expected, "{} in {}", from.sender, from.session);
    }
    // A child searches for its root turn, and its own work is in no result.
    let (parent, _, child) = spawn(&world).await;
    let query =
        |turn, words: &str| HistoryQuery { turn, words: words.to_owned(), before: None, limit: 10 };
    let history = &world.ports.history;
    let found = history.search_history(&query(child.id, "secret")).await.unwrap();
    assert_eq!(found.len(), 2, "{found:?}");
    world.settle(child.id, &reply("a marmot")).await.unwrap();
    let found = history.search_history(&query(parent.id, "marmot")).await.unwrap();
    assert_eq!(found, []);
}

/// The index skips an open turn, and takes it in when it has ended.
pub async fn search_history_finds_a_turn_that_ended_after_a_later_one(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (slow, fast) = (From::private("slow", "me"), From::private("fast", "me"));
    world.accept(&slow.message("a slow marmot")).await;
    let open = world.take(&slow.session()).await.id;
    exchange(&world, fast, "a fast marmot", "ok").await;
    assert_eq!(texts(&world, fast, "marmot").await, ["a fast marmot"]);
    world.reply(open, "ok").await;
    assert_eq!(texts(&world, fast, "marmot").await, ["a fast marmot", "a slow marmot"]);
    assert_eq!(texts(&world, fast, "marmot").await.len(), 2, "each text once");
}

/// A restarted daemon finds the texts that an earlier one has indexed, once each.
pub async fn search_history_continues_after_a_restart(backend: &impl Backend) {
    let world = World::new(backend).await;
    let me = From::private("a", "me");
    exchange(&world, me, "first marmot", "ok").await;
    assert_eq!(texts(&world, me, "marmot").await, ["first marmot"]);
    world.accept(&me.message("second marmot")).await;
    let open = world.take(&me.session()).await.id;
    let other = From::private("b", "me");
    assert_eq!(texts(&world, other, "marmot").await, ["first marmot"]);
    let world = world.restart().await;
    assert_eq!(world.take(&me.session()).await.id, open);
    world.reply(open, "third marmot").await;
    let all = ["first marmot", "second marmot", "third marmot"];
    assert_eq!(texts(&world, other, "marmot").await, all);
}

/// A text of the model has the trust of its request.
pub async fn search_history_keeps_the_trust_of_a_text(backend: &impl Backend) {
    let world = World::new(backend).await;
    let me = From::private("a", "me");
    for (text, trust) in [("first", Trust::Full), ("second", Trust::Low)] {
        let mut message = me.message(text);
        message.inbound.content = Content::text("hello");
        world.accept(&message).await;
        let turn = world.take(&me.session()).await.id;
        let step = NewStep {
            number: 0,
            text: format!("the {text} marmot"),
            ending: AnswerEnding::Complete,
            calls: Vec::new(),
            written: None,
            reasoning: None,
            usage: Usage::new(1, 1),
            trust,
            spent: Vec::new(),
        };
        world.ports.log.record_step(turn, &step).await.unwrap();
        world.settle(turn, &failure("the end")).await.unwrap();
        let found = hits(&world, me, text).await;
        let found: Vec<_> = found.iter().map(|hit| (hit.text.as_str(), hit.trust)).collect();
        assert_eq!(found, [(step.text.as_str(), trust)]);
    }
}

/// An operator searches the conversations of all people. The filter decides before the limit counts.
pub async fn search_all_history_searches_every_conversation_or_those_of_a_filter(
    backend: &impl Backend,
) {
    let world = World::new(backend).await;
    let (ann, bob) = (From::private("a", "ann"), From::group("g", "bob"));
    let of_ann = exchange(&world, ann, "a marmot by ann", "the marmot sleeps").await;
    let of_bob = exchange(&world, bob, "bob has a marmot", "no").await;
    let search = async |words: &str, limit, only: Option<SessionId>| {
        let filter = |only| SessionFilter(Arc::new(move |session: &SessionId| *session == only));
        let sessions = only.map(filter);
        let query = WideHistoryQuery { words: words.to_owned(), limit, sessions };
        let hits = world.ports.history.search_all_history(&query).await.unwrap();
        let mut hits: Vec<_> =
            hits.into_iter().map(|hit| (hit.session, hit.turn, hit.text)).collect();
        hits.sort_unstable();
        hits
    };
    let row = |from: From, turn, text: &str| (from.session(), turn, text.to_owned());
    let of_a = [row(ann, of_ann, "a marmot by ann"), row(ann, of_ann, "the marmot sleeps")];
    let of_g = [row(bob, of_bob, "bob has a marmot")];
    assert_eq!(search("marmots", 10, None).await, [&of_a[..], &of_g].concat());
    assert_eq!(search("marmots", 1, None).await.len(), 1);
    for (session, expected) in [(ann.session(), &of_a[..]), (bob.session(), &of_g)] {
        assert_eq!(search("marmots", expected.len(), Some(session)).await, expected);
    }
    assert_eq!(search("marmots", 10, Some(session("x"))).await, []);
    assert_eq!(search("?!", 10, None).await, []);
}
