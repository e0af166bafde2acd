//! The agent behind two APIs of OpenAI, so that programs for those APIs can speak to it: Chat
//! Completions and Responses. A conversation has its history in the log, so only the last message of
//! a request counts.

pub(crate) mod chat;
pub(crate) mod error;
pub(crate) mod models;
mod question;
pub(crate) mod responses;
mod stream;
mod turn;
