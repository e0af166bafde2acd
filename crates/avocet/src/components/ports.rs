//! The ports that the components of a daemon share. Everything that a component uses and does not make
//! itself comes from here: to give a component another port, add a field.

use std::sync::Arc;

use avocet_agent::AgentLogs;
use avocet_bus::Bus;
use avocet_gateway::AttachedEditors;
use avocet_llm::AudioHealth;
use avocet_mcp::McpClient;
use avocet_outbox::{ChannelRegistry, Deliverer};
use avocet_protocol::clock::Clock;
use avocet_sandbox::KeptCopies;
use avocet_session::{Events, RunningTurns};
use avocet_store::SqliteStore;
use avocet_tools::SessionSources;

use crate::components::memories::SearchedMemories;
use crate::components::shell::Shells;
use crate::components::workspaces::AgentWorkspaces;

/// The ports that the components of a daemon share. The daemon makes them once, in `daemon/parts.rs`. They
/// stay when the configuration changes.
#[derive(Debug, Clone)]
pub(crate) struct DaemonPorts {
    /// The log. It implements all ports of the store.
    pub(crate) store: Arc<SqliteStore>,
    /// The log as turns write it: in a daemon through retries, so that a full disk delays a turn.
    pub(crate) logs: AgentLogs,
    pub(crate) memories: SearchedMemories,
    pub(crate) channels: Arc<ChannelRegistry>,
    pub(crate) deliverer: Deliverer,
    pub(crate) bus: Arc<Bus>,
    pub(crate) workspaces: Arc<AgentWorkspaces>,
    pub(crate) shells: Arc<Shells>,
    /// Copies of the files that calls change before a person is asked.
    pub(crate) kept_copies: Arc<KeptCopies>,
    pub(crate) mcp: Arc<McpClient>,
    /// The tools of single sessions.
    pub(crate) session_sources: Arc<SessionSources>,
    pub(crate) events: Arc<Events>,
    pub(crate) running: Arc<RunningTurns>,
    pub(crate) editors: Arc<AttachedEditors>,
    /// The last requests to the servers for audio.
    pub(crate) audio: Arc<AudioHealth>,
    pub(crate) clock: Arc<dyn Clock>,
}
