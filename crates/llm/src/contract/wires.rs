//! The wires that have to pass, one file each.

mod anthropic;
mod openai_chat;
mod openai_responses;
