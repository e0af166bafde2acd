//! The port of those who only look: status, sessions, transcripts, the outcome of a message.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    ChatAddress, Checkup, IdError, LastExchanges, MessageId, OpenApproval, Outcome, SessionId,
    StoreError, Timestamp, Total, Trust, TurnId, TurnRecord, TurnState, WaitId, WaitKind,
};

/// What happens to messages that arrive while a turn runs.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum QueueMode {
    /// One turn each, in order.
    #[default]
    Queue,
    /// All that wait are answered together.
    Collect,
    /// They are shown to the running turn at its next step.
    Steer,
    /// They end the running turn.
    Interrupt,
}

impl QueueMode {
    /// Every mode.
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

    /// The sessions used last, newest first; with `after`, those behind that row of the list.
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

    /// As [`Self::transcript`], of a part of the session. Empty only if there are no such turns.
    async fn transcript_page(
        &self,
        session: &SessionId,
        page: TranscriptPage,
    ) -> Result<Vec<TurnRecord>, StoreError>;

    /// What became of a message.
    async fn message(&self, id: MessageId) -> Result<Option<MessageStatus>, StoreError>;

    /// How one session stands.
    async fn session_status(&self, session: &SessionId) -> Result<SessionStatus, StoreError>;

    /// The calls that wait for a person to allow them, in the order in which they were asked; `after` is the last one
    /// that is known already.
    async fn open_approvals(
        &self,
        limit: u32,
        after: Option<WaitId>,
    ) -> Result<Vec<OpenApproval>, StoreError>;

    /// What models have cost since a moment: by model or session the dearest first, by day the last
    /// first.
    async fn usage(&self, by: UsageBy, since: Timestamp) -> Result<Vec<UsageRow>, StoreError> {
        self.usage_page(by, since, u32::MAX, 0).await
    }

    /// The rows of [`Self::usage`] behind the first `skip` of them.
    async fn usage_page(
        &self,
        by: UsageBy,
        since: Timestamp,
        limit: u32,
        skip: u32,
    ) -> Result<Vec<UsageRow>, StoreError>;
}

/// A row of the list of sessions, as the place from which the list goes on. Written `USED_AT/SESSION`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow {
    /// When the session was last used.
    pub used_at: Timestamp,
    /// Which.
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
            format!("{text:?} is no row of the list; it is written as the list shows it, USED_AT/SESSION")
        })?;
        let used_at = used_at.parse().map(Timestamp).map_err(|_| {
            format!("{used_at:?} is no moment; give the milliseconds that the list shows")
        })?;
        let session = session.parse().map_err(|error: IdError| error.to_string())?;
        Ok(Self { used_at, session })
    }
}

/// Which turns of a session are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptPage {
    /// So many at most, the last of those that fit.
    pub turns: u32,
    /// Of those before this one.
    pub before: Option<TurnId>,
    /// No further turn is read once those that were read have this many bytes as JSON.
    pub bytes: usize,
}

/// The port of the daemon's own state.
#[async_trait]
pub trait Report: fmt::Debug + Send + Sync {
    /// The state of the daemon as it is known: nothing is asked for it.
    async fn report(&self) -> Result<DaemonStatus, StoreError>;

    /// Checks everything that the daemon depends on. With `offline`, no server is asked.
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
    /// The process; none if no daemon runs.
    pub pid: Option<u32>,
    /// Seconds since it was ready.
    pub uptime_seconds: u64,
    /// Where the log is.
    pub data_dir: String,
    /// Who answers, as `provider/model`.
    pub model: String,
    /// The log.
    pub log: LogStatus,
    /// What is wrong with the audit table; none if all is well, or it was not looked at.
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
    /// What the operator has to know, each in one sentence.
    #[serde(default)]
    pub warnings: Vec<String>,
}

impl DaemonStatus {
    /// Whether the disk, a provider or a channel is down.
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
    /// Bytes that can still be written; `None` if the system does not say.
    pub free_bytes: Option<u64>,
    /// What is wrong; `None` if all is well.
    pub fault: Option<String>,
    /// The last writes of the log.
    pub writes: LastExchanges,
}

/// The state of one provider, by the requests that were made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderStatus {
    /// Its name in the configuration.
    pub provider: String,
    /// What is wrong; `None` if all is well, or nothing was asked yet.
    pub fault: Option<String>,
    /// The last requests.
    pub requests: LastExchanges,
}

/// The state of one channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelStatus {
    /// `channel:account`.
    pub account: String,
    /// What is wrong; `None` if all is well.
    pub fault: Option<String>,
    /// The last exchanges with the platform.
    #[serde(default)]
    pub exchanges: LastExchanges,
}

/// Counts over the whole log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogStatus {
    /// How often a daemon has opened the log.
    pub epoch: i64,
    /// Sessions known.
    pub sessions: u64,
    /// Messages accepted in all.
    pub messages: u64,
    /// Messages that wait in their lanes.
    pub queued: u64,
    /// Turns that run.
    pub running: u64,
    /// Turns that wait for something from outside.
    pub waiting: u64,
    /// Chunks to be delivered.
    pub pending: u64,
    /// Chunks that may or may not have arrived.
    pub unconfirmed: u64,
    /// Chunks that were given up.
    pub dead: u64,
    /// Updates that were not for the agent, by reason.
    pub ignored: Vec<Ignored>,
    /// The last time that newer rows than these were found to be lost; `None` if that never was.
    #[serde(default)]
    pub rolled_back: Option<RolledBack>,
    /// Chats whose next chunk does not get through, the one that has waited longest first;
    /// [`LogStatus::MOST_STUCK`] at most.
    #[serde(default)]
    pub stuck: Vec<StuckChat>,
}

impl LogStatus {
    /// How many chats [`LogStatus::stuck`] names.
    pub const MOST_STUCK: usize = 20;
}

/// A chat whose next chunk failed, or is held back by the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StuckChat {
    /// Where; without a topic, because the topics of a chat wait for each other.
    pub chat: ChatAddress,
    /// When its next chunk failed first, or was last told to wait.
    pub since: Timestamp,
    /// Sends of that chunk so far.
    pub attempts: u32,
    /// Chunks that wait behind it.
    pub behind: u64,
    /// Why the last send failed.
    pub error: String,
}

/// The log was put back to an earlier state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolledBack {
    /// When that was done or found.
    pub at: Timestamp,
    /// Why, and what is missing.
    pub why: String,
}

/// Updates of one account that were not for the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignored {
    /// `channel:account`.
    pub account: String,
    /// Why.
    pub reason: String,
    /// How many.
    pub count: u64,
}

/// One session in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// Which.
    pub session: SessionId,
    /// Turns in all.
    pub turns: u64,
    /// When it was last used.
    pub used_at: Timestamp,
    /// The state of its open turn, if it has one.
    pub open: Option<TurnState>,
}

/// How one session stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStatus {
    /// What happens to messages that arrive while a turn runs.
    pub mode: QueueMode,
    /// The model that it has chosen, as `provider/model`; none for the agent's.
    pub model: Option<String>,
    /// Messages that wait.
    pub queued: u64,
    /// The turn that runs or waits.
    pub open: Option<OpenTurn>,
    /// Chunks to be delivered to the session's chat and to those that are linked to it.
    pub pending: u64,
    /// Chunks that may or may not have arrived there.
    pub unconfirmed: u64,
    /// The least trust of what its newest turn has read, and with that of all that is not forgotten or believed.
    pub trust: Trust,
}

/// A turn that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTurn {
    /// Which.
    pub turn: TurnId,
    /// Where it stands.
    pub state: TurnState,
    /// When it was started.
    pub started_at: Timestamp,
    /// Steps made.
    pub steps: u32,
    /// What it waits for.
    pub waits_for: Option<WaitKind>,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageStatus {
    /// Which.
    pub id: MessageId,
    /// The conversation.
    pub session: SessionId,
    /// The turn that answers it.
    pub turn: Option<TurnId>,
    /// How it ended; none while it has not.
    pub outcome: Option<Outcome>,
    /// The text of the reply, the error or the notice.
    pub reply: Option<String>,
}

/// What usage is summed by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UsageBy {
    /// By the model that answered.
    #[default]
    Model,
    /// By conversation; what children spend is that of the one at their root.
    Session,
    /// By day, in UTC.
    Day,
}

impl UsageBy {
    /// Every way.
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

/// What one model, one conversation or one day has cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRow {
    /// `provider/model`, a session, or a day as `2026-11-22`.
    pub of: String,
    /// Answers that models gave, empty ones included.
    pub answers: u64,
    /// What they cost.
    #[serde(flatten)]
    pub total: Total,
}
