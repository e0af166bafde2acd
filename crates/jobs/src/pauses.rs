//! The pauses of the tasks of this crate.

use std::time::Duration;

use avocet_supervise::RestartDelays;

/// The pause of a task after an error of the log.
pub(crate) const AFTER_ERROR: Duration = Duration::from_mins(1);

/// The pauses between restarts of a task that panicked.
pub(crate) const RESTART: RestartDelays = RestartDelays {
    first: Duration::from_secs(1),
    longest: Duration::from_mins(1),
    healthy_after: Duration::from_mins(1),
};
