//! The schedule: reminders and tasks at set times. A time is claimed in the log before
//! its work begins, so each happens once. The runner sleeps until the next time and is woken by
//! changes only.

mod calendar;
mod consolidations;
mod cron_line;
mod due;
mod pauses;
mod runner;
mod service;
mod times;
mod times_error;
mod zone_words;
mod zones;

pub use calendar::ZoneCalendar;
pub use consolidations::{ConsolidationTimer, ConsolidationTimes};
pub use due::{DueTimes, MOST_CAUGHT_UP, due_times};
pub use runner::{ReadChecklists, RunnerParts, ScheduleRunner, run_now};
pub use service::{KnownSpeakers, ScheduleService, check_agent, new_schedule};
pub use times::ScheduleTimes;
pub use times_error::TimesError;
