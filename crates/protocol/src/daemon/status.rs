//! The port for the daemon's own state, and the parts of that state.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::chat::{ChatAddress, SessionId};
use crate::clock::Timestamp;
use crate::daemon::{Checkup, LastExchanges};
use crate::ids::DeliveryId;
use crate::store::{Consolidation, StoreError};

/// The port of the daemon's own state.
#[async_trait]
pub trait Report: fmt::Debug + Send + Sync {
    /// Returns the last known state of the daemon, without any request to a server.
    async fn report(&self) -> Result<DaemonStatus, StoreError>;

    /// Returns the model that answers in a session, as `provider/model`.
    async fn model_of(&self, session: &SessionId) -> Result<String, StoreError>;

    /// Checks everything that the daemon depends on. With `offline`, it sends no request to a
    /// server.
    async fn checkup(&self, offline: bool) -> Checkup {
        let _ = offline;
        Checkup::default()
    }
}

/// The state of the whole daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DaemonStatus {
    /// The version of the program.
    pub version: String,
    /// The process; `None` if no daemon runs.
    pub pid: Option<u32>,
    /// Seconds since the daemon was ready.
    pub uptime_seconds: u64,
    /// The directory of the log.
    pub data_dir: String,
    /// The model, as `provider/model`.
    pub model: String,
    /// The state of the log.
    pub log: LogStatus,
    /// A fault of the audit table; `None` if it is intact or was not checked.
    #[serde(default)]
    pub audit_fault: Option<String>,
    /// The check of the log's pages.
    #[serde(default)]
    pub log_check: LogCheck,
    /// The disk that the data is on.
    #[serde(default)]
    pub disk: DiskStatus,
    /// The providers, by name.
    #[serde(default)]
    pub providers: Vec<ProviderStatus>,
    /// The channels, by name.
    pub channels: Vec<ChannelStatus>,
    /// The exporter of traces; `None` if it is off.
    #[serde(default)]
    pub telemetry: Option<TelemetryStatus>,
    /// Warnings for the operator, each in one sentence.
    #[serde(default)]
    pub warnings: Vec<String>,
}

impl DaemonStatus {
    /// Returns `true` if the disk, a provider or a channel is down.
    #[must_use]
    pub fn is_something_down(&self) -> bool {
        self.disk.fault.is_some()
            || self.providers.iter().any(|provider| provider.fault.is_some())
            || self.channels.iter().any(|channel| channel.fault.is_some())
    }
}

/// The check of the database's pages since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogCheck {
    /// Done before the start. After an orderly stop, only the header of a large log is checked.
    #[default]
    AtStart,
    /// It runs beside the daemon's work, because the last daemon did not stop in order.
    Running,
    /// The check beside the daemon's work found no fault.
    Whole,
    /// The log is too large, or the check could not run.
    Skipped,
    /// A fault was found: the daemon stops.
    Damaged,
}

/// The state of the disk that the data is on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiskStatus {
    /// Bytes that can still be written; `None` if the system does not tell.
    pub free_bytes: Option<u64>,
    /// The fault; `None` if the disk works.
    pub fault: Option<String>,
    /// The last writes of the log.
    pub writes: LastExchanges,
}

/// The state of one provider, from its past requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderStatus {
    /// The name in the configuration.
    pub provider: String,
    /// The fault; `None` if the last request succeeded or none was made yet.
    pub fault: Option<String>,
    /// The last requests.
    pub requests: LastExchanges,
}

/// The state of one channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelStatus {
    /// `channel:account`.
    pub account: String,
    /// The fault; `None` if the channel works.
    pub fault: Option<String>,
    /// The last exchanges with the platform.
    #[serde(default)]
    pub exchanges: LastExchanges,
}

/// The state of the exporter of traces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TelemetryStatus {
    /// The last requests to the collector.
    pub exchanges: LastExchanges,
    /// Events of the log that the exporter has not read yet, of all kinds.
    pub behind: u64,
}

/// Counts over the whole log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogStatus {
    /// The number of times that a daemon has opened the log.
    pub epoch: i64,
    /// Number of sessions.
    pub sessions: u64,
    /// Number of accepted messages.
    pub messages: u64,
    /// Messages that wait in their lanes.
    pub queued: u64,
    /// Running turns.
    pub running: u64,
    /// Turns that wait for an event from outside.
    pub waiting: u64,
    /// Chunks to be delivered.
    pub pending: u64,
    /// Chunks that may or may not have arrived.
    pub unconfirmed: u64,
    /// Abandoned chunks.
    pub dead: u64,
    /// Updates that were not for the agent, by reason.
    pub ignored: Vec<Ignored>,
    /// Active schedules.
    #[serde(default)]
    pub schedules: u64,
    /// The next time of all schedules.
    #[serde(default)]
    pub next_due: Option<Timestamp>,
    /// The last consolidation of memories; `None` if none ever began.
    #[serde(default)]
    pub consolidation: Option<Consolidation>,
    /// The last time that rows newer than the present ones were found to be lost; `None` if that
    /// never happened.
    #[serde(default)]
    pub rolled_back: Option<RolledBack>,
    /// Chats with chunks to be delivered, 10 at most: first those whose next chunk failed, then the
    /// others, each with the longest wait first.
    #[serde(default)]
    pub waiting_chats: Vec<WaitingChat>,
    /// Chats with chunks to be delivered that are not in `waiting_chats`.
    #[serde(default)]
    pub more_waiting_chats: u64,
    /// Chats whose next chunk failed, or is held back by the platform.
    #[serde(default)]
    pub stuck_chats: u64,
}

impl LogStatus {
    /// The most chats in [`LogStatus::waiting_chats`].
    pub const MOST_WAITING_CHATS: usize = 10;
}

/// A chat with chunks to be delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingChat {
    /// The chat, without a topic because the topics of a chat wait for each other.
    pub chat: ChatAddress,
    /// Its chunks to be delivered.
    pub count: u64,
    /// The first of them. The others wait for it.
    pub next: DeliveryId,
    /// The time of that chunk's first failure, or of the platform's last request to wait. Before
    /// both, the time at which it was added.
    pub since: Timestamp,
    /// Sends of that chunk so far.
    pub attempts: u32,
    /// The error of its last send; `None` if no send failed.
    pub error: Option<String>,
}

/// A return of the log to an earlier state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RolledBack {
    /// The time of the return, or of its discovery.
    pub at: Timestamp,
    /// The reason, and the missing part.
    pub why: String,
}

/// Updates of one account that were not for the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ignored {
    /// `channel:account`.
    pub account: String,
    /// The reason.
    pub reason: String,
    /// Number of updates.
    pub count: u64,
}
