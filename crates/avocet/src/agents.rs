//! Builds the agents of the configuration, with their models, tools and workspaces.

use std::collections::BTreeMap;
use std::path::Path;
use std::slice;
use std::sync::Arc;
use std::time::Duration;

use avocet_agent::{
    ABOUT_MARKS, AgentLimits, AgentLogs, AgentLoop, AgentModels, Marks, PromptSettings, TurnLimits,
};
use avocet_bus::Bus;
use avocet_config::{AgentDefaults, DEFAULTS, Profile};
use avocet_jobs::ZoneCalendar;
use avocet_outbox::Channels;
use avocet_protocol::{Model, Models as ModelsPort, NoModel, Toolbox};
use avocet_session::{Agent, Agents, AttachmentFetcher, Attachments, BySession, Events};
use avocet_store::SqliteStore;
use avocet_tools::{BuiltinParts, Paths, Registry, Web, add_builtin};
use jiff::tz::TimeZone;

use crate::budgets::budgets;
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::models::Models;
use crate::places::{Agent as AgentPlace, Configuration};
use crate::shell::Shells;
use crate::web::{named_hosts, web};
use crate::workspaces::{AgentWorkspaces, OpenWorkspace};
use crate::{policy, redaction};

/// The instructions that lead every request. They are constant, so that a provider's cache of the
/// beginning of a request stays valid.
const SYSTEM: &str = "You are Avocet, an assistant that people talk to in chats. Answer in the \
    language of the user, briefly and to the point, in Markdown. You have tools: files in a \
    workspace, a long-term memory, messages to chats, web pages. Paths are relative to the root of \
    the workspace. Use a tool when it helps, one step at a time; when a tool fails, read its error \
    and correct the call. Say what you did and what you could not do.";

/// The parts from which agents are built.
pub(crate) struct AgentParts<'a> {
    pub(crate) context: &'a CommandContext,
    pub(crate) configuration: &'a Configuration,
    pub(crate) models: &'a Arc<Models>,
    pub(crate) workspaces: &'a AgentWorkspaces,
    pub(crate) shells: &'a Shells,
    pub(crate) store: &'a Arc<SqliteStore>,
    pub(crate) channels: &'a Arc<Channels>,
    pub(crate) bus: &'a Arc<Bus>,
    pub(crate) events: &'a Arc<Events>,
    pub(crate) logs: AgentLogs,
    pub(crate) attachments: Attachments,
}

impl AgentParts<'_> {
    /// Builds all agents. Agents with the same workspace share its programs.
    pub(crate) fn agents(&self) -> Result<Agents, Failure> {
        let CommandContext { clock, otherwise, .. } = self.context;
        let web = web(self.configuration, clock, otherwise.web)?;
        let hosts = named_hosts(self.configuration)?;
        let paths: Arc<Paths> = Arc::default();
        let prompt_settings = PromptSettings {
            system: format!("{SYSTEM} {ABOUT_MARKS}").into(),
            zone: TimeZone::system(),
            marks: Marks::new(uuid::Uuid::new_v4().as_u64_pair().0),
        };
        let mut shared: BTreeMap<&Path, BuiltinParts> = BTreeMap::new();
        let mut agents = Vec::new();
        for place in &self.configuration.agents {
            let workspace = self.workspaces.at(&place.workspace)?;
            let builtin =
                shared.entry(&place.workspace).or_insert_with(|| self.builtin(workspace, &web));
            let tools = self.tools(place, builtin)?;
            let tools = Arc::new(tools.with_paths(paths.clone()).with_hosts(hosts.clone()));
            let run = self.agent_loop(place, workspace, tools, prompt_settings.clone());
            let run = run.map_err(|error| Failure::new(Exit::Configuration, error.to_string()))?;
            let agent = agent(&place.profile, run);
            if let (Some(name), []) = (&agent.name, &place.profile.sessions[..]) {
                tracing::warn!("[agents.{name}] is unused: it has no `sessions`");
            }
            agents.push((place.profile.sessions.clone(), agent));
        }
        let (_, default) = agents.remove(0);
        Ok(Agents { agents: BySession::new(default, agents), models: self.models.clone() })
    }

    fn builtin(&self, workspace: &OpenWorkspace, web: &Arc<Web>) -> BuiltinParts {
        BuiltinParts {
            roots: workspace.roots.clone(),
            notes: self.store.clone(),
            kept_results: self.store.clone(),
            destinations: self.channels.clone(),
            roles: self.bus.clone(),
            shell: self.shells.of(workspace.roots.workspace().root()),
            web: web.clone(),
            schedules: self.store.clone(),
            calendar: Arc::new(ZoneCalendar::new(&TimeZone::system())),
            clock: self.context.clock.clone(),
        }
    }

    fn tools(&self, place: &AgentPlace, builtin: &BuiltinParts) -> Result<Registry, Failure> {
        let CommandContext { clock, otherwise, .. } = self.context;
        let settings = &self.configuration.settings;
        let rules = policy::policy(settings, &place.profile.name, &place.profile.agent.tools);
        let mut registry = Registry::new(clock.clone())
            .with_policy(rules.clone(), policy::approvals(settings))
            .with_secrets(redaction::redactor());
        add_builtin(&mut registry, builtin)
            .and_then(|()| (otherwise.add_tools)(&mut registry))
            .map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
        policy::open_and_warn(&mut registry, settings, &rules);
        Ok(registry)
    }

    fn agent_loop(
        &self,
        place: &AgentPlace,
        workspace: &OpenWorkspace,
        toolbox: Arc<dyn Toolbox>,
        prompt_settings: PromptSettings,
    ) -> Result<AgentLoop, NoModel> {
        let profile = &place.profile.agent;
        let clock = &self.context.clock;
        let attachments = AttachmentFetcher {
            settings: self.attachments.clone(),
            files: workspace.files.clone(),
            channels: self.channels.clone(),
            log: self.logs.turns.clone(),
            clock: clock.clone(),
        };
        Ok(AgentLoop {
            models: AgentModels {
                main: self.models.model(&profile.model, &profile.fallbacks)?,
                cheap: cheap(profile, self.models.as_ref())?,
            },
            toolbox,
            logs: self.logs.clone(),
            limits: AgentLimits {
                turn: limits(profile),
                budgets: budgets(&self.configuration.settings.budgets),
            },
            prompt_settings,
            files: workspace.files.clone(),
            attachments: Arc::new(attachments),
            events: self.events.clone(),
            clock: clock.clone(),
        })
    }
}

fn agent(profile: &Profile, run: AgentLoop) -> Agent {
    Agent {
        name: Some(profile.name.clone()).filter(|name| name != DEFAULTS),
        run,
        fallbacks: profile.agent.fallbacks.clone(),
        has_cheap_model: profile.agent.cheap_model.is_some(),
    }
}

/// Returns the cheap model of an agent, with its main model as a fallback. Without a cheap model,
/// returns the main one.
fn cheap(agent: &AgentDefaults, models: &dyn ModelsPort) -> Result<Arc<dyn Model>, NoModel> {
    let AgentDefaults { model, fallbacks, cheap_model, .. } = agent;
    match cheap_model {
        Some(cheap) => models.model(cheap, &[slice::from_ref(model), fallbacks].concat()),
        None => models.model(model, fallbacks),
    }
}

fn limits(agent: &AgentDefaults) -> TurnLimits {
    TurnLimits {
        max_tool_iterations: agent.max_tool_iterations,
        max_tool_calls: agent.max_tool_calls,
        max_duration: Duration::from_secs(agent.max_turn_seconds),
        max_tokens: agent.max_turn_tokens,
        context_tokens: agent.context_tokens,
        ..TurnLimits::default()
    }
}
