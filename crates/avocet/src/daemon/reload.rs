//! Takes a changed configuration into use while the daemon runs. Keys that only a start can use
//! keep their old values until then, and a file with a fault changes nothing.

mod accounts;
mod watch;

use std::collections::BTreeSet;
use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use avocet_config::{ConfigDocument, ConfigError, KeyPath};
use avocet_gateway::AgentSummary;
use avocet_memory::MemoryConsolidator;
use avocet_protocol::clock::Clock;
use avocet_protocol::daemon::{ConfigChange, Live};
use avocet_session::Agents;
use avocet_supervise::{Group, catch_panic, run_blocking};
use tokio::sync::{Mutex, Notify};
use tracing::dispatcher::{Dispatch, with_default};

use crate::components::agents::{AgentParts, agent_summaries, attachment_settings};
use crate::components::budgets::{FactWarnings, convert_budgets, tell_unknown_facts};
use crate::components::checkup::Examiner;
use crate::components::config_changes::{SortedChanges, shown_changes, sort_changes};
use crate::components::consolidation;
use crate::components::json_answers::JsonAnswers;
use crate::components::mcp::server_parts;
use crate::components::models::Models;
use crate::components::places::config_path;
use crate::components::ports::DaemonPorts;
use crate::components::rule_desk::ConfiguredRules;
use crate::components::workspaces::check_directories;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::daemon::connections::{configured_channels, warn_without_owner};
use crate::daemon::systemd;
use crate::environment::read_variable;
use crate::exit::{Exit, Failure};
use crate::registry::{self, AccountId};
use crate::{logging, redaction};
use watch::{DirectoryEvents, FileWatch};

pub(crate) use accounts::LiveAccounts;

/// Keeps the parts of the daemon equal to the configuration file, as far as a running daemon can.
#[derive(Debug)]
pub(crate) struct Reloader {
    context: CommandContext,
    /// The configuration in use.
    running: Live<Configuration>,
    parts: LiveParts,
    state: Live<ReloadState>,
    /// Held during a reload.
    reloading: Mutex<()>,
    asked: Notify,
    group: Group,
}

/// The parts that a reload replaces.
#[derive(Debug)]
pub(crate) struct LiveParts {
    pub(crate) accounts: LiveAccounts,
    pub(crate) agents: Live<Agents>,
    /// The parts of the first agents, from which later ones are made.
    pub(crate) agent_parts: AgentParts,
    pub(crate) ask_json: Live<JsonAnswers>,
    pub(crate) consolidator: Live<MemoryConsolidator>,
    pub(crate) examiner: Live<Examiner>,
    pub(crate) facts: Live<FactWarnings>,
    pub(crate) rules: Live<ConfiguredRules>,
    pub(crate) summaries: Live<[AgentSummary]>,
}

/// The difference between the file and the configuration in use.
#[derive(Debug, Default)]
pub(crate) struct ReloadState {
    /// The keys whose values in the file need a restart.
    pub(crate) waiting: Vec<String>,
    /// The fault of the file, for which the last good configuration stays in use.
    pub(crate) fault: Option<String>,
}

impl ReloadState {
    /// Returns a sentence for each difference, for the operator.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let Self { waiting, fault } = self;
        let waiting = (!waiting.is_empty()).then(|| {
            let keys = waiting.join(", ");
            format!("changed keys of the configuration need a restart of the daemon: {keys}")
        });
        let fault = fault.as_ref().map(|fault| {
            format!("the configuration file has a fault, so the last good one is in use: {fault}")
        });
        fault.into_iter().chain(waiting).collect()
    }
}

/// A changed configuration that can be used.
struct ReloadPlan {
    /// The new configuration, with the old values of keys that need a restart.
    configuration: Configuration,
    changes: SortedChanges,
    /// The file.
    document: ConfigDocument,
}

impl Reloader {
    pub(crate) fn new(
        context: &CommandContext,
        running: Live<Configuration>,
        parts: LiveParts,
        state: Live<ReloadState>,
        group: &Group,
    ) -> Arc<Self> {
        Arc::new(Self {
            context: context.clone(),
            running,
            parts,
            state,
            reloading: Mutex::default(),
            asked: Notify::new(),
            group: group.clone(),
        })
    }

    /// Reloads whenever the file has changed, and when asked.
    pub(crate) fn start(self: &Arc<Self>) {
        let (reloader, stop) = (self.clone(), self.group.cancel_token());
        let mut watch = FileWatch::new(&self.context.cli, &self.running.now().document);
        let events = DirectoryEvents::watch_directory(&watch);
        self.group.spawn("configuration", async move {
            let clock = reloader.context.clock.clone();
            loop {
                let is_asked = tokio::select! {
                    () = stop.cancelled() => return,
                    () = reloader.asked.notified() => true,
                    () = watch.next_look(&events, clock.as_ref()) => false,
                };
                if is_asked || watch.has_changed().await {
                    watch.note_content().await;
                    reloader.reload().await;
                }
            }
        });
    }

    /// Asks for a reload, even if the file is unchanged: the values of references may have changed.
    pub(crate) fn ask(&self) {
        self.asked.notify_one();
    }

    /// Returns the name of the default agent's model.
    pub(crate) fn model(&self) -> String {
        self.running.now().settings.agents.defaults.answering_model().to_owned()
    }

    /// Returns the time that running turns have when the daemon stops.
    pub(crate) fn drain(&self) -> Duration {
        Duration::from_secs(self.running.now().settings.daemon.drain_seconds)
    }

    /// Reads the file again, and takes into use what can change while the daemon runs.
    async fn reload(&self) {
        let _reloading = self.reloading.lock().await;
        systemd::notify_reload_start();
        let reloaded =
            catch_panic(self.try_reload()).await.unwrap_or_else(|panicked| Err(panicked.into()));
        match reloaded {
            Ok(changes) => self.log_changes(&changes),
            Err(failure) => {
                let fault = redaction::shared_redactor()
                    .redact(&format!("{:#}", failure.error))
                    .into_owned();
                // The state comes first, because readers of the log line rely on it.
                self.state.change(|state| {
                    let waiting = state.waiting.clone();
                    Arc::new(ReloadState { waiting, fault: Some(fault.clone()) })
                });
                tracing::warn!(
                    error = fault,
                    "cannot use the changed configuration; the last good one stays in use"
                );
            }
        }
        systemd::notify_reload_end();
    }

    async fn try_reload(&self) -> Result<SortedChanges, Failure> {
        let (context, running) = (self.context.clone(), self.running.now());
        // Reading may block, for example on a file that a reference names.
        let plan = run_blocking(move || plan_reload(&context, &running)).await?;
        let ReloadPlan { configuration, changes, .. } = plan?;
        let due = self.parts.accounts.due(&changes.accounts);
        if !changes.live.is_empty() || !due.is_empty() {
            self.apply_changes(configuration, &changes, &due).await?;
        }
        Ok(changes)
    }

    fn log_changes(&self, changes: &SortedChanges) {
        let SortedChanges { live, waiting, .. } = changes;
        let keys = waiting.iter().map(ToString::to_string).collect();
        self.state.replace(ReloadState { waiting: keys, fault: None });
        if live.is_empty() && waiting.is_empty() {
            tracing::info!("the configuration is unchanged");
        }
        if !live.is_empty() {
            tracing::info!(keys = key_names(live), "changed keys of the configuration are in use");
        }
        if !waiting.is_empty() {
            tracing::warn!(
                keys = key_names(waiting),
                "changed keys of the configuration need a restart; their old values stay in use"
            );
        }
    }

    /// Makes the new parts, and replaces the old ones if all can be made.
    async fn apply_changes(
        &self,
        configuration: Configuration,
        changes: &SortedChanges,
        due: &BTreeSet<AccountId>,
    ) -> Result<(), Failure> {
        let accounts = &self.parts.accounts;
        let servers = changes.mcp_servers();
        let DaemonPorts { mcp, shells, workspaces, bus, .. } = &self.parts.agent_parts.ports;
        if !servers.is_empty() {
            // Rules of tools may name the new servers.
            mcp.replace_servers(server_parts(&configuration, shells)?, &servers);
        }
        let made = self.make_parts(&configuration, changes, &self.context.clock);
        let mut made = made.inspect_err(|_| {
            if let Ok(old) = server_parts(&self.running.now(), shells)
                && !servers.is_empty()
            {
                mcp.replace_servers(old, &servers);
            }
        })?;
        let channels = mem::take(&mut made.channels.channels);
        // A stopped account leaves its messages on the platform, so the account stops before its
        // people lose access.
        accounts.stop(due).await?;
        if let Err(failure) = workspaces.choose(&configuration.agents) {
            accounts.restart(due);
            return Err(failure);
        }
        accounts.remove(due, &channels);
        // A panic must not leave the accounts stopped.
        let replaced = catch_panic(self.replace(configuration, changes, made)).await;
        accounts.start(due, channels);
        if changes.has_tables(&["channels"]) {
            warn_without_owner(bus);
        }
        replaced.map_err(|panicked| {
            let message = format!(
                "a part failed while the changes were taken into use, so some are in use and others \
                    are not ({panicked}); restart the daemon"
            );
            Failure::new(Exit::Failed, message)
        })
    }

    /// Replaces the parts that are in use.
    async fn replace(&self, configuration: Configuration, changes: &SortedChanges, made: NewParts) {
        let NewParts { agents, models, consolidator, channels, rules } = made;
        let DaemonPorts { bus, store, .. } = &self.parts.agent_parts.ports;
        bus.change_rules(&channels.admission).await;
        self.parts.agents.replace(agents);
        self.parts.rules.replace(rules);
        let answers =
            JsonAnswers::new(&configuration, models.clone(), store.clone(), &self.context.clock);
        self.parts.ask_json.replace(answers);
        self.parts.consolidator.replace(consolidator);
        self.parts.summaries.replace(agent_summaries(&configuration));
        let examiner = Examiner::clone(&self.parts.examiner.now());
        let examiner =
            Examiner { configuration: configuration.clone(), models: models.clone(), ..examiner };
        self.parts.examiner.replace(examiner);
        if changes.has_tables(&["budgets", "models", "providers", "agents"]) {
            let budgets = convert_budgets(&configuration.settings.budgets);
            let facts = self.parts.facts.clone();
            tell_unknown_facts(&configuration.document, budgets, models, facts, &self.group);
        }
        if self.context.cli.log.is_none() {
            logging::set_level(&configuration.settings.log.level);
        }
        self.running.replace(configuration);
    }

    fn make_parts(
        &self,
        configuration: &Configuration,
        changes: &SortedChanges,
        clock: &Arc<dyn Clock>,
    ) -> Result<NewParts, Failure> {
        let models = if changes.has_tables(&["agents", "memory", "models", "providers"]) {
            Arc::new(Models::from_configuration(configuration, clock.clone())?)
        } else {
            self.parts.examiner.now().models.clone()
        };
        let ports = &self.parts.agent_parts.ports;
        let store = &ports.store;
        let parts = AgentParts {
            configuration: configuration.clone(),
            models: models.clone(),
            attachments: attachment_settings(configuration, ports)?,
            ..self.parts.agent_parts.clone()
        };
        Ok(NewParts {
            agents: parts.agents()?,
            consolidator: consolidation::make_consolidator(configuration, &models, store, clock)?,
            channels: configured_channels(configuration, clock)?,
            rules: ConfiguredRules::from_configuration(configuration),
            models,
        })
    }
}

/// The parts of a changed configuration, before they are in use.
struct NewParts {
    agents: Agents,
    models: Arc<Models>,
    consolidator: Arc<MemoryConsolidator>,
    channels: registry::Channels,
    rules: ConfiguredRules,
}

/// Reads the file, and finds out what its changes mean for the running daemon.
fn plan_reload(context: &CommandContext, running: &Configuration) -> Result<ReloadPlan, Failure> {
    let document = read(context, running)?;
    redaction::learn_secrets(document.secrets());
    // The whole file has to be good, because the next start uses all of it.
    let newest = with_default(&Dispatch::none(), || -> Result<Configuration, Failure> {
        let newest =
            Configuration::from_document(context, document.clone(), ConfigurationUse::Everything)?;
        check_directories(&newest)?;
        Ok(newest)
    })?;
    let accounts =
        |one: &Configuration| registry::make_channels(&one.document, &one.settings, &context.clock);
    let (old, new) = (accounts(running)?.channels, accounts(&newest)?.channels);
    let changes = sort_changes(&running.document, &document, &old, &new);
    if changes.waiting.is_empty() {
        return Ok(ReloadPlan { configuration: newest, changes, document });
    }
    let mut effective = document.clone();
    changes.waiting.iter().for_each(|key| effective.keep_value(key, &running.document));
    let configuration =
        Configuration::from_document(context, effective, ConfigurationUse::Everything);
    let configuration = configuration.map_err(|failure| {
        let keys = key_names(&changes.waiting);
        let error = failure.error.context(format!(
            "the changes can be used together only, and these need a restart: {keys}"
        ));
        Failure { error, ..failure }
    })?;
    Ok(ReloadPlan { configuration, changes, document })
}

/// Compares the file with the configuration of the running daemon.
pub(crate) fn pending_changes(
    context: &CommandContext,
    running: &Configuration,
) -> Result<Vec<ConfigChange>, Failure> {
    let plan = plan_reload(context, running)?;
    Ok(shown_changes(&plan.changes, &running.document, &plan.document))
}

/// Reads the file of the running daemon. A file that is missing or has no key is a mistake, unless
/// the daemon started so.
fn read(context: &CommandContext, running: &Configuration) -> Result<ConfigDocument, ConfigError> {
    let known = running.document.path().map(Path::to_owned);
    let Some(path) = known.or_else(|| config_path(&context.cli)) else {
        return Ok(ConfigDocument::empty());
    };
    let document = ConfigDocument::read(
        &path,
        &read_variable,
        ConfigurationUse::Everything.used_references(),
    )?;
    if document.has_no_keys() && !running.document.has_no_keys() {
        let message = "it has no key any more; restart the daemon to use only defaults";
        return Err(document.error_at("", message.to_owned()));
    }
    Ok(document)
}

/// Lists keys for people.
fn key_names(keys: &[KeyPath]) -> String {
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
