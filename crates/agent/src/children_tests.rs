use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::{NewWait, TurnLog, Turns};
use avocet_protocol::tool::WaitKind;
use avocet_protocol::turn::TurnRecord;
use avocet_testkit::Scripted;
use serde_json::{Value, json};

use crate::harness::{AgentHarness, answered, failed, waiting};
use crate::{AgentLimits, TurnEnd, TurnLimits};

fn spawn(task: &str) -> (&'static str, Value) {
    ("spawn", json!({ "prompt": task }))
}

fn in_background(task: &str) -> (&'static str, Value) {
    ("spawn", json!({ "prompt": task, "background": true }))
}

/// Lets the calls of the turn wait together, as the code that runs turns does.
async fn wait_together(harness: &AgentHarness, end: TurnEnd) {
    let TurnEnd::Waiting(calls) = end else { panic!("{end:?}") };
    let mut waits = Vec::new();
    for wait in calls {
        let id = harness.store.reserve_wait().await.unwrap();
        let new = NewWait::new(id, wait.call, wait.request.kind, Timestamp(i64::MAX));
        waits.push(NewWait { writes: wait.request.writes, ..new });
    }
    harness.store.wait(&waits).await.unwrap();
}

/// Returns the ordinals and kinds of the calls that wait.
fn waits(end: &TurnEnd) -> Vec<(u32, WaitKind)> {
    let TurnEnd::Waiting(waits) = end else { panic!("{end:?}") };
    waits.iter().map(|wait| (wait.call.ordinal, wait.request.kind)).collect()
}

/// Returns the results of the turn's last step; `None` for a call that has none.
async fn results(harness: &AgentHarness) -> Vec<Option<String>> {
    let record: TurnRecord = harness.record().await;
    let calls = &record.steps[record.steps.len() - 1].calls;
    calls.iter().map(|call| call.result().map(|result| result.value.to_string())).collect()
}

#[tokio::test]
async fn run_calls_starts_all_children_of_a_step_before_the_turn_waits() {
    let calls = [spawn("one"), ("post", json!({})), spawn("two")];
    let harness = AgentHarness::new(vec![Scripted::calls(&calls)]).await;
    let end = harness.turn("go").await;
    assert_eq!(waits(&end), [(0, WaitKind::Child), (2, WaitKind::Child)]);
    assert_eq!(harness.runs("post"), 1, "a call between them does not wait");
}

#[tokio::test]
async fn run_calls_starts_earlier_children_together_with_an_approval() {
    let calls = [spawn("one"), ("dangerous", json!({})), spawn("two")];
    let harness = AgentHarness::new(vec![Scripted::calls(&calls)]).await;
    let end = harness.turn("go").await;
    assert_eq!(waits(&end), [(0, WaitKind::Child), (1, WaitKind::Approval)]);
    assert_eq!((harness.runs("spawn"), harness.runs("dangerous")), (1, 0));
}

#[tokio::test]
async fn run_calls_refuses_more_children_than_the_limit() {
    let calls = [in_background("one"), spawn("two"), spawn("three")];
    let mut harness = AgentHarness::new(vec![Scripted::calls(&calls)]).await;
    harness.agent.limits.turn.max_children = 2;
    let end = harness.turn("go").await;
    assert_eq!(waiting(&end).call.ordinal, 1);
    let results = results(&harness).await;
    assert_eq!((results[0].as_deref(), &results[1]), (Some("\"noted\""), &None));
    let refusal = results[2].as_deref().unwrap();
    assert!(refusal.contains("2 sub-agents are the most at once (max_children)"), "{refusal}");
    let family = harness.store.family(harness.record().await.id).await.unwrap();
    assert_eq!(family.open_children, 1, "the other begins with the wait");
}

#[tokio::test]
async fn run_calls_refuses_a_child_below_the_depth_limit() {
    let answers = vec![
        Scripted::calls(&[spawn("one")]),
        Scripted::calls(&[spawn("two")]),
        Scripted::calls(&[spawn("three"), in_background("four")]),
        Scripted::says("alone then"),
    ];
    let harness = AgentHarness::new(answers).await;
    let mut end = harness.turn("go").await;
    for _ in 0..2 {
        let child = SessionId::of_child(waiting(&end).call);
        wait_together(&harness, end).await;
        let turn = harness.claim_in(&child).await;
        end = harness.run(turn).await.unwrap();
    }
    assert_eq!(answered(&end), "alone then");
    for refusal in harness.last_results() {
        assert!(refusal.contains("may be 2 deep (max_depth)"), "{refusal}");
    }
}

#[tokio::test]
async fn run_tool_loop_ends_a_child_at_its_own_or_at_the_root_limit_of_tokens() {
    let step = || Scripted::calls(&[("echo", json!({}))]);
    let turn = |max_tokens| TurnLimits { max_tokens, ..TurnLimits::default() };
    for (own, root, limit) in
        [(250, None, 250), (100_000, Some(150), 150), (100_000, None, 100_000)]
    {
        let spawns = Scripted::calls(&[spawn("one")]);
        let says = Scripted::says("done");
        let mut harness = AgentHarness::new(vec![spawns, step(), step(), step(), says]).await;
        let end = harness.turn("go").await;
        let child = SessionId::of_child(waiting(&end).call);
        wait_together(&harness, end).await;
        harness.agent.limits =
            AgentLimits { turn: turn(own), root_tokens: root, ..AgentLimits::default() };
        let turn = harness.claim_in(&child).await;
        let end = harness.run(turn).await.unwrap();
        if limit == 100_000 {
            assert_eq!(answered(&end), "done");
        } else {
            let notice = failed(end);
            assert!(notice.contains(&format!("for one answer is {limit}")), "{notice}");
        }
    }
}
