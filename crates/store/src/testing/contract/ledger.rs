//! Rules of the usage records.

use std::time::Duration;

use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::TurnId;
use avocet_protocol::model::{Money, Spent, Usage};
use avocet_protocol::store::{
    CommandAction, CommandReply, EventDetail, EventFailedRequest, EventKind, NewStep, Purpose,
    RequestOutcome, Settlement, Spending, StoreError, Suspects, Total, UsageBy, UsageEntry,
    UsageRow,
};
use avocet_protocol::turn::{FailedRequest, FailureCode, TraceSubject, TurnFailure};

use super::Backend;
use super::waits::spawn;
use super::world::{World, failure, new_step, session, taken};

/// Usage of 100 input and 10 output tokens. Cost in billionths of a dollar; `None` if the price is
/// unknown.
fn spent(model: &str, cost: Option<u64>) -> Spent {
    Spent { model: model.to_owned(), usage: Usage::new(100, 10), cost: cost.map(Money) }
}

fn entry(purpose: Purpose, spent: &Spent) -> UsageEntry {
    UsageEntry::of_spent(purpose, spent.clone())
}

async fn record(world: &World<'_>, turn: Option<TurnId>, session: &SessionId, spent: &[Spent]) {
    let entries: Vec<_> = spent.iter().map(|one| entry(Purpose::Answer, one)).collect();
    world.ports.ledger.record_usage(turn, session, &entries).await.unwrap();
}

async fn spending(world: &World<'_>, turn: Option<TurnId>, session: &SessionId) -> Spending {
    world.ports.ledger.spent(turn, session, Timestamp(0)).await.unwrap()
}

/// Returns the total of this number of priced answers.
fn total(answers: u64, cost: u64) -> Total {
    let usage = Usage::new(answers * 100, answers * 10);
    Total { usage, cost: Money(cost), unpriced: 0 }
}

/// Starts a turn in a session.
async fn turn(world: &World<'_>, session: &SessionId, text: &str) -> TurnId {
    world.say(session, text).await;
    world.take(session).await.id
}

/// Usage of every purpose is recorded under its word.
pub async fn record_usage_keeps_the_purpose(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    for purpose in Purpose::ALL {
        let used = [entry(purpose, &spent("m", Some(1)))];
        world.ports.ledger.record_usage(None, &a, &used).await.unwrap();
    }
    let rows = world.ports.query.usage(UsageBy::Purpose, Timestamp(0)).await.unwrap();
    let mut found: Vec<_> = rows.iter().map(|row| row.of.as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, ["answer", "consolidation", "embedding", "speech", "summary"]);
}

/// A request that failed and was made again is an event of its turn, and no answer.
pub async fn record_usage_keeps_a_failed_request_for_the_timeline(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let message = world.say(&a, "1").await;
    let turn = world.take(&a).await.id;
    let failure = TurnFailure {
        code: FailureCode::RateLimited,
        model: Some("a/b".to_owned()),
        status: Some(429),
        retry_after_seconds: None,
    };
    let (began, ended) = (Timestamp(5), Timestamp(9));
    let failed = FailedRequest { began, ended, failure: failure.clone() };
    let purpose = Purpose::Answer;
    let failed = UsageEntry { purpose, request: RequestOutcome::Failed(failed) };
    let entries = [failed, entry(purpose, &spent("a/b", Some(1)))];
    for turn in [Some(turn), None] {
        world.ports.ledger.record_usage(turn, &a, &entries).await.unwrap();
    }
    let events = world.ports.events.traced_events(TraceSubject::Message(message)).await.unwrap();
    let found: Vec<_> = events
        .iter()
        .filter(|event| event.kind == EventKind::RequestFailed)
        .map(|event| (event.turn, event.session.clone(), event.detail.clone()))
        .collect();
    let expected =
        EventDetail::FailedRequest(EventFailedRequest { began, ended, purpose, failure });
    assert_eq!(found, [(Some(turn), Some(a.clone()), Some(expected))], "a compaction has no turn");
    assert_eq!(spending(&world, Some(turn), &a).await.session, total(2, 2));
    let rows = world.ports.query.usage(UsageBy::Model, Timestamp(0)).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.answers).collect::<Vec<_>>(), [2]);
}

/// Every answer counts for its turn, conversation and day, even after a crash.
pub async fn spent_sums_usage_by_turn_session_and_day(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    let first = turn(&world, &a, "1").await;
    let spent_once = [spent("m", Some(5)), spent("n", Some(7))];
    record(&world, Some(first), &a, &spent_once).await;
    record(&world, Some(first), &a, &[]).await;
    world.reply(first, "ok").await;
    record(&world, Some(first), &a, &[spent("m", Some(1))]).await;
    let second = turn(&world, &a, "2").await;
    record(&world, Some(second), &a, &[spent("m", Some(100))]).await;
    world.say(&b, "3").await;
    let summary = [spent("m", Some(1000))];
    let ledger = &world.ports.ledger;
    let summary = summary.map(|one| entry(Purpose::Summary, &one));
    ledger.record_usage(None, &b, &summary).await.unwrap();

    let world = world.restart().await;
    let day = total(5, 1113);
    let of_first = Spending { turn: total(3, 13), session: total(4, 113), day };
    assert_eq!(spending(&world, Some(first), &a).await, of_first);
    let of_second = Spending { turn: total(1, 100), ..of_first };
    assert_eq!(spending(&world, Some(second), &a).await, of_second);
    let of_none = Spending { turn: Total::default(), session: total(1, 1000), day };
    assert_eq!(spending(&world, None, &b).await, of_none);
    let tomorrow = world.ports.ledger.spent(None, &b, Timestamp(i64::MAX)).await.unwrap();
    assert_eq!(tomorrow, Spending { day: Total::default(), ..of_none });
    assert_eq!(spending(&world, None, &session("unheard")).await.session, Total::default());
}

/// A resumed turn asks for the usage that an earlier run has recorded.
pub async fn has_usage_finds_the_purpose_of_a_turn(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let first = turn(&world, &a, "1").await;
    let ledger = &world.ports.ledger;
    let speech = [entry(Purpose::Speech, &spent("m", Some(5)))];
    ledger.record_usage(Some(first), &a, &speech).await.unwrap();
    world.reply(first, "ok").await;
    let second = turn(&world, &a, "2").await;
    assert_eq!(ledger.has_usage(first, Purpose::Speech).await, Ok(true));
    assert_eq!(ledger.has_usage(first, Purpose::Answer).await, Ok(false));
    assert_eq!(ledger.has_usage(second, Purpose::Speech).await, Ok(false));
}

/// A claim reads the usage before the first request: of a new turn, and of one that continues.
pub async fn claim_reads_the_usage_before_the_first_request(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let first = turn(&world, &a, "1").await;
    record(&world, Some(first), &a, &[spent("m", Some(5))]).await;
    world.reply(first, "ok").await;
    world.say(&a, "2").await;
    let claimed = || async {
        let claim = world.ports.turns.claim(&a, Suspects::Include, Duration::ZERO).await;
        taken(claim.unwrap())
    };
    let begun = claimed().await;
    let before = Spending { turn: Total::default(), session: total(1, 5), day: total(1, 5) };
    assert_eq!(begun.usage.spending, before);
    record(&world, Some(begun.turn.id), &a, &[spent("m", Some(7))]).await;
    world.ports.turns.release(begun.turn.id).await.unwrap();
    let both = Spending { turn: total(1, 7), session: total(2, 12), day: total(2, 12) };
    assert_eq!(claimed().await.usage.spending, both);
}

/// Usage is part of the transaction of a step or an end. A turn that `/stop` has ended refuses both,
/// but the usage counts.
pub async fn usage_of_a_step_and_of_an_end_counts_even_if_the_turn_has_ended(
    backend: &impl Backend,
) {
    let world = World::new(backend).await;
    let a = session("a");
    let used = |cost| vec![entry(Purpose::Answer, &spent("m", Some(cost)))];
    let first = turn(&world, &a, "1").await;
    world.record_step(first, NewStep { spent: used(1), ..new_step(0, &["echo"]) }).await.unwrap();
    let end = Settlement { spent: used(10), ..failure("no") };
    world.settle(first, &end).await.unwrap();
    assert_eq!(spending(&world, Some(first), &a).await.turn, total(2, 11));

    let stale = StoreError::Stale(first.to_string());
    let late = NewStep { spent: used(100), ..new_step(1, &["echo"]) };
    assert_eq!(world.record_step(first, late).await, Err(stale.clone()));
    let end = Settlement { spent: used(1000), ..failure("no") };
    assert_eq!(world.settle(first, &end).await, Err(stale));
    let world = world.restart().await;
    let all = total(4, 1111);
    let expected = Spending { turn: all, session: all, day: all };
    assert_eq!(spending(&world, Some(first), &a).await, expected);
    assert_eq!(world.turn(&a).await.steps.len(), 1, "the late step is not in the log");
}

/// Tokens without known price are counted apart from the cost. Nonsense figures still have a sum.
pub async fn spent_counts_tokens_without_a_price_apart(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let first = turn(&world, &a, "1").await;
    let cached = Usage { cached: 60, cache_written: 20, ..Usage::new(100, 10) };
    let known = Spent { usage: cached, ..spent("m", Some(5)) };
    record(&world, Some(first), &a, &[known, spent("local", None)]).await;
    let usage = Usage { cached: 60, cache_written: 20, ..Usage::new(200, 20) };
    let sum = Total { usage, cost: Money(5), unpriced: 110 };
    assert_eq!(spending(&world, Some(first), &a).await.turn, sum);

    let usage = Usage::new(u64::MAX, u64::MAX);
    let nonsense = Spent { usage, cost: Some(Money(u64::MAX)), model: "m".to_owned() };
    record(&world, Some(first), &a, &vec![nonsense; 9]).await;
    let sum = spending(&world, Some(first), &a).await.turn;
    assert!(sum.cost > Money::dollars(1000.0) && sum.usage.total() > 1_000_000_000, "{sum:?}");
}

/// A child's usage counts for its root: the turn that a person waits for, and its conversation.
pub async fn spent_counts_the_usage_of_a_child_for_its_root(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (parent, _, child) = spawn(&world).await;
    record(&world, Some(parent.id), &parent.session, &[spent("m", Some(5))]).await;
    record(&world, Some(child.id), &child.session, &[spent("m", Some(7))]).await;
    let both = Spending { turn: total(2, 12), session: total(2, 12), day: total(2, 12) };
    assert_eq!(spending(&world, Some(parent.id), &parent.session).await, both);
    assert_eq!(spending(&world, Some(child.id), &child.session).await, both);
    world.settle(child.id, &failure("the budget is spent")).await.unwrap();
    record(&world, Some(child.id), &child.session, &[spent("m", Some(1))]).await;
    assert_eq!(spending(&world, Some(parent.id), &parent.session).await.turn, total(3, 13));
}

/// `/new` begins a new sum for its conversation; the sum of the day stays.
pub async fn new_begins_a_new_usage_sum_for_its_session(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    for (session, text) in [(&a, "1"), (&b, "2")] {
        let turn = turn(&world, session, text).await;
        record(&world, Some(turn), session, &[spent("m", Some(5))]).await;
        world.reply(turn, "ok").await;
    }
    let (forget, reply) = (world.command(&a, "/new").await, CommandReply::default());
    world.ports.inbox.settle_command(forget, &CommandAction::Forget, &reply).await.unwrap();
    let of_a = spending(&world, None, &a).await;
    assert_eq!((of_a.session, of_a.day), (Total::default(), total(2, 10)));
    assert_eq!(spending(&world, None, &b).await.session, total(1, 5));
    record(&world, None, &a, &[spent("m", Some(7))]).await;
    assert_eq!(spending(&world, None, &a).await.session, total(1, 7));
}

/// A backend may keep sums of older answers. They are exact after each answer, and `/new` begins anew in
/// the middle of them.
pub async fn spent_is_exact_after_each_of_many_answers(backend: &impl Backend) {
    let mut world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    for session in [&a, &b] {
        world.say(session, session.as_str()).await;
    }
    let [mut of_a, mut of_b, mut of_day] = [Total::default(); 3];
    for number in 1..=50 {
        let used = if number % 5 == 0 { spent("local", None) } else { spent("m", Some(number)) };
        let one = match used.cost {
            Some(cost) => total(1, cost.0),
            None => Total { unpriced: 110, ..total(1, 0) },
        };
        let is_a = number % 3 > 0;
        record(&world, None, if is_a { &a } else { &b }, &[used]).await;
        let sum = if is_a { &mut of_a } else { &mut of_b };
        (*sum, of_day) = (*sum + one, of_day + one);
        if number == 23 {
            let (forget, reply) = (world.command(&a, "/new").await, CommandReply::default());
            world.ports.inbox.settle_command(forget, &CommandAction::Forget, &reply).await.unwrap();
            of_a = Total::default();
        }
        if number == 37 {
            world = world.restart().await;
        }
        for (session, of_session) in [(&a, of_a), (&b, of_b)] {
            let found = spending(&world, None, session).await;
            assert_eq!((found.session, found.day), (of_session, of_day), "{session} {number}");
        }
    }
}

/// Usage can be listed by model and by session, most expensive first, and by day.
pub async fn usage_lists_totals_by_model_session_and_day(backend: &impl Backend) {
    let world = World::new(backend).await;
    let query = world.ports.query.clone();
    let list = async |by| query.usage(by, Timestamp(0)).await.unwrap();
    assert_eq!(list(UsageBy::Day).await, []);
    let (a, b) = (session("a"), session("b"));
    world.say(&a, "1").await;
    world.say(&b, "2").await;
    let unpriced = Total { unpriced: 110, ..total(1, 0) };
    record(&world, None, &a, &[spent("cheap", Some(1)), spent("local", None)]).await;
    record(&world, None, &b, &[spent("dear", Some(50)), spent("cheap", Some(1))]).await;

    let row = |of: &str, answers, total| UsageRow { of: of.to_owned(), answers, total };
    let models =
        [row("dear", 1, total(1, 50)), row("cheap", 2, total(2, 2)), row("local", 1, unpriced)];
    assert_eq!(list(UsageBy::Model).await, models);
    let of_a = total(1, 1) + unpriced;
    let sessions = [row(b.as_str(), 2, total(2, 51)), row(a.as_str(), 2, of_a)];
    assert_eq!(list(UsageBy::Session).await, sessions);
    let days = list(UsageBy::Day).await;
    assert_eq!((days.len(), days[0].answers, days[0].total), (1, 4, of_a + total(2, 51)));
    let [year, month, day] = days[0].of.split('-').collect::<Vec<_>>()[..] else { panic!() };
    assert_eq!([year.len(), month.len(), day.len()], [4, 2, 2], "{}", days[0].of);
    assert_eq!(query.usage(UsageBy::Model, Timestamp(i64::MAX)).await, Ok(vec![]));
}
