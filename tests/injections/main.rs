//! Orders that strangers give: a model that obeys every one of them to the letter, in the real program, on
//! the strict fake of Telegram. Whatever it is told, nothing is done that no owner has allowed, and what an
//! owner asks for is done without a question.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod approved;
mod corpus;
mod gullible;
mod hosts;
mod matrix;
mod ordinary;
mod person;
mod ways;
mod world;
