//! Prepares outgoing text for all channels: turns Markdown into plain text with styles, cuts that
//! into messages, and writes it in the platform's own format. Also limits the rate of sending.

mod access;
mod breaks;
mod builder;
pub mod discord;
mod exchanges;
mod group;
mod link;
mod numbered;
mod pace;
mod pieces;
mod ranges;
mod render;
mod split;
mod styled;
mod table;
pub mod telegram;
mod unreadable;

pub use access::BotAccess;
pub use avocet_protocol::{Style, StyleRange};
pub use exchanges::Exchanges;
pub use group::GroupConfig;
pub use link::MAX_URL_CHARS;
pub use numbered::messages;
pub use pace::{Pace, Rate, Rates, UnderWay};
pub use render::render;
pub use split::{Limit, split};
pub use styled::Styled;
pub use unreadable::unreadable;

#[cfg(test)]
mod testing;
