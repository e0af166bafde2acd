use std::time::Duration;

use avocet_protocol::model::Message;
use avocet_protocol::store::{Claim, JobChat, JobLimits, JobRules, Jobs, NewJob, Suspects, Turns};
use avocet_protocol::turn::TurnRecord;
use avocet_testkit::Scripted;

use super::*;
use crate::harness::{AgentHarness, answered, failed};

/// Submits a job and claims its turn.
async fn job(harness: &AgentHarness) -> TurnRecord {
    let rules =
        JobRules { agent: "builder".to_owned(), workspace: None, limits: JobLimits::default() };
    let message = harness.message("add tests");
    let job = NewJob { message, chat: JobChat::Asking, rules };
    let session = harness.store.submit(&job).await.unwrap().session;
    match harness.store.claim(&session, Suspects::Include, Duration::ZERO).await.unwrap() {
        Claim::Turn(claimed) => claimed.turn,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn job_goes_on_until_its_model_says_that_the_task_is_complete() {
    let calls = Scripted::calls(&[("echo", serde_json::json!({}))]);
    let done = "Added two tests.\n\n**TASK COMPLETE**";
    let answers = vec![Scripted::says("I will begin."), calls, Scripted::says(done)];
    let harness = AgentHarness::new(answers).await;
    let turn = job(&harness).await;
    assert_eq!(answered(&harness.run(turn).await.unwrap()), "Added two tests.");
    assert_eq!(harness.runs("echo"), 1);
    let Message::User { text, .. } = &harness.last_messages()[1] else { panic!() };
    assert!(text.contains(ABOUT_JOBS), "{text}");
}

#[tokio::test]
async fn job_ends_when_its_model_makes_no_call_in_two_rounds() {
    let answers = vec![Scripted::says("Hm."), Scripted::says("I am done.")];
    let harness = AgentHarness::new(answers).await;
    let turn = job(&harness).await;
    assert_eq!(answered(&harness.run(turn).await.unwrap()), "I am done.");
    assert_eq!(harness.last_results(), [GO_ON]);
}

#[tokio::test]
async fn job_that_never_ends_fails_at_its_limit() {
    let mut harness = AgentHarness::new(
        (0..9).map(|n| Scripted::calls(&[("echo", serde_json::json!({ "n": n }))])).collect(),
    )
    .await;
    harness.agent.limits.turn.max_tool_iterations = 3;
    let turn = job(&harness).await;
    let notice = failed(harness.run(turn).await.unwrap());
    assert!(notice.starts_with("I stopped after 3 rounds of tool calls"), "{notice}");
    assert_eq!(harness.model.requests().len(), 3);
}

#[tokio::test]
async fn turn_of_a_chat_ends_with_its_first_answer_without_a_call() {
    let harness = AgentHarness::new(vec![Scripted::says("TASK COMPLETE")]).await;
    assert_eq!(answered(&harness.turn("hi").await), "TASK COMPLETE");
}

#[test]
fn without_mark_removes_only_the_line_that_ends_a_job() {
    for (text, complete, kept) in [
        ("All green.\n\nTASK COMPLETE", true, "All green."),
        ("All green.\n**Task complete.**\n", true, "All green."),
        ("TASK COMPLETE", true, ""),
        ("The task complete list is long.", false, "The task complete list is long."),
        ("a\n\nb", false, "a\n\nb"),
    ] {
        assert_eq!((says_complete(text), without_mark(text).as_str()), (complete, kept));
    }
}
