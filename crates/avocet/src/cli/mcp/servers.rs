//! `avocet mcp list`, `tools` and `approve`: the servers of a running daemon. Without a daemon, the
//! list shows the servers of the configuration file.

use avocet_gateway::{ApproveMcpTools, Client, EmptyParams, ListMcpServers, ListMcpTools};
use avocet_protocol::tool::{McpServerStatus, McpState, McpToolState, McpToolView, McpTransport};
use avocet_text::PlainTable;
use clap::Args;
use serde::Serialize;

use crate::cli::faulty_file::for_daemon;
use crate::components::config_file::FileText;
use crate::components::mcp::edit::{self, ListedServer};
use crate::components::places::config_place;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::connection::connect_daemon;
use crate::context::CommandContext;
use crate::environment::absolute_path;
use crate::exit::{Exit, Failure};
use crate::output::{ask_confirmation, print_result, print_text};
use crate::setup::mcp::add::{command_failure, file_failure};
use crate::setup::mcp::changes;
use crate::setup::mcp::tools_text::tools_text;
use crate::stderr;

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// Name of the server. Default: all servers.
    server: Option<String>,
    /// Start the server if necessary, and read its list again.
    #[arg(long, requires = "server")]
    refresh: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// Name of the server.
    server: String,
    /// Name of the tool. Default: all tools of the server.
    tool: Option<String>,
    /// The digest that `avocet mcp tools` has shown, or its first characters: another form of the
    /// tool is refused. Default: the forms are shown, and the command asks.
    #[arg(long, requires = "tool", value_name = "DIGEST", value_parser = parse_digest)]
    digest: Option<String>,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Characters of the shortest beginning of a digest that names one form only.
const SHORTEST_DIGEST: usize = 8;

fn parse_digest(text: &str) -> Result<String, String> {
    let is_long = text.chars().count() >= SHORTEST_DIGEST;
    let short = || format!("give at least the first {SHORTEST_DIGEST} characters");
    if is_long { Ok(text.to_owned()) } else { Err(short()) }
}

/// A server in the list.
#[derive(Debug, Serialize)]
struct ListRow {
    name: String,
    /// The command with its arguments, or the URL; `None` if the server was removed from the file.
    reached_by: Option<String>,
    /// The state in the daemon; `None` without a daemon, or if the daemon has started before the
    /// server was added.
    status: Option<McpServerStatus>,
}

pub(crate) async fn list_servers(
    context: &CommandContext,
    args: &ListArgs,
) -> Result<Exit, Failure> {
    let configured = configured_servers(context)?;
    let configuration = Configuration::load(context, ConfigurationUse::Daemon)?;
    let statuses = match connect_daemon(context, &configuration).await? {
        Some(client) => Some(fetch_statuses(&client).await?),
        None => None,
    };
    let has_daemon = statuses.is_some();
    let rows = list_rows(configured, statuses.unwrap_or_default());
    print_result(args.json, &rows, || list_text(&rows, has_daemon))
}

/// Joins the servers of the file with those of the daemon, by their names.
fn list_rows(configured: Vec<ListedServer>, mut statuses: Vec<McpServerStatus>) -> Vec<ListRow> {
    let row = |ListedServer { name, reached_by }: ListedServer| {
        let at = statuses.iter().position(|status| status.name == name);
        ListRow { name, reached_by: Some(reached_by), status: at.map(|at| statuses.remove(at)) }
    };
    let mut rows: Vec<_> = configured.into_iter().map(row).collect();
    let removed = statuses.into_iter().map(|status| ListRow {
        name: status.name.clone(),
        reached_by: None,
        status: Some(status),
    });
    rows.extend(removed);
    rows
}

/// Reads the servers from the configuration file, references unresolved.
fn configured_servers(context: &CommandContext) -> Result<Vec<ListedServer>, Failure> {
    let Some(path) = config_place(&context.cli) else { return Ok(Vec::new()) };
    let file = FileText::read(absolute_path(&path)?).map_err(file_failure)?;
    edit::list_servers(&file.text).map_err(command_failure)
}

async fn fetch_statuses(client: &Client) -> Result<Vec<McpServerStatus>, Failure> {
    Ok(client.call::<ListMcpServers>(&EmptyParams {}).await?)
}

fn list_text(rows: &[ListRow], has_daemon: bool) -> String {
    if rows.is_empty() {
        return "There are no MCP servers. `avocet mcp add --help` says how to add one.\n"
            .to_owned();
    }
    let mut table = PlainTable::with_head(&["server", "state", "tools", "reached by"]);
    for row in rows {
        table.row(row_cells(row, has_daemon));
    }
    let mut text = table.to_string();
    for status in rows.iter().filter_map(|row| row.status.as_ref()) {
        add_remarks(status, &mut text);
    }
    if !has_daemon {
        text.push_str("No daemon runs; `avocet mcp test NAME` tries a server.\n");
    }
    text
}

fn row_cells(ListRow { name, reached_by, status }: &ListRow, has_daemon: bool) -> [String; 4] {
    let state = match (status, reached_by) {
        (Some(_), None) => "removed; still in use",
        (Some(status), _) => status.state.as_str(),
        (None, _) if has_daemon => "new; not in use yet",
        (None, _) => "",
    };
    let tools = status.as_ref().map_or_else(String::new, |status| status.tools.to_string());
    [name.clone(), state.to_owned(), tools, reached_by.clone().unwrap_or_default()]
}

/// Adds the lines about the faults of a server.
fn add_remarks(status: &McpServerStatus, text: &mut String) {
    let McpServerStatus { name, state, why, changed, left_out, warning, transport, .. } = status;
    if let Some(why) = why {
        text.push_str(&format!("{name}: {why}\n"));
    } else if *transport == McpTransport::Missing {
        text.push_str(&format!("{name}: it has neither command nor url\n"));
    } else if *state == McpState::Failed {
        text.push_str(&format!("{name}: it failed; `avocet mcp test {name}` says why\n"));
    }
    if !changed.is_empty() {
        let changed = changed.join(", ");
        text.push_str(&format!(
            "{name}: new or changed since their approval, and disabled: {changed}; `avocet mcp tools \
                {name}` shows the changes and the commands that approve them\n"
        ));
    }
    for one in left_out.iter().chain(warning) {
        text.push_str(&format!("{name}: {one}\n"));
    }
}

pub(crate) async fn list_tools(context: &CommandContext, args: ToolsArgs) -> Result<Exit, Failure> {
    let client = require_daemon(context).await?;
    let servers = match args.server {
        Some(server) => vec![server],
        None => fetch_statuses(&client).await?.into_iter().map(|status| status.name).collect(),
    };
    let mut tools: Vec<McpToolView> = Vec::new();
    for server in servers {
        let list = ListMcpTools { server, refresh: args.refresh };
        tools.extend(client.call::<ListMcpTools>(&list).await?);
    }
    print_result(args.json, &tools, || tools_text(&tools))
}

pub(crate) async fn approve_tool(
    context: &CommandContext,
    args: ApproveArgs,
) -> Result<Exit, Failure> {
    let client = require_daemon(context).await?;
    let ApproveArgs { server, tool, digest, yes, json } = args;
    let list = ListMcpTools { server: server.clone(), refresh: false };
    let shown: Vec<McpToolView> = client.call::<ListMcpTools>(&list).await?;
    let is_seen = |tool: &&McpToolView| {
        digest.as_deref().is_none_or(|digest| tool.digest.starts_with(digest))
    };
    if digest.is_none() && !yes {
        let is_meant = |one: &&McpToolView| {
            one.state != McpToolState::Approved
                && tool.as_ref().is_none_or(|tool| one.name == *tool || one.tool == *tool)
        };
        let meant: Vec<&McpToolView> = shown.iter().filter(is_meant).collect();
        meant.iter().for_each(|tool| stderr::write(&changes::tool_text(tool)));
        if !meant.is_empty() && !ask_confirmation("Approve these forms?")? {
            print_text("Nothing was approved.\n")?;
            return Ok(Exit::Done);
        }
    }
    let digests = shown.iter().filter(is_seen).map(|tool| tool.digest.clone()).collect();
    let approve = ApproveMcpTools { server, tool, digests: Some(digests) };
    let approved: Vec<String> = client.call::<ApproveMcpTools>(&approve).await?;
    print_result(json, &approved, || match &*approved {
        [] => "nothing has changed: the tools were approved already\n".to_owned(),
        tools => format!("approved: {}\n", tools.join(", ")),
    })
}

async fn require_daemon(context: &CommandContext) -> Result<Client, Failure> {
    let configuration = for_daemon(context)?;
    connect_daemon(context, &configuration).await?.ok_or_else(|| {
        let message = "no daemon runs; start it with `avocet run`, or try a server with `avocet mcp \
            test NAME`";
        Failure::new(Exit::NoDaemon, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(name: &str, state: McpState) -> McpServerStatus {
        McpServerStatus {
            name: name.to_owned(),
            transport: McpTransport::Stdio,
            state,
            why: None,
            trusted: false,
            lazy: true,
            software: None,
            tools: 3,
            changed: Vec::new(),
            left_out: Vec::new(),
            warning: None,
        }
    }

    fn configured(name: &str) -> ListedServer {
        ListedServer { name: name.to_owned(), reached_by: format!("run {name}") }
    }

    #[test]
    fn list_joins_the_file_with_the_daemon_and_says_what_to_do() {
        let failed = McpServerStatus {
            why: Some("it ended with status 7".to_owned()),
            changed: vec!["bad__work".to_owned()],
            warning: Some("`hosts` has no effect".to_owned()),
            ..status("bad", McpState::Failed)
        };
        let statuses = vec![status("gone", McpState::Ready), failed];
        let text =
            list_text(&list_rows(vec![configured("new"), configured("bad")], statuses), true);
        for expected in [
            "new     new; not in use yet",
            "bad     failed",
            "run bad",
            "gone    removed; still in use",
            "bad: it ended with status 7",
            "bad: `hosts` has no effect",
            "disabled: bad__work; `avocet mcp tools bad` shows the changes",
        ] {
            assert!(text.contains(expected), "no {expected:?} in:\n{text}");
        }
    }

    #[test]
    fn digest_is_long_enough_to_name_one_form() {
        assert!(parse_digest("").is_err() && parse_digest("3f2a").is_err());
        assert_eq!(parse_digest("3f2a0b1c"), Ok("3f2a0b1c".to_owned()));
    }

    #[test]
    fn list_without_a_daemon_shows_the_file() {
        let text = list_text(&list_rows(vec![configured("one")], Vec::new()), false);
        assert!(text.contains("one") && text.contains("run one"), "{text}");
        assert!(
            text.ends_with("No daemon runs; `avocet mcp test NAME` tries a server.\n"),
            "{text}"
        );
        assert!(list_text(&[], false).contains("avocet mcp add --help"));
    }
}
