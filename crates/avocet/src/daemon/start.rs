//! The start of the daemon: which part is opened, started and connected after which.

use std::sync::Arc;
use std::time::Duration;

use avocet_bus::WakeReceiver;
use avocet_gateway::{Clients, Gateway, GatewayParts};
use avocet_http::{Console, ConsoleParts, HttpServer};
use avocet_jobs::ScheduleService;
use avocet_protocol::channel::{FetchAddress, WebConsole};
use avocet_protocol::daemon::{ConfigFile, Live, Report};
use avocet_session::{LaneLimits, Sessions};
use avocet_store::DATABASE;
use avocet_supervise::Group;

use super::parts::DaemonParts;
use super::running::{ChannelIntake, RunningDaemon, StartOptions};
use super::sessions::{mcp_services, session_parts};
use crate::components::agents::agent_summaries;
use crate::components::budgets::{FactWarnings, convert_budgets, tell_unknown_facts};
use crate::components::checkup::{Examiner, layers};
use crate::components::clients::{read_clients, socket_place};
use crate::components::json_answers::JsonAnswers;
use crate::components::kept_copies::DeletionWithCopies;
use crate::components::ports::DaemonPorts;
use crate::components::rule_desk::{ConfiguredRules, RuleDesk};
use crate::configuration::Configuration;
use crate::context::CommandContext;
use crate::daemon::address_files::AddressFiles;
use crate::daemon::children::Children;
use crate::daemon::config_file::DaemonConfigFile;
use crate::daemon::connections::ServedAccounts;
use crate::daemon::intake::Intake;
use crate::daemon::reload::{LiveAccounts, LiveParts, ReloadState, Reloader};
use crate::daemon::session_servers::EditorServers;
use crate::daemon::status::Reporter;
use crate::daemon::timers::Timers;
use crate::exit::Failure;
use crate::redaction;
use crate::registry;

impl RunningDaemon {
    /// Starts all parts. After this returns, messages are accepted and answered.
    pub(crate) async fn start(
        context: &CommandContext,
        configuration: &Configuration,
        options: StartOptions,
    ) -> Result<Self, Failure> {
        // Check before any file is made.
        let clients = read_clients(&configuration.document, &configuration.settings)?;
        let database = configuration.data_dir.join(DATABASE);
        let is_new = !database.exists();
        let (parts, wakes) = DaemonParts::open(context, configuration, options).await?;
        let answering = AnsweringParts::start(context, parts, wakes, options).await?;
        let daemon = answering.serve(context, clients, options)?;
        if is_new {
            tracing::info!(path = %database.display(), "the database is new; it has no messages");
        }
        Ok(daemon)
    }
}

/// The parts that answer messages. The next step connects them with other programs.
struct AnsweringParts {
    /// The parts that they use.
    parts: DaemonParts,
    sessions: Sessions,
    schedules: Arc<ScheduleService>,
    live: LiveParts,
    /// Cancelled when channels have to stop receiving.
    intake: Group,
}

impl AnsweringParts {
    /// Starts the parts from the outbox back to the channels.
    async fn start(
        context: &CommandContext,
        parts: DaemonParts,
        wakes: WakeReceiver,
        options: StartOptions,
    ) -> Result<Self, Failure> {
        let (sessions, agent_parts) = session_parts(context, &parts)?;
        let DaemonParts { configuration, ports, models, group, .. } = &parts;
        let DaemonPorts { store, channels, deliverer, bus, clock, .. } = ports;
        let Configuration { document, settings, .. } = configuration;
        let facts = Live::<FactWarnings>::default();
        let budgets = convert_budgets(&settings.budgets);
        tell_unknown_facts(document, budgets, models.clone(), facts.clone(), group);
        avocet_session::remind_approvers(store.as_ref(), channels, clock.as_ref()).await?;
        deliverer.start().await?;
        ports.memories.start_mirror(group);
        ports.mcp.start(mcp_services(&sessions, ports));
        let agents = sessions.agents.clone();
        let lanes = LaneLimits {
            max_running: settings.sessions.max_running,
            burst: Duration::from_millis(settings.sessions.burst_milliseconds),
        };
        let sessions = Sessions::start(sessions, lanes, wakes, group).await?;
        let intake = group.child_group("channels");
        let deliveries = Arc::new(deliverer.clone());
        let accounts = Arc::new(Intake::new(bus.clone(), deliveries, clock, &intake));
        if options.intake == ChannelIntake::Open {
            channels.all_channels().into_iter().for_each(|channel| accounts.start(channel));
        }
        let accounts = LiveAccounts::new(accounts, channels);
        let Timers { schedules, consolidator } =
            Timers::start(configuration, ports, models, &intake).await?;
        let ask_json = JsonAnswers::new(configuration, models.clone(), store.clone(), clock);
        let live = LiveParts {
            accounts,
            agents,
            agent_parts,
            ask_json: Live::new(ask_json),
            consolidator,
            examiner: Live::new(make_examiner(&parts)),
            facts,
            rules: Live::new(ConfiguredRules::from_configuration(configuration)),
            summaries: Live::new(agent_summaries(configuration)),
        };
        let schedules = Arc::new(schedules);
        Ok(Self { parts, sessions, schedules, live, intake })
    }

    /// Opens the servers for other programs, starts the programs of channels, and follows the file
    /// of the configuration.
    fn serve(
        self,
        context: &CommandContext,
        clients: Clients,
        options: StartOptions,
    ) -> Result<RunningDaemon, Failure> {
        let DaemonParts { configuration, ports: DaemonPorts { clock, .. }, .. } = &self.parts;
        let (running, reloads) = (Live::new(configuration.clone()), Live::default());
        let console = Console::new(ConsoleParts {
            key_file: configuration.web_key(),
            port_file: configuration.web_port(),
            browsers_file: configuration.web_browsers(),
            token_time: Duration::from_hours(
                24 * u64::from(configuration.settings.web.sign_in_days),
            ),
            assets: avocet_web::assets(),
            clock: clock.clone(),
        });
        let operations = Operations {
            config: DaemonConfigFile::new(context, running.clone())?,
            report: Arc::new(self.make_reporter(reloads.clone())),
            web: console.port(),
            addresses: Arc::new(AddressFiles::new(clock.clone(), context.otherwise.web)),
        };
        let opened = self.gateway_parts(operations);
        let socket = socket_place(configuration)?;
        let Self { parts, sessions, live, intake, .. } = self;
        let DaemonParts { ports, http, accounts, audit, group, .. } = parts;
        let ServedAccounts { programs, webhooks, .. } = accounts;
        if let Some(listener) = http {
            let (listener, group) = (listener.with_webhooks(webhooks), group.child_group("http"));
            HttpServer::start(listener, opened.clone(), &console, &group, intake.cancel_token())?;
        }
        console.serve_on_demand(opened.clone(), &group, intake.cancel_token());
        let gateway = Gateway::open(&socket, clients, opened.clone(), &group)?;
        let is_open = options.intake == ChannelIntake::Open;
        let programs = if is_open { programs } else { Vec::new() };
        let children = Children::start(programs, &ports.shells, &opened, &group);
        let shells = ports.shells.clone();
        group.spawn("sandbox", async move { shells.confirm().await });
        let reloader = Reloader::new(context, running, live, reloads, &group);
        if is_open {
            reloader.start();
        }
        Ok(RunningDaemon { ports, sessions, gateway, children, audit, intake, reloader, group })
    }

    fn make_reporter(&self, reloads: Live<ReloadState>) -> Reporter {
        let DaemonParts { ports, audit, copies, exporter, .. } = &self.parts;
        Reporter {
            ports: ports.clone(),
            examiner: self.live.examiner.clone(),
            agents: self.live.agents.clone(),
            reloads,
            facts: self.live.facts.clone(),
            started: ports.clock.elapsed(),
            audit: audit.clone(),
            copies: copies.clone(),
            exporter: exporter.clone(),
        }
    }

    /// Returns the part that starts the MCP servers of single sessions.
    fn session_servers(&self) -> Arc<EditorServers> {
        let DaemonParts { configuration, ports, group, .. } = &self.parts;
        Arc::new(EditorServers {
            configuration: configuration.clone(),
            ports: ports.clone(),
            group: group.child_group("session servers"),
            replaced: Arc::default(),
        })
    }

    /// Returns the ports that the gateway opens to other programs.
    fn gateway_parts(&self, operations: Operations) -> GatewayParts {
        let Operations { config, report, web, addresses } = operations;
        let Self { parts, sessions, schedules, live, .. } = self;
        let DaemonParts { configuration, ports, accounts, .. } = parts;
        let DaemonPorts { store, memories, deliverer, bus, .. } = ports;
        GatewayParts {
            publish: bus.clone(),
            access: bus.clone(),
            mcp: ports.mcp.clone(),
            memories: memories.memories.clone(),
            mirror: memories.mirror(),
            ask_json: Arc::new(live.ask_json.clone()),
            consolidate: Arc::new(live.consolidator.clone()),
            query: store.clone(),
            history: store.clone(),
            config,
            report,
            events: ports.events.clone(),
            event_log: store.clone(),
            deliveries: Arc::new(deliverer.clone()),
            approvals: Arc::new(sessions.decisions()),
            jobs: Arc::new(sessions.jobs()),
            tasks: Arc::new(sessions.tasks()),
            stop: Arc::new(sessions.stop_desk()),
            dead_letters: Arc::new(sessions.dead_letters()),
            deletion: Arc::new(DeletionWithCopies {
                store: store.clone(),
                copies: ports.kept_copies.clone(),
            }),
            branches: store.clone(),
            labels: store.clone(),
            options: Arc::new(sessions.option_desk()),
            session_servers: self.session_servers(),
            schedules: schedules.clone(),
            rules: Arc::new(RuleDesk { configured: live.rules.clone(), stored: store.clone() }),
            web,
            uploads: accounts.files.uploads.clone(),
            program_files: accounts.files.programs.clone(),
            addresses,
            workspaces: ports.workspaces.clone(),
            clock: ports.clock.clone(),
            redactor: redaction::shared_redactor(),
            providers: registry::provider_names(&configuration.document, &configuration.settings),
            agents: live.summaries.clone(),
            editors: ports.editors.clone(),
            attach: accounts.attach.clone(),
        }
    }
}

/// The ports for the operation of the daemon.
struct Operations {
    config: Arc<dyn ConfigFile>,
    report: Arc<dyn Report>,
    web: Arc<dyn WebConsole>,
    addresses: Arc<dyn FetchAddress>,
}

fn make_examiner(parts: &DaemonParts) -> Examiner {
    let DaemonParts { configuration, ports, cgroup, .. } = parts;
    Examiner {
        configuration: configuration.clone(),
        channels: ports.channels.clone(),
        webhooks: parts.accounts.webhooks.clone(),
        models: parts.models.clone(),
        walls: layers::check_layers(configuration, &ports.shells, cgroup.clone()),
        mirror: ports.memories.mirror(),
        mcp: Some(ports.mcp.clone()),
        is_daemon: true,
        exporter: parts.exporter.clone(),
        audio: ports.audio.clone(),
        clock: ports.clock.clone(),
    }
}
