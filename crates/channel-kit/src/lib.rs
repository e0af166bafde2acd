//! The parts that channels share.
//!
//! - In: [`Intake`] commits the updates of a platform.
//! - Out: [`render`] turns Markdown into plain text with styles, [`split`] cuts that into messages,
//!   and [`discord`] and [`telegram`] write it in the platform's own format. [`Pace`] limits the
//!   rate of sending.
//! - [`Exchanges`] reports the health of an account.

mod access;
mod breaks;
mod builder;
pub mod discord;
mod exchanges;
mod group;
mod intake;
mod link;
mod pace;
mod pieces;
mod plan;
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
pub use group::{GroupConfig, GroupIds};
pub use intake::{Converted, Intake, Stopped, Taken, Unreadable};
pub use link::MAX_URL_CHARS;
pub use pace::{Pace, Rate, Rates, UnderWay};
pub use plan::{messages, plan};
pub use render::render;
pub use split::{Limit, split};
pub use styled::Styled;
pub use unreadable::unreadable;

#[cfg(test)]
mod testing;
