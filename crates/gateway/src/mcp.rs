//! The methods about MCP servers.

use avocet_methods::{ApproveMcpTools, EmptyParams, ListMcpServers, ListMcpTools};
use avocet_protocol::access::ClientRole;
use avocet_protocol::tool::McpError;
use avocet_text::Redactor;

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::values::unavailable;
use crate::wire::RpcError;

impl RunMethod for ListMcpTools {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, Self { server, refresh }: Self) -> Answered<Self> {
        let MethodCall { parts, caller, .. } = call;
        if refresh && caller.role < ClientRole::Operator {
            let reason = "mcp.tools with `refresh` starts a program, which needs the role operator";
            return Err(caller.refusal(reason, "role"));
        }
        let tools = parts.mcp.tools(&server, refresh).await;
        let tools = tools.map_err(|error| refusal(&error, &parts.redactor))?;
        Reply::without_secrets(&tools, &parts.redactor)
    }
}

impl RunMethod for ApproveMcpTools {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, Self { server, tool, digests }: Self) -> Answered<Self> {
        let parts = call.parts;
        let approved = parts.mcp.approve(&server, tool.as_deref(), digests.as_deref()).await;
        Reply::with_whole(&approved.map_err(|error| refusal(&error, &parts.redactor))?)
    }
}

impl RunMethod for ListMcpServers {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, EmptyParams {}: EmptyParams) -> Answered<Self> {
        Reply::without_secrets(&call.parts.mcp.servers(), &call.parts.redactor)
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
