//! Builds the agents of the configuration, with their models, tools and workspaces.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;
use std::time::Duration;

use avocet_agent::{
    ABOUT_MARKS, AgentLimits, AgentLoop, AgentModels, AgentRecall, AgentRules, CoreTools, Marks,
    ModelsByTask, PromptSettings, RenderedTurns, TurnLimits,
};
use avocet_config::{AgentDefaults, AgentProfile, AgentTools, DEFAULT};
use avocet_gateway::AgentSummary;
use avocet_jobs::ZoneCalendar;
use avocet_protocol::model::{ConvertPicture, Model, Models as ModelsPort, NoModel};
use avocet_protocol::tool::{PromptFile, Toolbox};
use avocet_session::{
    Agent, AgentDirectories, AgentJobs, Agents, AttachmentFetcher, Attachments, BySession,
    NoDirectory,
};
use avocet_tools::{
    AgentPolicy, BuiltinParts, ChangeReviews, PathLocks, ToolRegistry, WebAccess, add_builtin,
};
use parking_lot::Mutex;

use crate::components::budgets::convert_budgets;
use crate::components::models::Models;
use crate::components::policy;
use crate::components::ports::DaemonPorts;
use crate::components::prompt_file::OperatorPrompt;
use crate::components::web::{make_web, named_hosts};
use crate::components::workspaces::{OpenWorkspace, named_in_chat, session_binding};
use crate::configuration::{Agent as AgentPlace, Configuration};
use crate::context::CommandOverrides;
use crate::environment::system_zone;
use crate::exit::{Exit, Failure};
use crate::{redaction, registry};

/// The instructions that lead every request. They are constant, so that a provider's cache of the
/// beginning of a request stays valid.
const SYSTEM: &str = "You are Avocet, an assistant in chats. Answer briefly, in the user's language, in \
    Markdown. Paths are relative to the workspace. Say what you did and what you could not do.";

/// The parts from which agents are built.
#[derive(Debug, Clone)]
pub(crate) struct AgentParts {
    pub(crate) ports: DaemonPorts,
    pub(crate) otherwise: CommandOverrides,
    pub(crate) configuration: Configuration,
    pub(crate) models: Arc<Models>,
    pub(crate) attachments: Attachments,
    pub(crate) kept: KeptByAgents,
}

/// The state that the agents of a changed configuration take over.
#[derive(Debug, Clone)]
pub(crate) struct KeptByAgents {
    paths: Arc<PathLocks>,
    marks: Marks,
}

impl KeptByAgents {
    pub(crate) fn new() -> Self {
        let marks = Marks::new(uuid::Uuid::new_v4().as_u64_pair().0);
        Self { paths: Arc::default(), marks }
    }
}

impl AgentParts {
    /// Builds all agents. Agents with the same workspace share its programs.
    pub(crate) fn agents(self) -> Result<Agents, Failure> {
        let web = make_web(&self.configuration, &self.ports.clock, self.otherwise.web)?;
        let hosts = named_hosts(&self.configuration)?;
        AgentFactory { parts: self, web, hosts, known: Mutex::default() }.agents()
    }
}

/// Returns the settings for attachments.
pub(crate) fn attachment_settings(
    configuration: &Configuration,
    ports: &DaemonPorts,
) -> Result<Attachments, Failure> {
    let Configuration { document, settings, .. } = configuration;
    let DaemonPorts { shells, clock, audio, .. } = ports;
    let convert = shells.picture_converter(configuration.picture_directory());
    Ok(Attachments {
        convert: convert.map(|convert| Arc::new(convert) as Arc<dyn ConvertPicture>),
        transcribe: registry::make_transcriber(document, settings, clock.clone(), audio.clone())?,
        max_bytes: settings.attachments.max_megabytes.saturating_mul(1024 * 1024),
    })
}

/// Describes the profiles for clients.
pub(crate) fn agent_summaries(configuration: &Configuration) -> Arc<[AgentSummary]> {
    let agents = configuration.agents.iter().map(|agent| {
        let profile = &agent.profile;
        AgentSummary::new(&profile.name, profile.agent.prompt.as_deref())
    });
    agents.collect()
}

/// Builds agents, and gives them other directories later.
#[derive(Debug)]
struct AgentFactory {
    parts: AgentParts,
    web: Arc<WebAccess>,
    /// The hosts that the configuration names.
    hosts: Arc<[String]>,
    /// The directories of jobs so far, with the agent's name.
    known: Mutex<BTreeMap<(String, PathBuf), DirectoryTools>>,
}

/// The parts of an agent that belong to a directory.
#[derive(Debug, Clone)]
struct DirectoryTools {
    toolbox: Arc<dyn Toolbox>,
    workspace: OpenWorkspace,
}

impl AgentFactory {
    fn agents(self) -> Result<Agents, Failure> {
        let prompt_settings = PromptSettings {
            system: format!("{SYSTEM} {ABOUT_MARKS}").into(),
            file: None,
            zone: system_zone(),
            marks: self.parts.kept.marks,
        };
        let AgentParts { configuration, models, ports, .. } = &self.parts;
        let mut shared: BTreeMap<&Path, ToolRegistry> = BTreeMap::new();
        let mut agents = Vec::new();
        for place in &configuration.agents {
            let workspace = ports.workspaces.open_directory(&place.workspace)?;
            let all = match shared.entry(&place.workspace) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(self.all_tools(place, &workspace)?),
            };
            let rules = self.tool_rules(place);
            policy::warn_of_unused(all, &configuration.document, &rules);
            let tools = self.tools(all, rules, &workspace);
            let prompt_settings = with_prompt(&prompt_settings, place);
            let run = self.agent_loop(place, &workspace, tools, prompt_settings);
            let run = run.map_err(|error| Failure::new(Exit::Configuration, error.to_string()))?;
            agents.push((session_binding(&place.profile), make_agent(&place.profile, run)));
        }
        let (_, default) = agents.remove(0);
        let (agents, models) = (BySession::new(default, agents), models.clone());
        Ok(Agents { agents, models, directories: Arc::new(self) })
    }

    fn builtin_parts(&self, place: &AgentPlace, workspace: &OpenWorkspace) -> BuiltinParts {
        let AgentParts { configuration, ports, .. } = &self.parts;
        let DaemonPorts { store, memories, channels, bus, shells, editors, clock, .. } = ports;
        // A sub-agent stays in the workspace of its parent.
        let there = configuration.agents.iter().filter(|one| one.workspace == place.workspace);
        let profiles = there.map(|one| one.profile.name.clone());
        BuiltinParts {
            roots: workspace.roots.clone(),
            editors: editors.clone(),
            memories: memories.memories.clone(),
            history: store.clone(),
            kept_results: store.clone(),
            destinations: channels.clone(),
            roles: bus.clone(),
            skills: workspace.skills.clone(),
            shell: shells.program_settings(workspace.roots.workspace().root()),
            web: self.web.clone(),
            zone: system_zone(),
            tasks: store.clone(),
            profiles: profiles.collect(),
            schedules: store.clone(),
            calendar: Arc::new(ZoneCalendar::new(&system_zone())),
            clock: clock.clone(),
        }
    }

    /// Returns the tools of a workspace, before the rules of an agent.
    fn all_tools(
        &self,
        place: &AgentPlace,
        workspace: &OpenWorkspace,
    ) -> Result<ToolRegistry, Failure> {
        let AgentParts { ports, otherwise, configuration, .. } = &self.parts;
        let DaemonPorts { mcp, session_sources, clock, .. } = ports;
        let mut registry = ToolRegistry::new(clock.clone());
        add_builtin(&mut registry, &self.builtin_parts(place, workspace))
            .and_then(|()| (otherwise.add_tools)(&mut registry))
            .map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
        let users = configuration.settings.tools.users.clone();
        let registry = registry.with_source(mcp.clone(), users);
        let mut registry = registry.with_sessions(session_sources.clone());
        policy::open(&mut registry, &configuration.settings);
        Ok(registry)
    }

    fn tool_rules(&self, place: &AgentPlace) -> AgentPolicy {
        let Configuration { settings, agents, .. } = &self.parts.configuration;
        policy::agent_policy(settings, agents, &place.profile.name)
    }

    fn tools(
        &self,
        all: &ToolRegistry,
        rules: AgentPolicy,
        workspace: &OpenWorkspace,
    ) -> Arc<dyn Toolbox> {
        let mut tools = all
            .with_same_tools()
            .with_policy(rules, policy::approval_expiry(&self.parts.configuration.settings))
            .with_budget(policy::choice_budget(&self.parts.configuration.settings))
            .with_secrets(redaction::shared_redactor());
        if self.parts.configuration.settings.tools.ask_last {
            let DaemonPorts { kept_copies, store, .. } = &self.parts.ports;
            tools = tools.with_reviews(ChangeReviews {
                copies: kept_copies.clone(),
                roots: workspace.roots.clone(),
                work: store.clone(),
            });
        }
        Arc::new(tools.with_paths(self.parts.kept.paths.clone()).with_hosts(self.hosts.clone()))
    }

    fn make_fetcher(&self, workspace: &OpenWorkspace) -> AttachmentFetcher {
        let DaemonPorts { channels, logs, clock, .. } = &self.parts.ports;
        AttachmentFetcher {
            settings: self.parts.attachments.clone(),
            files: workspace.files.clone(),
            channels: channels.clone(),
            log: logs.turns.clone(),
            clock: clock.clone(),
        }
    }

    fn agent_loop(
        &self,
        place: &AgentPlace,
        workspace: &OpenWorkspace,
        toolbox: Arc<dyn Toolbox>,
        prompt_settings: PromptSettings,
    ) -> Result<AgentLoop, NoModel> {
        let AgentParts { models, configuration, ports, .. } = &self.parts;
        let DaemonPorts { store, logs, memories, events, clock, .. } = ports;
        let profile = &place.profile.agent;
        Ok(AgentLoop {
            models: AgentModels {
                main: models.model(&profile.model, &profile.fallbacks)?,
                cheap: cheap_model(profile, models.as_ref())?,
                tasks: by_task(profile, models.as_ref())?,
            },
            effort: profile.effort,
            toolbox,
            core_tools: core_tools(&profile.tools),
            logs: logs.clone(),
            limits: AgentLimits {
                turn: turn_limits(profile),
                budgets: convert_budgets(&configuration.settings.budgets),
                root_tokens: None,
            },
            rules: AgentRules { configured: configuration.rules.clone(), stored: store.clone() },
            recall: AgentRecall {
                recall: memories.recall(),
                budget_tokens: u64::from(profile.recall_tokens),
            },
            prompt_settings,
            rendered: RenderedTurns::default(),
            files: workspace.files.clone(),
            skills: workspace.skills.clone(),
            attachments: Arc::new(self.make_fetcher(workspace)),
            events: events.clone(),
            clock: clock.clone(),
        })
    }

    /// Opens a directory for an agent, and makes its tools there.
    fn directory_tools(&self, agent: &str, directory: &Path) -> Result<DirectoryTools, Failure> {
        let key = (agent.to_owned(), directory.to_owned());
        let mut known = self.known.lock();
        if let Some(tools) = known.get(&key) {
            return Ok(tools.clone());
        }
        let AgentParts { configuration, ports, .. } = &self.parts;
        let place = configuration.agents.iter().find(|place| place.profile.is_named(agent));
        let gone = || Failure::new(Exit::Failed, format!("there is no agent {agent}"));
        let place = place.ok_or_else(gone)?;
        let workspace = ports.workspaces.open_directory(directory)?;
        let all = self.all_tools(place, &workspace)?;
        let toolbox = self.tools(&all, self.tool_rules(place), &workspace);
        let tools = DirectoryTools { toolbox, workspace };
        known.insert(key, tools.clone());
        Ok(tools)
    }
}

impl AgentDirectories for AgentFactory {
    fn in_directory(
        &self,
        agent: &str,
        directory: &Path,
        run: AgentLoop,
    ) -> Result<AgentLoop, NoDirectory> {
        let DirectoryTools { toolbox, workspace } =
            self.directory_tools(agent, directory).map_err(|failure| NoDirectory {
                directory: directory.display().to_string(),
                why: failure.error.to_string(),
            })?;
        let attachments = Arc::new(self.make_fetcher(&workspace));
        let OpenWorkspace { files, skills, .. } = workspace;
        Ok(AgentLoop { toolbox, files, skills, attachments, ..run })
    }

    fn named(&self, directory: &str) -> Result<String, NoDirectory> {
        let failed = |failure: Failure| NoDirectory {
            directory: directory.to_owned(),
            why: failure.error.to_string(),
        };
        named_in_chat(&self.parts.configuration, directory).map_err(failed)
    }
}

/// Adds the prompt of a profile to the instructions.
fn with_prompt(all: &PromptSettings, place: &AgentPlace) -> PromptSettings {
    let prompt = place.profile.agent.prompt.as_deref();
    let system = match prompt.map(str::trim).filter(|prompt| !prompt.is_empty()) {
        Some(prompt) => format!("{}\n\n{prompt}", all.system).into(),
        None => all.system.clone(),
    };
    let file = OperatorPrompt::from_agent(place).map(|file| Arc::new(file) as Arc<dyn PromptFile>);
    PromptSettings { system, file, ..all.clone() }
}

fn make_agent(profile: &AgentProfile, run: AgentLoop) -> Agent {
    Agent {
        name: Some(profile.name.clone()).filter(|name| name != DEFAULT),
        run,
        fallbacks: profile.agent.fallbacks.clone(),
        has_cheap_model: profile.agent.cheap_model.is_some(),
        jobs: AgentJobs {
            own_branch: profile.agent.job_branch,
            pr_command: profile.agent.pr_command.clone(),
        },
    }
}

/// Returns the cheap model of an agent, with its main model as a fallback. Without a cheap model,
/// returns the main one.
fn cheap_model(agent: &AgentDefaults, models: &dyn ModelsPort) -> Result<Arc<dyn Model>, NoModel> {
    let AgentDefaults { model, fallbacks, cheap_model, .. } = agent;
    match cheap_model {
        Some(cheap) => models.model(cheap, &[slice::from_ref(model), fallbacks].concat()),
        None => models.model(model, fallbacks),
    }
}

/// Returns the models by task, each with the main model as a fallback.
fn by_task(agent: &AgentDefaults, models: &dyn ModelsPort) -> Result<ModelsByTask, NoModel> {
    let AgentDefaults { model, fallbacks, models: tasks, .. } = agent;
    let behind = [slice::from_ref(model), fallbacks].concat();
    let of = |name: &Option<String>| name.as_ref().map(|name| models.model(name, &behind));
    Ok(ModelsByTask {
        vision: of(&tasks.vision).transpose()?,
        long: of(&tasks.long).transpose()?,
        code: of(&tasks.code).transpose()?,
    })
}

/// Returns the tools whose schemas each request of an agent contains. An agent with a list of tools
/// has all of them in its core.
fn core_tools(tools: &AgentTools) -> CoreTools {
    match &tools.core {
        Some(core) => CoreTools::fixed(core.clone()),
        None if tools.allow.iter().any(|pattern| pattern == "*") => CoreTools::default(),
        None => CoreTools::by_window(tools.allow.clone()),
    }
}

fn turn_limits(agent: &AgentDefaults) -> TurnLimits {
    TurnLimits {
        max_tool_iterations: agent.max_tool_iterations,
        max_tool_calls: agent.max_tool_calls,
        max_duration: Duration::from_secs(agent.max_turn_seconds),
        max_tokens: agent.max_turn_tokens,
        context_tokens: agent.context_tokens,
        max_children: agent.max_children,
        max_depth: agent.max_depth,
        ..TurnLimits::default()
    }
}
