//! The bus: every message enters here, from channels and from other processes alike. It is
//! admitted, committed to the log, and whoever has to act on it is woken. The tables of the log are
//! the queues; what is in memory is only the wake-ups.

mod admission;
mod bots;
mod door;
mod known;
mod lists;
mod pairing;
mod publish;
mod wake;

pub use admission::{Admission, Admitted, MAX_TEXT_BYTES};
pub use lists::{Allow, GroupRules, Lists};
pub use publish::{Bus, Parts};
pub use wake::{Wake, Wakes};
