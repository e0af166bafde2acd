//! The ports of the durable log, one per role. They state transactions without SQL: an
//! implementation commits each method as a whole or not at all.

mod audit;
mod consolidations;
mod dead_letters;
mod deletion;
mod event_log;
mod history;
mod inbox;
mod jobs;
mod ledger;
mod memories;
mod memory_files;
mod memory_scope;
mod memory_vectors;
mod outbox;
mod schedules;
mod tasks;
mod turn_log;
mod turns;

pub use audit::{
    Actor, Audit, AuditCheck, AuditFault, AuditFilter, AuditHead, AuditKind, AuditRow, NoHead,
};
pub use consolidations::{
    Backlog, ChangedMemory, Consolidation, ConsolidationEnd, ConsolidationState, Consolidations,
    EditRefused, MemoryEdit, MemoryVersion, NewConsolidation,
};
pub use dead_letters::{DeadId, DeadLetter, DeadLetters, DeadPage, DeadReason, RetriedLetter};
pub use deletion::{DeletedSession, SessionDeletion};
pub use event_log::{
    EventAnswer, EventDelivery, EventDetail, EventFailedRequest, EventFilter, EventHistory,
    EventKind, EventLog, EventMemory, EventMessage, EventPage, EventRange, EventSchedule, EventSeq,
    EventTool, EventTurn, EventUsage, LogEvent, Subscriber, event_kinds,
};
pub use history::{
    History, HistoryAuthor, HistoryHit, HistoryQuery, SessionFilter, WideHistoryQuery,
};
pub use inbox::{
    Accepted, AcceptedAs, CommandAction, CommandEffect, CommandReply, Correction, Inbox,
    NoCorrection, OpenQuestion,
};
pub use jobs::{JobChat, JobLimits, JobRules, JobState, JobStatus, Jobs, NewJob, SubmittedJob};
pub use ledger::{
    FailedRequest, Ledger, Purpose, RequestOutcome, Spending, Total, UpkeepBudget, UpkeepLedger,
    UsageEntry,
};
pub use memories::{
    BadAuthor, FoundMemory, MAX_MEMORY_BYTES, Memories, Memory, MemoryAuthor, MemoryChange,
    MemoryChangeKind, MemorySource, MemoryText, NewMemory, UndoneChange, WordCounts, WrittenMemory,
};
pub use memory_files::{
    ChangedScopes, EditedFile, FileEntry, MemoryFiles, ScopeMemories, ShownChange, ShownMemory,
    TakenEdit, TakenEditKind, conflict_text, conflicts_with, visible_text,
};
pub use memory_scope::{BadScope, MemoryScope, ScopeFilter, ScopeKind, ScopeRefused};
pub use memory_vectors::{MemoryVector, MemoryVectors};
pub use outbox::{Enqueued, Head, Outbox, Preview, SendEnd, Showing};
pub use schedules::{DueClaim, DueRun, DueWork, EndedSchedules, Schedules};
pub use tasks::{CancelledTask, TaskPage, TaskView, Tasks, task_name};
pub use turn_log::{CompactedPast, Family, KeptResult, KeptResults, NewStep, Past, TurnLog};
pub use turns::{
    Answer, Claim, Claimed, EndedMessage, LineageTurn, NewWait, OpenPrompt, OpenWait, Resolution,
    SettledTurn, Settlement, Suspects, Turns, UsageAtClaim,
};

/// The reason why the log refused an operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The disk is full and nothing was written. The same write succeeds once the operator has made
    /// room.
    #[error("the disk that holds {path} is full; free some space, nothing was lost")]
    Full {
        /// The database.
        path: String,
    },
    /// The disk fails and nothing was written. The operator has to check the disk.
    #[error("{path} cannot be written ({detail}); check the disk")]
    Unavailable {
        /// The database.
        path: String,
        /// The system's error.
        detail: String,
    },
    /// The database is damaged. The operator has to act.
    #[error("{path} is damaged ({detail}); the next start of the daemon checks it")]
    Damaged {
        /// The database.
        path: String,
        /// The result of the check.
        detail: String,
    },
    /// Another daemon has taken over the log; this one must stop.
    #[error("the log now belongs to epoch {theirs}, this process to {ours}; stopping")]
    Fenced {
        /// The epoch of this process.
        ours: i64,
        /// The epoch in the log.
        theirs: i64,
    },
    /// The database was deleted or replaced while this process uses it. This process must stop, and
    /// the operator has to find the cause.
    #[error(
        "{path} was deleted or replaced while the daemon runs ({found}). The daemon stops, because what it writes now \
         could be lost and a second one could start beside it. If that was a mistake, put the data directory back \
         and start the daemon again"
    )]
    Replaced {
        /// The missing file.
        path: String,
        /// The present content of that path.
        found: String,
    },
    /// The row has changed state, for example because the turn was stopped.
    #[error("{0} is no longer in the expected state")]
    Stale(String),
    /// The log is closed because the process stops.
    #[error("the log is closed")]
    Closed,
    /// A statement failed that should always succeed: a bug for the maintainers.
    #[error("the log refused a statement: {0}")]
    Internal(String),
}

impl StoreError {
    /// Returns `true` if this process has lost the log for good and has to stop.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Fenced { .. } | Self::Replaced { .. })
    }

    /// Returns `true` if the same call can succeed later without any other change in this process.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Full { .. } | Self::Unavailable { .. })
    }
}

type Result<T, E = StoreError> = std::result::Result<T, E>;
