//! The wiring: builds the parts of the daemon, starts them from the outbox back to the channels,
//! and stops them in the order of a message's way, so that a stopped part gets no work.

use std::sync::Arc;
use std::time::Duration;

use avocet_agent::AgentLogs;
use avocet_bus::Bus;
use avocet_config::Durability;
use avocet_gateway::{Gateway, GatewayParts};
use avocet_http::{Console, ConsoleParts, HttpListener, HttpServer};
use avocet_mcp::{McpClient, McpServices};
use avocet_outbox::{Channels, Deliverer};
use avocet_protocol::{Clock, Live, LogStatus, Query, StoreError};
use avocet_session::{
    Events, LaneLimits, QuestionParts, Questions, RetryingLedger, RetryingLog, RunningTurns,
    Sampler, SessionParts, Sessions,
};
use avocet_store::{Holder, Lock, OpenOptions, SqliteStore};
use avocet_supervise::Group;
use avocet_telemetry::{Exporter, ExporterParts};
use jiff::tz::TimeZone;
use tokio_util::sync::CancellationToken;

use crate::agents::{AgentParts, KeptByAgents, attachments, summaries};
use crate::audit::Keeper;
use crate::budgets::{budgets, tell_unknown_prices};
use crate::checkup::{Examiner, layers};
use crate::children::Children;
use crate::clients::{clients, socket_place};
use crate::config_file::DaemonConfigFile;
use crate::connections::Connections;
use crate::context::CommandContext;
use crate::copies::{BackupPlan, Copies};
use crate::exit::Failure;
use crate::intake::Intake;
use crate::json_answers::JsonAnswers;
use crate::memories::SearchedMemories;
use crate::models::Models;
use crate::places::Configuration;
use crate::reload::{LiveParts, Reloader};
use crate::shell::{Shells, control_groups};
use crate::status::Reporter;
use crate::stuck::{Stuck, hung_channel};
use crate::timers::Timers;
use crate::{mcp, redaction, registry, retention, roots};

/// The time for the last answers to be delivered when the daemon stops.
const DELIVERING: Duration = Duration::from_secs(5);

/// A running daemon.
pub(crate) struct RunningDaemon {
    store: Arc<SqliteStore>,
    bus: Arc<Bus>,
    sessions: Sessions,
    channels: Arc<Channels>,
    deliverer: Deliverer,
    gateway: Gateway,
    children: Children,
    audit: Arc<Keeper>,
    /// Cancelled when channels have to stop receiving.
    intake: Group,
    reloader: Arc<Reloader>,
    group: Group,
    clock: Arc<dyn Clock>,
}

/// The choices of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StartOptions {
    /// `true` to begin with an empty log if the last one is damaged or missing.
    pub(crate) start_empty: bool,
    pub(crate) intake: ChannelIntake,
}

impl StartOptions {
    /// Returns the options of a daemon with all its channels.
    pub(crate) fn serving(start_empty: bool) -> Self {
        Self { start_empty, intake: ChannelIntake::Open }
    }
}

/// The treatment of the configured channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChannelIntake {
    /// They receive messages.
    Open,
    /// Only the socket accepts messages; platforms keep theirs.
    Closed,
}

/// Returns this program's options for opening the log.
pub(crate) fn open_options(configuration: &Configuration, holder: Holder) -> OpenOptions {
    let durability = match configuration.settings.durability {
        Durability::Synced => avocet_store::Durability::Synced,
        Durability::Process => avocet_store::Durability::Process,
    };
    OpenOptions {
        directory: configuration.data_dir.clone(),
        durability,
        default_mode: configuration.settings.sessions.queue_mode,
        answer_edits: configuration.settings.sessions.answer_edits,
        start_empty: false,
        redactor: redaction::redactor(),
        zone: TimeZone::system(),
        holder,
    }
}

impl RunningDaemon {
    /// Starts all parts. After this returns, messages are accepted and answered.
    pub(crate) async fn start(
        context: &CommandContext,
        configuration: &Configuration,
        options: StartOptions,
    ) -> Result<Self, Failure> {
        let Configuration { document, settings, .. } = configuration;
        let clients = clients(document, settings)?;
        let (clock, group) = (context.clock.clone(), context.root.child("daemon"));
        let store = open_log(configuration, options.start_empty, &clock, &group).await?;
        // Clients that connect from now on are served when everything runs.
        let http = registry::http(document, settings)?;
        let http = http.filter(|_| options.intake == ChannelIntake::Open);
        let http = http.map(HttpListener::bind).transpose()?;
        let audit = Keeper::start(&store, &configuration.head_file, &clock, &group);
        let copies = copies(configuration, &clock, &group);
        retention::start(&configuration.settings.retention, &store, &clock, &group);
        let (connections, wakes) = Connections::open(configuration, &store, &clock, &group).await?;
        let ProbedShells { shells, cgroup } =
            ProbedShells::probe(configuration, &store, &clock, &group).await?;
        let models = Arc::new(Models::of(configuration, clock.clone())?);
        let memories = SearchedMemories::configured(configuration, &store, &clock)?;
        let mcp = mcp::client(configuration, &shells, &clock, &group)?;
        let (parts, agent_parts) = session_parts(
            context,
            configuration,
            &store,
            &memories,
            &connections,
            ProgramsOfTools { shells: &shells, mcp: &mcp },
            &models,
        )?;
        let agents = parts.agents.clone();
        let of_budgets = budgets(&settings.budgets);
        tell_unknown_prices(document, of_budgets, models.clone(), &group);

        let Connections { channels, deliverer, bus, .. } = &connections;
        avocet_session::remind(store.as_ref(), channels, clock.as_ref()).await?;
        deliverer.start().await?;
        memories.start_mirror(&group);
        let events = parts.events.clone();
        let lanes = LaneLimits {
            max_running: settings.sessions.max_running,
            burst: Duration::from_millis(settings.sessions.burst_milliseconds),
        };
        mcp.start(mcp_services(&parts, &connections));
        let sessions = Sessions::start(parts, lanes, wakes, &group).await?;
        let intake = group.child("channels");
        let accounts = Arc::new(Intake::new(bus, deliverer, &clock, &intake));
        if options.intake == ChannelIntake::Open {
            channels.all().into_iter().for_each(|channel| accounts.start(channel));
        }
        let Timers { schedules, consolidator } =
            Timers::start(configuration, &connections, &store, &models, &clock, &intake).await?;
        let ask_json = JsonAnswers::new(configuration, models.clone(), store.clone(), &clock);
        let ask_json = Live::new(ask_json);
        let Connections {
            channels,
            attach,
            programs,
            uploads,
            webhooks,
            workspaces,
            deliverer,
            bus,
        } = connections;
        let exporter = exporter(configuration, &store, &clock, &group)?;
        let examiner = Live::new(Examiner {
            configuration: configuration.clone(),
            channels: channels.clone(),
            webhooks: webhooks.clone(),
            models,
            walls: layers::checks(configuration, &shells, cgroup),
            mirror: memories.mirror(),
            mcp: Some(mcp.clone()),
            is_daemon: true,
            exporter: exporter.clone(),
            clock: clock.clone(),
        });
        let (reloads, summaries) = (Live::default(), Live::new(summaries(configuration)));
        let live = LiveParts {
            agents: agents.clone(),
            agent_parts,
            ask_json: ask_json.clone(),
            consolidator: consolidator.clone(),
            examiner: examiner.clone(),
            intake: accounts,
            summaries: summaries.clone(),
        };
        let running = Live::new(configuration.clone());
        let reloader = Reloader::new(context, running.clone(), live, reloads.clone(), &group);
        let reporter = Reporter {
            store: store.clone(),
            examiner,
            agents,
            reloads,
            clock: clock.clone(),
            started: clock.elapsed(),
            shells: shells.clone(),
            audit: audit.clone(),
            copies,
            exporter,
        };
        let console = Console::new(ConsoleParts {
            key_file: configuration.web_key(),
            assets: avocet_web::assets(),
            clock: clock.clone(),
        });
        let parts = GatewayParts {
            publish: bus.clone(),
            access: bus.clone(),
            mirror: memories.mirror(),
            mcp: mcp.clone(),
            memories: memories.memories,
            ask_json: Arc::new(ask_json),
            consolidate: Arc::new(consolidator),
            query: store.clone(),
            history: store.clone(),
            config: DaemonConfigFile::of(context, running)?,
            report: Arc::new(reporter),
            events,
            event_log: store.clone(),
            deliveries: Arc::new(deliverer.clone()),
            clock: clock.clone(),
            approvals: Arc::new(sessions.decisions()),
            jobs: Arc::new(sessions.jobs()),
            tasks: Arc::new(sessions.tasks()),
            dead_letters: Arc::new(sessions.dead_letters()),
            deletion: store.clone(),
            schedules: Arc::new(schedules),
            web: console.port(),
            uploads,
            workspaces,
            redactor: redaction::redactor(),
            agents: summaries,
            attach,
        };
        if let Some(listener) = http {
            let (listener, group) = (listener.with_webhooks(webhooks), group.child("http"));
            HttpServer::start(listener, parts.clone(), &console, &group, intake.token())?;
        }
        console.serve_on_demand(parts.clone(), &group, intake.token());
        let programs = if options.intake == ChannelIntake::Open { programs } else { Vec::new() };
        let gateway = Gateway::open(&socket_place(configuration)?, clients, parts.clone(), &group)?;
        let children = Children::start(programs, &shells, &parts, &group);
        group.spawn("sandbox", async move { shells.confirm().await });
        if options.intake == ChannelIntake::Open {
            reloader.start();
        }
        Ok(Self {
            store,
            bus,
            sessions,
            channels,
            deliverer,
            gateway,
            children,
            audit,
            intake,
            reloader,
            group,
            clock,
        })
    }

    /// Returns the part that takes a changed configuration into use.
    pub(crate) fn reloader(&self) -> &Reloader {
        &self.reloader
    }

    /// Checks that the receive loops of channels, the writer and the lanes make progress. The last two
    /// have to answer a ping.
    pub(crate) async fn ping(&self) -> Result<(), Stuck> {
        self.store.ping().await.map_err(Stuck::Log)?;
        self.sessions.ping().await.map_err(Stuck::Lanes)?;
        hung_channel(&self.channels).map_or(Ok(()), Err)
    }

    /// The channels, for reports of their health.
    pub(crate) fn channels(&self) -> &Channels {
        &self.channels
    }

    /// Reads the numbers of messages and turns in the log.
    pub(crate) async fn log_status(&self) -> Result<LogStatus, StoreError> {
        self.store.log_status().await
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

    /// Stops the intake, then the running turns, then the deliveries, then the programs of channels.
    /// `hurry` ends the waiting. Unfinished work continues at the next start.
    pub(crate) async fn stop(self, drain: Duration, hurry: &CancellationToken) {
        self.end_intake();
        let orderly = async {
            self.sessions.stop(drain).await;
            if let Err(unfinished) = self.deliverer.stop(DELIVERING).await {
                tracing::info!(%unfinished, "some deliveries are unfinished; they continue at the \
                    next start");
            }
        };
        tokio::select! {
            () = orderly => {}
            () = hurry.cancelled() => {
                tracing::info!("stopping at once; unfinished work continues at the next start");
                self.sessions.stop(Duration::ZERO).await;
            }
        }
        tokio::select! {
            () = self.children.stop() => {}
            () = hurry.cancelled() => self.children.kill(),
        }
        self.gateway.close();
        self.group.cancel();
        let group = self.group.clone();
        if let Err(unfinished) = group.finish(self.clock.as_ref(), Duration::from_secs(1)).await {
            tracing::debug!(%unfinished, "aborting unfinished tasks");
            group.abort();
        }
        self.audit.note().await;
        SqliteStore::clone(&self.store).close().await;
    }
}

/// Opens the log as its only daemon.
async fn open_log(
    configuration: &Configuration,
    start_empty: bool,
    clock: &Arc<dyn Clock>,
    group: &Group,
) -> Result<Arc<SqliteStore>, Failure> {
    let Configuration { document, roots, .. } = configuration;
    // Check before any file is made.
    roots::check(document, roots, &configuration.others())?;
    let options = OpenOptions { start_empty, ..open_options(configuration, Holder::Daemon) };
    let lock = Lock::take(&options.directory, options.holder, clock.as_ref()).await?;
    // Opening the log ends the epoch of any other daemon. A daemon whose lock file was deleted
    // still has its socket.
    Gateway::check_place(&socket_place(configuration)?)?;
    Ok(Arc::new(SqliteStore::open_locked(lock, options, clock.clone(), group)?))
}

/// The programs that agents may run, and what limits them.
struct ProbedShells {
    shells: Arc<Shells>,
    /// The error if control groups are unavailable.
    cgroup: Result<(), String>,
}

impl ProbedShells {
    /// Finds out which sandbox this system allows, and logs warnings about it.
    async fn probe(
        configuration: &Configuration,
        store: &SqliteStore,
        clock: &Arc<dyn Clock>,
        group: &Group,
    ) -> Result<Self, Failure> {
        let cgroups = control_groups();
        let cgroup = cgroups.as_ref().map(drop).map_err(ToString::to_string);
        let shells =
            Shells::of_daemon(configuration, cgroups.ok(), clock, store.epoch(), group).await?;
        if let Some(warning) = shells.warning() {
            tracing::warn!("{warning}");
        }
        if let Some(warning) = shells.warning_of_hosts() {
            tracing::warn!("{warning}");
        }
        Ok(Self { shells: Arc::new(shells), cgroup })
    }
}

/// The programs that tools start.
#[derive(Clone, Copy)]
struct ProgramsOfTools<'a> {
    shells: &'a Arc<Shells>,
    mcp: &'a Arc<McpClient>,
}

/// Builds the agents and the other parts of sessions. Turns write through retries, so that a full
/// disk delays them instead of ending them.
fn session_parts(
    context: &CommandContext,
    configuration: &Configuration,
    store: &Arc<SqliteStore>,
    memories: &SearchedMemories,
    connections: &Connections,
    programs: ProgramsOfTools<'_>,
    models: &Arc<Models>,
) -> Result<(SessionParts, AgentParts), Failure> {
    let Connections { channels, workspaces, deliverer, bus, .. } = connections;
    let clock = &context.clock;
    let events = Arc::new(Events::default());
    let running = Arc::new(RunningTurns::new(clock.clone()));
    let questions = Arc::new(Questions::new(QuestionParts {
        outbox: store.clone(),
        channels: channels.clone(),
        deliverer: deliverer.clone(),
        roles: bus.clone(),
        running: running.clone(),
        clock: clock.clone(),
    }));
    let deliveries = Arc::new(deliverer.clone());
    let log = Arc::new(RetryingLog::new(store.clone(), running.clone(), deliveries));
    let ledger = Arc::new(RetryingLedger::new(store.clone(), running.clone()));
    let agent_parts = AgentParts {
        clock: clock.clone(),
        otherwise: context.otherwise,
        configuration: configuration.clone(),
        models: models.clone(),
        workspaces: workspaces.clone(),
        shells: programs.shells.clone(),
        mcp: programs.mcp.clone(),
        store: store.clone(),
        memories: memories.clone(),
        channels: channels.clone(),
        bus: bus.clone(),
        events: events.clone(),
        logs: AgentLogs { turns: log.clone(), ledger: ledger.clone() },
        attachments: attachments(configuration, clock)?,
        kept: KeptByAgents::default(),
    };
    let parts = SessionParts {
        turns: store.clone(),
        inbox: store.clone(),
        outbox: store.clone(),
        memories: memories.memories.clone(),
        query: store.clone(),
        jobs: store.clone(),
        schedules: store.clone(),
        log,
        ledger,
        tasks: store.clone(),
        dead_letters: store.clone(),
        bus: bus.clone(),
        agents: Live::new(agent_parts.clone().agents()?),
        channels: channels.clone(),
        deliverer: deliverer.clone(),
        events,
        running,
        questions,
        spoken: registry::spoken_answers(
            &configuration.document,
            &configuration.settings,
            clock.clone(),
        )?,
        clock: clock.clone(),
    };
    Ok((parts, agent_parts))
}

/// The answers to the own requests of MCP servers.
fn mcp_services(parts: &SessionParts, connections: &Connections) -> McpServices {
    McpServices {
        people: Some(parts.questions.clone()),
        events: Some(parts.events.clone()),
        models: Some(Arc::new(Sampler::of(parts))),
        workspaces: Some(connections.workspaces.clone()),
        turns: Some(parts.running.clone()),
    }
}

/// Starts the exporter of traces, if one is configured.
fn exporter(
    configuration: &Configuration,
    store: &Arc<SqliteStore>,
    clock: &Arc<dyn Clock>,
    group: &Group,
) -> Result<Option<Arc<Exporter>>, Failure> {
    let Configuration { document, settings, .. } = configuration;
    let Some(config) = registry::telemetry(document, settings)? else { return Ok(None) };
    let (redactor, clock) = (redaction::redactor(), clock.clone());
    let parts = ExporterParts { log: store.clone(), redactor, clock };
    let exporter = Exporter::new(&config, parts)
        .map_err(|error| document.error_at("telemetry", format!("`telemetry`: {error}")))?;
    let exporter = Arc::new(exporter);
    exporter.start(group);
    Ok(Some(exporter))
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
