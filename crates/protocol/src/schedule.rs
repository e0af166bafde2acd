//! Schedules: work that the daemon begins by itself at set times.

mod calendar;

pub use calendar::Calendar;

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Trust;
use crate::chat::{ChatAddress, ChatKind, Sender};
use crate::clock::Timestamp;
use crate::ids::{DedupeKey, ScheduleId, SenderId};
use crate::store::StoreError;

/// The answer of a scheduled task that has nothing new to report. It is not sent.
pub const NOTHING_NEW: &str = "NOTHING_NEW";

/// The times of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleRule {
    /// The rule from which the times follow.
    pub recurrence: Recurrence,
    /// The name of the time zone, for example `Europe/Berlin`.
    pub zone: String,
}

/// The rule from which the times of a schedule follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Recurrence {
    /// One time.
    Once(Timestamp),
    /// The same duration between two times.
    Every {
        /// The duration.
        seconds: u64,
        /// The start of the first interval.
        from: Timestamp,
    },
    /// A cron expression with five fields, read as local time of the zone.
    Cron(String),
}

/// A schedule's times as a person or a model writes them. Exactly one of the first four is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimesRequest {
    /// A duration from now, for example `2m` or `1h 30m`.
    pub after: Option<String>,
    /// A date and time, or a time of the next 24 hours.
    pub at: Option<String>,
    /// The duration between two times.
    pub every: Option<String>,
    /// A cron expression.
    pub cron: Option<String>,
    /// The name of a time zone; `None` for the default one.
    pub zone: Option<String>,
}

/// The treatment of times that passed while the daemon was stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CatchUp {
    /// Missed times are skipped.
    Skip,
    /// One run replaces all missed ones.
    #[default]
    Once,
    /// Each missed time runs, the last hundred at most.
    All,
}

impl CatchUp {
    /// In the order of declaration.
    pub const ALL: [Self; 3] = [Self::Skip, Self::Once, Self::All];

    /// The word in the log and in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Once => "once",
            Self::All => "all",
        }
    }
}

/// The work at each time of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScheduledWork {
    /// A text that is sent as it is, without a model.
    Text(String),
    /// A task for the agent, whose answer is sent.
    Task(String),
    /// A file of the workspace with a checklist. The agent works on it unless it is empty.
    Checklist(String),
}

impl ScheduledWork {
    /// The words of all kinds in the log.
    pub const KINDS: [&'static str; 3] = ["text", "task", "checklist"];

    /// The word of this kind in the log.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Task(_) => "task",
            Self::Checklist(_) => "checklist",
        }
    }

    /// The text, the task or the path.
    #[must_use]
    pub fn body(&self) -> &str {
        match self {
            Self::Text(body) | Self::Task(body) | Self::Checklist(body) => body,
        }
    }
}

/// The state of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScheduleState {
    /// It has a next time.
    Active,
    /// It has no next time until it is resumed.
    Paused,
    /// All its times have passed.
    Ended,
}

impl ScheduleState {
    /// In the order of declaration.
    pub const ALL: [Self; 3] = [Self::Active, Self::Paused, Self::Ended];

    /// The word in the log and in CLI output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Ended => "ended",
        }
    }
}

/// The chat that gets the answers of a schedule, and the person in whose name it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleOwner {
    /// The chat.
    pub address: ChatAddress,
    /// The kind of chat.
    pub chat: ChatKind,
    /// The person. Their access is checked at each run.
    pub sender: Sender,
    /// The roles that the platform gave the person, as of the request for the schedule
    /// ([`crate::chat::Content::author_roles`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
}

/// The times and the work of a new schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulePlan {
    /// The times.
    pub rule: ScheduleRule,
    /// The work at each time.
    pub work: ScheduledWork,
    /// The profile that does the work; `None` for the one that the configuration selects.
    pub agent: Option<String>,
    /// The treatment of missed times.
    pub catch_up: CatchUp,
    /// `true` if an answer without news is not sent.
    pub quiet: bool,
    /// The first time.
    pub next_at: Timestamp,
}

/// A schedule that is not in the log yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSchedule {
    /// The name of its table in the configuration; `None` if a person has made it.
    pub name: Option<String>,
    /// The chat and the person.
    pub owner: ScheduleOwner,
    /// The times and the work.
    pub plan: SchedulePlan,
    /// The trust of the request that made it, which is the limit for its tasks.
    pub trust: Trust,
}

/// A schedule in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    /// Its number.
    pub id: ScheduleId,
    /// The name of its table in the configuration.
    pub name: Option<String>,
    /// Its state.
    pub state: ScheduleState,
    /// The reason, if the daemon paused it.
    pub reason: Option<String>,
    /// The chat and the person.
    pub owner: ScheduleOwner,
    /// The times.
    pub rule: ScheduleRule,
    /// The work at each time.
    pub work: ScheduledWork,
    /// The profile that does the work.
    pub agent: Option<String>,
    /// The treatment of missed times.
    pub catch_up: CatchUp,
    /// `true` if an answer without news is not sent.
    pub quiet: bool,
    /// The limit for the trust of its tasks.
    pub trust: Trust,
    /// The next time; `None` unless it is active.
    pub next_at: Option<Timestamp>,
    /// The time at which the schedule was made.
    pub made_at: Timestamp,
}

impl Schedule {
    /// The name of the heartbeat among the schedules of the configuration.
    pub const HEARTBEAT: &str = "heartbeat";

    /// Returns the table of the schedule in the configuration; `None` if a person has made it.
    #[must_use]
    pub fn table(&self) -> Option<String> {
        self.name.as_ref().map(|name| match name.as_str() {
            Self::HEARTBEAT => "[heartbeat]".to_owned(),
            name => format!("[schedules.{name}]"),
        })
    }
}

/// A change of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleChange {
    /// Pauses it, with a reason if no person asked for it.
    Pause(Option<String>),
    /// Continues it at this time.
    Resume(Timestamp),
    /// Deletes it with its runs. The session of its runs stays in the log.
    Remove,
}

/// A write of the tool `schedule`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleWrite {
    /// Adds a schedule for the chat and the person of the turn, with the trust of the request.
    Add {
        /// From [`Schedules::reserve_schedule`](crate::store::Schedules::reserve_schedule).
        id: ScheduleId,
        /// The times and the work.
        plan: Box<SchedulePlan>,
    },
    /// Changes a schedule.
    Change {
        /// The schedule.
        id: ScheduleId,
        /// The change.
        change: ScheduleChange,
    },
}

/// A time of a schedule that has been claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleRun {
    /// The planned time.
    pub due: Timestamp,
    /// The time of the claim.
    pub claimed_at: Timestamp,
    /// The result of the claim.
    pub result: RunResult,
    /// Number of earlier times that this run replaces.
    pub skipped: u64,
}

/// The result of claiming a time of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunResult {
    /// The task is in the queue of its session, or has run.
    Queued,
    /// The text is in the outbox.
    Sent,
    /// The time was missed, and the policy skips it.
    Missed,
    /// The checklist was empty.
    Empty,
    /// The chat is on no configured channel.
    Undeliverable,
}

impl RunResult {
    /// In the order of declaration.
    pub const ALL: [Self; 5] =
        [Self::Queued, Self::Sent, Self::Missed, Self::Empty, Self::Undeliverable];

    /// The word in the log and in CLI output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sent => "sent",
            Self::Missed => "missed",
            Self::Empty => "empty",
            Self::Undeliverable => "undeliverable",
        }
    }
}

impl ScheduleRule {
    /// Returns `true` if both rules were written in the same way. The start of the first interval
    /// differs each time that the configuration is read.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let recurs = match (&self.recurrence, &other.recurrence) {
            (Recurrence::Every { seconds, .. }, Recurrence::Every { seconds: other, .. }) => {
                seconds == other
            }
            (own, other) => own == other,
        };
        recurs && self.zone == other.zone
    }
}

/// A request to add a schedule, by the operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddSchedule {
    /// The chat that gets the answers.
    pub chat: ChatAddress,
    /// The person in whose name it runs; `None` if the chat's own id is that of the person.
    pub person: Option<SenderId>,
    /// The kind of chat.
    pub kind: ChatKind,
    /// The times.
    pub times: TimesRequest,
    /// The work at each time.
    pub work: ScheduledWork,
    /// The profile that does the work.
    pub agent: Option<String>,
    /// The treatment of missed times.
    pub catch_up: CatchUp,
    /// `true` if an answer without news is not sent.
    pub quiet: bool,
    /// Idempotency key: a second request with the same key returns the first schedule.
    #[serde(default)]
    pub key: Option<DedupeKey>,
}

/// A schedule with its last runs, for the operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShownSchedule {
    /// The schedule.
    pub schedule: Schedule,
    /// The times in words.
    pub times: String,
    /// The next times in words.
    pub next: Vec<String>,
    /// The last runs, newest first.
    pub runs: Vec<ScheduleRun>,
}

/// A command of the operator for a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScheduleCommand {
    /// Run it once now.
    Run,
    /// Pause it.
    Pause,
    /// Continue it.
    Resume,
    /// Delete it.
    Remove,
}

/// The reason why a request about schedules failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// The request is wrong; the text names the correction.
    #[error("{0}")]
    Refused(String),
    /// The log cannot be read or written.
    #[error(transparent)]
    Log(#[from] StoreError),
}

/// Schedules as the operator sees and changes them.
#[async_trait]
pub trait ScheduleControl: fmt::Debug + Send + Sync {
    /// Adds a schedule, and returns it with its next times.
    async fn add(&self, request: &AddSchedule) -> Result<ShownSchedule, ScheduleError>;

    /// Returns all schedules, in the order of their numbers.
    async fn list(&self, ended: bool) -> Result<Vec<ShownSchedule>, ScheduleError>;

    /// Returns a schedule with its last runs.
    async fn show(&self, id: ScheduleId) -> Result<ShownSchedule, ScheduleError>;

    /// Executes a command.
    async fn command(&self, id: ScheduleId, command: ScheduleCommand) -> Result<(), ScheduleError>;
}
