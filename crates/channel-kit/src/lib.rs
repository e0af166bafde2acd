//! What channels share for text on its way out: Markdown becomes plain text with styles, which is
//! cut into what a platform takes at once and written in the platform's own terms.

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
