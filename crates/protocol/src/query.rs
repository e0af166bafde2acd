//! The port for read-only views: status, sessions, transcripts, the outcome of a message.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    ChatAddress, Checkup, IdError, LastExchanges, MessageId, OpenApproval, Outcome, SessionId,
    StoreError, Timestamp, Total, Trust, TurnId, TurnRecord, TurnState, WaitId, WaitKind,
};

/// The handling of messages that arrive while a turn runs.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum QueueMode {
    /// Each message gets its own turn, in order.
    #[default]
    Queue,
    /// All waiting messages are answered together.
    Collect,
    /// The running turn reads the messages at its next step.
    Steer,
    /// The messages cancel the running turn.
    Interrupt,
}

impl QueueMode {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::Queue, Self::Collect, Self::Steer, Self::Interrupt];

    /// The word in the configuration, the log and the command.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Collect => "collect",
            Self::Steer => "steer",
            Self::Interrupt => "interrupt",
        }
    }
}

/// Read-only views of the log.
#[async_trait]
pub trait Query: fmt::Debug + Send + Sync {
    /// Counts over the whole log.
    async fn log_status(&self) -> Result<LogStatus, StoreError>;

    /// Returns the most recently used sessions, newest first. With `after`, the list continues
    /// behind that row.
    async fn sessions(
        &self,
        limit: u32,
        after: Option<&SessionRow>,
    ) -> Result<Vec<SessionSummary>, StoreError>;

    /// The last turns of a session, oldest first.
    async fn transcript(
        &self,
        session: &SessionId,
        turns: u32,
    ) -> Result<Vec<TurnRecord>, StoreError> {
        let page = TranscriptPage { turns, before: None, bytes: usize::MAX };
        self.transcript_page(session, page).await
    }

    /// Like [`Self::transcript`], for a part of the session. Empty only if there are no such turns.
    async fn transcript_page(
        &self,
        session: &SessionId,
        page: TranscriptPage,
    ) -> Result<Vec<TurnRecord>, StoreError>;

    /// The outcome of a message.
    async fn message(&self, id: MessageId) -> Result<Option<MessageStatus>, StoreError>;

    /// The state of one session.
    async fn session_status(&self, session: &SessionId) -> Result<SessionStatus, StoreError>;

    /// Returns the calls that wait for approval, in the order of their requests. With `after`, the
    /// list continues behind that wait.
    async fn open_approvals(
        &self,
        limit: u32,
        after: Option<WaitId>,
    ) -> Result<Vec<OpenApproval>, StoreError>;

    /// Returns the cost of models since `since`. Rows by model or session begin with the highest
    /// cost, rows by day with the last day.
    async fn usage(&self, by: UsageBy, since: Timestamp) -> Result<Vec<UsageRow>, StoreError> {
        self.usage_page(by, since, u32::MAX, 0).await
    }

    /// Returns at most `limit` rows of [`Self::usage`] and skips the first `skip`.
    async fn usage_page(
        &self,
        by: UsageBy,
        since: Timestamp,
        limit: u32,
        skip: u32,
    ) -> Result<Vec<UsageRow>, StoreError>;
}

/// A position in the list of sessions, from which the next page continues. Written as
/// `USED_AT/SESSION`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow {
    /// The last time that the session was used.
    pub used_at: Timestamp,
    /// The session.
    pub session: SessionId,
}

impl fmt::Display for SessionRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.used_at.0, self.session)
    }
}

impl FromStr for SessionRow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (used_at, session) = text.split_once('/').ok_or_else(|| {
            format!(
                "{text:?} is not a row of the list; write it as the list shows it, USED_AT/SESSION"
            )
        })?;
        let used_at = used_at.parse().map(Timestamp).map_err(|_| {
            format!("{used_at:?} is not a time; give the milliseconds that the list shows")
        })?;
        let session = session.parse().map_err(|error: IdError| error.to_string())?;
        Ok(Self { used_at, session })
    }
}

/// Selects the turns of a session to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptPage {
    /// The most turns to return. The newest are kept.
    pub turns: u32,
    /// Only turns before this one.
    pub before: Option<TurnId>,
    /// Reading stops once the turns so far have this many bytes as JSON.
    pub bytes: usize,
}

/// The port of the daemon's own state.
#[async_trait]
pub trait Report: fmt::Debug + Send + Sync {
    /// Returns the last known state of the daemon, without any request to a server.
    async fn report(&self) -> Result<DaemonStatus, StoreError>;

    /// Checks everything that the daemon depends on. With `offline`, it sends no request to a
    /// server.
    async fn checkup(&self, offline: bool) -> Checkup {
        let _ = offline;
        Checkup::default()
    }
}

/// The state of the whole daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The disk that the data is on.
    #[serde(default)]
    pub disk: DiskStatus,
    /// The providers, by name.
    #[serde(default)]
    pub providers: Vec<ProviderStatus>,
    /// The channels, by name.
    pub channels: Vec<ChannelStatus>,
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

/// The state of the disk that the data is on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskStatus {
    /// Bytes that can still be written; `None` if the system does not tell.
    pub free_bytes: Option<u64>,
    /// The fault; `None` if the disk works.
    pub fault: Option<String>,
    /// The last writes of the log.
    pub writes: LastExchanges,
}

/// The state of one provider, from its past requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderStatus {
    /// The name in the configuration.
    pub provider: String,
    /// The fault; `None` if the last request succeeded or none was made yet.
    pub fault: Option<String>,
    /// The last requests.
    pub requests: LastExchanges,
}

/// The state of one channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelStatus {
    /// `channel:account`.
    pub account: String,
    /// The fault; `None` if the channel works.
    pub fault: Option<String>,
    /// The last exchanges with the platform.
    #[serde(default)]
    pub exchanges: LastExchanges,
}

/// Counts over the whole log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The last time that rows newer than the present ones were found to be lost; `None` if that
    /// never happened.
    #[serde(default)]
    pub rolled_back: Option<RolledBack>,
    /// Chats whose next chunk cannot be delivered, the one with the longest wait first;
    /// [`LogStatus::MOST_STUCK`] at most.
    #[serde(default)]
    pub stuck: Vec<StuckChat>,
}

impl LogStatus {
    /// The most chats in [`LogStatus::stuck`].
    pub const MOST_STUCK: usize = 20;
}

/// A chat whose next chunk failed, or is held back by the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StuckChat {
    /// The chat, without a topic because the topics of a chat wait for each other.
    pub chat: ChatAddress,
    /// The time of the chunk's first failure, or of the platform's last request to wait.
    pub since: Timestamp,
    /// Sends of that chunk so far.
    pub attempts: u32,
    /// Chunks that wait behind it.
    pub behind: u64,
    /// The error of the last send.
    pub error: String,
}

/// A return of the log to an earlier state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolledBack {
    /// The time of the return, or of its discovery.
    pub at: Timestamp,
    /// The reason, and the missing part.
    pub why: String,
}

/// Updates of one account that were not for the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignored {
    /// `channel:account`.
    pub account: String,
    /// The reason.
    pub reason: String,
    /// Number of updates.
    pub count: u64,
}

/// One session in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// The session.
    pub session: SessionId,
    /// Number of turns.
    pub turns: u64,
    /// The last time that the session was used.
    pub used_at: Timestamp,
    /// The state of its open turn, if it has one.
    pub open: Option<TurnState>,
}

/// The state of one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStatus {
    /// The handling of messages that arrive while a turn runs.
    pub mode: QueueMode,
    /// The model chosen for the session, as `provider/model`; `None` for the agent's model.
    pub model: Option<String>,
    /// Messages that wait.
    pub queued: u64,
    /// The turn that runs or waits.
    pub open: Option<OpenTurn>,
    /// Chunks to be delivered to the session's chat and to the chats linked to it.
    pub pending: u64,
    /// Chunks for these chats that may or may not have arrived.
    pub unconfirmed: u64,
    /// The least trust of the text that its newest turn has read. This covers the whole session,
    /// except for text that `/new` removed or `/trust` accepted.
    pub trust: Trust,
}

/// A turn that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTurn {
    /// The turn.
    pub turn: TurnId,
    /// Its state.
    pub state: TurnState,
    /// The start of the turn.
    pub started_at: Timestamp,
    /// Number of completed steps.
    pub steps: u32,
    /// The kind of event that it waits for.
    pub waits_for: Option<WaitKind>,
}

/// The progress of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageStatus {
    /// The message.
    pub id: MessageId,
    /// The conversation.
    pub session: SessionId,
    /// The turn that answers it.
    pub turn: Option<TurnId>,
    /// The outcome; `None` before the end.
    pub outcome: Option<Outcome>,
    /// The text of the reply, the error or the notice.
    pub reply: Option<String>,
}

/// The grouping of usage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UsageBy {
    /// By the model that answered.
    #[default]
    Model,
    /// By conversation. Usage of a child turn counts for the conversation of the root turn.
    Session,
    /// By day, in UTC.
    Day,
}

impl UsageBy {
    /// All groupings.
    pub const ALL: [Self; 3] = [Self::Model, Self::Session, Self::Day];

    /// The word in the command and the method.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Session => "session",
            Self::Day => "day",
        }
    }
}

/// The usage of one model, one conversation or one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRow {
    /// `provider/model`, a session, or a day as `2026-11-22`.
    pub of: String,
    /// Answers of models, including empty ones.
    pub answers: u64,
    /// Sum of tokens and cost.
    #[serde(flatten)]
    pub total: Total,
}
