//! Tests of spending (F19): an idle daemon and a spent budget cost nothing.

use avocet_protocol::clock::Timestamp;
use avocet_protocol::model::{Money, Usage};
use avocet_protocol::store::Ledger;

use super::*;

fn a_day(dollars: f64) -> Setup {
    let day_cost = Some(Money::dollars(dollars));
    Setup { budgets: Budgets { day_cost, ..Budgets::default() }, ..Setup::default() }
}

const SPENT: &str = "The budget of this day is spent: $2.00 of $1.00. It starts again at 00:00 \
    UTC; budgets.day_usd raises it. /retry tries it again.";

#[tokio::test]
async fn f19_day_without_messages_sends_no_model_request() {
    let harness = SessionHarness::new(parrot()).await;
    harness.say("hello").await;
    harness.channel.texts(1).await;
    harness.idle().await;
    for _ in 0..24 * 60 {
        harness.clock.advance(Duration::from_mins(1));
        harness.sessions.ping().await.unwrap();
    }
    assert!(harness.sessions.lanes.is_idle());
    assert_eq!(harness.model.requests().len(), 1, "the one that was asked for");
}

#[tokio::test]
async fn f19_spent_day_budget_stops_a_child_and_is_reported_once() {
    let spawn = || Scripted::calls(&[("spawn", json!({"prompt": "count the files"}))]);
    let model = ScriptedModel::new(vec![spawn().costing(2.0)]);
    let harness = SessionHarness::with(model, a_day(1.0)).await;
    let message = harness.say("go").await;
    assert_eq!(harness.channel.texts(1).await, [SPENT]);
    harness.idle().await;
    harness.sent().await;
    assert_eq!(harness.channel.texts(1).await.len(), 1);
    assert_eq!(harness.model.requests().len(), 1, "neither the child nor its parent");
    assert_eq!(harness.outcome(message).await, Some(Outcome::Error));
    let parent = harness.store.transcript(&session("a"), 1).await.unwrap().remove(0);
    let call = &parent.steps[0].calls[0];
    assert!(call.result().unwrap().value.to_string().contains("budgets.day_usd"));
}

#[tokio::test]
async fn f19_day_budget_is_shared_by_all_conversations() {
    let dear = ScriptedModel::new(vec![Scripted::says("dear").costing(2.0)]);
    let harness = SessionHarness::with(dear, a_day(1.0)).await;
    harness.say("hello").await;
    harness.channel.texts(1).await;
    let other = harness.say_in("b", "hello").await;
    assert_eq!(harness.channel.texts(2).await, ["dear", SPENT]);
    harness.idle().await;
    assert_eq!(harness.outcome(other.id).await, Some(Outcome::Error));
    assert_eq!(harness.model.requests().len(), 1);
}

#[tokio::test]
async fn stop_records_the_input_of_the_cancelled_request() {
    let harness = SessionHarness::new(ScriptedModel::new(vec![Scripted::Hang])).await;
    harness.say("hang").await;
    let request = harness.asked(1).await.remove(0);
    harness.say("/stop").await;
    harness.channel.texts(1).await;
    harness.idle().await;
    let today = harness.store.spent(None, &session("a"), Timestamp(0)).await.unwrap().day;
    assert_eq!(today.usage, Usage::new(request.estimated_tokens(), 0));
}

#[tokio::test]
async fn orderly_stop_records_the_input_of_the_released_turn() {
    let harness = SessionHarness::new(ScriptedModel::new(vec![Scripted::Hang])).await;
    harness.say("hang").await;
    let request = harness.asked(1).await.remove(0);
    let (clock, sessions) = (harness.clock.clone(), &harness.sessions);
    tokio::join!(sessions.stop(Duration::from_secs(1)), async {
        clock.sleeper(Duration::from_secs(1)).await;
        clock.advance(Duration::from_secs(1));
    });
    let today = harness.store.spent(None, &session("a"), Timestamp(0)).await.unwrap().day;
    assert_eq!(today.usage, Usage::new(request.estimated_tokens(), 0));
}

/// Runs two conversations with one answer each, and returns the reply to `/usage` in the first.
async fn usage_reply(setup: Setup) -> String {
    let answers = vec![Scripted::says("one").costing(1.5), Scripted::says("two")];
    let harness = SessionHarness::with(ScriptedModel::new(answers), setup).await;
    for (count, chat) in [(1, "a"), (2, "b")] {
        harness.say_in(chat, "hello").await;
        harness.channel.texts(count).await;
    }
    harness.say("/usage").await;
    harness.channel.texts(3).await.remove(2)
}

#[tokio::test]
async fn usage_shows_owners_all_costs_in_private_and_others_only_their_own() {
    let own = "This conversation since /new: 100 tokens read, 10 written, $1.50.\n\
        This conversation today: 100 tokens read, 10 written, $1.50.\n";
    assert_eq!(
        usage_reply(Setup::default()).await,
        format!(
            "{own}All conversations today: 200 tokens read, 20 written, $1.50 + price unknown \
             (budget: $50.00).\n\
             - `test/scripted`: 200 tokens read, 20 written, $1.50 + price unknown"
        )
    );
    let user = Setup { allow: users(&["me"]), ..Setup::default() };
    let day = "All conversations share the budget of a day (budget: $50.00).";
    assert_eq!(usage_reply(user.clone()).await, format!("{own}{day}"));
    let budgets = Budgets {
        day_cost: None,
        session_cost: Some(Money::dollars(2.0)),
        session_tokens: Some(5000),
        ..Budgets::default()
    };
    let without = usage_reply(Setup { budgets, ..user }).await;
    assert_eq!(
        without,
        own.replacen("$1.50.", "$1.50 (budget: $2.00, 5,000 tokens).", 1).trim_end()
    );
}

#[tokio::test]
async fn usage_of_a_conversation_starts_at_zero_after_new() {
    let harness =
        SessionHarness::new(ScriptedModel::new(vec![Scripted::says("one").costing(1.5)])).await;
    harness.say("hello").await;
    harness.channel.texts(1).await;
    harness.say("/new").await;
    harness.say("/usage").await;
    let told = harness.channel.texts(3).await.remove(2);
    assert!(told.starts_with("This conversation since /new: nothing.\n"), "{told}");
    assert!(told.contains("This conversation today: 100 tokens read"), "{told}");
}
