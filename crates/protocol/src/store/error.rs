//! The errors of the log.

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
    /// The disk is mounted read-only and nothing was written. The same write succeeds once the
    /// operator has made the disk writable.
    #[error("the disk that holds {path} is read-only; make it writable, nothing was lost")]
    ReadOnly {
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
        matches!(self, Self::Full { .. } | Self::ReadOnly { .. } | Self::Unavailable { .. })
    }
}

pub(super) type Result<T, E = StoreError> = std::result::Result<T, E>;
