//! The parts of the sessions, which answer messages.

use std::sync::Arc;

use avocet_mcp::McpServices;
use avocet_protocol::daemon::Live;
use avocet_session::{QuestionParts, Questions, Sampler, SessionParts};

use super::parts::DaemonParts;
use crate::components::agents::{AgentParts, KeptByAgents, attachment_settings};
use crate::components::ports::DaemonPorts;
use crate::context::CommandContext;
use crate::exit::Failure;
use crate::registry;

/// Builds the agents and the other parts of sessions.
pub(super) fn session_parts(
    context: &CommandContext,
    parts: &DaemonParts,
) -> Result<(SessionParts, AgentParts), Failure> {
    let DaemonParts { configuration, ports, models, .. } = parts;
    let DaemonPorts { store, logs, channels, deliverer, bus, running, clock, .. } = ports;
    let questions = QuestionParts {
        outbox: store.clone(),
        channels: channels.clone(),
        deliverer: deliverer.clone(),
        roles: bus.clone(),
        running: running.clone(),
        clock: clock.clone(),
    };
    let agent_parts = AgentParts {
        ports: ports.clone(),
        otherwise: context.otherwise,
        configuration: configuration.clone(),
        models: models.clone(),
        attachments: attachment_settings(configuration, ports)?,
        kept: KeptByAgents::new(),
    };
    let session_parts = SessionParts {
        turns: store.clone(),
        inbox: store.clone(),
        outbox: store.clone(),
        memories: ports.memories.memories.clone(),
        query: store.clone(),
        jobs: store.clone(),
        schedules: store.clone(),
        log: logs.turns.clone(),
        ledger: logs.ledger.clone(),
        tasks: store.clone(),
        dead_letters: store.clone(),
        stop: store.clone(),
        programs: ports.shells.background_programs(),
        bus: bus.clone(),
        agents: Live::new(agent_parts.clone().agents()?),
        channels: channels.clone(),
        deliverer: deliverer.clone(),
        events: ports.events.clone(),
        running: running.clone(),
        questions: Arc::new(Questions::new(questions)),
        spoken: registry::spoken_answers(
            &configuration.document,
            &configuration.settings,
            clock.clone(),
            ports.audio.clone(),
        )?,
        clock: clock.clone(),
    };
    Ok((session_parts, agent_parts))
}

/// The answers to the own requests of MCP servers.
pub(super) fn mcp_services(parts: &SessionParts, ports: &DaemonPorts) -> McpServices {
    McpServices {
        people: Some(parts.questions.clone()),
        events: Some(ports.events.clone()),
        models: Some(Arc::new(Sampler::from_parts(parts))),
        workspaces: Some(ports.workspaces.clone()),
        turns: Some(ports.running.clone()),
    }
}
