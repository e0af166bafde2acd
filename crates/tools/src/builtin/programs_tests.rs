use avocet_protocol::clock::Clock;
use avocet_protocol::model::Arguments;
use avocet_protocol::tool::{Caution, Question, Tool};
use avocet_sandbox::{Isolation, Workspace};
use avocet_supervise::Group;
use avocet_testkit::{ManualClock, tool_context};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::BackgroundPrograms;
use crate::builtin::exec_shell::ExecShell;
use crate::builtin::git::{GitPush, WorkspaceGit};
use crate::builtin::process_kill::ProcessKill;
use crate::builtin::run_tests::RunTests;

/// A sandbox in which every program fails to start.
pub(in crate::builtin) fn nowhere(clock: Arc<dyn Clock>) -> ProgramSandbox {
    ProgramSandbox {
        secrets_but: None,
        ..ProgramSandbox::new("/nowhere/stage", Isolation::Namespaces, clock)
    }
}

fn shell() -> ProgramSettings {
    let (clock, hour) = (Arc::new(ManualClock::default()), Duration::from_hours(1));
    ProgramSettings {
        sandbox: Arc::new(nowhere(clock.clone())),
        longest: hour,
        commands: Vec::new(),
        background: Arc::new(BackgroundPrograms::new(1, hour, clock.clone(), Group::new("test"))),
        outside: Arc::new(nowhere(clock)),
    }
}

fn arguments<T: Tool>(_: &T, arguments: &Value) -> T::Arguments {
    let object = Arguments::parse(&arguments.to_string()).to_object();
    serde_json::from_value(Value::Object(object)).unwrap()
}

async fn question<T: Tool>(tool: T, given: Value) -> Option<Question> {
    let arguments = arguments(&tool, &given);
    tool.question(&arguments, &tool_context()).await
}

#[tokio::test]
async fn question_shows_the_whole_command_of_a_program() {
    let directory = TempDir::new().unwrap();
    std::fs::write(directory.path().join("Cargo.toml"), "").unwrap();
    let roots = Arc::new(WorkspaceRoots::from(Workspace::open(directory.path()).unwrap()));
    let shell = shell();
    let exec = || ExecShell::new(roots.clone(), shell.clone(), EditorBuffers::default());

    let command = format!("echo ```\nrm -r {}", "x".repeat(5000));
    let asked = question(exec(), json!({"command": command, "working_dir": "src"})).await.unwrap();
    let shown = format!("Run this command, in \"src\" of the workspace:\n\n````\n{command}\n````");
    let scope = format!("{command}, in \"src\" of the workspace");
    assert_eq!((asked.shown, asked.scope), (shown, scope));
    let asked = question(exec(), json!({"command": "ls", "background": true})).await.unwrap();
    let shown = "Run this command in the background, in the root of the workspace:\n\n```\nls\n```";
    assert_eq!(asked.shown, shown);

    let started = json!({"command": "make all", "background": true});
    let exec = exec();
    let tool_arguments = arguments(&exec, &started);
    Tool::execute(&exec, tool_arguments, &tool_context()).await.unwrap();
    let kill = || ProcessKill(shell.background.clone());
    let asked = question(kill(), json!({"id": "p1.1"})).await.unwrap();
    assert_eq!(asked.shown, "Kill the program p1.1:\n\n```\nmake all\n```");
    assert_eq!(question(kill(), json!({"id": "p1.9"})).await, None);

    let tests = RunTests::new(roots.clone(), shell.clone(), EditorBuffers::default());
    let asked = question(tests, json!({"filter": "it's"})).await.unwrap();
    let command = "cargo test --no-fail-fast 'it'\\''s'";
    assert_eq!(asked.scope, format!("{command} in the root of the workspace"));
    assert_eq!(
        asked.shown,
        format!("Run tests in the root of the workspace:\n\n```\n{command}\n```")
    );
}

#[tokio::test]
async fn git_push_caution_is_always() {
    let directory = TempDir::new().unwrap();
    let roots = Arc::new(WorkspaceRoots::from(Workspace::open(directory.path()).unwrap()));
    let push = GitPush(WorkspaceGit::new(roots, shell()));
    let caution = push.caution(&arguments(&push, &json!({})), &tool_context()).await;
    assert_eq!(caution, Caution::Always);
}

#[test]
fn code_block_cannot_be_closed_by_its_text() {
    assert_eq!(code_block("ls"), "```\nls\n```");
    assert_eq!(code_block("a ``` b"), "````\na ``` b\n````");
}

#[test]
fn last_cuts_between_characters() {
    assert_eq!(last_characters("äöü", 2), "öü");
    assert_eq!(last_characters("äöü", 3), "äöü");
    assert_eq!(last_characters("äöü", 9), "äöü");
    assert_eq!(last_characters("", 9), "");
}
