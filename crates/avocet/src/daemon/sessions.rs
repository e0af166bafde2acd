//! The parts of the sessions, which answer messages.

use std::sync::Arc;

use avocet_agent::AgentLogs;
use avocet_mcp::McpServices;
use avocet_protocol::Live;
use avocet_session::{
    Events, QuestionParts, Questions, RetryingLedger, RetryingLog, RunningTurns, Sampler,
    SessionParts,
};

use super::parts::DaemonParts;
use crate::components::agents::{AgentParts, KeptByAgents, attachments};
use crate::context::CommandContext;
use crate::daemon::connections::Connections;
use crate::exit::Failure;
use crate::registry;

/// Builds the agents and the other parts of sessions. Turns write through retries, so that a full
/// disk delays them instead of ending them.
pub(super) fn session_parts(
    context: &CommandContext,
    parts: &DaemonParts,
) -> Result<(SessionParts, AgentParts), Failure> {
    let DaemonParts { configuration, store, models, memories, clock, .. } = parts;
    let Connections { channels, workspaces, deliverer, bus, .. } = &parts.connections;
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
        shells: parts.shells.clone(),
        mcp: parts.mcp.clone(),
        session_sources: Arc::default(),
        store: store.clone(),
        memories: memories.clone(),
        channels: channels.clone(),
        bus: bus.clone(),
        events: events.clone(),
        editors: Arc::default(),
        logs: AgentLogs { turns: log.clone(), ledger: ledger.clone() },
        attachments: attachments(configuration, &parts.shells, clock)?,
        kept: KeptByAgents::default(),
    };
    let session_parts = SessionParts {
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
    Ok((session_parts, agent_parts))
}

/// The answers to the own requests of MCP servers.
pub(super) fn mcp_services(parts: &SessionParts, connections: &Connections) -> McpServices {
    McpServices {
        people: Some(parts.questions.clone()),
        events: Some(parts.events.clone()),
        models: Some(Arc::new(Sampler::of(parts))),
        workspaces: Some(connections.workspaces.clone()),
        turns: Some(parts.running.clone()),
    }
}
