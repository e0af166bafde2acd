//! Delivers the messages of the log to their chats, in order. Failures are retried by rules, and
//! unknown outcomes are reported.

mod abandoned;
mod accounts;
mod answer_signs;
mod channels;
mod closed_chats;
mod deliver;
mod load;
mod reserve;
mod rules;
mod worker;

pub use channels::ChannelRegistry;
pub use deliver::Deliverer;
pub use reserve::ReservedSend;
