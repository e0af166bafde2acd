//! The port of schedules: their rows, and the claim of each time.

use std::fmt;

use async_trait::async_trait;

use super::Result;
use crate::chat::{ChatAddress, NewInbound, Planned};
use crate::clock::Timestamp;
use crate::ids::{DedupeKey, ScheduleId};
use crate::schedule::{NewSchedule, RunResult, Schedule, ScheduleChange, ScheduleRun};

/// Schedules and their runs.
#[async_trait]
pub trait Schedules: fmt::Debug + Send + Sync {
    /// Reserves the number of a schedule that is about to be made, so that the tool's result can
    /// name it. An unused number leaves a gap.
    async fn reserve_schedule(&self) -> Result<ScheduleId>;

    /// Adds a schedule. Returns the existing schedule if it was added with the same key. Durable
    /// when this returns.
    async fn add_schedule(&self, new: &NewSchedule, key: Option<&DedupeKey>) -> Result<ScheduleId>;

    /// Changes a schedule. Returns `false` if there is no such schedule, or nothing to change.
    async fn change_schedule(&self, id: ScheduleId, change: &ScheduleChange) -> Result<bool>;

    /// Makes the schedules with a name equal to this list, in one transaction: adds new ones,
    /// replaces those whose content differs, and removes the others. An unchanged schedule keeps
    /// its next time and its pause. Returns the new ones.
    async fn set_configured(&self, configured: &[NewSchedule]) -> Result<Vec<ScheduleId>>;

    /// A schedule; `None` if there is none with this number.
    async fn schedule(&self, id: ScheduleId) -> Result<Option<Schedule>>;

    /// The schedules of a chat or of all chats, in the order of their numbers. Ended ones are left
    /// out unless `with_ended`.
    async fn schedules(
        &self,
        chat: Option<&ChatAddress>,
        ended: EndedSchedules,
    ) -> Result<Vec<Schedule>>;

    /// The last runs of a schedule, newest first.
    async fn schedule_runs(&self, id: ScheduleId, limit: u32) -> Result<Vec<ScheduleRun>>;

    /// The active schedules whose time has come, earliest first.
    async fn due_schedules(&self, now: Timestamp, limit: u32) -> Result<Vec<Schedule>>;

    /// The earliest next time of all active schedules.
    async fn next_due(&self) -> Result<Option<Timestamp>>;

    /// Claims times of a schedule before any of its work begins: inserts the runs with their
    /// messages and moves the next time, in one transaction. Does nothing and returns `false` if
    /// the next time is no longer `expected`. A time that was claimed before is left out. Durable
    /// when this returns.
    async fn claim_due(&self, claim: &DueClaim) -> Result<bool>;

    /// Waits until a schedule was added or changed since the last call. For one caller.
    async fn schedules_changed(&self);
}

/// The treatment of ended schedules in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedSchedules {
    /// Ended schedules are listed.
    Include,
    /// Ended schedules are left out.
    Exclude,
}

/// The claim of times of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueClaim {
    /// The schedule.
    pub id: ScheduleId,
    /// The next time as the caller has read it.
    pub expected: Option<Timestamp>,
    /// The claimed times, oldest first.
    pub runs: Vec<DueRun>,
    /// The new next time. `None` ends an active schedule.
    pub next_at: Option<Timestamp>,
}

/// A claimed time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueRun {
    /// The planned time.
    pub due: Timestamp,
    /// The work that begins in the same transaction.
    pub work: DueWork,
    /// Number of earlier times that this run replaces.
    pub skipped: u64,
}

/// The work of a claimed time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DueWork {
    /// A message for the session of the schedule.
    Task(Box<NewInbound>),
    /// A text for the chat.
    Text(Planned),
    /// No work.
    Nothing(RunResult),
}
