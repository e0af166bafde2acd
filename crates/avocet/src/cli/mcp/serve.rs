//! `avocet mcp serve`: the daemon as an MCP server on stdin and stdout.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use avocet_gateway::{Hello, MCP_CLIENT};
use avocet_mcp_server::{McpServer, McpServerParts, serve_stream};
use avocet_protocol::chat::SessionId;
use avocet_text::{Secret, plain_io};
use clap::Args;
use tokio::io::{stdin, stdout};

use crate::cli::faulty_file::for_daemon;
use crate::cli::mcp::daemon_methods::{DaemonMethods, StdioHost};
use crate::cli::run::Signals;
use crate::cli::values::session_id;
use crate::connection::connect_daemon;
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::logging;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Conversation of the tool `ask`, as channel:account:chat. A bare name is a conversation of the
    /// terminal. Default: terminal:local:mcp-NAME, by the name of the MCP client.
    #[arg(long, value_parser = session_id)]
    session: Option<SessionId>,
    /// Use the rights of [gateway.clients.NAME]. Default: mcp, which reaches only its own
    /// conversations unless the configuration has a table for it.
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// File with the token of that client.
    #[arg(long, value_name = "FILE", requires = "client")]
    token_file: Option<PathBuf>,
}

pub(crate) async fn run(context: &CommandContext, serve: ServeArgs) -> Result<Exit, Failure> {
    let ServeArgs { session, client, token_file } = serve;
    let configuration = for_daemon(context)?;
    let level = Some(context.cli.log.as_deref().unwrap_or("warn"));
    logging::to_stderr(&configuration.settings.log, level, &context.clock, &context.root)?;
    let token = token_file.as_deref().map(read_token).transpose()?;
    if connect_daemon(context, &configuration).await?.is_none() {
        let message = format!(
            "no daemon runs at {}; start one with `avocet run`, and then the MCP client again",
            configuration.socket.display()
        );
        return Err(Failure::new(Exit::NoDaemon, message));
    }
    // Another model writes the texts, so they do not get the rights of this user.
    let client = client.or_else(|| Some(MCP_CLIENT.to_owned()));
    let hello = Hello { client, token, ..Hello::default() };
    let group = context.root.child_group("mcp");
    let socket = configuration.socket.clone();
    let methods = DaemonMethods::new(socket, hello, context.clock.clone(), group.clone());
    methods.check().await?;
    let parts = McpServerParts {
        host: Arc::new(StdioHost(Arc::new(methods))),
        clock: context.clock.clone(),
        group: group.clone(),
        session,
    };
    let serving = serve_stream(McpServer::new(parts), stdin(), stdout(), group.cancel_token());
    let mut signals = Signals::new()?;
    tokio::select! {
        served = serving => served.map_err(|error| Failure::new(Exit::Failed, error))?,
        _ = signals.next() => {}
    }
    Ok(Exit::Done)
}

fn read_token(file: &Path) -> Result<Secret, Failure> {
    let text = fs::read_to_string(file).map_err(|error| {
        let message = format!("cannot read the token {}: {}", file.display(), plain_io(&error));
        Failure::new(Exit::Usage, message)
    })?;
    Ok(Secret::new(text.trim().to_owned()))
}
