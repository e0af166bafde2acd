//! The calls that the program makes in jobs, with the system's git in the sandbox.

use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::JobId;
use avocet_protocol::tool::{ToolContext, ToolError, ToolOutcome, Toolbox};
use avocet_testkit::{SystemPart, skip_without};
use serde_json::{Value, json};

use crate::world::{World, call, context, has};

const BRANCH: &str = "avocet/job-7-add-tests";

/// A world with a repository of one commit; `None` if the system has no git.
async fn repository() -> Option<World> {
    if !has("git") {
        skip_without(SystemPart::Git);
        return None;
    }
    let world = World::new().await;
    shell(&world, "git init -q -b main .").await;
    world.put("a.txt", "one\n");
    commit(&world, "begin").await;
    Some(world)
}

async fn commit(world: &World, message: &str) {
    world.value("git_add", json!({"all": true})).await;
    world.value("git_commit", json!({ "message": message })).await;
}

async fn shell(world: &World, command: &str) -> String {
    let ran = world.value("exec_shell", json!({ "command": command })).await;
    assert_eq!(ran["exit_code"], 0, "{command}: {ran}");
    ran["output"].as_str().unwrap().trim().to_owned()
}

async fn begin(world: &World) -> Value {
    world.value("job_branch", json!({ "branch": BRANCH })).await
}

/// The context of a job's own calls.
fn of_job() -> ToolContext {
    ToolContext { session: SessionId::of_job(JobId(7)), ..context() }
}

async fn pull_request(world: &World, command: &[&str]) -> Result<Value, ToolError> {
    let call = call("job_pull_request", &json!({ "command": command }));
    match world.registry.execute(&call, &of_job()).await? {
        ToolOutcome::Finished(output) => Ok(output.value),
        ToolOutcome::Waiting(request) => panic!("{request:?}"),
    }
}

#[tokio::test]
async fn job_branch_begins_once_and_job_commits_lists_its_commits() {
    let Some(world) = repository().await else { return };
    let base = shell(&world, "git rev-parse HEAD").await;
    // Files that git does not know stay.
    world.put("notes.txt", "mine\n");
    let begun = begin(&world).await;
    assert_eq!((&begun["branch"], &begun["from"]), (&json!(BRANCH), &json!("main")));
    assert_eq!(begun["base"], json!(base));
    assert_eq!(begin(&world).await, begun, "a second run finds the branch of the first");
    shell(&world, "git switch -q main").await;
    assert_eq!(begin(&world).await["branch"], json!(BRANCH), "it has no commits of its own yet");

    let commits = json!({ "base": base });
    let none = world.value("job_commits", commits.clone()).await;
    assert_eq!(none, json!({ "commits": [], "uncommitted": 1 }));
    world.put("b.txt", "two\n");
    commit(&world, "add b").await;
    let listed = world.value("job_commits", commits).await;
    assert_eq!(
        (&listed["commits"][0]["subject"], &listed["uncommitted"]),
        (&json!("add b"), &json!(0))
    );
    assert_eq!(listed["commits"].as_array().unwrap().len(), 1);

    // A later job would mix its work with these commits.
    shell(&world, "git switch -q main").await;
    let refused = world.error("job_branch", json!({ "branch": BRANCH })).await;
    assert!(refused.contains("exists already with other commits"), "{refused}");
}

#[tokio::test]
async fn job_branch_refuses_uncommitted_changes_and_keeps_them() {
    let Some(world) = repository().await else { return };
    world.put("a.txt", "changed\n");
    let refused = world.error("job_branch", json!({ "branch": BRANCH })).await;
    for part in ["uncommitted changes (a.txt)", "commit or stash them"] {
        assert!(refused.contains(part), "{refused}");
    }
    assert_eq!(world.get("a.txt"), "changed\n");
    assert_eq!(shell(&world, "git branch --show-current").await, "main");
}

#[tokio::test]
async fn job_branch_without_a_repository_is_none_with_the_reason() {
    if !has("git") {
        return skip_without(SystemPart::Git);
    }
    let begun = begin(&World::new().await).await;
    let note = "the workspace is not a git repository";
    assert_eq!(begun, json!({ "branch": null, "note": note }));
    let begun = begin(&World::without_programs().await).await;
    assert_eq!(begun["note"], "git is not installed");
    // A repository without a commit has a branch without a base.
    let world = World::new().await;
    shell(&world, "git init -q -b main .").await;
    let begun = begin(&world).await;
    assert_eq!((&begun["branch"], begun.get("base")), (&json!(BRANCH), None));
    let none = world.value("job_commits", json!({})).await;
    assert_eq!(none, json!({ "commits": [], "uncommitted": 0 }));
}

#[tokio::test]
async fn job_pull_request_runs_outside_of_the_sandbox_after_an_approval() {
    let Some(world) = repository().await else { return };
    let asks = call("job_pull_request", &json!({ "command": ["gh", "pr"] }));
    let prepared = world.registry.prepare(&asks, None, &of_job()).await.unwrap();
    let prompt = prepared.approval.unwrap().prompt.unwrap().text;
    assert!(prompt.contains("gh pr") && prompt.contains("outside of the sandbox"), "{prompt}");

    // Programs in the sandbox have another root, in which this file does not exist.
    let beside = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(beside.path(), "https://example.org/pull/1").unwrap();
    let path = beside.path().to_str().unwrap();
    let ran = pull_request(&world, &["cat", path]).await.unwrap();
    assert_eq!(ran["output"], "https://example.org/pull/1");
    let failed = pull_request(&world, &["sh", "-c", "echo no remote; exit 3"]).await.unwrap_err();
    assert!(failed.to_string().contains("ended with exit code 3: no remote"), "{failed}");
    let absent = pull_request(&world, &["no-such-program"]).await.unwrap_err();
    assert!(absent.to_string().contains("no-such-program"), "{absent}");

    let elsewhere = world.registry.execute(&asks, &context()).await.unwrap_err();
    assert!(elsewhere.to_string().contains("belongs to jobs"), "{elsewhere}");
}

#[tokio::test]
async fn calls_of_jobs_are_not_offered() {
    let world = World::new().await;
    let specs = world
        .registry
        .specs(avocet_protocol::access::Role::Owner, &avocet_testkit::private_place());
    assert!(specs.iter().all(|spec| !spec.name.starts_with("job_")));
}
