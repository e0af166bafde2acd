//! `avocet mcp test`: starts a server as the daemon would, beside it, and lists what it offers.

use avocet_mcp::McpOffers;
use avocet_protocol::tool::{McpError, McpServerStatus, McpServers, McpToolView};
use clap::Args;
use futures_util::future::join_all;
use serde::Serialize;

use crate::components::mcp;
use crate::components::shell::Shells;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::output::{print_result, print_warning};

use super::tools_text::tools_text;

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

pub(crate) async fn test_server(context: &CommandContext, args: TestArgs) -> Result<Exit, Failure> {
    let TestArgs { server, json } = args;
    let configuration = Configuration::load(context, ConfigurationUse::Log)?;
    let table = format!("tools.mcp_servers.{server}.");
    let unresolved = configuration.document.unresolved_values().iter();
    for one in unresolved.filter(|one| one.key.starts_with(&table)) {
        print_warning(&format!("{}; the daemon may have a value", one.error));
    }
    let tested = run_test(context, &configuration, &server).await?;
    print_result(json, &tested, || tested_text(&server, &tested))
}

async fn run_test(
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
    let offers = client.ask_offers(server).await?;
    let status = client.servers().into_iter().find(|one| one.name == server);
    Ok(Tested { status, milliseconds, tools, offers })
}

/// The test of a server right after it was added.
#[derive(Debug, Serialize)]
pub(crate) struct AddedTest {
    server: String,
    /// The reason why it does not run, or was not tested; `None` if it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    tools: Vec<McpToolView>,
    /// The tools that cannot be used, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
}

impl AddedTest {
    fn from_error(server: &str, error: impl Into<String>) -> Self {
        let (server, error) = (server.to_owned(), Some(error.into()));
        Self { server, error, tools: Vec::new(), left_out: Vec::new() }
    }

    /// Formats the test for people.
    pub(crate) fn text(&self) -> String {
        let Self { server, error, tools, left_out } = self;
        if let Some(error) = error {
            return format!("{server}: {error}\n`avocet mcp test {server}` tries it again\n");
        }
        let mut text = format!("{server} runs; tools: {}\n", tools.len());
        if !tools.is_empty() {
            text.push_str(&tools_text(tools));
        }
        text.extend(left_out.iter().map(|one| format!("{server}: {one}\n")));
        text
    }
}

/// Starts servers that were just added, all at the same time, and lists their tools.
pub(crate) async fn test_added(context: &CommandContext, servers: &[String]) -> Vec<AddedTest> {
    match start_added(context, servers).await {
        Ok(tests) => tests,
        Err(failure) => {
            let why = format!("not tested: {:#}", failure.error);
            servers.iter().map(|server| AddedTest::from_error(server, why.clone())).collect()
        }
    }
}

async fn start_added(
    context: &CommandContext,
    servers: &[String],
) -> Result<Vec<AddedTest>, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Log)?;
    let (clock, group) = (&context.clock, &context.root);
    let shells = Shells::probe(&configuration, clock, group).await?;
    let client = mcp::client_with(None, &configuration, &shells, clock, group)?;
    let tests = servers.iter().map(async |server| {
        let table = format!("tools.mcp_servers.{server}.");
        let mut unresolved = configuration.document.unresolved_values().iter();
        if let Some(missing) = unresolved.find(|one| one.key.starts_with(&table)) {
            let why = format!(
                "not tested: {}. The daemon needs it, too: without it, a running daemon keeps its old \
                 configuration, and does not start again",
                missing.error
            );
            return AddedTest::from_error(server, why);
        }
        let status = || client.servers().into_iter().find(|one| one.name == *server);
        match client.tools(server, true).await {
            Ok(tools) => {
                let left_out = status().map(|status| status.left_out).unwrap_or_default();
                AddedTest { server: server.clone(), error: None, tools, left_out }
            }
            Err(error) => AddedTest::from_error(server, error.to_string()),
        }
    });
    Ok(join_all(tests).await)
}

impl From<McpError> for Failure {
    fn from(error: McpError) -> Self {
        Self::new(Exit::Failed, error.to_string())
    }
}

fn tested_text(server: &str, Tested { status, milliseconds, tools, offers }: &Tested) -> String {
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
