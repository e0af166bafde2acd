//! Rules of branches: a new session with the beginning of another one.

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{Outcome, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::{
    BranchSession, BranchedSession, ChangeSession, CommandAction, CommandReply, CompactedPast,
    DeadPage, EventFilter, EventSeq, NewStep, UsageBy,
};
use avocet_protocol::tool::ToolClass;
use avocet_protocol::turn::{CallResult, ResultKind, TurnState};
use serde_json::{Value, json};

use super::Backend;
use super::world::{World, failure, good, new_step, session};

impl World<'_> {
    async fn branch(&self, branch: &BranchSession) -> BranchedSession {
        self.ports.branches.branch_session(branch).await.unwrap()
    }

    /// Answers a message after a call with this result. Returns the turn.
    async fn answer_with(&self, a: &SessionId, text: &str, result: &CallResult) -> TurnId {
        self.say(a, text).await;
        let turn = self.take(a).await.id;
        let trust = result.trust;
        self.record_step(turn, NewStep { trust, ..new_step(0, &["read"]) }).await.unwrap();
        let call = self.turn(a).await.steps[0].calls[0].id;
        self.start(call, ToolClass::Pure).await;
        self.ports.log.finish_call(call, result, Some("\"all of it\""), &[]).await.unwrap();
        self.reply(turn, &format!("answer to {text}")).await;
        turn
    }

    /// Returns the messages that the next request of a session contains.
    async fn said(&self, of: &SessionId) -> Vec<String> {
        let past = self.ports.log.history(of, TurnId(i64::MAX), 1_000_000).await.unwrap();
        past.turns.iter().map(|turn| turn.origin.messages()[0].model_text()).collect()
    }

    /// Returns the history of a turn's requests, without ids and places.
    async fn history_before(&self, a: &SessionId, turn: TurnId) -> Value {
        let past = self.ports.log.history(a, turn, 1_000_000).await.unwrap();
        let turns: Vec<Value> =
            past.turns.iter().map(|turn| serde_json::to_value(&**turn).unwrap()).collect();
        without_places(json!({ "turns": turns, "summary": past.compacted.summary }))
    }
}

fn without_places(value: Value) -> Value {
    match value {
        Value::Array(all) => all.into_iter().map(without_places).collect(),
        Value::Object(all) => {
            let places = ["id", "session", "key", "address"];
            let kept = all.into_iter().filter(|(name, _)| !places.contains(&name.as_str()));
            kept.map(|(name, value)| (name, without_places(value))).collect()
        }
        other => other,
    }
}

fn branch_of(from: &SessionId, into: &str) -> BranchSession {
    BranchSession { session: from.clone(), into: session(into), through: None, before: None }
}

/// The next request of the branch has the same history, and nothing is sent or paid again.
pub async fn branch_has_the_history_of_its_turns_and_no_other_rows(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    world.answer_with(&a, "one", &good()).await;
    let cut = CallResult {
        value: json!("[cut: read_result with handle \"t2s0c0\"]"),
        kind: ResultKind::Cut,
        ..good()
    };
    assert_eq!(world.answer_with(&a, "two", &cut).await, TurnId(2));
    world.say(&a, "three").await;
    let stopped = world.take(&a).await.id;
    let stop = world.command(&a, "/stop").await;
    let action = CommandAction::Stop(None);
    world.ports.inbox.settle_command(stop, &action, &CommandReply::default()).await.unwrap();
    let last = world.answer_with(&a, "four", &good()).await;
    let usage = world.ports.query.usage(UsageBy::Session, Timestamp(0)).await.unwrap();
    let events = world.ports.events.event_range().await.unwrap();
    let before = world.history_before(&a, TurnId(i64::MAX)).await;

    let branch = BranchSession { before: Some(last), ..branch_of(&a, "b") };
    assert_eq!(world.branch(&branch).await, BranchedSession::Copied { turns: 3 });
    let mut expected = world.history_before(&a, last).await;
    let copied = world.ports.log.history(&b, TurnId(i64::MAX), 1_000_000).await.unwrap();
    assert_eq!(copied.turns[2].state, TurnState::Cancelled);
    let handle = copied.turns[1].steps[0].calls[0].id.to_string();
    let result = &mut expected["turns"][1]["steps"][0]["calls"][0]["state"];
    let of_copy = result.to_string().replace("t2s0c0", &handle);
    *result = serde_json::from_str(&of_copy).unwrap();
    assert_eq!(world.history_before(&b, TurnId(i64::MAX)).await, expected);
    let kept = world.ports.kept.kept_result(&b, &handle).await.unwrap().unwrap();
    assert_eq!(kept.body, "\"all of it\"");

    assert_eq!(world.history_before(&a, TurnId(i64::MAX)).await, before, "the old session");
    assert_eq!(world.ports.query.usage(UsageBy::Session, Timestamp(0)).await.unwrap(), usage);
    assert!(world.deliveries(&b.address()).await.is_empty());
    let filter = EventFilter { session: Some(b.clone()), ..EventFilter::default() };
    let page = world.ports.events.events(EventSeq(0), &filter, 10).await.unwrap();
    assert!(page.events.is_empty(), "{page:?}");
    assert_eq!(world.ports.events.event_range().await.unwrap().oldest, events.oldest);
    assert!(world.ports.query.transcript(&a, 9).await.unwrap().iter().any(|t| t.id == stopped));

    // The branch goes on by itself, and after a restart, too.
    let world = world.restart().await;
    world.answer_with(&b, "four, differently", &good()).await;
    assert_eq!(world.said(&b).await, ["one", "two", "three", "four, differently"]);
    assert_eq!(world.said(&a).await, ["one", "two", "three", "four"]);
}

/// Untrusted stays untrusted, and a summary is copied only if it covers no turn that is left out.
pub async fn branch_keeps_trust_summaries_and_marks(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let untrusted = CallResult { trust: Trust::Low, ..good() };
    let first = world.answer_with(&a, "one", &good()).await;
    let second = world.answer_with(&a, "two", &untrusted).await;
    let third = world.answer_with(&a, "three", &untrusted).await;
    let summary = CompactedPast {
        summary: Some("They talked.".to_owned()),
        summary_to: Some(second),
        shortened_to: Some(third),
        trust: Trust::Low,
    };
    world.ports.log.record_compaction(&a, &summary).await.unwrap();
    for (into, through, texts, has_summary) in [
        ("b", third, vec!["three"], true),
        ("c", second, vec![], true),
        ("d", first, vec!["one"], false),
    ] {
        let branch = BranchSession { through: Some(through), ..branch_of(&a, into) };
        world.branch(&branch).await;
        let copy = session(into);
        let past = world.ports.log.history(&copy, TurnId(i64::MAX), 1_000_000).await.unwrap();
        let found = world.said(&copy).await;
        assert_eq!(found, texts, "{into}");
        let expected = has_summary.then(|| "They talked.".to_owned());
        assert_eq!(past.compacted.summary, expected, "{into}");
        let trust = if has_summary { Trust::Low } else { Trust::Full };
        assert_eq!(past.compacted.trust, trust, "{into}");
        let newest = past.turns.last();
        assert!(newest.is_none_or(|turn| Some(turn.id) <= past.compacted.shortened_to), "{into}");
        assert_eq!(past.trusted_to, None, "{into}");
    }
    let copied = world.ports.log.history(&session("b"), TurnId(i64::MAX), 1_000_000).await.unwrap();
    let call = copied.turns[0].steps[0].calls[0].result().unwrap();
    assert_eq!((copied.turns[0].steps[0].trust, call.trust), (Trust::Low, Trust::Low));

    let command = world.command(&a, "/trust").await;
    let (action, reply) = (CommandAction::TrustPast, CommandReply::default());
    world.ports.inbox.settle_command(command, &action, &reply).await.unwrap();
    let branch = BranchSession { before: Some(third), ..branch_of(&a, "e") };
    world.branch(&branch).await;
    let past = world.ports.log.history(&session("e"), TurnId(i64::MAX), 1_000_000).await.unwrap();
    let newest = world.turn(&session("e")).await;
    let last = newest.steps.last().map(|step| step.number);
    assert_eq!(past.trusted_to, Some((newest.id, last)));
}

/// `/new` counts. A turn that has not ended is left out.
pub async fn branch_leaves_out_forgotten_turns_and_names_its_refusals(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    let forgotten = world.answer_with(&a, "one", &good()).await;
    let command = world.command(&a, "/new").await;
    let (action, reply) = (CommandAction::Forget, CommandReply::default());
    world.ports.inbox.settle_command(command, &action, &reply).await.unwrap();
    world.say(&a, "two").await;
    let failed = world.take(&a).await.id;
    world.settle(failed, &failure("no answer")).await.unwrap();
    let other = world.answer_with(&b, "other", &good()).await;
    world.say(&a, "three").await;
    let open = world.take(&a).await.id;
    for (branch, expected) in [
        (
            BranchSession { through: Some(open), ..branch_of(&a, "x") },
            BranchedSession::OpenTurn(open),
        ),
        (
            BranchSession { through: Some(other), ..branch_of(&a, "x") },
            BranchedSession::UnknownTurn(other),
        ),
        (branch_of(&session("none"), "x"), BranchedSession::UnknownSession),
        (branch_of(&a, "b"), BranchedSession::Taken),
        (branch_of(&a, "a"), BranchedSession::Taken),
        (
            BranchSession { before: Some(forgotten), ..branch_of(&a, "empty") },
            BranchedSession::Copied { turns: 0 },
        ),
        (
            BranchSession { before: Some(open), ..branch_of(&a, "c") },
            BranchedSession::Copied { turns: 1 },
        ),
        (branch_of(&a, "d"), BranchedSession::Copied { turns: 1 }),
    ] {
        assert_eq!(world.branch(&branch).await, expected, "{branch:?}");
    }
    let copied = world.turn(&session("c")).await;
    assert_eq!(copied.notice.as_deref(), Some("no answer"));
    let message = copied.origin.messages()[0].id;
    assert_eq!(world.outcome(message).await, Some(Outcome::Error));
    assert!(
        world
            .ports
            .dead_letters
            .dead_letters(DeadPage { limit: 9, after: None })
            .await
            .unwrap()
            .is_empty()
    );
}

/// Each branch of a conversation, and of its branches, has another number. A title of a person and
/// `/new` take it away; a branch without turns begins with a first message of its own.
pub async fn branches_of_a_conversation_have_different_numbers(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let first = world.answer_with(&a, "one", &good()).await;
    let (b, c, d) = (session("b"), session("c"), session("d"));
    for (from, into) in [(&a, "b"), (&a, "c"), (&b, "d")] {
        world.branch(&branch_of(from, into)).await;
    }
    let empty = BranchSession { before: Some(first), ..branch_of(&a, "e") };
    world.branch(&empty).await;
    let label = async |of: &SessionId| {
        let rows = world.ports.query.sessions(10, None).await.unwrap();
        let row = rows.into_iter().find(|row| row.session == *of).unwrap();
        (row.title, row.branch)
    };
    let one = Some("one".to_owned());
    for (of, number) in [(&a, 0), (&b, 1), (&c, 2), (&d, 3)] {
        assert_eq!(label(of).await, (one.clone(), number), "{of}");
    }
    assert_eq!(label(&session("e")).await, (None, 0));

    let named = ChangeSession {
        session: c.clone(),
        title: Some("The garden".to_owned()),
        is_pinned: None,
        is_archived: None,
    };
    assert!(world.ports.labels.change_labels(&named).await.unwrap());
    assert_eq!(label(&c).await, (Some("The garden".to_owned()), 0));
    let command = world.command(&b, "/new").await;
    let (action, reply) = (CommandAction::Forget, CommandReply::default());
    world.ports.inbox.settle_command(command, &action, &reply).await.unwrap();
    assert_eq!(label(&b).await, (None, 0));
    world.branch(&branch_of(&c, "f")).await;
    assert_eq!(label(&session("f")).await, (Some("The garden".to_owned()), 4));
}
