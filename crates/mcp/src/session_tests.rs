use std::collections::BTreeMap;
use std::sync::Arc;

use avocet_protocol::tool::{McpServers, McpState, ToolOutcome, ToolSource};
use avocet_testkit::{ManualClock, tool_context};
use avocet_text::Secret;
use serde_json::Map;
use tempfile::TempDir;

use crate::testing::{FakeServer, make_client, server_parts};
use crate::{McpClient, McpServerConfig};

fn names(client: &McpClient) -> Vec<String> {
    let tools = ToolSource::tools(client);
    let mut names: Vec<String> =
        tools.iter().map(|tool| tool.describe().name.as_str().to_owned()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn session_servers_start_together_and_those_that_fail_are_named() {
    let (home, clock) = (TempDir::new().unwrap(), Arc::new(ManualClock::default()));
    let configured = make_client(home.path(), &clock, Vec::new());
    let (good, broken) = (FakeServer::with_tools(&["read"]), FakeServer::with_tools(&["write"]));
    *broken.is_broken.lock() = true;
    let config = McpServerConfig { lazy: false, ..McpServerConfig::default() };
    let servers = server_parts(vec![
        ("editor-bad", config.clone(), Some(broken.clone())),
        ("editor-good", config.clone(), Some(good.clone())),
        ("editor-none", config, None),
    ]);
    let session = configured.with_session_servers("session", servers);
    let failed: BTreeMap<String, String> = session.start_all().await.into_iter().collect();
    let names_of_failed: Vec<&str> = failed.keys().map(String::as_str).collect();
    assert_eq!(names_of_failed, ["editor-bad", "editor-none"]);
    assert!(failed["editor-bad"].contains("there is no program x"), "{failed:?}");
    let expected = ["editor-good__read", "editor-good__read_resource", "editor-good__resources"];
    assert_eq!(names(&session), expected);
    assert!(names(&configured).is_empty());
    assert!(!home.path().join("mcp.json").exists(), "the tools of a session are in memory only");
}

#[tokio::test]
async fn session_servers_end_with_stop_all_and_leave_the_configured_ones() {
    let (home, clock) = (TempDir::new().unwrap(), Arc::new(ManualClock::default()));
    let (own, given) = (FakeServer::with_tools(&["own"]), FakeServer::with_tools(&["read"]));
    let config = McpServerConfig { lazy: false, ..McpServerConfig::default() };
    let configured = make_client(home.path(), &clock, vec![("own", config.clone(), Some(own))]);
    assert!(configured.start_all().await.is_empty());
    let servers = server_parts(vec![("editor-a", config, Some(given))]);
    let session = configured.with_session_servers("session", servers);
    assert!(session.start_all().await.is_empty());
    session.stop_all();
    let refused = McpServers::tools(&session, "editor-a", true).await.unwrap_err();
    assert!(refused.to_string().contains("stop"), "{refused}");
    let states: Vec<McpState> = configured.servers().iter().map(|server| server.state).collect();
    assert_eq!(states, [McpState::Ready]);
}

#[tokio::test]
async fn session_servers_give_results_without_their_secrets() {
    let (home, clock) = (TempDir::new().unwrap(), Arc::new(ManualClock::default()));
    let configured = make_client(home.path(), &clock, Vec::new());
    let config = McpServerConfig { lazy: false, ..McpServerConfig::default() };
    let mut servers =
        server_parts(vec![("editor-a", config, Some(FakeServer::with_tools(&["tok-9f3b1c77aa"])))]);
    servers[0].secrets = vec![Secret::new("tok-9f3b1c77aa".to_owned())];
    let session = configured.with_session_servers("session", servers);
    assert!(session.start_all().await.is_empty());
    let tool = ToolSource::tools(&session).remove(0);
    let outcome = tool.execute(&Map::new(), &tool_context()).await.unwrap();
    let ToolOutcome::Finished(output) = outcome else { panic!("{outcome:?}") };
    assert!(output.value.to_string().contains("[secret] ran"), "{}", output.value);
}
