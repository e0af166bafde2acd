//! Holds the example of the book, chapter "Add a tool", equal to this tool, and runs it.

use std::fs;
use std::sync::Arc;

use avocet_net::{FetchLimits, GuardedClient};
use avocet_protocol::model::{Arguments, ToolCall};
use avocet_protocol::tool::{NoEditors, ToolOutcome, Toolbox, Verdict};
use avocet_sandbox::Workspace;
use avocet_store::testing::TempStore;
use avocet_testkit::{
    FakeCalendar, FakeDestinations, FakeRoles, FakeSkills, ManualClock, tool_context,
};
use serde_json::json;
use tempfile::TempDir;

use super::file_tool::FileTool;
use super::{BuiltinParts, add_builtin, backup_file};
use crate::{AlreadyRegistered, ToolRegistry, WebAccess};

const CHAPTER: &str = include_str!("../../../../docs/src/build/tool.md");
const FILE: &str = include_str!("backup_file.rs");
/// The line that the chapter adds to the list.
const LINE: &str = "    registry.add_tool(FileTool::new(backup_file::BackupFile, parts))?;\n";

fn add(registry: &mut ToolRegistry, parts: &BuiltinParts) -> Result<(), AlreadyRegistered> {
    registry.add_tool(FileTool::new(backup_file::BackupFile, parts))?;
    Ok(())
}

#[test]
fn backup_file_is_shown_in_its_chapter() {
    assert!(CHAPTER.contains(&format!("```rust\n{FILE}```\n")), "the file in the chapter differs");
    let this = include_str!("backup_file_tests.rs");
    assert!(CHAPTER.contains(LINE) && this.contains(LINE), "the line in the chapter differs");
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_file_copies_a_file_and_verifies_the_copy() {
    let (workspace, log) = (TempDir::new().unwrap(), TempStore::new());
    let clock = Arc::new(ManualClock::default());
    let store = log.open(clock.clone()).await;
    let client = GuardedClient::new(Arc::new(Vec::new()), clock.clone(), FetchLimits::default());
    let parts = BuiltinParts {
        roots: Arc::new(Workspace::open(workspace.path()).unwrap().into()),
        editors: Arc::new(NoEditors),
        memories: store.clone(),
        history: store.clone(),
        kept_results: store.clone(),
        destinations: Arc::new(FakeDestinations::default()),
        roles: Arc::new(FakeRoles),
        skills: Arc::new(FakeSkills::default()),
        shell: None,
        web: Arc::new(WebAccess::new(client, None, clock.clone())),
        zone: jiff::tz::TimeZone::UTC,
        tasks: store.clone(),
        profiles: Arc::default(),
        schedules: store.clone(),
        calendar: Arc::new(FakeCalendar),
        clock: clock.clone(),
    };
    let mut registry = ToolRegistry::new(clock);
    add_builtin(&mut registry, &parts).unwrap();
    add(&mut registry, &parts).unwrap();
    fs::write(workspace.path().join("a.txt"), "precious").unwrap();
    let context = tool_context();
    let call = ToolCall {
        name: "backup_file".to_owned(),
        arguments: Arguments::parse(&json!({ "path": "a.txt" }).to_string()),
    };

    let evidence = registry.prepare(&call, None, &context).await.unwrap().evidence.unwrap();
    assert_eq!(registry.verify(&call, &evidence).await, Verdict::DidNotHappen);
    let ToolOutcome::Finished(output) = registry.execute(&call, &context).await.unwrap() else {
        panic!("it waits for nothing");
    };
    assert_eq!(output.value, json!("copied 8 bytes to a.txt.bak"));
    assert_eq!(fs::read_to_string(workspace.path().join("a.txt.bak")).unwrap(), "precious");
    assert!(matches!(registry.verify(&call, &evidence).await, Verdict::Happened(_)));
}
