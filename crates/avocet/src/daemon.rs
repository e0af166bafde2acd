//! The wiring: one message's way through the daemon, from channel to channel, put together in the
//! order in which it is started, and taken apart in the order in which it is stopped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use avocet_agent::{AgentLoop, Limits};
use avocet_bus::Bus;
use avocet_config::{AgentDefaults, Durability};
use avocet_gateway::Gateway;
use avocet_outbox::{Channels, Deliverer};
use avocet_protocol::{
    Attach, Channel, ChannelContext, ChannelError, ChannelName, Clock, CommandHelp, Models as _,
    Publish, StoreError,
};
use avocet_sandbox::Workspace;
use avocet_session::{Attachments, Events, LaneLimits, NotMoving, Parts, Sessions};
use avocet_store::{Holder, OpenOptions, SqliteStore};
use avocet_supervise::{Group, Restart};
use avocet_tools::{Registry, WorkspaceFiles, add_builtin};
use tokio_util::sync::CancellationToken;

use crate::Context;
use crate::exit::{Exit, Failure};
use crate::models::Models;
use crate::places::Configuration;
use crate::registry;
use crate::status::Reporter;

/// The instructions that lead every request. The same at all times, so that a provider's cache of
/// the beginning of a request holds.
const SYSTEM: &str = "You are Avocet, an assistant that people talk to in chats. Answer in the \
    language of the user, briefly and to the point, in Markdown. You have tools: files in a \
    workspace, a long-term memory, messages to chats. Paths are relative to the root of the \
    workspace. Use a tool when it helps, one step at a time; when a tool fails, read its error and \
    do it right. Say what you did, and say so when you could not do something.";

/// How long what has just been answered may take to be delivered when the daemon stops.
const DELIVERING: Duration = Duration::from_secs(5);

/// How channels are run again when they end by themselves.
const CHANNEL_RESTART: Restart = Restart {
    first: Duration::from_secs(1),
    longest: Duration::from_mins(1),
    healthy_after: Duration::from_mins(2),
};

/// A running daemon.
pub(crate) struct Daemon {
    store: Arc<SqliteStore>,
    bus: Arc<Bus>,
    sessions: Sessions,
    deliverer: Deliverer,
    gateway: Gateway,
    /// Fires when channels are to stop receiving.
    intake: Group,
    group: Group,
    clock: Arc<dyn Clock>,
}

/// How the log is opened by this program.
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
        holder,
    }
}

impl Daemon {
    /// Starts everything. When this returns, messages are taken and answered.
    pub(crate) async fn start(
        context: &Context,
        configuration: &Configuration,
        start_empty: bool,
    ) -> Result<Self, Failure> {
        let Configuration { document, settings, .. } = configuration;
        let (clock, group) = (context.clock.clone(), context.root.child("daemon"));
        let options = open_options(configuration, Holder::Daemon, start_empty);
        let store = Arc::new(SqliteStore::open(options, clock.clone(), &group).await?);
        let registry::Channels { channels: configured, admission } =
            registry::channels(document, settings, &clock)?;
        let attach = attach(&configured);
        let channels = configured.into_iter().map(|one| one.channel).collect();
        let channels = Arc::new(Channels::new(channels));
        let workspace = Arc::new(Workspace::open(&configuration.workspace)?);
        let files = Arc::new(WorkspaceFiles::new(workspace.clone()));
        let deliverer = Deliverer::new(
            store.clone(),
            channels.clone(),
            files,
            clock.clone(),
            group.child("outbox"),
        );
        let (bus, wakes) = Bus::open(avocet_bus::Parts {
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
                "nobody is an owner there: nobody has the tools for files and notes, or can let \
                 anybody in; name yourself in its owners, or write to it and `avocet pair approve \
                 CODE --owner`"
            );
        }
        let events = Arc::new(Events::default());
        let agent = agent(context, configuration, workspace, &store, (&channels, &bus), &events)?;
        let attachments = Attachments {
            files: agent.files.clone(),
            transcribe: registry::transcribe(document, settings, clock.clone())?,
            max_bytes: settings.attachments.max_megabytes.saturating_mul(1024 * 1024),
        };
        let model = agent.model.name().to_owned();

        avocet_session::remind(store.as_ref(), &channels, clock.as_ref()).await?;
        deliverer.start().await?;
        let parts = Parts {
            turns: store.clone(),
            inbox: store.clone(),
            outbox: store.clone(),
            query: store.clone(),
            bus: bus.clone(),
            agent,
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
        let reporter = Reporter {
            query: store.clone(),
            channels,
            model,
            data_dir: configuration.data_dir.display().to_string(),
            clock: clock.clone(),
            started: clock.elapsed(),
        };
        let gateway = Gateway::open(
            &configuration.socket,
            avocet_gateway::Parts {
                publish: bus.clone(),
                door: bus.clone(),
                query: store.clone(),
                report: Arc::new(reporter),
                events,
                deliveries: Arc::new(deliverer.clone()),
                clock: clock.clone(),
                attach,
            },
            &group,
        )?;
        Ok(Self { store, bus, sessions, deliverer, gateway, intake, group, clock })
    }

    /// Goes through the writer and the lanes, to see that they move.
    pub(crate) async fn ping(&self) -> Result<(), Stuck> {
        self.store.ping().await.map_err(Stuck::Log)?;
        self.sessions.ping().await.map_err(Stuck::Lanes)
    }

    /// Takes nothing more: from now on publishers are refused.
    pub(crate) fn end_intake(&self) {
        self.intake.cancel();
        self.bus.stop();
    }

    /// Stops: first the intake, then the running turns, then what is to be delivered. `hurry` cuts
    /// the waiting short. Whatever is not finished goes on at the next start.
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
        SqliteStore::clone(&self.store).close().await;
    }
}

/// What has stopped moving.
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

/// Who answers, and what it works with.
fn agent(
    context: &Context,
    configuration: &Configuration,
    workspace: Arc<Workspace>,
    store: &Arc<SqliteStore>,
    (channels, bus): (&Arc<Channels>, &Arc<Bus>),
    events: &Arc<Events>,
) -> Result<AgentLoop, Failure> {
    let Configuration { document, settings, .. } = configuration;
    let models = Models::new(document, settings, context.clock.clone())?;
    let AgentDefaults { model, fallbacks, .. } = &settings.agents.defaults;
    let model = models
        .model(model, fallbacks)
        .map_err(|error| Failure::new(Exit::Configuration, error.to_string()))?;
    let files = Arc::new(WorkspaceFiles::new(workspace.clone()));
    let parts = avocet_tools::Parts {
        workspace,
        notes: store.clone(),
        kept_results: store.clone(),
        destinations: channels.clone(),
        roles: bus.clone(),
    };
    Ok(AgentLoop {
        model,
        toolbox: Arc::new(tools(context, &parts, &settings.tools.users)?),
        log: store.clone(),
        events: events.clone(),
        files,
        clock: context.clock.clone(),
        limits: limits(&settings.agents.defaults),
        system: SYSTEM.into(),
    })
}

/// The channels that clients attach to, by name.
fn attach(configured: &[registry::Configured]) -> BTreeMap<ChannelName, Arc<dyn Attach>> {
    let attach =
        configured.iter().filter_map(|one| Some((one.channel.name(), one.attach.clone()?)));
    attach.collect()
}

fn tools(
    context: &Context,
    parts: &avocet_tools::Parts,
    for_users: &[String],
) -> Result<Registry, Failure> {
    let mut registry = Registry::new(context.clock.clone());
    add_builtin(&mut registry, parts)
        .and_then(|()| (context.add_tools)(&mut registry))
        .map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    for pattern in for_users {
        if registry.open_to_users(pattern) == 0 {
            tracing::warn!(pattern, "[tools] users names no tool; look for a slip of the pen");
        }
    }
    Ok(registry)
}

fn limits(agent: &AgentDefaults) -> Limits {
    Limits {
        max_tool_iterations: agent.max_tool_iterations,
        max_tool_calls: agent.max_tool_calls,
        max_duration: Duration::from_secs(agent.max_turn_seconds),
        max_tokens: agent.max_turn_tokens,
        history_bytes: agent.history_bytes,
        ..Limits::default()
    }
}

/// Runs every channel until the group is cancelled. One that cannot go on says why and stays down.
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
