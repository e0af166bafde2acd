//! The methods about MCP servers.

use avocet_protocol::{ClientRole, McpError, McpServers, Redactor};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::values::{or_empty, presentable, read, unavailable};
use crate::wire::RpcError;

/// `mcp.tools`: lists the tools of an MCP server. The result is a list of
/// [`McpToolView`](avocet_protocol::McpToolView).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListMcpTools {
    /// The name of the server in the configuration.
    pub server: String,
    /// `true` to start the server if necessary, and to read its list again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refresh: bool,
}

/// `mcp.approve`: approves the present form of tools. The result is the list of the tools whose
/// state has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApproveMcpTools {
    /// The name of the server in the configuration.
    pub server: String,
    /// The tool, by its name in the registry or its server's name for it. Default: all tools of the
    /// server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The digests of the forms that the person has seen. A tool with another form is refused, and
    /// nothing is approved. Default: any form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digests: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoParameters {}

/// Answers `mcp.list`, `mcp.tools` and `mcp.approve`.
pub(crate) async fn answer_about_mcp(
    mcp: &dyn McpServers,
    caller: &Caller,
    redactor: &Redactor,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    let refused = |error: McpError| refusal(&error, redactor);
    match method {
        "mcp.tools" => {
            let ListMcpTools { server, refresh } = read(method, params)?;
            if refresh && caller.role < ClientRole::Operator {
                let reason =
                    "mcp.tools with `refresh` starts a program, which needs the role operator";
                return Err(caller.refusal(reason, "role"));
            }
            let tools = mcp.tools(&server, refresh).await;
            tools.map(|tools| presentable(json!(tools), redactor)).map_err(refused)
        }
        "mcp.approve" => {
            let ApproveMcpTools { server, tool, digests } = read(method, params)?;
            let approved = mcp.approve(&server, tool.as_deref(), digests.as_deref()).await;
            approved.map(|tools| json!(tools)).map_err(refused)
        }
        _ => {
            let NoParameters {} = read(method, or_empty(params))?;
            Ok(presentable(json!(mcp.servers()), redactor))
        }
    }
}

fn refusal(error: &McpError, redactor: &Redactor) -> RpcError {
    let message = redactor.redact(&error.to_string()).into_owned();
    match error {
        McpError::UnknownServer { .. } | McpError::UnknownTool { .. } => {
            RpcError::new(RpcError::NOT_FOUND, message)
        }
        McpError::ChangedMeanwhile { .. } => RpcError::new(RpcError::CONFLICT, message),
        McpError::Failed { .. } | McpError::Log(_) => unavailable(message),
    }
}
