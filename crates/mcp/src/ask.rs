//! Sends the MCP request for a tool call.

use avocet_protocol::tool::ToolError;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, PaginatedRequestParams,
    ReadResourceRequestParams, Resource,
};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::{Map, Value, json};

use crate::files::ResultFiles;
use crate::memory::{ListedTool, ToolKind};
use crate::outcome;

/// The reason why a request fails.
pub(crate) enum AskError {
    Service(ServiceError),
    Tool(ToolError),
}

impl From<ServiceError> for AskError {
    fn from(error: ServiceError) -> Self {
        Self::Service(error)
    }
}

/// Sends the MCP request for a tool call. `files` keeps the files of its result.
pub(crate) async fn send_call(
    peer: &Peer<RoleClient>,
    listed: &ListedTool,
    arguments: &Map<String, Value>,
    files: Option<ResultFiles<'_>>,
) -> Result<Value, AskError> {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str).map(str::to_owned);
    let page = || Some(PaginatedRequestParams::default().with_cursor(text("cursor")));
    match listed.kind {
        ToolKind::Tool => {
            let params = CallToolRequestParams::new(listed.name.clone());
            let answer = peer.call_tool_once(params.with_arguments(arguments.clone())).await?;
            match answer {
                CallToolResponse::Complete(result) => {
                    let kept = match files {
                        Some(files) => files.keep_files(&result.content).await,
                        None => Vec::new(),
                    };
                    outcome::of_call(result, &kept).map_err(AskError::Tool)
                }
                _ => Err(AskError::Tool(ToolError::ExecutionFailed(
                    "the server asks for more input or starts a task, which this client does not support".to_owned(),
                ))),
            }
        }
        ToolKind::ListResources => {
            let list = peer.list_resources(page()).await?;
            let one = |one: &Resource| {
                json!({
                    "uri": one.uri, "name": one.name, "description": one.description,
                    "media_type": one.mime_type,
                })
            };
            let resources: Vec<Value> = list.resources.iter().map(one).collect();
            Ok(json!({"resources": resources, "next": list.next_cursor}))
        }
        ToolKind::ReadResource => {
            let uri = text("uri").unwrap_or_default();
            let read = peer.read_resource(ReadResourceRequestParams::new(uri)).await?;
            Ok(read.contents.iter().map(|one| outcome::of_resource(one, None)).collect())
        }
        ToolKind::ListPrompts => {
            let list = peer.list_prompts(page()).await?;
            Ok(json!({"prompts": list.prompts, "next": list.next_cursor}))
        }
        ToolKind::GetPrompt => {
            let mut params = GetPromptRequestParams::new(text("name").unwrap_or_default());
            if let Some(given) = arguments.get("arguments").and_then(Value::as_object) {
                params = params.with_arguments(given.clone());
            }
            Ok(outcome::of_prompt(&peer.get_prompt(params).await?))
        }
    }
}
