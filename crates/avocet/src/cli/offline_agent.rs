//! The agent of a turn without a daemon, for commands that look at a turn: it reads the log and
//! writes nothing.

use std::sync::Arc;

use avocet_agent::{AgentLogs, AgentLoop, JobPlan, TurnContext};
use avocet_bus::Bus;
use avocet_llm::AudioHealth;
use avocet_outbox::{ChannelRegistry, Deliverer};
use avocet_protocol::store::{Jobs, LineageTurn, SessionStatus, Turns};
use avocet_protocol::tool::ChildMode;
use avocet_protocol::turn::{Origin, TurnRecord};
use avocet_session::{
    Attachments, Events, RunningTurns, SessionChoice, TurnAgent, permission_mode,
};
use avocet_store::SqliteStore;
use tokio_util::sync::CancellationToken;

use crate::cli::reach::bus_to_log;
use crate::components::agents::{AgentParts, KeptByAgents};
use crate::components::kept_copies::open_copies;
use crate::components::mcp;
use crate::components::memories::SearchedMemories;
use crate::components::models::Models;
use crate::components::ports::DaemonPorts;
use crate::components::shell::Shells;
use crate::components::workspaces::{AgentWorkspaces, WorkspaceLogs};
use crate::configuration::Configuration;
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::registry;

/// The agent that a daemon would choose for a turn.
pub(crate) struct OfflineAgent {
    pub(crate) run: AgentLoop,
    pub(crate) turn_context: TurnContext,
    /// All models of the configuration.
    pub(crate) models: Arc<Models>,
}

impl OfflineAgent {
    /// Builds the agent of a turn, with the choices for its session and the rules of its job.
    pub(crate) async fn of_turn(
        context: &CommandContext,
        configuration: &Configuration,
        store: &Arc<SqliteStore>,
        turn: &TurnRecord,
        status: SessionStatus,
    ) -> Result<Self, Failure> {
        let bus = Arc::new(bus_to_log(context, configuration, store).await?);
        let models = Arc::new(Models::from_configuration(configuration, context.clock.clone())?);
        let parts = agent_parts(context, configuration, store, &bus, &models).await?;
        let agents = parts.agents()?;
        let asked_by = match turn.origin {
            Origin::Messages(_) => Vec::new(),
            Origin::Child { .. } => store.asked_by(turn.id).await?,
        };
        let model = status.model.clone();
        let chosen = SessionChoice { model: model.as_deref(), effort: status.effort };
        let lineage = match store.lineage(turn.id).await? {
            // The next turn of a session is not in the log yet.
            lineage if lineage.is_empty() => vec![LineageTurn {
                turn: turn.id,
                session: turn.session.clone(),
                agent: status.agent,
                person: status.person,
                permission_mode: status.permission_mode,
                mode: ChildMode::Awaited,
                skills: Vec::new(),
            }],
            lineage => lineage,
        };
        let unusable = |error: String| Failure::new(Exit::Configuration, error);
        let agent = agents.for_turn(&lineage, chosen);
        let TurnAgent { run, name, within, skills_above } =
            agent.map_err(|error| unusable(error.to_string()))?;
        let rules = match lineage.last() {
            Some(root) => store.job_rules(&root.session).await?,
            None => None,
        };
        let run = match rules {
            Some(rules) => agents.for_job(run, &lineage, rules),
            None => Ok(run),
        };
        let run = run.map_err(|error| unusable(error.to_string()))?;
        let turn_context = TurnContext {
            chat: None,
            cancel: CancellationToken::new(),
            asked_by,
            agent: name,
            within,
            skills_above,
            roles: bus,
            grants: [].into(),
            bits: None,
            mode: permission_mode(&lineage),
            job: JobPlan::default(),
        };
        Ok(Self { run, turn_context, models })
    }
}

async fn agent_parts(
    context: &CommandContext,
    configuration: &Configuration,
    store: &Arc<SqliteStore>,
    bus: &Arc<Bus>,
    models: &Arc<Models>,
) -> Result<AgentParts, Failure> {
    let Configuration { document, settings, .. } = configuration;
    let channels = registry::make_channels(document, settings, &context.clock)?.channels;
    let channels = channels.into_iter().map(|one| one.channel).collect();
    let logs = WorkspaceLogs { turns: store.clone(), jobs: store.clone() };
    // The shell stays unused, so its start number is arbitrary.
    let shells = Shells::probe(configuration, &context.clock, &context.root).await?;
    let channels = Arc::new(ChannelRegistry::new(channels));
    let workspaces = Arc::new(AgentWorkspaces::open(configuration, logs)?);
    let clock = &context.clock;
    let ports = DaemonPorts {
        store: store.clone(),
        logs: AgentLogs { turns: store.clone(), ledger: store.clone() },
        // Without a request for vectors, the agent recalls by words alone.
        memories: SearchedMemories::by_words(store),
        // It stays at rest.
        deliverer: Deliverer::new(
            store.clone(),
            channels.clone(),
            workspaces.clone(),
            clock.clone(),
            context.root.child_group("outbox"),
        ),
        channels,
        bus: bus.clone(),
        workspaces,
        kept_copies: Arc::new(open_copies(configuration)),
        // No server is started: the agent has the tools that are known.
        mcp: mcp::make_client(configuration, &shells, clock, &context.root)?,
        shells: Arc::new(shells),
        session_sources: Arc::default(),
        events: Arc::new(Events::default()),
        running: Arc::new(RunningTurns::new(clock.clone())),
        editors: Arc::default(),
        audio: Arc::new(AudioHealth::new(clock.clone())),
        clock: clock.clone(),
    };
    Ok(AgentParts {
        ports,
        otherwise: context.otherwise,
        configuration: configuration.clone(),
        models: models.clone(),
        attachments: Attachments { transcribe: None, convert: None, max_bytes: 0 },
        kept: KeptByAgents::new(),
    })
}
