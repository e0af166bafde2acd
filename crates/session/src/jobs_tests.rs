//! Tests of jobs.

use avocet_protocol::ids::JobId;
use avocet_protocol::job::{JobControl, JobRequest};
use avocet_protocol::store::{JobLimits, JobRules, JobState, JobStatus, SubmittedJob};

use super::*;
use crate::AgentJobs;

/// A model that makes two calls and then says that the task is complete.
fn diligent() -> ScriptedModel {
    ScriptedModel::answering(|request| {
        let called = request.messages.iter().any(|one| matches!(one, Message::ToolResult { .. }));
        if called {
            return Scripted::says("It works.\n\nTASK COMPLETE");
        }
        Scripted::calls(&[("echo", json!({ "n": 1 })), ("echo", json!({ "n": 2 }))])
    })
}

fn request(limits: JobLimits) -> JobRequest {
    JobRequest {
        sender: Sender::new("uid:0".parse().unwrap()),
        key: "k1".parse().unwrap(),
        task: "/add tests".to_owned(),
        rules: JobRules { agent: "default".to_owned(), workspace: None, limits },
    }
}

pub(super) async fn submit(harness: &SessionHarness, limits: JobLimits) -> SubmittedJob {
    harness.sessions.jobs().submit_job(request(limits)).await.unwrap()
}

/// Waits until the job has this state.
pub(super) async fn reaches(harness: &SessionHarness, id: JobId, state: JobState) -> JobStatus {
    loop {
        let job = harness.sessions.jobs().find_job(id).await.unwrap().unwrap();
        if job.state == state {
            return job;
        }
        assert!(!job.state.is_final(), "{job:?}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn job_ends_with_a_summary_in_its_own_chat() {
    let harness = SessionHarness::new(diligent()).await;
    let job = submit(&harness, JobLimits::default()).await;
    let expected = "It works.\n\n**Summary**\n- Cost: price unknown; 220 tokens in 2 requests to \
        the model";
    assert_eq!(harness.channel.texts(1).await, [expected]);
    let ended = reaches(&harness, job.id, JobState::Completed).await;
    assert_eq!(ended.result.as_deref(), Some(expected));
    assert_eq!((ended.inference_runs, ended.task.as_str()), (2, "/add tests"));
    assert_eq!(submit(&harness, JobLimits::default()).await.id, job.id, "the key is the same");
}

#[tokio::test]
async fn job_fails_at_its_own_limits() {
    let endless = || {
        ScriptedModel::answering(|request| {
            Scripted::calls(&[("echo", json!({ "n": request.messages.len() }))])
        })
    };
    let limits = JobLimits { max_inference_runs: 2, ..JobLimits::default() };
    let harness = SessionHarness::new(endless()).await;
    let job = submit(&harness, limits).await;
    let ended = reaches(&harness, job.id, JobState::Failed).await;
    let result = ended.result.unwrap();
    assert!(result.starts_with("I stopped after 2 rounds of tool calls"), "{result}");
    assert!(result.contains("**Summary**"), "{result}");
    assert_eq!(harness.model.requests().len(), 2);
}

#[tokio::test]
async fn job_is_cancelled_while_it_runs_and_survives_a_restart_before() {
    let permits = Arc::new(Semaphore::new(0));
    let harness = SessionHarness::new(gated_parrot(&permits)).await;
    let job = submit(&harness, JobLimits::default()).await;
    harness.asked(1).await;
    let harness = harness.restart(gated_parrot(&permits)).await;
    harness.asked(1).await;
    reaches(&harness, job.id, JobState::Running).await;
    assert_eq!(harness.sessions.jobs().end_job(job.id).await, Ok(true));
    harness.idle().await;
    reaches(&harness, job.id, JobState::Cancelled).await;
    assert_eq!(harness.sessions.jobs().end_job(job.id).await, Ok(false));
    assert_eq!(harness.sessions.jobs().end_job(JobId(9)).await, Ok(false));
}

#[tokio::test]
async fn job_command_submits_lists_and_cancels_and_reports_to_its_chat() {
    let work = Some((Arc::new(diligent()), Arc::default()));
    let setup = Setup { work, ..Setup::default() };
    let harness = SessionHarness::with(diligent(), setup).await;
    for (text, reply) in [
        ("/job", "There are no jobs."),
        ("/job list", "There are no jobs."),
        (
            "/job wrok add tests",
            "I cannot accept this job: there is no agent \"wrok\"; did you mean work? the agents \
                are: default, work.",
        ),
        (
            "/job work --workspace /nowhere add tests",
            "I cannot accept this job: I cannot work in /nowhere: there is none.",
        ),
        ("/job j7", "There is no job j7."),
        ("/job show j7", "There is no job j7."),
        ("/job logs j7", "There is no job j7."),
        ("/job cancel j7", "There is no job j7."),
        (
            "/job what",
            "Write /job, /job AGENT TASK, /job AGENT --workspace DIR TASK, /job show j5, /job logs \
                j5, or /job cancel j5.",
        ),
    ] {
        let before = harness.channel.texts(0).await.len();
        harness.say(text).await;
        assert_eq!(harness.channel.texts(before + 1).await[before], reply, "{text}");
    }
    let before = harness.channel.texts(0).await.len();
    harness.say("/job work add tests").await;
    let texts = harness.channel.texts(before + 2).await;
    let queued = "j1 is in the log: work works on it and reports here. /job j1 shows it.";
    assert!(texts[before..].iter().any(|text| text == queued), "{texts:?}");
    assert!(texts[before..].iter().any(|text| text.starts_with("It works.")), "{texts:?}");
    reaches(&harness, JobId(1), JobState::Completed).await;
    harness.say("/job j1").await;
    let shown = &harness.channel.texts(before + 3).await[before + 2];
    assert!(shown.starts_with("j1 completed, work, 2 requests, "), "{shown}");
    harness.say("/job logs j1").await;
    let logs = &harness.channel.texts(before + 4).await[before + 3];
    assert!(logs.ends_with("\n\n✓ echo {\"n\":1}\n✓ echo {\"n\":2}"), "{logs}");
}

#[tokio::test]
async fn job_with_an_unknown_agent_or_workspace_is_refused_at_once() {
    let harness = SessionHarness::new(diligent()).await;
    let submit = async |agent: &str, workspace: Option<&str>| {
        let (agent, workspace) = (agent.to_owned(), workspace.map(str::to_owned));
        let rules = JobRules { agent, workspace, limits: JobLimits::default() };
        let request = JobRequest { rules, ..request(JobLimits::default()) };
        harness.sessions.jobs().submit_job(request).await.unwrap_err().to_string()
    };
    let error = submit("defalt", None).await;
    assert_eq!(
        error,
        "there is no agent \"defalt\"; did you mean default? the agents are: default"
    );
    let error = submit("default", Some("/nowhere")).await;
    assert_eq!(error, "I cannot work in /nowhere: there is none");
    assert_eq!(harness.sessions.jobs().list_jobs(9, None).await.unwrap(), []);
}

#[tokio::test]
async fn job_on_a_branch_is_refused_while_another_works_in_the_workspace() {
    let permits = Arc::new(Semaphore::new(0));
    let jobs = AgentJobs { own_branch: true, pr_command: Vec::new() };
    let setup = Setup { jobs, ..Setup::default() };
    let harness = SessionHarness::with(gated_parrot(&permits), setup).await;
    let first = submit(&harness, JobLimits::default()).await;
    harness.asked(1).await;
    let later = JobRequest { key: "k2".parse().unwrap(), ..request(JobLimits::default()) };
    let later = harness.sessions.jobs().submit_job(later).await.unwrap();
    let failed = reaches(&harness, later.id, JobState::Failed).await.result.unwrap();
    let reason =
        "j1 works in this workspace on a branch of its own; submit this job again after it.";
    assert!(failed.starts_with(reason), "{failed}");
    permits.add_permits(9);
    reaches(&harness, first.id, JobState::Completed).await;
}
