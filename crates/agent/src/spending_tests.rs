//! Tests of budgets, and that every cost is recorded.

use std::time::Duration;

use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::TurnId;
use avocet_protocol::model::{ModelError, ModelReply, Money, Spent, Usage};
use avocet_protocol::store::{
    EventDetail, EventFilter, EventKind, EventLog, EventSeq, Ledger, Purpose, Query, Spending,
    Total, Turns, UsageAtClaim, UsageEntry,
};
use avocet_protocol::turn::FailureCode;
use avocet_testkit::Scripted;
use serde_json::json;

use crate::harness::{AgentHarness, answered, failed, meter, session};
use crate::{Budgets, TurnLimits, UsageMeter};

impl AgentHarness {
    async fn costing(answers: Vec<Scripted>, budgets: Budgets) -> Self {
        let mut harness = Self::new(answers).await;
        harness.agent.limits.budgets = budgets;
        harness
    }

    /// Waits until the model has had `times` requests.
    async fn asked(&self, times: usize) {
        while self.model.requests().len() < times {
            tokio::task::yield_now().await;
        }
    }

    /// Returns the recorded costs of the turn and in total.
    async fn spending(&self, turn: TurnId) -> Spending {
        self.store.spent(Some(turn), &session(), Timestamp(0)).await.unwrap()
    }
}

/// A step that costs this many dollars.
fn step(number: u32, dollars: f64) -> Scripted {
    Scripted::calls(&[("echo", json!({ "n": number }))]).costing(dollars)
}

fn per_turn(dollars: f64) -> Budgets {
    Budgets { turn_cost: Some(Money::dollars(dollars)), ..Budgets::default() }
}

#[tokio::test]
async fn f18_max_tokens_of_a_turn_counts_usage_before_a_crash() {
    let limits = TurnLimits { max_tokens: 220, ..TurnLimits::default() };
    let Scripted::Reply(step) = step(0, 0.0) else { panic!() };
    let (model, detail) = ("test/scripted".to_owned(), "no route".to_owned());
    let breaks = Scripted::Error(ModelError::Unreachable { model, detail: detail.into() });
    let harness = AgentHarness::new(vec![Scripted::Reply(step.clone()), breaks]).await;
    harness.turn("go").await;
    let (mut harness, turn) = harness.restart(vec![Scripted::Reply(step)]).await;
    harness.agent.limits.turn = limits;
    let notice = failed(harness.run(turn).await.unwrap());
    assert_eq!(
        notice,
        "I stopped after 220 tokens (the limit for one answer is 220). What was done so far is \
         kept; say \"continue\" to go on."
    );
}

#[tokio::test]
async fn usage_at_claim_counts_for_the_first_request_on_the_same_day() {
    let harness = AgentHarness::new(Vec::new()).await;
    let (at_claim, in_ledger) = (Total { unpriced: 7, ..Total::default() }, Spending::default());
    let spending = Spending { day: at_claim, ..in_ledger };
    let usage = UsageAtClaim { spending, day_start: Timestamp(5) };
    for (day, first) in [(5, spending), (6, in_ledger)] {
        let meter = UsageMeter::new(None, session()).with_usage_at_claim(usage);
        for expected in [first, in_ledger] {
            let counted = meter.spending(harness.store.as_ref(), Timestamp(day)).await;
            assert_eq!(counted, Ok(expected), "{day}");
        }
    }
}

#[tokio::test]
async fn f18_turn_budget_ends_the_turn_and_starts_again_with_the_next() {
    let answers = vec![step(0, 2.0), step(1, 2.0), step(2, 2.0), Scripted::says("better")];
    let harness = AgentHarness::costing(answers, per_turn(5.0)).await;
    let notice = failed(harness.turn("go").await);
    assert_eq!(
        notice,
        "The budget of this answer is spent: $6.00 of $5.00. It starts again with the next \
         message; budgets.turn_usd raises it."
    );
    assert_eq!(
        (harness.model.requests().len(), harness.runs("echo")),
        (3, 3),
        "what was done is kept"
    );
    let turn = harness.record().await.id;
    let settlement = avocet_protocol::store::Settlement {
        notice: Some(notice),
        ..avocet_protocol::store::Settlement::new(avocet_protocol::chat::Outcome::Error)
    };
    harness.store.settle(turn, &settlement).await.unwrap();
    assert_eq!(answered(&harness.turn("continue").await), "better");
    assert_eq!(harness.spending(turn).await.session.cost, Money::dollars(6.0));
}

#[tokio::test]
async fn f18_turn_budget_counts_empty_answers_and_other_models() {
    let nothing = || Scripted::says("").costing(3.0);
    let harness = AgentHarness::costing(vec![nothing(), nothing()], per_turn(5.0)).await;
    let notice = failed(harness.turn("hi").await);
    assert!(notice.contains("$6.00 of $5.00"), "it is not asked a third time: {notice}");

    let spent = |model: &str, dollars| Spent {
        model: model.to_owned(),
        usage: Usage::new(100, 10),
        cost: Some(Money::dollars(dollars)),
    };
    let Scripted::Reply(reply) = step(0, 0.0) else { panic!() };
    let chained = ModelReply { spent: vec![spent("test/a", 3.0), spent("test/b", 3.0)], ..reply };
    let harness = AgentHarness::costing(vec![Scripted::Reply(chained)], per_turn(5.0)).await;
    let notice = failed(harness.turn("hi").await);
    assert!(notice.contains("$6.00 of $5.00"), "{notice}");
    let rows =
        harness.store.usage(avocet_protocol::store::UsageBy::Model, Timestamp(0)).await.unwrap();
    let models: Vec<&str> = rows.iter().map(|row| row.of.as_str()).collect();
    assert_eq!(models, ["test/a", "test/b"]);
}

#[tokio::test]
async fn f19_day_budget_is_checked_before_the_request_and_starts_again_at_midnight() {
    let budgets = Budgets { day_cost: Some(Money::dollars(1.0)), ..Budgets::default() };
    let answers = vec![Scripted::says("one").costing(1.5), Scripted::says("two")];
    let harness = AgentHarness::costing(answers, budgets).await;
    harness.clock.advance(Duration::from_hours(23));
    assert_eq!(answered(&harness.turn("first").await), "one");
    harness.settle("one").await;
    harness.say("second").await;
    let turn = harness.claim().await;
    let notice = failed(harness.run(turn.clone()).await.unwrap());
    assert_eq!(
        notice,
        "The budget of this day is spent: $1.50 of $1.00. It starts again at 00:00 UTC; \
         budgets.day_usd raises it."
    );
    assert_eq!(harness.model.requests().len(), 1, "the model gets no further request");
    harness.clock.advance(Duration::from_hours(1));
    assert_eq!(answered(&harness.run(turn).await.unwrap()), "two");
}

#[tokio::test]
async fn usage_is_recorded_by_turn_and_session_before_the_turn_goes_on() {
    let harness = AgentHarness::costing(vec![step(0, 0.5)], per_turn(0.5)).await;
    harness.say("go").await;
    let turn = harness.claim().await;
    let id = turn.id;
    failed(harness.run(turn).await.unwrap());
    let other = Spent { model: "test/other".to_owned(), usage: Usage::new(1, 1), cost: None };
    let (session, summary) = (session(), Purpose::Summary);
    let entry = UsageEntry::of_spent(summary, other);
    harness.store.record_usage(None, &session, &[entry]).await.unwrap();
    let Spending { turn, session, .. } = harness.spending(id).await;
    assert_eq!((turn.cost, turn.usage), (Money::dollars(0.5), Usage::new(100, 10)));
    assert_eq!((session.usage.total(), session.unpriced), (112, 2));
}

#[tokio::test]
async fn usage_has_a_failed_request_that_the_agent_made_again() {
    let (model, detail) = ("test/scripted".to_owned(), "too long".to_owned());
    let too_long = ModelError::TooLong { model, detail: detail.into(), window: Some(30_000) };
    let answers = vec![Scripted::Error(too_long), step(0, 0.5), Scripted::says("done")];
    let harness = AgentHarness::new(answers).await;
    assert_eq!(answered(&harness.turn("go").await), "done");
    let kinds = vec![EventKind::RequestFailed];
    let filter = EventFilter { kinds, ..EventFilter::default() };
    let events = harness.store.events(EventSeq(0), &filter, 10).await.unwrap().events;
    let [event] = &events[..] else { panic!("{events:?}") };
    let Some(EventDetail::FailedRequest(request)) = &event.detail else { panic!("{event:?}") };
    assert_eq!(request.failure.code, FailureCode::ContextTooLong);
}

#[tokio::test]
async fn usage_counts_the_input_of_a_broken_answer_but_not_of_an_unreachable_model() {
    let (model, detail) = ("test/scripted".to_owned(), "cut off".to_owned());
    let broken = ModelError::BadAnswer { model: model.clone(), detail: detail.clone().into() };
    let late = ModelError::TimedOut { model: model.clone(), detail: detail.clone().into() };
    let away = ModelError::Unreachable { model, detail: detail.into() };
    for (error, counts) in [(broken, true), (late, true), (away, false)] {
        let harness = AgentHarness::new(vec![Scripted::Error(error.clone())]).await;
        harness.turn("go").await;
        let turn = harness.record().await.id;
        let usage = harness.spending(turn).await.turn.usage;
        let request = &harness.model.requests()[0];
        let read = if counts { request.estimated_tokens() } else { 0 };
        assert_eq!((usage.input, usage.output), (read, 0), "{error}");
    }
}

#[tokio::test]
async fn usage_meter_records_the_input_of_a_cancelled_request_once() {
    let harness = AgentHarness::new(vec![Scripted::Hang]).await;
    harness.say("go").await;
    let turn = harness.claim().await;
    let (id, meter) = (turn.id, meter(&turn));
    tokio::select! {
        end = harness.run_with(turn, Vec::new(), &meter) => panic!("{end:?}"),
        () = harness.asked(1) => {}
    }
    assert_eq!(harness.spending(id).await.turn.usage, Usage::default());
    meter.record(harness.store.as_ref()).await.unwrap();
    let read = Usage::new(harness.model.requests()[0].estimated_tokens(), 0);
    for _ in 0..2 {
        assert_eq!(harness.spending(id).await.turn.usage, read, "once");
        meter.record(harness.store.as_ref()).await.unwrap();
    }
}
