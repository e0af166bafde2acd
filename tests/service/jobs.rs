//! Tests of jobs with a real daemon: the progress in the chat that asked, the pull request after an
//! approval, and SIGKILL at each step.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use avocet_testkit::openai::{ModelAnswer, OpenAiFake};
use avocet_testkit::telegram::{SentMessage, TelegramFake};
use avocet_tests::{DaemonProcess, Home, ProgramOutput, program};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::crash::{dies, doomed};
use crate::log::number;
use crate::model::{config, held};
use crate::patience::{stop, until, with_timeout};
use crate::telegram::{ANN, TOKEN, home_with};

/// The configuration of a builder whose pull requests leave a line in a file.
const PULL_REQUESTS: &str = "[tools]\nwrite = [\"~/src\"]\n[agents.builder]\npr_command = [\"sh\", \
    \"-c\", \"echo ran >> ../ran.txt; echo https://example.org/pull/1\"]\n";

/// Makes a repository with one commit below the home.
fn repository(home: &Home) -> PathBuf {
    let path = home.path("src/repo");
    fs::create_dir_all(&path).unwrap();
    let commit = "git init -q -b main && git -c user.name=Ann -c user.email=ann@localhost commit \
        -q --allow-empty -m begin";
    let ran = Command::new("sh").args(["-c", commit]).current_dir(&path).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    path
}

/// Returns the number of pull requests so far.
fn pull_requests(home: &Home) -> usize {
    fs::read_to_string(home.path("src/ran.txt")).unwrap_or_default().lines().count()
}

/// A model that writes a file and commits it. Its second answer waits for a permit.
async fn builder(permits: Arc<Semaphore>) -> OpenAiFake {
    OpenAiFake::start(move |request| {
        let made = |name: &str| calls(request).iter().any(|call| call == name);
        if !made("write_file") {
            return ModelAnswer::call("write_file", json!({ "path": "b.txt", "content": "b\n" }));
        }
        let next = if !made("git_add") {
            ModelAnswer::call("git_add", json!({ "all": true }))
        } else if !made("git_commit") {
            ModelAnswer::call("git_commit", json!({ "message": "add b" }))
        } else {
            ModelAnswer::says("Added b.\n\nTASK COMPLETE")
        };
        ModelAnswer::When(permits.clone(), Box::new(next))
    })
    .await
}

/// Returns the names of the calls in a request.
fn calls(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap();
    let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    calls.map(|call| call["function"]["name"].as_str().unwrap().to_owned()).collect()
}

/// A model without delays.
async fn quick_builder() -> OpenAiFake {
    let permits = held();
    permits.add_permits(1000);
    builder(permits).await
}

async fn sends(platform: &TelegramFake, part: &str) {
    let has = |sent: &[SentMessage]| sent.iter().any(|one| one.text.contains(part));
    with_timeout(part, platform.wait_for(has)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn job_from_telegram_shows_its_progress_in_one_message_that_the_summary_replaces() {
    let (platform, permits) = (TelegramFake::start(TOKEN).await, held());
    let model = builder(permits.clone()).await;
    let home =
        home_with(&platform, &model, PULL_REQUESTS).with("PATH", "/usr/local/bin:/usr/bin:/bin");
    let repository = repository(&home);
    let daemon = home.daemon();
    let task = format!("/job builder --workspace {} add b", repository.display());
    platform.private_text(ANN, &task);
    sends(&platform, "j1 is in the log: builder works on it and reports here.").await;
    sends(&platform, "Job j1 is running: round 2 of 20, thinking; cost so far: ").await;
    permits.add_permits(100);
    sends(&platform, "Job j1 is waiting for an approval").await;
    sends(&platform, "outside of the sandbox").await;
    assert_eq!(pull_requests(&home), 0, "it waits");
    platform.private_text(ANN, "/approve w1");
    sends(&platform, "Pull request: https://example.org/pull/1").await;
    sends(&platform, "Allowed by ").await;
    assert_eq!(pull_requests(&home), 1);

    // The summary is a new message, because an edit sends no notification.
    let (progress, sent): (Vec<_>, Vec<_>) =
        platform.sent().into_iter().partition(|one| one.deleted);
    assert_eq!((progress.len(), sent.len()), (1, 3), "{progress:?} {sent:?}");
    let job = sent.iter().find(|one| one.text.starts_with("Added b.")).unwrap();
    assert_eq!(job.edits, [""; 0]);
    for part in ["Branch: avocet/job-1-add-b, begun at main", " add b\n", "Files changed: b.txt"] {
        assert!(job.text.contains(part), "{part:?} is not in {}", job.text);
    }
    let mut states = progress[0].edits.iter().chain([&progress[0].text]);
    assert!(states.any(|state| state.contains("waiting for an approval")), "{progress:?}");
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!(platform.refusals(), vec![]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn job_from_telegram_is_refused_a_directory_outside_of_the_opened_ones() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = quick_builder().await;
    let home = home_with(&platform, &model, PULL_REQUESTS);
    repository(&home);
    let daemon = home.daemon();
    platform.private_text(ANN, &format!("/job builder --workspace {} x", home.path("").display()));
    sends(&platform, "it is outside of the agents' workspaces and of [tools] write").await;
    platform.private_text(ANN, "/job list");
    sends(&platform, "There are no jobs.").await;
    stop(daemon).await;
}

fn submit(home: &Home) -> ProgramOutput {
    let place = home.path("src/repo").display().to_string();
    let key = ["--key", "k1"];
    home.run(&[&["job", "submit", "builder", "add b", "--workspace", &place], &key[..]].concat())
}

fn state(home: &Home) -> String {
    let shown = home.run(&["job", "show", "j1", "--json"]);
    let job: Value = serde_json::from_str(&shown.out).unwrap_or_default();
    job["state"].as_str().unwrap_or_default().to_owned()
}

/// Approves the pull request if the job asks for it. The program may die meanwhile.
fn approve(home: &Home) {
    let open = home.run(&["approvals", "--json"]);
    let open: Value = serde_json::from_str(&open.out).unwrap_or_default();
    if let Some(wait) = open[0]["id"].as_str() {
        drop(home.run(&["approvals", "approve", wait]));
    }
}

async fn approve_until_death(home: &Home, daemon: &mut DaemonProcess) {
    until("the death", async || {
        approve(home);
        daemon.ended().is_some()
    })
    .await;
}

/// The states and effects of a job that ended once.
fn ended_once(home: &Home, point: &str) {
    let jobs = number(home, "SELECT count(*) FROM jobs");
    let turns = number(home, "SELECT count(*) FROM turns");
    let done = number(home, "SELECT count(*) FROM turns WHERE state = 'done'");
    assert_eq!((jobs, turns, done), (1, 1, 1), "{point}");
    let repository = home.path("src/repo");
    let git = |words: &[&str]| {
        let ran = Command::new("git").args(words).current_dir(&repository).output().unwrap();
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(git(&["branch", "--show-current"]), "avocet/job-1-add-b", "{point}");
    assert_eq!(git(&["log", "--format=%s", "main.."]), "add b", "{point}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_at_each_step_of_a_job_ends_it_once_with_each_effect_once() {
    // The branch is the first call, the list of commits the fifth, the pull request the sixth.
    let points = [
        "submit-job:before",
        "submit-job:after",
        "claim:after",
        "record-step:before",
        "record-step:after",
        "start-call:after",
        "finish-call:before",
        "finish-call:after",
        "record-step:after:5",
        "finish-call:before:5",
        "finish-call:after:5",
        "record-step:before:6",
        "record-step:after:6",
        "wait:before",
        "wait:after",
        "finish-call:after:6",
        "settle:before",
        "settle:after",
    ];
    for point in points {
        let model = quick_builder().await;
        let home = Home::new(program!()).with_config(&config(&model, PULL_REQUESTS));
        let home = home.with("PATH", "/usr/local/bin:/usr/bin:/bin");
        repository(&home);
        let mut daemon = doomed(&home, point);
        daemon.wait_until_ready();
        drop(submit(&home));
        // Later points come after the approval.
        if point.contains(":6") && !point.starts_with("record") || point.starts_with("settle") {
            approve_until_death(&home, &mut daemon).await;
        }
        dies(daemon).await;

        let daemon = home.daemon();
        drop(submit(&home));
        until("the end of the job", async || {
            approve(&home);
            state(&home) == "completed"
        })
        .await;
        ended_once(&home, point);
        assert_eq!(pull_requests(&home), 1, "{point}");
        stop(daemon).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_after_the_start_of_a_pull_request_asks_and_does_not_repeat_it() {
    // Before the effect, and after it. The pull request is the fourth call that is not pure.
    for (point, runs) in [("start-call:after:4", 0), ("finish-call:before:6", 1)] {
        let model = quick_builder().await;
        let home = Home::new(program!()).with_config(&config(&model, PULL_REQUESTS));
        let home = home.with("PATH", "/usr/local/bin:/usr/bin:/bin");
        repository(&home);
        let mut daemon = doomed(&home, point);
        daemon.wait_until_ready();
        drop(submit(&home));
        approve_until_death(&home, &mut daemon).await;
        dies(daemon).await;

        let daemon = home.daemon();
        until("the question", async || state(&home) == "waiting").await;
        let skipped = home.run(&["ask", "job-1", "/skip"]);
        assert_eq!(skipped.code, Some(0), "{skipped:?}");
        until("the end", async || state(&home) == "completed").await;
        ended_once(&home, point);
        assert_eq!(pull_requests(&home), runs, "{point}");
        let shown = home.run(&["job", "show", "j1"]);
        assert!(shown.out.contains("Pull request: may have been opened"), "{shown:?}");
        stop(daemon).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_during_a_cancellation_leaves_one_final_state() {
    for (point, expected) in [("cancel-job:before", "completed"), ("cancel-job:after", "cancelled")]
    {
        let permits = held();
        let model = builder(permits.clone()).await;
        let home = Home::new(program!()).with_config(&config(&model, ""));
        let home = home.with("PATH", "/usr/local/bin:/usr/bin:/bin");
        repository(&home);
        let mut daemon = doomed(&home, point);
        daemon.wait_until_ready();
        drop(submit(&home));
        until("the job runs", async || model.requests().len() >= 2).await;
        drop(home.run(&["job", "cancel", "j1"]));
        dies(daemon).await;
        permits.add_permits(100);
        let daemon = home.daemon();
        until(expected, async || state(&home) == expected).await;
        let again = home.run(&["job", "cancel", "j1"]);
        assert!(
            again.err.contains(&format!("j1 is {expected} and cannot be cancelled")),
            "{again:?}"
        );
        stop(daemon).await;
    }
}
