use std::time::Duration;

use avocet_protocol::store::{
    Claim, JobChat, JobLimits, JobRules, Jobs, NewJob, Resolution, Suspects, Turns,
};
use avocet_protocol::tool::WaitKind;
use avocet_testkit::Scripted;

use super::*;
use crate::harness::{AgentHarness, answered, failed, waiting};

/// Submits a job with this plan and claims its turn.
async fn job(harness: &mut AgentHarness, branch: &str, pr_command: &[&str]) -> TurnRecord {
    let pr_command = pr_command.iter().map(|word| (*word).to_owned()).collect();
    harness.job = JobPlan { branch: Some(branch.to_owned()), pr_command };
    let rules =
        JobRules { agent: "builder".to_owned(), workspace: None, limits: JobLimits::default() };
    let job = NewJob { message: harness.message("add tests"), chat: JobChat::Asking, rules };
    let session = harness.store.submit(&job).await.unwrap().session;
    match harness.store.claim(&session, Suspects::Include, Duration::ZERO).await.unwrap() {
        Claim::Turn(claimed) => claimed.turn,
        other => panic!("{other:?}"),
    }
}

fn done() -> Scripted {
    Scripted::says("Added a test.\n\nTASK COMPLETE")
}

#[tokio::test]
async fn job_begins_its_branch_first_and_lists_its_commits_last() {
    let mut harness = AgentHarness::new(vec![done()]).await;
    let turn = job(&mut harness, "avocet/job-1", &[]).await;
    assert_eq!(answered(&harness.run(turn).await.unwrap()), "Added a test.");
    let branch = json!({ "branch": "avocet/job-1", "from": "main", "base": "b1", "note": "" });
    assert_eq!(harness.last_results(), [branch.to_string()], "the model sees its branch");
    assert_eq!((harness.runs(JOB_BRANCH), harness.runs(JOB_COMMITS)), (1, 1));
    assert_eq!(harness.model.requests().len(), 1);
}

#[tokio::test]
async fn job_whose_branch_cannot_begin_fails_before_its_first_request() {
    let mut harness = AgentHarness::new(vec![done()]).await;
    let turn = job(&mut harness, "dirty", &["gh"]).await;
    let notice = failed(harness.run(turn).await.unwrap());
    assert!(notice.starts_with("I did not begin this job: "), "{notice}");
    assert!(notice.contains("there are changes"), "{notice}");
    assert_eq!(harness.model.requests().len(), 0);
}

#[tokio::test]
async fn job_without_a_repository_works_without_a_branch_and_pull_request() {
    let mut harness = AgentHarness::new(vec![done()]).await;
    let turn = job(&mut harness, "nowhere", &["gh"]).await;
    assert_eq!(answered(&harness.run(turn).await.unwrap()), "Added a test.");
    assert_eq!((harness.runs(JOB_COMMITS), harness.runs(JOB_PULL_REQUEST)), (0, 0));
}

#[tokio::test]
async fn job_asks_before_it_runs_the_command_of_the_pull_request() {
    for (resolution, runs) in [(Resolution::Run, 1), (Resolution::error("denied"), 0)] {
        let mut harness = AgentHarness::new(vec![done()]).await;
        let turn = job(&mut harness, "avocet/job-1", &["gh", "pr", "create"]).await;
        let session = turn.session.clone();
        let asked = waiting(&harness.run(turn).await.unwrap());
        assert_eq!(asked.request.kind, WaitKind::Approval);
        let wait = harness.wait(asked.call, asked.request).await;
        harness.store.resolve(wait, &resolution).await.unwrap();
        let turn = harness.claim_in(&session).await;
        assert_eq!(answered(&harness.run(turn).await.unwrap()), "Added a test.");
        assert_eq!(harness.runs(JOB_PULL_REQUEST), runs);
        assert_eq!(harness.model.requests().len(), 1, "no model is asked after its answer");
    }
}

#[tokio::test]
async fn job_limits_count_requests_to_the_model_only() {
    let calls = (0..9).map(|n| Scripted::calls(&[("echo", json!({ "n": n }))])).collect();
    let mut harness = AgentHarness::new(calls).await;
    harness.agent.limits.turn.max_tool_iterations = 3;
    let turn = job(&mut harness, "avocet/job-1", &[]).await;
    let notice = failed(harness.run(turn).await.unwrap());
    assert!(notice.starts_with("I stopped after 3 rounds of tool calls"), "{notice}");
    assert_eq!(harness.model.requests().len(), 3);
}

#[tokio::test]
async fn calls_of_the_program_are_refused_to_a_model() {
    let pr = json!({ "command": ["gh"] });
    let calls = [
        (JOB_BRANCH, json!({ "branch": "main" })),
        (JOB_PULL_REQUEST, json!({ "command": ["rm"] })),
        (JOB_PULL_REQUEST, pr.clone()),
    ];
    let mut answers = vec![Scripted::calls(&calls), Scripted::calls(&[(JOB_PULL_REQUEST, pr)])];
    answers.push(Scripted::says("done"));
    let mut harness = AgentHarness::new(answers).await;
    harness.job.pr_command = vec!["gh".to_owned()];
    assert_eq!(answered(&harness.turn("hi").await), "done");
    assert_eq!((harness.runs(JOB_BRANCH), harness.runs(JOB_PULL_REQUEST)), (0, 0));
}
