//! The parts that channels share.
//!
//! - In: [`Intake`] commits the updates of a platform. An update passes the [`InboundStages`] first, whose
//!   order has its reasons in `stages.rs`.
//! - Out: [`plan`] cuts a reply into messages. It uses [`render`], which turns Markdown into plain
//!   text with styles, and [`split`]. [`discord`] and [`telegram`] write the result in the
//!   platform's own format. [`Pace`] limits the rate of sending.
//! - [`RepliedMessage`] adds the message to which a message replies, with its files.
//! - [`RecentMessages`] keeps the messages of a group that were not for the agent, and [`ReactionNotes`]
//!   people's reactions to the bot's messages. The next message tells the model about them.
//! - [`BotAccess`] and [`GroupIds`] read the configuration of a bot, and [`is_base64_url`] helps to recognise
//!   its token. [`Exchanges`] reports its health,
//!   [`AccountRefusals`] the next try of a refused account, and [`ReceiveWatch`] a receive loop that hangs.

mod access;
mod account_refusals;
mod breaks;
mod builder;
pub mod discord;
mod exchanges;
mod fences;
mod group;
mod intake;
mod link;
mod native_tables;
mod pace;
mod personal_commands;
mod pieces;
mod plan;
mod ranges;
mod reactions;
mod receive_watch;
mod recent;
mod render;
mod replied;
mod source;
mod split;
mod stages;
mod styled;
mod table;
pub mod telegram;
mod token_chars;

pub use access::BotAccess;
pub use account_refusals::AccountRefusals;
pub use avocet_protocol::chat::{Style, StyleRange};
pub use exchanges::Exchanges;
pub use group::{GroupConfig, GroupIds};
pub use intake::{Converted, Intake, NO_ACCESS, Stopped, Taken, Unreadable};
pub use link::MAX_URL_CHARS;
pub use native_tables::{ColumnAlign, NativeTable, TableSegment, table_segments};
pub use pace::{Pace, Rate, Rates, UnderWay};
pub use personal_commands::{ANSWER_NOT_SHOWN, is_personal_command, only_shows};
pub use plan::{plan, plan_preview, plan_preview_styled, plan_styled};
pub use reactions::{ReactionNotes, UserReaction, reaction_emoji};
pub use receive_watch::{ReceiveWatch, WatchedRun};
pub use recent::RecentMessages;
pub use render::render;
pub use replied::{RepliedAuthor, RepliedMessage};
pub use split::{Limit, split};
pub use stages::InboundStages;
pub use styled::Styled;
pub use token_chars::is_base64_url;

#[cfg(test)]
mod testing;
