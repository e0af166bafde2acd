//! Delivery: what the log says is to be said reaches its chat in order, is tried again by rule, and
//! where nobody can know whether it arrived, that is said.

mod accounts;
mod channels;
mod deliver;
mod load;
mod rules;

pub use channels::Channels;
pub use deliver::Deliverer;
