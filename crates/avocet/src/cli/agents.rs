//! `avocet agents`: the profiles of the configuration, the shipped ones among them.

use avocet_config::{DEFAULT, SHIPPED};
use avocet_protocol::access::PersonId;
use avocet_text::PlainTable;
use clap::Subcommand;
use serde::Serialize;

use crate::configuration::{Agent, Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::output::print_result;

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the profiles.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the settings of a profile.
    Show {
        /// Name of the profile, as in the list.
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// A profile, as it is printed.
#[derive(Debug, Serialize)]
struct AgentView<'a> {
    name: &'a str,
    /// `true` if it exists without configuration.
    shipped: bool,
    model: &'a str,
    workspace: String,
    sessions: &'a [String],
    people: &'a [PersonId],
    #[serde(skip)]
    bound_to: String,
    tools: &'a [String],
    denied_tools: &'a [String],
    /// The tools whose schemas are part of each request; `None` for the built-in choice.
    core_tools: Option<&'a [String]>,
    max_tool_iterations: u32,
    max_turn_seconds: u64,
    max_turn_tokens: u64,
    max_children: u32,
    max_depth: u32,
    prompt: Option<&'a str>,
    prompt_file: Option<String>,
}

impl<'a> AgentView<'a> {
    fn new(agent: &'a Agent) -> Self {
        let (profile, keys) = (&agent.profile, &agent.profile.agent);
        Self {
            name: &profile.name,
            shipped: profile.name == DEFAULT || SHIPPED.iter().any(|one| one.name == profile.name),
            model: &keys.model,
            workspace: agent.workspace.display().to_string(),
            sessions: &profile.sessions,
            people: &profile.people,
            bound_to: profile.bound_to(),
            tools: &keys.tools.allow,
            denied_tools: &keys.tools.deny,
            core_tools: keys.tools.core.as_deref(),
            max_tool_iterations: keys.max_tool_iterations,
            max_turn_seconds: keys.max_turn_seconds,
            max_turn_tokens: keys.max_turn_tokens,
            max_children: keys.max_children,
            max_depth: keys.max_depth,
            prompt: keys.prompt.as_deref(),
            prompt_file: agent.prompt_file.as_ref().map(|path| path.display().to_string()),
        }
    }
}

pub(crate) fn run(context: &CommandContext, command: &AgentsCommand) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Check)?;
    let agents: Vec<AgentView<'_>> = configuration.agents.iter().map(AgentView::new).collect();
    match command {
        AgentsCommand::List { json } => print_result(*json, &agents, || list_text(&agents)),
        AgentsCommand::Show { name, json } => {
            let of = configuration.agents.iter().position(|agent| agent.profile.is_named(name));
            let found = of.map(|place| &agents[place]).ok_or_else(|| {
                let names: Vec<&str> = agents.iter().map(|agent| agent.name).collect();
                let message =
                    format!("there is no profile {name:?}; the profiles are {}", names.join(", "));
                Failure::new(Exit::Failed, message)
            })?;
            print_result(*json, found, || agent_text(found))
        }
    }
}

fn list_text(agents: &[AgentView<'_>]) -> String {
    let head = ["profile", "model", "tools", "conversations"].map(str::to_owned);
    let rows = agents.iter().map(|agent| {
        let tools = match agent.tools {
            [all] if all == "*" && agent.denied_tools.is_empty() => "all".to_owned(),
            tools => format!("{} names", tools.len()),
        };
        [agent.name.to_owned(), agent.model.to_owned(), tools, conversations_text(agent)]
    });
    std::iter::once(head).chain(rows).collect::<PlainTable>().to_string()
}

fn conversations_text(agent: &AgentView<'_>) -> String {
    match agent.bound_to.as_str() {
        "" if agent.name == DEFAULT => "all others".to_owned(),
        "" => "none; for tasks".to_owned(),
        bound => bound.to_owned(),
    }
}

fn agent_text(agent: &AgentView<'_>) -> String {
    let AgentView { max_tool_iterations, max_turn_seconds, max_turn_tokens, .. } = agent;
    let list = |names: &[String]| match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let lines = [
        ("profile", agent.name.to_owned()),
        ("model", agent.model.to_owned()),
        ("workspace", agent.workspace.clone()),
        ("conversations", conversations_text(agent)),
        ("tools", list(agent.tools)),
        ("except", list(agent.denied_tools)),
        ("core tools", agent.core_tools.map_or_else(|| "default".to_owned(), list)),
        (
            "limits of a turn",
            format!(
                "{max_tool_iterations} rounds, {max_turn_seconds} s, {max_turn_tokens} tokens, \
                 {} sub-agents at once, {} deep",
                agent.max_children, agent.max_depth
            ),
        ),
        ("prompt file", agent.prompt_file.clone().unwrap_or_else(|| "none".to_owned())),
        ("prompt", agent.prompt.unwrap_or("none").to_owned()),
    ];
    lines.map(|(name, value)| format!("{name}: {value}\n")).concat()
}
