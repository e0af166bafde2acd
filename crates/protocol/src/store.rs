//! The ports of the durable log, one per role. They state transactions, not SQL: whatever stands
//! behind them commits each method as a whole or not at all.

mod audit;
mod inbox;
mod ledger;
mod notes;
mod outbox;
mod turn_log;
mod turns;

pub use audit::{
    Actor, Audit, AuditCheck, AuditFault, AuditFilter, AuditHead, AuditKind, AuditRow, NoHead,
};
pub use inbox::{
    Accepted, AcceptedAs, CommandAction, CommandEffect, CommandReply, Correction, Inbox,
    NoCorrection, OpenQuestion,
};
pub use ledger::{Ledger, Purpose, Spending, Total};
pub use notes::{Note, Notes};
pub use outbox::{Enqueued, Head, Outbox, Preview, SendEnd, Showing};
pub use turn_log::{Condensed, KeptResult, KeptResults, NewStep, Past, TurnLog};
pub use turns::{
    Answer, Claim, Claimed, NewWait, OpenPrompt, OpenWait, Resolution, Settlement, Turns,
};

/// Why the log did not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The operator: no room. Nothing was written; the same write succeeds once there is room.
    #[error("the disk that holds {path} is full; free some space, nothing was lost")]
    Full {
        /// The database.
        path: String,
    },
    /// The operator: the disk does not answer as it should. Nothing was written.
    #[error("{path} cannot be written ({detail}); check the disk")]
    Unavailable {
        /// The database.
        path: String,
        /// What the system said.
        detail: String,
    },
    /// The operator: the database is damaged.
    #[error("{path} is damaged ({detail}); stop the daemon and start it again to have it checked")]
    Damaged {
        /// The database.
        path: String,
        /// What the check said.
        detail: String,
    },
    /// Nobody: another daemon has taken over the log; this one must stop.
    #[error("the log now belongs to epoch {theirs}, this process to {ours}; stopping")]
    Fenced {
        /// The epoch of this process.
        ours: i64,
        /// The epoch in the log.
        theirs: i64,
    },
    /// The operator: the database was deleted or replaced while this process uses it; this one must stop.
    #[error(
        "{path} was deleted or replaced while the daemon runs ({found}). The daemon stops, because what it writes now \
         could be lost and a second one could start beside it. If that was a mistake, put the data directory back \
         and start the daemon again"
    )]
    Replaced {
        /// The file that is not where it was.
        path: String,
        /// What is there now.
        found: String,
    },
    /// Nobody: the row has moved on, for example because the turn was stopped.
    #[error("{0} is no longer in the state that this needs")]
    Stale(String),
    /// Nobody: the log is closed because the process stops.
    #[error("the log is closed")]
    Closed,
    /// The maintainers: a statement failed that cannot fail.
    #[error("the log refused a statement: {0}")]
    Internal(String),
}

impl StoreError {
    /// Whether this process has lost the log for good and has to stop.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Fenced { .. } | Self::Replaced { .. })
    }

    /// Whether the same call can succeed later without anything else having changed here.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Full { .. } | Self::Unavailable { .. })
    }
}

type Result<T, E = StoreError> = std::result::Result<T, E>;
