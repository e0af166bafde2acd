//! The bus: every message enters here, from channels and from other processes alike. It is
//! admitted, committed to the log, and whoever has to act on it is woken. The tables of the log are
//! the queues; what is in memory is only the wake-ups.

mod admission;
mod publish;
mod wake;

pub use admission::{Admission, Admitted, Allow, MAX_TEXT_BYTES};
pub use publish::Bus;
pub use wake::{Wake, Wakes};
