//! The ports behind the gateway.

use std::collections::BTreeMap;
use std::sync::Arc;

use avocet_methods::AgentSummary;
use avocet_protocol::access::{AccessControl, Approvals, RuleControl};
use avocet_protocol::bus::{Deliveries, ProgramFiles, Publish};
use avocet_protocol::channel::{Attach, FetchAddress, Uploads, WebConsole};
use avocet_protocol::clock::Clock;
use avocet_protocol::daemon::{ConfigFile, Live, Report};
use avocet_protocol::ids::{AccountName, ChannelName};
use avocet_protocol::job::JobControl;
use avocet_protocol::memory::{Consolidate, MemoryMirror};
use avocet_protocol::model::{AskJson, ProviderNames};
use avocet_protocol::schedule::ScheduleControl;
use avocet_protocol::session::{SessionOptions, SessionServers};
use avocet_protocol::store::{
    DeadLetters, EventLog, History, Memories, Query, SessionBranches, SessionDeletion,
    SessionLabels, StopControl, Tasks,
};
use avocet_protocol::tool::{McpServers, Workspaces};
use avocet_protocol::turn::TurnEvents;
use avocet_text::Redactor;

use crate::editor::AttachedEditors;

/// The ports that the gateway opens to other processes.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each field is the port of its type")]
pub struct GatewayParts {
    pub publish: Arc<dyn Publish>,
    pub access: Arc<dyn AccessControl>,
    pub mcp: Arc<dyn McpServers>,
    pub memories: Arc<dyn Memories>,
    /// `None` if the memory has no files.
    pub mirror: Option<Arc<dyn MemoryMirror>>,
    pub ask_json: Arc<dyn AskJson>,
    pub consolidate: Arc<dyn Consolidate>,
    pub query: Arc<dyn Query>,
    pub history: Arc<dyn History>,
    pub config: Arc<dyn ConfigFile>,
    pub report: Arc<dyn Report>,
    pub events: Arc<dyn TurnEvents>,
    pub event_log: Arc<dyn EventLog>,
    pub deliveries: Arc<dyn Deliveries>,
    pub approvals: Arc<dyn Approvals>,
    pub jobs: Arc<dyn JobControl>,
    pub tasks: Arc<dyn Tasks>,
    pub stop: Arc<dyn StopControl>,
    pub dead_letters: Arc<dyn DeadLetters>,
    pub deletion: Arc<dyn SessionDeletion>,
    pub branches: Arc<dyn SessionBranches>,
    pub labels: Arc<dyn SessionLabels>,
    pub options: Arc<dyn SessionOptions>,
    pub session_servers: Arc<dyn SessionServers>,
    pub schedules: Arc<dyn ScheduleControl>,
    pub rules: Arc<dyn RuleControl>,
    pub web: Arc<dyn WebConsole>,
    pub uploads: Arc<dyn Uploads>,
    pub program_files: Arc<dyn ProgramFiles>,
    pub addresses: Arc<dyn FetchAddress>,
    pub workspaces: Arc<dyn Workspaces>,
    pub clock: Arc<dyn Clock>,
    /// Removes secrets from the lists of calls.
    pub redactor: Arc<Redactor>,
    /// The names of the configured providers, for metrics.
    pub providers: ProviderNames,
    /// The profiles of agents, the default one first.
    pub agents: Live<[AgentSummary]>,
    /// The editors that have attached, for the tools.
    pub editors: Arc<AttachedEditors>,
    /// The accounts that clients can attach to.
    pub attach: BTreeMap<(ChannelName, AccountName), Arc<dyn Attach>>,
}
