//! The bus, through which every message enters, from channels and other processes alike. It admits
//! a message, commits it to the log, and wakes the parts that must act. The tables of the log are
//! the queues; memory holds only wake-ups.

mod access;
mod access_cache;
mod access_state;
mod admission;
mod bot_limit;
mod owner_notices;
mod pairing;
mod publish;
mod wake;

pub use admission::{Admission, AdmittedMessage, MAX_TEXT_BYTES};
pub use pairing::describe_decision;
pub use publish::{Bus, BusParts};
pub use wake::{WakeReceiver, WakeUp};
