use avocet_protocol::{ModelError, Price, SessionId};
use avocet_testkit::{Scripted, ScriptedModel};

use super::*;
use crate::harness::{AgentHarness, answered};
use crate::{Budgets, TurnEnd};

const KNOWN: u64 = 32_000;

async fn harness(facts: ModelFacts, answers: Vec<Scripted>) -> AgentHarness {
    let mut harness = AgentHarness::new(Vec::new()).await;
    let model = std::sync::Arc::new(ScriptedModel::new(answers).with_facts(facts));
    harness.agent.models.main = model.clone();
    harness.model = model;
    harness
}

fn remark(end: TurnEnd) -> Option<String> {
    match end {
        TurnEnd::Answered(answer) => answer.remark,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn remark_names_the_assumed_window_and_the_budget_of_an_unknown_model() {
    let window = "The window of test/scripted is unknown: 65,536 tokens are assumed.";
    let price = Some(Price::default());
    let (known, unknown) = (Some(KNOWN), None);
    let table = [
        (known, price, Some(7), None),
        (known, None, Some(7), None),
        (unknown, price, Some(7), Some(" Set `context` in [models]")),
        (
            unknown,
            None,
            Some(7000),
            Some(
                " Its price is unknown: all models without a price may use 7,000 tokens a day. Set \
                 `context` and `price` in [models]",
            ),
        ),
        (
            unknown,
            None,
            None,
            Some(" Its price is unknown, and no budget limits it. Set `context`"),
        ),
    ];
    for (context, price, unpriced_day_tokens, expected) in table {
        let facts = ModelFacts { context, price, ..ModelFacts::default() };
        let mut harness = harness(facts, vec![Scripted::says("ok")]).await;
        harness.agent.limits.budgets = Budgets { unpriced_day_tokens, ..Budgets::default() };
        let end = harness.turn("hi").await;
        assert_eq!(answered(&end), "ok", "the text of the model is unchanged");
        let found = remark(end);
        assert_eq!(found.is_some(), expected.is_some(), "{facts:?}: {found:?}");
        if let Some(expected) = expected {
            let found = found.unwrap();
            assert!(found.starts_with(&format!("[{window}{expected}")), "{found}");
        }
    }
}

#[tokio::test]
async fn remark_comes_with_the_first_answer_only_also_after_an_error_and_a_crash() {
    let (model, detail) = ("test/scripted".to_owned(), "cut off".to_owned());
    let breaks = Scripted::Error(ModelError::BadAnswer { model, detail });
    let says = || Scripted::says("ok");
    let answers = vec![breaks, says(), says(), says()];
    let harness = harness(ModelFacts::default(), answers).await;
    assert!(matches!(harness.turn("one").await, TurnEnd::Failed(_)));
    harness.fail("no answer").await;
    let first = remark(harness.turn("two").await);
    assert!(first.is_some(), "the first turn has no answer");
    // The process died before the end of the turn was in the log.
    let again = harness.run(harness.record().await).await.unwrap();
    assert_eq!(remark(again), first);
    harness.settle("ok").await;
    assert_eq!(remark(harness.turn("three").await), None);
    let request = serde_json::to_string(&harness.last_messages()).unwrap();
    assert!(!request.contains("assumed"), "the model does not read the remark: {request}");
}

#[tokio::test]
async fn remark_is_left_out_of_schedules_and_jobs() {
    let harness = harness(ModelFacts::default(), Vec::new()).await;
    harness.say("hi").await;
    let mut turn = harness.claim().await;
    let past = Past::default();
    assert!(harness.agent.remark(&turn, &past).await.is_some());
    for session in ["schedule:local:1", "job:local:1"] {
        turn.session = SessionId::parse(session).unwrap();
        assert_eq!(harness.agent.remark(&turn, &past).await, None, "{session}");
    }
}
