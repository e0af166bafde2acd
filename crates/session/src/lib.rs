//! Sessions: one lane for each that has something to do, the commands that pass the lanes by, and
//! what turns wait for. A turn ends here: its last transaction, and the wake-up of the outbox.

mod agents;
mod approvals;
mod commands;
mod compact;
mod events;
mod expiry;
mod extension;
mod failures;
mod fetch;
mod lane;
mod long_reply;
mod model;
mod patient;
mod people;
mod preview;
mod reminders;
mod retry;
mod running;
mod sessions;
mod settle;
mod usage;

pub use agents::{Agent, Agents, BySession};
pub use approvals::Decisions;
pub use commands::commands;
pub use events::Events;
pub use fetch::Attachments;
pub use lane::{LaneLimits, Parts};
pub use reminders::remind;
pub use sessions::{NotMoving, Sessions};
