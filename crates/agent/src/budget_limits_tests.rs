use std::sync::Arc;

use avocet_protocol::model::{ModelFacts, ModelRequest, Price, Spent, Usage};
use avocet_protocol::store::{Ledger, Purpose, UsageEntry};
use avocet_testkit::{Scripted, ScriptedModel};

use super::*;
use crate::harness::{AgentHarness, answered, failed};

fn total(tokens: u64, dollars: f64) -> Total {
    Total { usage: Usage::new(tokens, 0), cost: Money::dollars(dollars), unpriced: 0 }
}

#[test]
fn reached_names_a_spent_budget_with_its_sum_end_and_key() {
    let none = Budgets {
        turn_cost: None,
        day_cost: None,
        session_cost: None,
        day_tokens: None,
        session_tokens: None,
        unpriced_day_tokens: None,
    };
    let spending =
        Spending { turn: total(10, 1.0), session: total(100, 2.0), day: total(1000, 50.02) };
    let money = |dollars| Some(Money::dollars(dollars));
    let table = [
        (none, None),
        (Budgets { day_cost: money(50.03), session_tokens: Some(101), ..none }, None),
        (
            Budgets { day_cost: money(50.0), turn_cost: money(0.5), ..none },
            Some(
                "The budget of this day is spent: $50.02 of $50.00. It starts again at 00:00 UTC; \
                 budgets.day_usd raises it.",
            ),
        ),
        (
            Budgets { day_tokens: Some(1000), ..none },
            Some(
                "The budget of this day is spent: 1,000 of 1,000 tokens. It starts again at 00:00 \
                 UTC; budgets.day_tokens raises it.",
            ),
        ),
        (
            Budgets { session_cost: money(0.0), turn_cost: money(0.0), ..none },
            Some(
                "The budget of this conversation is spent: $2.00 of $0.00. It starts again with \
                 /new; budgets.session_usd raises it.",
            ),
        ),
        (
            Budgets { session_tokens: Some(99), ..none },
            Some(
                "The budget of this conversation is spent: 100 of 99 tokens. It starts again with \
                 /new; budgets.session_tokens raises it.",
            ),
        ),
        (
            Budgets { turn_cost: money(0.99), ..none },
            Some(
                "The budget of this answer is spent: $1.00 of $0.99. It starts again with the next \
                 message; budgets.turn_usd raises it.",
            ),
        ),
    ];
    for (budgets, notice) in table {
        let reached = budgets.find_used_up(TurnLimits::default(), &spending);
        assert_eq!(reached.map(|reached| reached.text).as_deref(), notice);
    }
    let of_turn = TurnLimits { max_tokens: 10, ..TurnLimits::default() };
    let notice = none.find_used_up(of_turn, &spending).unwrap().text;
    assert!(notice.contains("10 tokens (the limit for one answer is 10)"), "{notice}");
}

#[test]
fn reached_refuses_any_usage_of_a_zero_budget() {
    let nothing = Budgets { day_cost: Some(Money::default()), ..Budgets::default() };
    let notice = nothing.find_used_up(TurnLimits::default(), &Spending::default());
    assert!(notice.unwrap().text.contains("$0.00 of $0.00"));
    assert_eq!(Budgets::default().find_used_up(TurnLimits::default(), &Spending::default()), None);
}

#[tokio::test]
async fn unpriced_day_tokens_hold_only_for_models_without_a_price() {
    const USED: u64 = 25;
    let free = ModelFacts { price: Some(Price::default()), ..ModelFacts::default() };
    let table = [
        (ModelFacts::default(), Some(USED), true),
        (ModelFacts::default(), Some(USED + 1), false),
        (ModelFacts::default(), None, false),
        (free, Some(USED), false),
    ];
    for (facts, unpriced_day_tokens, is_refused) in table {
        let mut harness = AgentHarness::new(vec![]).await;
        let answer = |_: &ModelRequest| Scripted::says("ok");
        harness.agent.models.main = Arc::new(ScriptedModel::answering(answer).with_facts(facts));
        harness.agent.limits.budgets.unpriced_day_tokens = unpriced_day_tokens;
        let spent = Spent { model: "a/b".to_owned(), usage: Usage::new(20, 5), cost: None };
        harness.say("hi").await;
        let turn = harness.claim().await;
        let ledger = harness.store.as_ref();
        ledger
            .record_usage(None, &turn.session, &[UsageEntry::of_spent(Purpose::Answer, spent)])
            .await
            .unwrap();
        let end = harness.run(turn).await.unwrap();
        if is_refused {
            assert_eq!(
                failed(end),
                "The budget of this day for models without a known price is spent: 25 of 25 tokens. \
                 It starts again at 00:00 UTC; a price in [models] (0 for a free model) or \
                 budgets.unpriced_day_tokens raises it."
            );
        } else {
            assert_eq!(answered(&end), "ok", "{facts:?} {unpriced_day_tokens:?}");
        }
    }
}
