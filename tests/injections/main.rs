//! Tests of prompt injection: a model that obeys every order of a stranger to the letter, in the
//! real program, on the strict fake of Telegram. Without an owner's approval no such order has an
//! effect. An owner's own tasks run without a question.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod approved;
mod corpus;
mod everyday;
mod granted;
mod gullible;
mod hosts;
mod links;
mod matrix;
mod ordinary;
mod person;
mod spans;
mod ways;
mod world;
