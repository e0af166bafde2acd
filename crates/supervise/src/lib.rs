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
pub use group::{Group, RestartDelays, UnfinishedTasks};
pub use keyed::KeyedWork;
pub use listeners::KeyedListeners;
pub use panics::{CaughtPanic, catch_panic, run_blocking};
pub use repeats::RepeatedLines;
pub use retry::{LOG_WRITES, with_retry};
