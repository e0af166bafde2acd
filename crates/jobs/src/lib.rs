//! The schedule: reminders and tasks at set times. A time is claimed in the log before
//! its work begins, so each happens once. The runner sleeps until the next time and is woken by
//! changes only.

mod calendar;
mod consolidations;
mod cron_line;
mod due;
mod runner;
mod service;
mod times;
mod zone_words;
mod zones;

use std::time::Duration;

use avocet_supervise::RestartDelays;

pub use calendar::ZoneCalendar;
pub use consolidations::{ConsolidationTimer, ConsolidationTimes};
pub use due::{DueTimes, MOST_CAUGHT_UP, due_times};
pub use runner::{ReadChecklists, RunnerParts, ScheduleRunner, run_now};
pub use service::{KnownSpeakers, ScheduleService, check_agent, new_schedule};
pub use times::{ScheduleTimes, TimesError};

/// The pause of a task after an error of the log.
const AFTER_ERROR: Duration = Duration::from_mins(1);

/// The pauses between restarts of a task that panicked.
const RESTART: RestartDelays = RestartDelays {
    first: Duration::from_secs(1),
    longest: Duration::from_mins(1),
    healthy_after: Duration::from_mins(1),
};
