//! `search_history` on a real log.

use avocet_protocol::turn::AnswerEnding;
use std::time::Duration;

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{
    Content, Inbound, InboundKind, NewInbound, Outcome, Sender, SessionId,
};
use avocet_protocol::ids::{CallId, TurnId};
use avocet_protocol::model::Usage;
use avocet_protocol::store::{Answer, Claim, Inbox, Settlement, Suspects, Turns};
use avocet_protocol::tool::ToolContext;
use serde_json::{Value, json};

use crate::world::{World, context, session};

/// A message that a turn answers.
struct Said<'a> {
    session: &'a str,
    sender: &'a str,
    text: &'a str,
    forwarded: bool,
}

impl Default for Said<'_> {
    fn default() -> Self {
        Self { session: "terminal:local:a", sender: "me", text: "hi", forwarded: false }
    }
}

/// Accepts the message and claims its turn.
async fn ask(world: &World, said: &Said<'_>) -> TurnId {
    let session = SessionId::parse(said.session).unwrap();
    let number = world.store.claims().await;
    let mut content = Content::text(said.text);
    content.forwarded_from = said.forwarded.then(|| "a stranger".to_owned());
    let sender = Sender::new(said.sender.parse().unwrap());
    let key = format!("k{number}").parse().unwrap();
    let inbound = Inbound::new(session.address(), sender, key, content);
    let kind = InboundKind::Text;
    let message =
        NewInbound { session: session.clone(), kind, inbound, removed: 0, trust: Trust::Full };
    world.store.accept(&message, None).await.unwrap();
    let claim = world.store.claim(&session, Suspects::Exclude, Duration::ZERO).await.unwrap();
    let Claim::Turn(claimed) = claim else { panic!("a message waits") };
    claimed.turn.id
}

/// Runs a whole turn.
async fn exchange(world: &World, said: Said<'_>, answer: &str, trust: Trust) {
    let turn = ask(world, &said).await;
    let answer = Answer {
        step: 0,
        text: answer.to_owned(),
        ending: AnswerEnding::Complete,
        usage: Usage::default(),
        trust,
    };
    let settlement = Settlement { answer: Some(answer), ..Settlement::new(Outcome::Replied) };
    world.store.settle(turn, &settlement).await.unwrap();
}

/// The context of a call in a new turn of the test's session.
async fn asking(world: &World) -> ToolContext {
    let turn = ask(world, &Said::default()).await;
    ToolContext { call: CallId { turn, step: 0, ordinal: 0 }, ..context() }
}

/// A number that grows with each message.
trait Claims {
    async fn claims(&self) -> u64;
}

impl Claims for avocet_store::SqliteStore {
    async fn claims(&self) -> u64 {
        use avocet_protocol::store::Query;
        self.log_status().await.unwrap().messages
    }
}

#[tokio::test]
async fn search_history_shows_time_author_and_other_sessions() {
    let world = World::new().await;
    let first = Said { text: "Where are the marmots?", ..Said::default() };
    exchange(&world, first, "All marmots sleep.", Trust::Full).await;
    let other = Said { session: "terminal:local:b", text: "a marmot called", ..Said::default() };
    exchange(&world, other, "ok", Trust::Full).await;
    let context = asking(&world).await;

    let search = async |arguments: Value| {
        world.run_in(&context, "search_history", arguments).await.map(|output| output.value)
    };
    let Value::Array(mut found) = search(json!({"query": "marmots"})).await.unwrap() else {
        panic!("a list");
    };
    found.sort_by_key(|one| one["text"].to_string());
    let at = "2026-01-01 00:00";
    let expected = json!([
        {"at": at, "from": "you", "text": "All marmots sleep."},
        {"at": at, "from": "me", "text": "Where are the marmots?"},
        {"at": at, "from": "me", "text": "a marmot called", "session": "terminal:local:b"},
    ]);
    assert_eq!(Value::Array(found), expected);
    let one = search(json!({"query": "marmots", "limit": 1})).await.unwrap();
    assert_eq!(one.as_array().map(Vec::len), Some(1));
    let nothing = json!("nothing was said about this");
    assert_eq!(search(json!({"query": "zebra"})).await.unwrap(), nothing);
    let day = |before: &str| json!({"query": "marmot", "before": before});
    assert_eq!(search(day("2026-01-01")).await.unwrap(), nothing);
    assert_ne!(search(day("2026-01-02")).await.unwrap(), nothing);
    let error = search(day("yesterday")).await.unwrap_err().to_string();
    assert!(error.contains("before must be a day as YYYY-MM-DD"), "{error}");
    let error = search(json!({"query": "?!"})).await.unwrap_err().to_string();
    assert!(error.ends_with("query contains no word"), "{error}");
}

#[tokio::test]
async fn search_history_shows_a_snippet_around_the_hit() {
    let world = World::new().await;
    let filler = "lorem ipsum dolor ".repeat(100);
    let text = format!("{filler} the marmot sleeps {filler}");
    exchange(&world, Said { text: &text, ..Said::default() }, "ok", Trust::Full).await;
    let context = asking(&world).await;
    let found = world.run_in(&context, "search_history", json!({"query": "marmots"})).await;
    let found = found.unwrap().value;
    let shown = found[0]["text"].as_str().unwrap();
    assert!(shown.contains("the marmot sleeps") && shown.chars().count() <= 300, "{shown}");
}

#[tokio::test]
async fn search_history_returns_the_least_trust_of_its_results() {
    let world = World::new().await;
    let said = |text, sender, forwarded| Said { text, sender, forwarded, ..Said::default() };
    exchange(&world, said("alpha", "me", false), "alpha is known", Trust::Full).await;
    exchange(&world, said("beta", "guest", false), "ok", Trust::User).await;
    exchange(&world, said("gamma", "me", true), "ok", Trust::Full).await;
    exchange(&world, said("delta", "me", false), "delta from the web", Trust::Low).await;
    let table = [
        ("alpha", Trust::Full),
        ("beta", Trust::User),
        ("alpha beta", Trust::User),
        ("gamma", Trust::Low),
        ("delta", Trust::Low),
        ("alpha gamma", Trust::Low),
    ];
    let context = asking(&world).await;
    assert_eq!(context.session, session());
    for (query, trust) in table {
        let found = world.run_in(&context, "search_history", json!({ "query": query })).await;
        assert_eq!(found.unwrap().trust, Some(trust), "{query}");
    }
}
