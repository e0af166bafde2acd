//! The wires that the suite tests, one file each.

mod acme;
mod anthropic;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;
