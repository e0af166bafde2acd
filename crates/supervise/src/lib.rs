//! The only crate that spawns: named tasks, a cancellation tree, restart with back-off, shutdown
//! with a deadline. Also the clock of the running system, log lines that are counted instead of
//! repeated, and fail points for the crash tests.

mod backoff;
mod clock;
pub mod fail_point;
mod group;
mod keyed;
mod listeners;
mod panics;
mod repeats;
mod retry;

pub use backoff::Backoff;
pub use clock::SystemClock;
pub use group::{Group, Restart, Unfinished};
pub use keyed::Keyed;
pub use listeners::Listeners;
pub use panics::{Panicked, blocking, catch};
pub use repeats::Repeats;
pub use retry::{LOG_WRITES, with_retry};
