//! `avocet mcp`: the MCP servers whose tools the agent uses, and the daemon as such a server. The
//! tables of servers in the configuration are changed in `setup`; a running daemon reports their
//! state.

#[cfg(feature = "mcp-server")]
mod daemon_methods;
mod login;
#[cfg(feature = "mcp-server")]
mod serve;
mod servers;

use clap::Subcommand;

use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::output::print_result;
#[cfg(not(feature = "mcp-server"))]
use crate::parts::{LeftOutArgs as ServeArgs, describe_left_out};
use crate::setup::mcp::add::{self, AddArgs, RemoveArgs};
use crate::setup::mcp::test::{self, TestArgs};

use login::{LoginArgs, LogoutArgs};
#[cfg(feature = "mcp-server")]
use serve::ServeArgs;
use servers::{ApproveArgs, ListArgs, ToolsArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add MCP servers to the configuration file: a command, a URL, or the configuration file of
    /// another program.
    Add(Box<AddArgs>),
    /// Approve the present form of a server's tools; needs a running daemon. A changed tool is disabled
    /// until then.
    Approve(ApproveArgs),
    /// List MCP servers, with their states if a daemon runs.
    List(ListArgs),
    /// Log in at an MCP server with a URL, in a browser. The tokens are stored in the data directory.
    Login(LoginArgs),
    /// Delete the tokens of an MCP server, and revoke them.
    Logout(LogoutArgs),
    /// Remove an MCP server from the configuration file.
    Remove(RemoveArgs),
    /// Serve the running daemon to an MCP client on stdin and stdout.
    Serve(ServeArgs),
    /// Start an MCP server in its sandbox, apart from the daemon, and list its tools, resources and
    /// prompts.
    Test(TestArgs),
    /// List the tools of MCP servers; needs a running daemon.
    Tools(ToolsArgs),
}

pub(crate) async fn run(context: &CommandContext, command: McpCommand) -> Result<Exit, Failure> {
    match command {
        McpCommand::Add(args) => {
            let (json, is_tested) = (args.json, !args.no_test);
            let mut changed = add::add_server(context, *args)?;
            if is_tested {
                changed.test(context).await;
            }
            print_result(json, &changed, || changed.text())?;
            Ok(changed.exit())
        }
        McpCommand::Approve(args) => servers::approve_tool(context, args).await,
        McpCommand::List(args) => servers::list_servers(context, &args).await,
        McpCommand::Login(args) => login::log_in(context, args).await,
        McpCommand::Logout(args) => login::log_out(context, args).await,
        McpCommand::Remove(args) => {
            let changed = add::remove_server(context, &args)?;
            print_result(args.json, &changed, || changed.text())
        }
        #[cfg(feature = "mcp-server")]
        McpCommand::Serve(args) => serve::run(context, args).await,
        #[cfg(not(feature = "mcp-server"))]
        McpCommand::Serve(_) => {
            Err(Failure::new(Exit::Configuration, describe_left_out("mcp-server")))
        }
        McpCommand::Test(args) => test::test_server(context, args).await,
        McpCommand::Tools(args) => servers::list_tools(context, args).await,
    }
}
