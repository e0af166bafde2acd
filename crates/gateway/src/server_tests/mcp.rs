//! `mcp.list`, `mcp.tools` and `mcp.approve`.

use avocet_protocol::tool::{McpServerStatus, McpState, McpToolView};
use serde_json::{Value, json};

use super::world::{World, refused};
use crate::{ApproveMcpTools, ListMcpTools, RpcError};

#[tokio::test]
async fn mcp_list_and_mcp_tools_return_servers_and_their_tools() {
    let connection = World::new().client().await;
    let servers: Vec<McpServerStatus> = connection.request("mcp.list", &json!({})).await.unwrap();
    let states: Vec<McpState> = servers.iter().map(|server| server.state).collect();
    assert_eq!(states, [McpState::Failed, McpState::Ready]);
    let request = ListMcpTools { server: "files".to_owned(), refresh: true };
    let tools: Vec<McpToolView> = connection.request("mcp.tools", &json!(request)).await.unwrap();
    assert_eq!(tools[0].name, "files__read");
}

#[tokio::test]
async fn mcp_approve_returns_the_approved_tools() {
    let connection = World::new().client().await;
    for tool in [None, Some("read".to_owned()), Some("files__read".to_owned())] {
        let digests = tool.as_ref().map(|_| vec!["d1".to_owned()]);
        let request = ApproveMcpTools { server: "files".to_owned(), tool, digests };
        let tools: Value = connection.request("mcp.approve", &json!(request)).await.unwrap();
        assert_eq!(tools, json!(["files__read"]));
    }
}

#[tokio::test]
async fn mcp_methods_refuse_unknown_names() {
    let connection = World::new().client().await;
    for (method, params, code, says) in [
        ("mcp.list", json!({"server": "files"}), RpcError::PARAMS, "mcp.list: "),
        ("mcp.tools", json!({}), RpcError::PARAMS, "mcp.tools: "),
        ("mcp.tools", json!({"server": "x"}), RpcError::NOT_FOUND, "there is no MCP server x"),
        ("mcp.tools", json!({"server": "broken"}), RpcError::UNAVAILABLE, "exit code 1"),
        ("mcp.approve", json!({"server": "files", "tool": "x"}), RpcError::NOT_FOUND, "no tool x"),
        (
            "mcp.approve",
            json!({"server": "files", "digests": ["d2"]}),
            RpcError::CONFLICT,
            "changed files__read meanwhile",
        ),
    ] {
        let refusal = refused(connection.request::<Value>(method, &params).await);
        assert_eq!(refusal.0, code, "{method}");
        assert!(refusal.1.contains(says), "{}", refusal.1);
    }
}
