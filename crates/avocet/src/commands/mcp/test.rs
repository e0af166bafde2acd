//! `avocet mcp test`: starts a server as the daemon would, beside it, and lists what it offers.

use avocet_mcp::McpOffers;
use avocet_protocol::{McpError, McpServerStatus, McpServers, McpToolView};
use clap::Args;
use serde::Serialize;

use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::mcp;
use crate::output::{show, warning};
use crate::places::{Configuration, Uses};
use crate::shell::Shells;

use super::servers::tools_text;

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Name of the server in the configuration.
    server: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The result of a test.
#[derive(Debug, Serialize)]
struct Tested {
    status: Option<McpServerStatus>,
    /// The time until the tools were known, in milliseconds.
    milliseconds: u128,
    tools: Vec<McpToolView>,
    #[serde(flatten)]
    offers: McpOffers,
}

pub(crate) async fn test(context: &CommandContext, args: TestArgs) -> Result<Exit, Failure> {
    let TestArgs { server, json } = args;
    let configuration = Configuration::load(context, Uses::Log)?;
    let table = format!("tools.mcp_servers.{server}.");
    let unresolved = configuration.document.unresolved().iter();
    for one in unresolved.filter(|one| one.key.starts_with(&table)) {
        warning(&format!("{}; the daemon may have a value", one.error));
    }
    let tested = tested(context, &configuration, &server).await?;
    show(json, &tested, || text(&server, &tested))
}

async fn tested(
    context: &CommandContext,
    configuration: &Configuration,
    server: &str,
) -> Result<Tested, Failure> {
    let (clock, group) = (&context.clock, &context.root);
    let shells = Shells::probe(configuration, clock, group).await?;
    // The daemon's file stays as it is: a test approves nothing.
    let client = mcp::client_with(None, configuration, &shells, clock, group)?;
    let began = clock.elapsed();
    let tools = client.tools(server, true).await?;
    let milliseconds = clock.elapsed().saturating_sub(began).as_millis();
    let offers = client.offers(server).await?;
    let status = client.servers().into_iter().find(|one| one.name == server);
    Ok(Tested { status, milliseconds, tools, offers })
}

impl From<McpError> for Failure {
    fn from(error: McpError) -> Self {
        Self::new(Exit::Failed, error.to_string())
    }
}

fn text(server: &str, Tested { status, milliseconds, tools, offers }: &Tested) -> String {
    let software = status.as_ref().and_then(|status| status.software.as_deref());
    let software = software.map_or_else(String::new, |software| format!(" ({software})"));
    let mut text = format!(
        "{server}{software} answered in {milliseconds} ms: {} tools, {} resources, {} prompts\n",
        tools.len(),
        offers.resources.len(),
        offers.prompts.len()
    );
    if !tools.is_empty() {
        text.push_str(&tools_text(tools));
    }
    for (name, list) in [("resource", &offers.resources), ("prompt", &offers.prompts)] {
        text.extend(list.iter().map(|one| format!("{name}: {one}\n")));
    }
    for left_out in status.iter().flat_map(|status| &status.left_out) {
        text.push_str(&format!("left out: {left_out}\n"));
    }
    text
}
