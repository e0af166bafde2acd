//! Fakes at the wire, a manual clock, temporary stores: for tests only.

mod clock;

pub use clock::{ManualClock, START};
