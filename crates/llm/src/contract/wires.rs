//! The wires that have to pass, one file each.

mod anthropic;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;
