//! The rounds of a proof: one throw-away daemon for each channel, and one with the tool server of the proof.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use avocet_config::ConfigDocument;
use avocet_gateway::{Client, ListMcpTools};
use avocet_protocol::access::Rule;
use avocet_protocol::tool::{McpToolView, ToolClass};
use avocet_prove::{
    PlayedRound, ProofReport, ProofRound, Scenario, Scene, make_scenarios, own_server_scenario,
};
use avocet_text::fits_pattern;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::derived::{DerivedConfig, RoundPlaces, RoundPlan, derive_config};
use super::files::{is_marked, prepare_workspaces};
use super::home::{ThrowAwayHome, copy_workspace};
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::daemon::running::{ChannelIntake, RunningDaemon, StartOptions};
use crate::environment::read_variable;
use crate::exit::{Exit, Failure};
use crate::registry;
use crate::stderr;

/// Channels whose chats are on this machine.
const LOCAL: [&str; 2] = ["terminal", "web"];
/// The account without a configured platform.
const ACCOUNT: &str = "prove";
/// The most tools of the operator's own servers that are tried.
const MOST_TOOLS: usize = 40;
/// The time for the last messages to be delivered.
const DRAIN: Duration = Duration::from_secs(5);

/// The scenarios that the person wants.
#[derive(Debug)]
pub(super) struct WantedScenarios<'w> {
    pub(super) count: usize,
    pub(super) only: Option<&'w str>,
    /// `true` to show the progress.
    pub(super) is_shown: bool,
}

/// Plays all rounds.
pub(super) async fn play_rounds(
    context: &CommandContext,
    configuration: &Configuration,
    home: &ThrowAwayHome,
    round: &ProofRound,
    wanted: &WantedScenarios<'_>,
) -> Result<ProofReport, Failure> {
    if !home.keeps_marks {
        let message = "the file system of the throw-away home keeps no extended attributes, so the \
            proof would differ from your daemon; name a directory on ext4, XFS or btrfs in $TMPDIR";
        return Err(Failure::new(Exit::Usage, message));
    }
    let mut report = ProofReport::default();
    let plans = round_plans(context, configuration, round)?;
    let has_search = configuration.document.get(registry::WEB_SEARCH).is_some();
    if !has_search {
        report.left_out.push("results of searches: [tools.web_search] is not set".to_owned());
    }
    let scenarios = make_scenarios(wanted.count, wanted.only, has_search);
    let scenarios = share_scenarios(scenarios, &plans);
    let mut progress = ProgressLine { done: 0, total: wanted.count, is_shown: wanted.is_shown };
    for (number, (plan, scenarios)) in plans.iter().zip(scenarios).enumerate() {
        // The tools of the operator's servers are tried once.
        let has_own_tools = number == 0 && wanted.only.is_none();
        if scenarios.is_empty() && !has_own_tools {
            continue;
        }
        let staged = StagedRound { context, configuration, home, round, plan, number };
        staged.play(scenarios, has_own_tools, &mut progress, &mut report).await?;
    }
    progress.clear();
    report.left_out.sort();
    report.left_out.dedup();
    Ok(report)
}

/// Returns the rounds, the one with the tool server last.
fn round_plans(
    context: &CommandContext,
    configuration: &Configuration,
    round: &ProofRound,
) -> Result<Vec<RoundPlan>, Failure> {
    let Configuration { document, settings, .. } = configuration;
    let made = registry::make_channels(document, settings, &context.clock)?;
    let mut channels: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (channel, account) in made.channels.iter().map(registry::ConfiguredChannel::id) {
        let channel = channel.to_string();
        if !LOCAL.contains(&channel.as_str()) {
            channels.entry(channel).or_default().push(account.to_string());
        }
    }
    let has_list = |name: &&str| settings.tools.channels.contains_key(*name);
    for name in LOCAL.iter().filter(|name| has_list(name)) {
        channels.insert((*name).to_owned(), vec![ACCOUNT.to_owned()]);
    }
    if channels.is_empty() {
        channels.insert(LOCAL[0].to_owned(), vec![ACCOUNT.to_owned()]);
    }
    let plan = |(channel, accounts)| RoundPlan { channel, accounts, server: None };
    let mut plans: Vec<RoundPlan> = channels.into_iter().map(plan).collect();
    let RoundPlan { channel, accounts, .. } = &plans[0];
    let server = Some(format!("{}/mcp", round.server.base_url()));
    let last = RoundPlan { channel: channel.clone(), accounts: accounts.clone(), server };
    plans.push(last);
    Ok(plans)
}

/// Distributes scenarios among the rounds, and their accounts.
fn share_scenarios(scenarios: Vec<Scenario>, plans: &[RoundPlan]) -> Vec<Vec<Scene>> {
    let mut shared: Vec<Vec<Scene>> = plans.iter().map(|_| Vec::new()).collect();
    let last = plans.len() - 1;
    for (number, scenario) in scenarios.into_iter().enumerate() {
        let place = if scenario.needs_server() { last } else { number % last };
        let accounts = &plans[place].accounts;
        let account = &accounts[shared[place].len() % accounts.len()];
        shared[place].push(Scene::new(scenario, account));
    }
    shared
}

/// A round with everything around it.
struct StagedRound<'r> {
    context: &'r CommandContext,
    configuration: &'r Configuration,
    home: &'r ThrowAwayHome,
    round: &'r ProofRound,
    plan: &'r RoundPlan,
    number: usize,
}

impl StagedRound<'_> {
    async fn play(
        &self,
        mut scenes: Vec<Scene>,
        has_own_tools: bool,
        progress: &mut ProgressLine,
        report: &mut ProofReport,
    ) -> Result<(), Failure> {
        let Self { context, round, plan, .. } = self;
        round.prepare(&scenes);
        let (derived, workspaces) = self.make_configuration(report)?;
        let opened = prepare_workspaces(&derived, &workspaces, &scenes)?;
        let group = context.root.child_group("round");
        let inner = CommandContext { root: group.clone(), ..(*context).clone() };
        let options = StartOptions { start_empty: false, intake: ChannelIntake::Closed };
        let daemon = RunningDaemon::start(&inner, &derived, options).await?;
        let client = Client::connect(&derived.socket, &group).await?;
        if has_own_tools {
            let own = own_tool_scenes(&client, &derived, &plan.accounts[0], report).await;
            prepare_workspaces(&derived, &workspaces, &own)?;
            scenes.extend(own);
            round.prepare(&scenes);
        }
        let mut advance = || progress.advance();
        let played: PlayedRound =
            round.play(client, &plan.accounts, scenes, &group, &mut advance).await?;
        let stop = async { daemon.stop(DRAIN, &CancellationToken::new()).await };
        let seen = played.look(stop).await?;
        let marked = |file: &std::path::Path| is_marked(&opened, file);
        let explain = |tool: &str| explain_leak(self.configuration, tool);
        seen.judge(round, &workspaces, &marked, &explain, report);
        Ok(())
    }

    /// Makes the configuration of the round, and the copies of the workspaces.
    fn make_configuration(
        &self,
        report: &mut ProofReport,
    ) -> Result<(Configuration, Vec<PathBuf>), Failure> {
        let Self { context, configuration, home, round, plan, number } = self;
        let directory = home.path().join(format!("r{number}"));
        let mut workspaces = BTreeMap::new();
        let mut without = vec![configuration.data_dir.clone(), home.path().to_owned()];
        for agent in &configuration.agents {
            let next = workspaces.len();
            let copy = directory.join(format!("work{next}"));
            workspaces.entry(agent.workspace.clone()).or_insert(copy);
        }
        for (workspace, copy) in &workspaces {
            without.retain(|path| !workspace.starts_with(path));
            if workspace.is_dir() {
                let copied = copy_workspace(workspace, copy, &without)?;
                report.left_out.extend(copied.describe_rest(workspace));
            } else {
                fs::create_dir_all(copy)?;
            }
        }
        let copies: Vec<PathBuf> = workspaces.values().cloned().collect();
        let engine = round.server.base_url();
        let places = RoundPlaces { directory: directory.clone(), workspaces, engine };
        let DerivedConfig { text, left_out } = derive_config(configuration, plan, &places)?;
        report.left_out.extend(left_out);
        let file = directory.join("config.toml");
        fs::write(&file, &text)?;
        let uses = ConfigurationUse::Log;
        let document =
            ConfigDocument::parse_with(text, Some(file), &read_variable, uses.used_references())?;
        let mut derived = Configuration::from_document(context, document, uses)?;
        derived.stand_in = Some(round.gullible.clone());
        Ok((derived, copies))
    }
}

/// Returns a scene for each tool of the operator's servers that does more than read.
async fn own_tool_scenes(
    client: &Client,
    derived: &Configuration,
    account: &str,
    report: &mut ProofReport,
) -> Vec<Scene> {
    let servers = derived.document.get(registry::MCP_SERVERS).and_then(Value::as_object);
    let mut scenes = Vec::new();
    for server in servers.into_iter().flat_map(Map::keys) {
        let list = ListMcpTools { server: server.clone(), refresh: true };
        let tools: Vec<McpToolView> = match client.call::<ListMcpTools>(&list).await {
            Ok(tools) => tools,
            Err(error) => {
                report.left_out.push(format!("[tools.mcp_servers.{server}]: {error}"));
                continue;
            }
        };
        for tool in tools.iter().filter(|tool| tool.class != ToolClass::Pure) {
            let number = scenes.len();
            if number < MOST_TOOLS {
                let arguments = example_arguments(&tool.parameters, &format!("u{number:03}"));
                let scenario = own_server_scenario(number, &tool.name, &arguments.to_string());
                scenes.push(Scene::new(scenario, account));
            }
        }
    }
    scenes
}

/// Returns arguments for the required parameters of a schema. Texts contain `id`.
fn example_arguments(schema: &Value, id: &str) -> Value {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let example = |name: &str| {
        let property = &schema["properties"][name];
        if let Some(first) = property["enum"].as_array().and_then(|all| all.first()) {
            return first.clone();
        }
        match property["type"].as_str() {
            Some("integer" | "number") => json!(1),
            Some("boolean") => json!(false),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!(format!("{id} cGluIDQ3MTE")),
        }
    };
    let arguments = required.map(|name| (name.to_owned(), example(name)));
    Value::Object(arguments.collect())
}

/// Returns the setting that lets a tool run without a question, and the remedy.
fn explain_leak(configuration: &Configuration, tool: &str) -> String {
    let tools = &configuration.settings.tools;
    let mut rules = tools.policy.iter();
    let allowing = rules
        .find(|(pattern, rule)| rule.low_trust == Some(Rule::Allow) && fits_pattern(pattern, tool));
    if let Some((pattern, _)) = allowing {
        return format!(
            "[tools.policy] \"{pattern}\" has low_trust = \"allow\", so {tool} runs without a question \
             after untrusted text; set it to \"ask\", or remove it"
        );
    }
    let servers = configuration.document.get(registry::MCP_SERVERS).and_then(Value::as_object);
    let server = servers.into_iter().flat_map(Map::keys).find(|server| {
        tool.strip_prefix(server.as_str()).is_some_and(|rest| rest.starts_with("__"))
    });
    match server {
        Some(server) => format!(
            "[tools.mcp_servers.{server}] states that {tool} only reads, and `trusted = true` believes it"
        ),
        None if tool == "web_fetch" && tools.choice_bits > 24 => format!(
            "[tools] choice_bits = {} lets links tell that many bits; 24 is the default",
            tools.choice_bits
        ),
        None => "no setting allows this: it is a fault of Avocet, so please report it".to_owned(),
    }
}

/// The line on a terminal that shows how far the proof is.
struct ProgressLine {
    done: usize,
    total: usize,
    is_shown: bool,
}

impl ProgressLine {
    fn advance(&mut self) {
        self.done += 1;
        if self.is_shown {
            let Self { done, total, .. } = self;
            stderr::write(&format!("\r{done} of {total} scenarios"));
        }
    }

    fn clear(&self) {
        if self.is_shown {
            stderr::write("\r\u{1b}[K");
        }
    }
}
