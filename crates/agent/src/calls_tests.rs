use avocet_protocol::access::Trust;
use avocet_protocol::ids::CallId;
use avocet_protocol::model::{ToolCall, Usage};
use avocet_protocol::store::{NewStep, Resolution, TurnLog, Turns};
use avocet_protocol::tool::{Evidence, ToolClass, Verdict, WaitKind};
use avocet_protocol::turn::{AnswerEnding, CallResult, TurnRecord};
use avocet_testkit::Scripted;
use serde_json::json;

use crate::CallWait;
use crate::harness::{AgentHarness, answered, session, waiting};

#[tokio::test]
async fn run_calls_runs_parallel_tools_concurrently() {
    let calls = [("together", json!({})), ("together", json!({"other": true}))];
    let harness = AgentHarness::new(vec![Scripted::calls(&calls), Scripted::says("done")]).await;
    assert_eq!(answered(&harness.turn("go").await), "done");
    assert_eq!(harness.last_results(), ["together"; 2]);
}

#[tokio::test]
async fn run_call_cuts_and_keeps_a_result_that_is_too_large() {
    for (arguments, most) in [
        (json!({}), avocet_protocol::tool::Description::MOST_OUTPUT),
        (json!({ "output": 2000 }), 2000),
    ] {
        let call = Scripted::calls(&[("large", arguments)]);
        let harness = AgentHarness::new(vec![call, Scripted::says("long")]).await;
        harness.turn("go").await;
        let shown = &harness.last_results()[0];
        assert!(shown.len() <= most && shown.len() > most - 10, "{}", shown.len());
        assert!(shown.contains("read_result"));
        let kept =
            avocet_protocol::store::KeptResults::kept_result(&*harness.store, &session(), "t1s0c0")
                .await;
        assert_eq!(kept.unwrap().unwrap().body.len(), 100_002);
    }
}

#[tokio::test]
async fn run_call_cuts_an_error_that_is_too_long() {
    let call = Scripted::calls(&[("break", json!({ "long": true }))]);
    let harness = AgentHarness::new(vec![call, Scripted::says("long")]).await;
    harness.turn("go").await;
    let shown = &harness.last_results()[0];
    assert!(shown.len() < 20_000 && shown.contains("of 100018 bytes shown]"), "{}", shown.len());
}

#[tokio::test]
async fn f18_run_tool_loop_refuses_a_third_identical_call_with_the_identical_result() {
    let same = || Scripted::calls(&[("post", json!({"to": "bank"}))]);
    let harness = AgentHarness::new(vec![same(), same(), same(), Scripted::says("ok")]).await;
    assert_eq!(answered(&harness.turn("go").await), "ok");
    assert_eq!(harness.runs("post"), 2);
    assert!(harness.last_results()[0].contains("made twice before"));
}

#[tokio::test]
async fn approval_makes_the_call_wait_and_then_run() {
    let calls = [("echo", json!({})), ("dangerous", json!({})), ("post", json!({}))];
    let harness = AgentHarness::new(vec![Scripted::calls(&calls), Scripted::says("done")]).await;
    let CallWait { call, request } = waiting(&harness.turn("go").await);
    assert_eq!((call.ordinal, request.kind), (1, WaitKind::Approval));
    assert_eq!((harness.runs("echo"), harness.runs("dangerous"), harness.runs("post")), (1, 0, 0));
    let wait = harness.wait(call, request).await;
    harness.store.resolve(wait, &Resolution::Run).await.unwrap();
    let turn = harness.claim().await;
    assert_eq!(answered(&harness.run(turn).await.unwrap()), "done");
    assert_eq!((harness.runs("echo"), harness.runs("dangerous"), harness.runs("post")), (1, 1, 1));
}

#[tokio::test]
async fn ask_waits_for_the_answer_to_its_question() {
    let harness =
        AgentHarness::new(vec![Scripted::calls(&[("ask", json!({}))]), Scripted::says("blue!")])
            .await;
    let CallWait { call, request } = waiting(&harness.turn("go").await);
    harness.wait(call, request).await;
    harness.say("blue").await;
    let turn = harness.claim().await;
    assert_eq!(answered(&harness.run(turn).await.unwrap()), "blue!");
    assert_eq!(harness.last_results(), [r#"{"answer":"blue"}"#]);
}

/// A turn whose first step has the finished call `first`, and `second`, which was running when the
/// process died; and the turn as it is claimed again.
async fn died_in(second: &str, class: ToolClass, verdict: Verdict) -> (AgentHarness, TurnRecord) {
    let harness = AgentHarness::verifying(Vec::new(), verdict).await;
    harness.say("go").await;
    let turn = harness.claim().await;
    let call = |name: &str| ToolCall {
        name: name.to_owned(),
        arguments: avocet_protocol::model::Arguments::Object(serde_json::Map::new()),
    };
    let calls = vec![call("post"), call(second)];
    let step = NewStep {
        number: 0,
        text: String::new(),
        ending: AnswerEnding::Complete,
        calls,
        written: None,
        reasoning: None,
        usage: Usage::default(),
        trust: Trust::Full,
        spent: Vec::new(),
    };
    harness.store.record_step(turn.id, &step).await.unwrap();
    let id = |ordinal| CallId { turn: turn.id, step: 0, ordinal };
    harness.store.start_call(id(0), ToolClass::Effect, None).await.unwrap();
    let done = CallResult::ok(json!("done before"));
    harness.store.finish_call(id(0), &done, None, &[]).await.unwrap();
    let subject = "file.txt".to_owned();
    let evidence = Evidence { subject, before: None, after: "x".to_owned() };
    let evidence = (class == ToolClass::Verifiable).then_some(&evidence);
    harness.store.start_call(id(1), class, evidence).await.unwrap();
    harness.restart(vec![Scripted::says("done")]).await
}

#[tokio::test]
async fn run_tool_loop_resumes_an_interrupted_turn_without_repeating_finished_calls() {
    for (name, class) in [("echo", ToolClass::Pure), ("note", ToolClass::InLog)] {
        let (harness, turn) = died_in(name, class, Verdict::Unknown).await;
        assert_eq!(answered(&harness.run(turn).await.unwrap()), "done");
        assert_eq!(harness.last_results()[0], "done before", "finished calls are not repeated");
        assert_eq!((harness.runs("post"), harness.runs(name)), (0, 1));
    }
}

#[tokio::test]
async fn verify_decides_an_interrupted_write_by_comparison() {
    let table = [
        (Verdict::Happened(json!("written")), 0, "written"),
        (Verdict::DidNotHappen, 1, "{}"),
        (
            Verdict::Unknown,
            0,
            "{\"error\":\"interrupted by a restart, and file.txt now has neither its old nor its \
                new content; check it before you repeat the call\"}",
        ),
    ];
    for (verdict, runs, result) in table {
        let (harness, turn) = died_in("write", ToolClass::Verifiable, verdict).await;
        assert_eq!(answered(&harness.run(turn).await.unwrap()), "done");
        assert_eq!((harness.runs("write"), harness.last_results()[1].as_str()), (runs, result));
    }
}

#[tokio::test]
async fn interrupted_effect_is_not_retried_without_a_choice_of_a_person() {
    let (harness, turn) = died_in("post", ToolClass::Effect, Verdict::Unknown).await;
    let CallWait { call, request } = waiting(&harness.run(turn).await.unwrap());
    assert_eq!((call.ordinal, request.kind), (1, WaitKind::Choice));
    let prompt = request.prompt.unwrap();
    assert_eq!(
        prompt.text,
        "I was interrupted while running `post`: /retry {wait} or /skip {wait}?"
    );
    let says: Vec<&str> = prompt.choices.iter().map(|choice| choice.says.as_str()).collect();
    assert_eq!(says, ["/retry {wait}", "/skip {wait}"]);
    assert_eq!(harness.runs("post"), 0);
}

#[tokio::test]
async fn run_calls_waits_for_a_parallel_call_that_starts_a_wait() {
    let calls = [("wonder", json!({})), ("note", json!({}))];
    let harness = AgentHarness::new(vec![Scripted::calls(&calls)]).await;
    let end = harness.turn("go").await;
    assert_eq!(waiting(&end).call.ordinal, 0, "{end:?}");
}
