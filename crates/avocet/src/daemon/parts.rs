//! The parts of the daemon below its sessions. They are opened first, and do not yet send, receive or
//! answer.

use std::sync::Arc;

use avocet_agent::AgentLogs;
use avocet_bus::WakeReceiver;
use avocet_gateway::Gateway;
use avocet_http::HttpListener;
use avocet_llm::AudioHealth;
use avocet_outbox::Deliverer;
use avocet_protocol::clock::Clock;
use avocet_session::{Events, RetryingLedger, RetryingLog, RunningTurns};
use avocet_store::{DirectoryLock, LogHolder, OpenOptions, SqliteStore};
use avocet_supervise::Group;

use super::running::{ChannelIntake, StartOptions, open_options};
use crate::components::audit::Keeper;
use crate::components::clients::socket_place;
use crate::components::kept_copies::{DeletionWithCopies, open_copies};
use crate::components::memories::SearchedMemories;
use crate::components::models::Models;
use crate::components::ports::DaemonPorts;
use crate::components::shell::{Shells, control_groups};
use crate::components::telemetry::TelemetryExporter;
#[cfg(feature = "telemetry")]
use crate::components::telemetry::start_exporter;
use crate::components::{mcp, roots};
use crate::configuration::Configuration;
use crate::context::CommandContext;
use crate::daemon::connections::{Connections, ServedAccounts};
use crate::daemon::copies::{BackupPlan, Copies};
use crate::daemon::retention;
use crate::exit::Failure;
use crate::registry;

/// The log, the channels with their outbox, and what agents use.
pub(super) struct DaemonParts {
    pub(super) configuration: Configuration,
    pub(super) ports: DaemonPorts,
    /// `None` without an `[http]` table, or if the channels are closed.
    pub(super) http: Option<HttpListener>,
    pub(super) accounts: ServedAccounts,
    /// The error if control groups are unavailable.
    pub(super) cgroup: Result<(), String>,
    pub(super) models: Arc<Models>,
    pub(super) audit: Arc<Keeper>,
    /// `None` if no copies are made at intervals.
    pub(super) copies: Option<Arc<Copies>>,
    /// `None` if no traces are exported.
    pub(super) exporter: Option<Arc<TelemetryExporter>>,
    pub(super) group: Group,
}

impl DaemonParts {
    /// Takes the log and opens the parts. The wake-ups are those of the bus.
    pub(super) async fn open(
        context: &CommandContext,
        configuration: &Configuration,
        options: StartOptions,
    ) -> Result<(Self, WakeReceiver), Failure> {
        let Configuration { document, settings, .. } = configuration;
        let (clock, group) = (context.clock.clone(), context.root.child_group("daemon"));
        let store = open_log(configuration, options.start_empty, &clock, &group).await?;
        // Clients that connect from now on are served when everything runs.
        let http = registry::http_plan(document, settings)?;
        let http = http.filter(|_| options.intake == ChannelIntake::Open);
        let http = http.map(HttpListener::bind).transpose()?;
        let audit = Keeper::start(&store, &configuration.head_file, &clock, &group);
        let copies = make_copies(configuration, &clock, &group);
        let kept_copies = Arc::new(open_copies(configuration));
        let deletion = DeletionWithCopies { store: store.clone(), copies: kept_copies.clone() };
        retention::start(&settings.retention, deletion, &clock, &group);
        let (connections, wakes) = Connections::open(configuration, &store, &clock, &group).await?;
        let Connections { channels, workspaces, deliverer, bus, accounts } = connections;
        let cgroups = control_groups();
        let cgroup = cgroups.as_ref().map(drop).map_err(ToString::to_string);
        let shells =
            Shells::of_daemon(configuration, cgroups.ok(), &clock, store.epoch(), &group).await?;
        if let Some(warning) = shells.warning() {
            tracing::warn!("{warning}");
        }
        if let Some(warning) = shells.warning_of_hosts() {
            tracing::warn!("{warning}");
        }
        let running = Arc::new(RunningTurns::new(clock.clone()));
        let ports = DaemonPorts {
            logs: retrying_logs(&store, &running, &deliverer),
            memories: SearchedMemories::configured(configuration, &store, &clock)?,
            channels,
            deliverer,
            bus,
            workspaces,
            kept_copies,
            mcp: mcp::make_client(configuration, &shells, &clock, &group)?,
            shells: Arc::new(shells),
            session_sources: Arc::default(),
            events: Arc::new(Events::default()),
            running,
            editors: Arc::default(),
            audio: Arc::new(AudioHealth::new(clock.clone())),
            store,
            clock,
        };
        let parts = Self {
            models: Arc::new(Models::from_configuration(configuration, ports.clock.clone())?),
            #[cfg(feature = "telemetry")]
            exporter: start_exporter(configuration, &ports.store, &ports.clock, &group)?,
            #[cfg(not(feature = "telemetry"))]
            exporter: None,
            configuration: configuration.clone(),
            ports,
            http,
            accounts,
            cgroup,
            audit,
            copies,
            group,
        };
        Ok((parts, wakes))
    }
}

/// Makes the log as turns write it: through retries, so that a full disk delays a turn instead of ending it.
fn retrying_logs(
    store: &Arc<SqliteStore>,
    running: &Arc<RunningTurns>,
    deliverer: &Deliverer,
) -> AgentLogs {
    let deliveries = Arc::new(deliverer.clone());
    AgentLogs {
        turns: Arc::new(RetryingLog::new(store.clone(), running.clone(), deliveries)),
        ledger: Arc::new(RetryingLedger::new(store.clone(), running.clone())),
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
    roots::check_roots(document, roots, &configuration.other_paths())?;
    let options = OpenOptions { start_empty, ..open_options(configuration, LogHolder::Daemon) };
    let lock = DirectoryLock::take_lock(&options.directory, options.holder, clock.as_ref()).await?;
    // Opening the log ends the epoch of any other daemon. A daemon whose lock file was deleted
    // still has its socket.
    Gateway::check_place(&socket_place(configuration)?)?;
    Ok(Arc::new(SqliteStore::open_locked(lock, options, clock.clone(), group)?))
}

/// Makes copies of the database at intervals, if the configuration names a directory for them.
fn make_copies(
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
