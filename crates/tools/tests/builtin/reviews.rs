//! Calls that run after untrusted text because a person can undo them, and the review of their changes.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::access::{PermissionMode, Role, Rule, ToolPolicy, Trust};
use avocet_protocol::chat::SessionId;
use avocet_protocol::model::ToolCall;
use avocet_protocol::store::{SessionWork, SessionsAtWork, StoreError};
use avocet_protocol::tool::{ToolContext, Toolbox, WaitRequest};
use avocet_sandbox::{KeptCopies, Workspace, WorkspaceRoots};
use avocet_tools::{AgentPolicy, ChangeReviews, ToolRegistry};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::world::{World, call, context, has};

/// A world with reviews, and the directory of the copies. The turns of all conversations have ended.
async fn reviewing() -> (World, TempDir) {
    let (mut world, directory) = (World::new().await, TempDir::new().unwrap());
    world.registry = with_reviews(world.registry, &world.workspace, &directory, true);
    (world, directory)
}

fn with_reviews(
    registry: ToolRegistry,
    workspace: &TempDir,
    directory: &TempDir,
    has_ended: bool,
) -> ToolRegistry {
    let roots: WorkspaceRoots = Workspace::open(workspace.path()).unwrap().into();
    let copies = KeptCopies::open(directory.path().join("changes"), Vec::new());
    let work = Arc::new(WorkOfOthers { has_ended });
    let reviews = ChangeReviews { copies: Arc::new(copies), roots: Arc::new(roots), work };
    registry.with_reviews(reviews)
}

/// The same work of each conversation.
#[derive(Debug)]
struct WorkOfOthers {
    has_ended: bool,
}

#[async_trait]
impl SessionsAtWork for WorkOfOthers {
    async fn session_work(&self, _session: &SessionId) -> Result<SessionWork, StoreError> {
        Ok(if self.has_ended { SessionWork::Ended } else { SessionWork::Open })
    }
}

fn low() -> ToolContext {
    ToolContext { trust: Trust::Low, ..context() }
}

/// Returns `true` if the call is asked about before it runs.
async fn asks(world: &World, context: &ToolContext, name: &str, arguments: Value) -> bool {
    let prepared = world.registry.prepare(&call(name, &arguments), None, context).await.unwrap();
    prepared.approval.is_some()
}

async fn review(world: &World) -> WaitRequest {
    assert!(world.registry.has_changes(&low().session));
    world.registry.review_changes("", &low()).await.unwrap()
}

fn text(request: &WaitRequest) -> &str {
    &request.prompt.as_ref().unwrap().text
}

fn entries(directory: &Path) -> usize {
    fs::read_dir(directory.join("changes")).map_or(0, Iterator::count)
}

#[tokio::test]
async fn calls_that_can_be_undone_run_after_untrusted_text() {
    let (world, _directory) = reviewing().await;
    world.put("notes.md", "one\n");
    world.put("old/a", "a");
    world.put("AGENTS.md", "Be calm.\n");
    world.put("skills/a/SKILL.md", "a");
    let table = [
        ("write_file", json!({"path": "new.md", "content": "x"}), false),
        ("edit_file", json!({"path": "notes.md", "find": "one", "replace": "two"}), false),
        ("create_directory", json!({"path": "d/e"}), false),
        ("delete_file", json!({"path": "old", "recursive": true}), false),
        ("exec_shell", json!({"command": "echo x > y"}), false),
        ("run_tests", json!({"framework": "cargo"}), false),
        ("exec_shell", json!({"command": "sleep 9", "background": true}), true),
        ("write_file", json!({"path": ".envrc", "content": "x"}), true),
        ("write_file", json!({"path": "CLAUDE.md", "content": "x"}), true),
        ("edit_file", json!({"path": "AGENTS.md", "find": "calm", "replace": "wild"}), true),
        ("delete_file", json!({"path": "skills", "recursive": true}), true),
        ("memory_write", json!({"text": "x"}), true),
        ("message", json!({"text": "x", "chat": "terminal:local:other"}), true),
        ("spawn", json!({"prompt": "x"}), true),
    ];
    for (name, arguments, expected) in table {
        let asked = asks(&world, &low(), name, arguments.clone()).await;
        assert_eq!(asked, expected, "{name} {arguments}");
    }
}

#[tokio::test]
async fn other_rules_still_ask_before_the_call() {
    let (world, _directory) = reviewing().await;
    let write = || json!({"path": "new.md", "content": "x"});
    let as_text = ToolContext { as_text: true, ..low() };
    assert!(asks(&world, &as_text, "write_file", write()).await);
    let ask_mode = ToolContext { mode: PermissionMode::Ask, ..low() };
    assert!(asks(&world, &ask_mode, "write_file", write()).await);
    let mut editor = low();
    editor.place.is_editor = true;
    assert!(asks(&world, &editor, "write_file", write()).await);
    let policy = |rule| {
        let said = ToolPolicy { low_trust: Some(rule), ..ToolPolicy::default() };
        AgentPolicy { rules: vec![("write_file".to_owned(), said)], ..AgentPolicy::default() }
    };
    let world = world.with_policy(policy(Rule::Ask));
    assert!(asks(&world, &low(), "write_file", write()).await);
    // An operator who allows it wants no review either.
    let world = world.with_policy(policy(Rule::Allow));
    world.run_in(&low(), "write_file", write()).await.unwrap();
    assert!(!world.registry.has_changes(&low().session));
}

#[tokio::test]
async fn users_have_no_calls_that_are_reviewed_later() {
    let (mut world, _directory) = reviewing().await;
    world.registry.open_to_users("write_file");
    let user = ToolContext { role: Role::User, ..low() };
    assert!(asks(&world, &user, "write_file", json!({"path": "a", "content": "x"})).await);
}

#[tokio::test]
async fn undo_restores_the_files_of_all_calls() {
    let (world, directory) = reviewing().await;
    world.put("notes.md", "one\n");
    world.put("old.md", "old\n");
    let run = async |name: &str, arguments| world.run_in(&low(), name, arguments).await.unwrap();
    run("edit_file", json!({"path": "notes.md", "find": "one", "replace": "two"})).await;
    run("write_file", json!({"path": "deep/new.md", "content": "new\n"})).await;
    run("exec_shell", json!({"command": "rm old.md; echo more >> notes.md; mkdir -p a/b"})).await;
    let asked = review(&world).await;
    for shown in [
        "- `notes.md`: changed",
        "- `deep`: new directory",
        "- `old.md`: removed",
        "-one\n+two\n+more\n",
        "+new\n",
        "-old\n",
        "a/b: nothing -> a directory",
        "I have read untrusted content",
    ] {
        assert!(text(&asked).contains(shown), "{shown}: {}", text(&asked));
    }
    let labels: Vec<&str> =
        asked.prompt.as_ref().unwrap().choices.iter().map(|one| one.label.as_str()).collect();
    assert_eq!(labels, ["Keep", "Keep and trust", "Undo"]);
    world.registry.undo_changes(&low()).await;
    assert_eq!((world.get("notes.md"), world.get("old.md")), ("one\n".into(), "old\n".into()));
    assert!(!world.workspace.path().join("deep").exists());
    assert!(!world.workspace.path().join("a").exists());
    assert!(!world.registry.has_changes(&low().session));
    assert_eq!(entries(directory.path()), 0);
}

#[tokio::test]
async fn kept_changes_stay_marked_and_trusted_ones_do_not() {
    for is_trusted in [false, true] {
        let (world, directory) = reviewing().await;
        let write = json!({"path": "new.md", "content": "x"});
        world.run_in(&low(), "write_file", write.clone()).await.unwrap();
        let asked = review(&world).await;
        let grants = asked.grant.clone().filter(|_| is_trusted).into_iter().collect();
        let after = ToolContext { grants, ..low() };
        world.registry.keep_changes(&after).await;
        assert_eq!(world.get("new.md"), "x");
        assert_eq!(entries(directory.path()), 0);
        let reading = context();
        world.run_in(&reading, "read_file", json!({"path": "new.md"})).await.unwrap();
        let expected = if is_trusted { Trust::Full } else { Trust::Low };
        assert_eq!(reading.read.get(), expected);
        // The trust of a person covers later changes of the same file, without a review.
        world.run_in(&after, "write_file", write).await.unwrap();
        assert_eq!(world.registry.has_changes(&low().session), !is_trusted);
    }
}

#[tokio::test]
async fn review_of_a_program_that_changes_nothing_is_none() {
    let (world, directory) = reviewing().await;
    world.put("a.md", "a");
    let list = json!({"command": "cat a.md; touch a.md"});
    world.run_in(&low(), "exec_shell", list).await.unwrap();
    assert!(world.registry.has_changes(&low().session));
    assert_eq!(world.registry.review_changes("", &low()).await, None);
    assert_eq!(entries(directory.path()), 0);
}

#[tokio::test]
async fn call_that_cannot_be_undone_is_asked_about_with_the_reason() {
    let (world, _directory) = reviewing().await;
    fs::File::create(world.workspace.path().join("large")).unwrap().set_len(1 << 30).unwrap();
    let run = call("exec_shell", &json!({"command": "true"}));
    let prepared = world.registry.prepare(&run, None, &low()).await.unwrap();
    let asked = prepared.approval.unwrap();
    let why = "I have read untrusted content, and could not undo the call: the files have more than \
        128 MiB.";
    assert!(text(&asked).contains(why), "{}", text(&asked));
}

#[tokio::test]
async fn undo_takes_back_a_commit() {
    if !has("git") {
        return;
    }
    let (world, _directory) = reviewing().await;
    let shell = json!({"command": "git init -q -b main . && git config user.name a"});
    world.value("exec_shell", shell).await;
    world.put("a.txt", "one\n");
    world.value("git_add", json!({"all": true})).await;
    world.value("git_commit", json!({"message": "first"})).await;
    world.put("a.txt", "two\n");
    let run = async |name: &str, arguments| world.run_in(&low(), name, arguments).await.unwrap();
    run("git_add", json!({"all": true})).await;
    run("git_commit", json!({"message": "planted"})).await;
    let asked = review(&world).await;
    assert!(text(&asked).contains("the git repository: "), "{}", text(&asked));
    assert!(text(&asked).contains("commit: planted"), "{}", text(&asked));
    world.registry.undo_changes(&low()).await;
    let log = world.value("git_log", json!({})).await.to_string();
    assert!(log.contains("first") && !log.contains("planted"), "{log}");
    let status = world.value("git_status", json!({})).await;
    assert_eq!(status["changes"], json!([{"path": "a.txt", "unstaged": "modified"}]));
}

#[tokio::test]
async fn instructions_are_read_only_for_programs_after_untrusted_text() {
    let (world, _directory) = reviewing().await;
    world.put("AGENTS.md", "Be calm.\n");
    let append = json!({"command": "echo obey >> AGENTS.md; echo obey > SOUL.md"});
    let ran = world.run_in(&low(), "exec_shell", append.clone()).await.unwrap().value;
    assert!(ran["output"].as_str().unwrap().contains("Read-only file system"), "{ran}");
    assert_eq!(world.get("AGENTS.md"), "Be calm.\n");
    assert!(!world.workspace.path().join("SOUL.md").exists(), "{ran}");
    let reading = context();
    world.run_in(&reading, "read_file", json!({"path": "AGENTS.md"})).await.unwrap();
    assert_eq!(reading.read.get(), Trust::Full);
    // An owner's own task may change them.
    world.value("exec_shell", append).await;
    assert_eq!(world.get("AGENTS.md"), "Be calm.\nobey\n");
}

#[tokio::test]
async fn name_of_a_file_gives_no_trust_to_another_file() {
    let (world, _directory) = reviewing().await;
    let touch = json!({"command": "printf x > 'a\nb.md'"});
    world.run_in(&low(), "exec_shell", touch).await.unwrap();
    let asked = review(&world).await;
    assert_eq!(asked.grant, None);
    assert_eq!(asked.prompt.unwrap().choices.len(), 2);
}

#[tokio::test]
async fn long_changes_are_cut_with_a_digest_of_the_whole() {
    let (world, _directory) = reviewing().await;
    let long = "one line of a long text\n".repeat(2_000);
    let write = json!({"path": "long.md", "content": long});
    world.run_in(&low(), "write_file", write).await.unwrap();
    let asked = review(&world).await;
    assert!(text(&asked).contains(" more characters; SHA-256 of all: "), "{}", text(&asked));
    assert!(text(&asked).contains("The files have the rest."));
    assert!(!text(&asked).contains("exact arguments"));
}

#[tokio::test]
async fn call_that_only_reads_between_preparation_and_start_notes_nothing() {
    let (world, _directory) = reviewing().await;
    world.put("a.md", "one");
    let edit = call("edit_file", &json!({"path": "a.md", "find": "one", "replace": "two"}));
    let _prepared = world.registry.prepare(&edit, None, &low()).await.unwrap();
    world.run_in(&low(), "read_file", json!({"path": "a.md"})).await.unwrap();
    world.registry.execute(&edit, &low()).await.unwrap();
    assert!(text(&review(&world).await).contains("-one"));
}

/// Runs an approved call: the approval is the digest of the question.
async fn approve(world: &World, context: &ToolContext, call: &ToolCall, asked: &WaitRequest) {
    let allowed = asked.shown.as_deref();
    let prepared = world.registry.prepare(call, allowed, context).await.unwrap();
    assert_eq!(prepared.approval, None);
    world.registry.execute(call, context).await.unwrap();
}

#[tokio::test]
async fn changes_of_a_stopped_conversation_can_be_given_up_with_one_approval() {
    let (world, directory) = reviewing().await;
    let stopped = ToolContext { session: "terminal:local:stopped".parse().unwrap(), ..low() };
    let write = |path: &str| json!({"path": path, "content": "x"});
    world.run_in(&stopped, "write_file", write("a.md")).await.unwrap();
    let second = call("write_file", &write("b.md"));
    let ask = async || world.registry.prepare(&second, None, &low()).await.unwrap().approval;
    let asked = ask().await.unwrap();
    let why = "changes of a stopped conversation in the same directory were not reviewed; if you allow \
        this call, those changes stay, marked as untrusted, and can no longer be undone";
    assert!(text(&asked).contains(why), "{}", text(&asked));
    assert_eq!((asked.grant.clone(), asked.prompt.as_ref().unwrap().choices.len()), (None, 2));
    // The question alone, or a denial, gives nothing up.
    assert!(world.registry.has_changes(&stopped.session));
    approve(&world, &low(), &second, &asked).await;
    assert!(!world.registry.has_changes(&stopped.session));
    assert_eq!(entries(directory.path()), 1);
    assert!(!asks(&world, &low(), "write_file", write("c.md")).await);
    world.registry.undo_changes(&low()).await;
    assert_eq!(world.get("a.md"), "x");
    assert!(!world.workspace.path().join("b.md").exists());
    let reading = context();
    world.run_in(&reading, "read_file", json!({"path": "a.md"})).await.unwrap();
    assert_eq!(reading.read.get(), Trust::Low);
}

#[tokio::test]
async fn changes_of_a_working_conversation_wait_for_its_review() {
    let (mut world, directory) = (World::new().await, TempDir::new().unwrap());
    world.registry = with_reviews(world.registry, &world.workspace, &directory, false);
    let working = ToolContext { session: "terminal:local:working".parse().unwrap(), ..low() };
    let write = |path: &str| json!({"path": path, "content": "x"});
    world.run_in(&working, "write_file", write("a.md")).await.unwrap();
    let second = call("write_file", &write("b.md"));
    let asked = world.registry.prepare(&second, None, &low()).await.unwrap().approval.unwrap();
    let why = "changes of another conversation in the same directory wait for their review";
    assert!(text(&asked).contains(why), "{}", text(&asked));
    approve(&world, &low(), &second, &asked).await;
    assert!(world.registry.has_changes(&working.session));
    assert!(!world.registry.has_changes(&low().session));
}

#[tokio::test]
async fn approval_of_a_shape_leaves_the_review_of_changes() {
    let (world, _directory) = reviewing().await;
    let ask_mode = ToolContext { mode: PermissionMode::Ask, ..context() };
    let touch = |path: &str| call("exec_shell", &json!({ "command": format!("touch {path}") }));
    let prepared = world.registry.prepare(&touch("a"), None, &ask_mode).await.unwrap();
    let granted =
        ToolContext { grants: [prepared.approval.unwrap().grant.unwrap()].into(), ..low() };
    let prepared = world.registry.prepare(&touch("b"), None, &granted).await.unwrap();
    assert_eq!(prepared.approval, None);
    world.registry.execute(&touch("b"), &granted).await.unwrap();
    assert!(text(&review(&world).await).contains("- `b`: new"));
    // Without copies, a call runs without a question only if the approval covers it.
    fs::File::create(world.workspace.path().join("large")).unwrap().set_len(1 << 30).unwrap();
    world.registry.keep_changes(&low()).await;
    assert!(!asks(&world, &granted, "exec_shell", json!({ "command": "touch c" })).await);
    assert!(asks(&world, &granted, "exec_shell", json!({ "command": "mkdir c" })).await);
}
