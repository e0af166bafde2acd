//! The schedule: reminders and tasks at set times. A time is claimed in the log before
//! its work begins, so each happens once. The runner sleeps until the next time and is woken by
//! changes only.

mod calendar;
mod consolidations;
mod due;
mod runner;
mod service;
mod times;

pub use calendar::ZoneCalendar;
pub use consolidations::{ConsolidationTimer, ConsolidationTimes};
pub use due::{Due, MOST_CAUGHT_UP, due};
pub use runner::{Checklists, Runner, RunnerParts, run_now};
pub use service::{ScheduleService, new_schedule};
pub use times::{ScheduleTimes, TimesError};
