//! The wiring: builds the parts of the daemon in the order of a message's way, from channel to
//! channel, and stops them in a fixed order.

use std::collections::BTreeMap;
use std::path::Path;
use std::slice;
use std::sync::Arc;
use std::time::Duration;

use avocet_agent::{ABOUT_MARKS, AgentLoop, Marks, TurnLimits};
use avocet_bus::Bus;
use avocet_config::{AgentDefaults, DEFAULTS, Durability, Profile, Settings};
use avocet_gateway::Gateway;
use avocet_outbox::{Channels, Deliverer};
use avocet_protocol::{
    Attach, Channel, ChannelContext, ChannelError, ChannelName, Clock, CommandHelp, Model,
    Models as ModelsPort, NoModel, Publish, StoreError,
};
use avocet_session::{
    Agent, Agents, Attachments, BySession, Events, LaneLimits, NotMoving, SessionParts, Sessions,
};
use avocet_store::{Holder, Lock, OpenOptions, SqliteStore};
use avocet_supervise::{Group, Restart};
use avocet_tools::{Paths, Policy, Registry, add_builtin};
use jiff::tz::TimeZone;
use tokio_util::sync::CancellationToken;

use crate::CommandContext;
use crate::audit::Keeper;
use crate::budgets::{budgets, tell_unknown_prices};
use crate::checkup::{Examiner, layers};
use crate::copies::{BackupPlan, Copies};
use crate::exit::{Exit, Failure};
use crate::models::Models;
use crate::places::Configuration;
use crate::policy;
use crate::shell::{Shells, control_groups};
use crate::status::Reporter;
use crate::web::{named_hosts, web};
use crate::workspaces::AgentWorkspaces;
use crate::{redaction, registry, roots};

/// The instructions that lead every request. They are constant, so that a provider's cache of the
/// beginning of a request stays valid.
const SYSTEM: &str = "You are Avocet, an assistant that people talk to in chats. Answer in the \
    language of the user, briefly and to the point, in Markdown. You have tools: files in a \
    workspace, a long-term memory, messages to chats, pages of the web. Paths are relative to the \
    root of the workspace. Use a tool when it helps, one step at a time; when a tool fails, read its \
    error and do it right. Say what you did, and say so when you could not do something.";

/// The time for the last answers to be delivered when the daemon stops.
const DELIVERING: Duration = Duration::from_secs(5);

/// The restart policy for channels that end by themselves.
const CHANNEL_RESTART: Restart = Restart {
    first: Duration::from_secs(1),
    longest: Duration::from_mins(1),
    healthy_after: Duration::from_mins(2),
};

/// A running daemon.
pub(crate) struct RunningDaemon {
    store: Arc<SqliteStore>,
    bus: Arc<Bus>,
    sessions: Sessions,
    deliverer: Deliverer,
    gateway: Gateway,
    audit: Arc<Keeper>,
    /// Cancelled when channels have to stop receiving.
    intake: Group,
    group: Group,
    clock: Arc<dyn Clock>,
}

/// Returns this program's options for opening the log.
pub(crate) fn open_options(
    configuration: &Configuration,
    holder: Holder,
    start_empty: bool,
) -> OpenOptions {
    let durability = match configuration.settings.durability {
        Durability::Synced => avocet_store::Durability::Synced,
        Durability::Process => avocet_store::Durability::Process,
    };
    OpenOptions {
        directory: configuration.data_dir.clone(),
        durability,
        default_mode: configuration.settings.sessions.queue_mode,
        answer_edits: configuration.settings.sessions.answer_edits,
        start_empty,
        redactor: redaction::redactor(),
        holder,
    }
}

impl RunningDaemon {
    /// Starts all parts. After this returns, messages are accepted and answered.
    pub(crate) async fn start(
        context: &CommandContext,
        configuration: &Configuration,
        start_empty: bool,
    ) -> Result<Self, Failure> {
        let Configuration { document, settings, roots, .. } = configuration;
        // Check before any file is made.
        roots::check(document, roots, &configuration.others())?;
        let (clock, group) = (context.clock.clone(), context.root.child("daemon"));
        let options = open_options(configuration, Holder::Daemon, start_empty);
        let lock = Lock::take(&options.directory, options.holder, clock.as_ref()).await?;
        // Opening the log ends the epoch of any other daemon. A daemon whose lock file was deleted
        // still has its socket.
        Gateway::check_unused(&configuration.socket)?;
        let store = Arc::new(SqliteStore::open_locked(lock, options, clock.clone(), &group)?);
        let audit = Keeper::start(&store, &configuration.head_file, &clock, &group);
        let copies = copies(configuration, &clock, &group);
        let registry::Channels { channels: configured, admission } =
            registry::channels(document, settings, &clock)?;
        let attach = attach(&configured);
        let channels = configured.into_iter().map(|one| one.channel).collect();
        let channels = Arc::new(Channels::new(channels));
        let workspaces = Arc::new(AgentWorkspaces::open(configuration, store.clone())?);
        let deliverer = Deliverer::new(
            store.clone(),
            channels.clone(),
            workspaces.clone(),
            clock.clone(),
            group.child("outbox"),
        );
        let (bus, wakes) = Bus::open(avocet_bus::BusParts {
            admission,
            inbox: store.clone(),
            outbox: store.clone(),
            people: store.clone(),
            destinations: channels.clone(),
            deliveries: Arc::new(deliverer.clone()),
            clock: clock.clone(),
        })
        .await?;
        let bus = Arc::new(bus);
        for account in bus.without_owner() {
            tracing::warn!(
                account,
                "the account has no owner: its chats have no tools for files and notes, and no person can let \
                 anybody in; name yourself in its owners, or write to it and `avocet pair approve \
                 CODE --owner`"
            );
        }
        let events = Arc::new(Events::default());
        let parts = (&store, &channels, &bus, &events);
        let cgroups = control_groups();
        let cgroup = cgroups.as_ref().map(drop).map_err(ToString::to_string);
        let shells =
            Shells::probe(configuration, cgroups.ok(), &clock, store.epoch(), &group).await?;
        if let Some(warning) = shells.warning() {
            tracing::warn!("{warning}");
        }
        if let Some(warning) = shells.warning_of_hosts() {
            tracing::warn!("{warning}");
        }
        let models = Arc::new(Models::new(document, settings, clock.clone())?);
        let agents = agents(context, configuration, &models, (&workspaces, &shells), parts)?;
        let attachments = Attachments {
            transcribe: registry::transcribe(document, settings, clock.clone())?,
            max_bytes: settings.attachments.max_megabytes.saturating_mul(1024 * 1024),
        };
        let model = agents.agents.default().run.model.name().to_owned();
        let of_budgets = budgets(&settings.budgets);
        tell_unknown_prices(document, of_budgets, agents.models.clone(), &group);

        avocet_session::remind(store.as_ref(), &channels, clock.as_ref()).await?;
        deliverer.start().await?;
        let parts = SessionParts {
            turns: store.clone(),
            inbox: store.clone(),
            outbox: store.clone(),
            query: store.clone(),
            bus: bus.clone(),
            agents,
            channels: channels.clone(),
            deliverer: deliverer.clone(),
            events: events.clone(),
            attachments,
            clock: clock.clone(),
        };
        let lanes = LaneLimits {
            max_running: settings.sessions.max_running,
            burst: Duration::from_millis(settings.sessions.burst_milliseconds),
        };
        let sessions = Sessions::start(parts, lanes, wakes, &group).await?;
        let intake = group.child("channels");
        run_channels(&channels, &bus, &deliverer, &clock, &intake);
        let examiner = Examiner {
            configuration: configuration.clone(),
            channels,
            models,
            walls: layers::checks(configuration, &shells, cgroup),
            is_daemon: true,
            clock: clock.clone(),
        };
        let reporter = Reporter {
            store: store.clone(),
            examiner,
            model,
            clock: clock.clone(),
            started: clock.elapsed(),
            warnings: shells.warning().into_iter().collect(),
            audit: audit.clone(),
            copies,
        };
        let gateway = Gateway::open(
            &configuration.socket,
            avocet_gateway::GatewayParts {
                publish: bus.clone(),
                door: bus.clone(),
                query: store.clone(),
                report: Arc::new(reporter),
                events,
                deliveries: Arc::new(deliverer.clone()),
                clock: clock.clone(),
                approvals: Arc::new(sessions.decisions()),
                redactor: redaction::redactor(),
                attach,
            },
            &group,
        )?;
        Ok(Self { store, bus, sessions, deliverer, gateway, audit, intake, group, clock })
    }

    /// Sends a ping through the writer and the lanes to check that they make progress.
    pub(crate) async fn ping(&self) -> Result<(), Stuck> {
        self.store.ping().await.map_err(Stuck::Log)?;
        self.sessions.ping().await.map_err(Stuck::Lanes)
    }

    /// Waits until the log belongs to another process, or was deleted or replaced. Returns the
    /// reason.
    pub(crate) async fn lost(&self) -> StoreError {
        self.store.lost().await
    }

    /// Ends the intake: from now on publishers are refused.
    pub(crate) fn end_intake(&self) {
        self.intake.cancel();
        self.bus.stop();
    }

    /// Stops the intake, then the running turns, then the deliveries. `hurry` cuts the waiting
    /// short. Unfinished work continues at the next start.
    pub(crate) async fn stop(self, drain: Duration, hurry: &CancellationToken) {
        self.end_intake();
        let orderly = async {
            self.sessions.stop(drain).await;
            if let Err(unfinished) = self.deliverer.stop(DELIVERING).await {
                tracing::info!(%unfinished, "deliveries go on at the next start");
            }
        };
        tokio::select! {
            () = orderly => {}
            () = hurry.cancelled() => {
                tracing::info!("not waiting any longer; the rest goes on at the next start");
                self.sessions.stop(Duration::ZERO).await;
            }
        }
        self.gateway.close();
        self.group.cancel();
        let group = self.group.clone();
        if let Err(unfinished) = group.finish(self.clock.as_ref(), Duration::from_secs(1)).await {
            tracing::debug!(%unfinished, "ended where they stood");
            group.abort();
        }
        self.audit.note().await;
        SqliteStore::clone(&self.store).close().await;
    }
}

/// Makes copies of the database at intervals, if the configuration names a directory for them.
fn copies(
    configuration: &Configuration,
    clock: &Arc<dyn Clock>,
    group: &Group,
) -> Option<Arc<Copies>> {
    let Configuration { settings, data_dir, backups, .. } = configuration;
    let plan = BackupPlan {
        data_dir: data_dir.clone(),
        directory: backups.clone()?,
        every: settings.backup.every,
        keep: settings.backup.keep,
    };
    Some(Copies::start(plan, clock, group))
}

/// A part that makes no progress.
#[derive(Debug)]
pub(crate) enum Stuck {
    Log(StoreError),
    Lanes(NotMoving),
}

impl std::fmt::Display for Stuck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Log(error) => write!(f, "the log: {error}"),
            Self::Lanes(error) => write!(f, "the lanes: {error}"),
        }
    }
}

/// Builds the agents with their sessions, models and tools.
pub(crate) fn agents(
    context: &CommandContext,
    configuration: &Configuration,
    models: &Arc<Models>,
    (workspaces, shells): (&AgentWorkspaces, &Shells),
    parts: (&Arc<SqliteStore>, &Arc<Channels>, &Arc<Bus>, &Arc<Events>),
) -> Result<Agents, Failure> {
    let settings = &configuration.settings;
    let (store, channels, bus, events) = parts;
    let web = web(configuration, &context.clock, context.otherwise.web)?;
    let hosts = named_hosts(configuration)?;
    let mut shared: BTreeMap<&Path, avocet_tools::BuiltinParts> = BTreeMap::new();
    let paths: Arc<Paths> = Arc::default();
    let marks = Marks::new(uuid::Uuid::new_v4().as_u64_pair().0);
    let system = format!("{SYSTEM} {ABOUT_MARKS}");
    let mut agents = Vec::new();
    for place in &configuration.agents {
        let opened = workspaces.at(&place.workspace)?;
        let parts = shared.entry(&place.workspace).or_insert_with(|| avocet_tools::BuiltinParts {
            roots: opened.roots.clone(),
            notes: store.clone(),
            kept_results: store.clone(),
            destinations: channels.clone(),
            roles: bus.clone(),
            shell: shells.of(opened.roots.workspace().root()),
            web: web.clone(),
        });
        let profile = &place.profile.agent;
        let rules = policy::policy(settings, &place.profile.name, &profile.tools);
        let toolbox = tools(context, settings, parts, &rules)?;
        let toolbox = Arc::new(toolbox.with_paths(paths.clone()).with_hosts(hosts.clone()));
        let unknown = |error: NoModel| Failure::new(Exit::Configuration, error.to_string());
        let run = AgentLoop {
            model: models.model(&profile.model, &profile.fallbacks).map_err(unknown)?,
            cheap: cheap(profile, models.as_ref()).map_err(unknown)?,
            toolbox,
            log: store.clone(),
            events: events.clone(),
            files: opened.files.clone(),
            clock: context.clock.clone(),
            limits: limits(profile),
            ledger: store.clone(),
            budgets: budgets(&settings.budgets),
            unbooked: Arc::default(),
            system: system.as_str().into(),
            zone: TimeZone::system(),
            marks,
        };
        let agent = agent(&place.profile, run);
        if let (Some(name), []) = (&agent.name, &place.profile.sessions[..]) {
            tracing::warn!("[agents.{name}] is unused: it has no `sessions`");
        }
        agents.push((place.profile.sessions.clone(), agent));
    }
    let (_, default) = agents.remove(0);
    Ok(Agents { agents: BySession::new(default, agents), models: models.clone() })
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

/// Returns the channels that clients attach to, by name.
fn attach(configured: &[registry::Configured]) -> BTreeMap<ChannelName, Arc<dyn Attach>> {
    let attach =
        configured.iter().filter_map(|one| Some((one.channel.name(), one.attach.clone()?)));
    attach.collect()
}

fn tools(
    context: &CommandContext,
    settings: &Settings,
    parts: &avocet_tools::BuiltinParts,
    rules: &Policy,
) -> Result<Registry, Failure> {
    let approvals = policy::approvals(settings);
    let mut registry = Registry::new(context.clock.clone())
        .with_policy(rules.clone(), approvals)
        .with_secrets(redaction::redactor());
    add_builtin(&mut registry, parts)
        .and_then(|()| (context.otherwise.add_tools)(&mut registry))
        .map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    policy::open_and_warn(&mut registry, settings, rules);
    Ok(registry)
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

/// Runs every channel until the group is cancelled. A channel that fails for good logs the reason
/// and stays down.
fn run_channels(
    channels: &Channels,
    bus: &Arc<Bus>,
    deliverer: &Deliverer,
    clock: &Arc<dyn Clock>,
    intake: &Group,
) {
    let commands: Arc<[CommandHelp]> = avocet_session::commands().collect();
    for channel in channels.iter() {
        let name = format!("{}:{}", channel.name(), channel.account());
        let publish: Arc<dyn Publish> = bus.clone();
        let context = ChannelContext {
            publish,
            deliveries: Arc::new(deliverer.clone()),
            clock: clock.clone(),
            commands: commands.clone(),
            stop: intake.token(),
        };
        let channel = channel.clone();
        intake.spawn_restarting(&name, clock.clone(), CHANNEL_RESTART, move || {
            let (channel, context) = (channel.clone(), context.clone());
            async move { run_channel(channel.as_ref(), context).await }
        });
    }
}

async fn run_channel(channel: &dyn Channel, context: ChannelContext) {
    let (name, account, stop) = (channel.name(), channel.account(), context.stop.clone());
    match channel.run(context).await {
        Ok(()) => {}
        Err(ChannelError::Interrupted(error)) => {
            tracing::warn!(%name, %account, error, "the channel was interrupted");
        }
        Err(ChannelError::Fatal(error)) => {
            tracing::error!(%name, %account, error, "the channel is down until this is mended");
            stop.cancelled().await;
        }
    }
}
