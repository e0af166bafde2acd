//! One MCP server with one tool, and one server that always fails.

use async_trait::async_trait;
use avocet_protocol::tool::{
    McpError, McpServerStatus, McpServers, McpState, McpToolHints, McpToolState, McpToolView,
    McpTransport, ToolClass,
};
use serde_json::json;

use super::FakeDaemon;

fn server(name: &str) -> McpServerStatus {
    McpServerStatus {
        name: name.to_owned(),
        transport: McpTransport::Stdio,
        state: McpState::Ready,
        why: None,
        trusted: false,
        lazy: true,
        software: Some("fake 1.0".to_owned()),
        tools: 1,
        changed: Vec::new(),
        left_out: Vec::new(),
        warning: None,
    }
}

#[async_trait]
impl McpServers for FakeDaemon {
    fn servers(&self) -> Vec<McpServerStatus> {
        let why = Some("it ended with exit code 1".to_owned());
        let broken =
            McpServerStatus { state: McpState::Failed, why, software: None, ..server("broken") };
        vec![broken, server("files")]
    }

    async fn tools(&self, server: &str, _: bool) -> Result<Vec<McpToolView>, McpError> {
        match server {
            "files" => Ok(vec![McpToolView {
                name: "files__read".to_owned(),
                tool: "read".to_owned(),
                description: "Reads a file.".to_owned(),
                class: ToolClass::Effect,
                state: McpToolState::New,
                parameters: json!({"type": "object"}),
                hints: McpToolHints::default(),
                digest: "d1".to_owned(),
                approved: None,
            }]),
            "broken" => {
                let why = "it ended with exit code 1".to_owned();
                Err(McpError::Failed { server: server.to_owned(), why })
            }
            _ => Err(McpError::UnknownServer { server: server.to_owned() }),
        }
    }

    async fn approve(
        &self,
        server: &str,
        tool: Option<&str>,
        shown: Option<&[String]>,
    ) -> Result<Vec<String>, McpError> {
        let tools = McpServers::tools(self, server, false).await?;
        match tool {
            Some(tool) if !tools.iter().any(|one| one.tool == tool || one.name == tool) => {
                let (server, tool) = (server.to_owned(), tool.to_owned());
                Err(McpError::UnknownTool { server, tool })
            }
            _ if shown.is_some_and(|shown| !shown.contains(&"d1".to_owned())) => {
                let (server, tools) = (server.to_owned(), tools[0].name.clone());
                Err(McpError::ChangedMeanwhile { server, tools })
            }
            _ => Ok(tools.into_iter().map(|one| one.name).collect()),
        }
    }
}
