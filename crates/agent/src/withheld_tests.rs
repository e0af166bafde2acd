use avocet_protocol::access::Trust;
use avocet_protocol::ids::CallId;
use avocet_protocol::model::{ModelReply, ToolCall, Usage};
use avocet_protocol::store::{NewStep, Resolution, TurnLog, Turns};
use avocet_protocol::turn::{AnswerEnding, TurnRecord};
use avocet_testkit::Scripted;
use serde_json::{Map, json};

use super::*;
use crate::harness::{AgentHarness, answered, waiting};
use crate::{CallWait, TurnEnd};

const WRITTEN: &str = "A call of post looks so:\n\n```json\n{\"tool\": \"post\"}\n```";

fn posts() -> ToolCall {
    ToolCall { name: "post".to_owned(), arguments: Arguments::Object(Map::new()) }
}

/// A call that a model with native calls writes as text.
fn as_text(written: &str) -> Scripted {
    let written = Some(written.to_owned());
    Scripted::Reply(ModelReply { calls: vec![posts()], written, ..ModelReply::default() })
}

fn denied() -> Resolution {
    Resolution::from(&avocet_protocol::access::ApprovalDecision::Denied { why: None })
}

/// Resumes the turn after the decision about its call, with these answers.
async fn resolved(
    harness: AgentHarness,
    end: TurnEnd,
    resolution: &Resolution,
    answers: Vec<Scripted>,
) -> (AgentHarness, TurnRecord) {
    let CallWait { call, request } = waiting(&end);
    let wait = harness.wait(call, request).await;
    harness.store.resolve(wait, resolution).await.unwrap();
    harness.restart(answers).await
}

#[tokio::test]
async fn call_as_text_waits_for_an_approval_and_runs_once_it_is_allowed() {
    let harness = AgentHarness::new(vec![as_text(WRITTEN)]).await;
    let end = harness.turn("how do I post?").await;
    assert_eq!(harness.runs("post"), 0);
    let (harness, turn) =
        resolved(harness, end, &Resolution::Run, vec![Scripted::says("done")]).await;
    assert_eq!(answered(&harness.run(turn).await.unwrap()), "done");
    assert_eq!(harness.runs("post"), 1);
}

#[tokio::test]
async fn call_as_text_still_waits_after_a_crash_before_its_start() {
    let harness = AgentHarness::new(Vec::new()).await;
    harness.say("go").await;
    let turn = harness.claim().await;
    let step = NewStep {
        number: 0,
        text: String::new(),
        ending: AnswerEnding::Complete,
        calls: vec![posts()],
        written: Some(WRITTEN.to_owned()),
        reasoning: None,
        usage: Usage::default(),
        trust: Trust::Full,
        spent: Vec::new(),
    };
    harness.store.record_step(turn.id, &step).await.unwrap();
    let (harness, turn) = harness.restart(Vec::new()).await;
    let call = CallId { turn: turn.id, step: 0, ordinal: 0 };
    let end = harness.run(turn).await.unwrap();
    assert_eq!(waiting(&end).call, call);
    assert_eq!(harness.runs("post"), 0);
}

#[tokio::test]
async fn call_as_text_that_is_denied_leaves_its_text_in_the_answer() {
    let expired = Resolution::denied(avocet_protocol::access::EXPIRED);
    for resolution in [denied(), expired] {
        let harness = AgentHarness::new(vec![as_text(WRITTEN)]).await;
        let end = harness.turn("how do I post?").await;
        let answers = vec![Scripted::says("As you like.")];
        let (harness, turn) = resolved(harness, end, &resolution, answers).await;
        let end = harness.run(turn).await.unwrap();
        assert_eq!(answered(&end), format!("{WRITTEN}\n\nAs you like."));
        assert_eq!(harness.runs("post"), 0);
    }
}

#[tokio::test]
async fn call_as_text_that_is_denied_is_withheld_with_an_answer_that_leaks_a_secret() {
    let page = Scripted::calls(&[("page", json!({ "text": "hi" }))]);
    let harness = AgentHarness::new(vec![page, as_text("The SECRET: post")]).await;
    let end = harness.turn("read").await;
    let answers = vec![Scripted::says("As you like.")];
    let (harness, turn) = resolved(harness, end, &denied(), answers).await;
    let end = harness.run(turn).await.unwrap();
    let CallWait { request, .. } = waiting(&end);
    assert_eq!(request.prompt.as_ref().unwrap().text, "May I say that?");
    let (harness, turn) = resolved(harness, end, &Resolution::Run, Vec::new()).await;
    let end = harness.run(turn).await.unwrap();
    assert_eq!(answered(&end), "The SECRET: post\n\nAs you like.", "once");
}
