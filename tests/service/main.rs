//! Tests of the program as a service: started, watched, stopped, crashed, loaded, idle. Everything
//! outside of it is a fake: systemd, the model, the people, the world.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod anthropic;
mod approvals;
mod budgets;
mod calls;
mod chat;
mod consolidation;
mod contract;
mod crash;
mod delegation;
mod delivery;
mod dialects;
mod discord;
mod discord_chats;
mod drain;
mod explained;
mod external;
mod failover;
mod flood;
mod gemini;
mod health;
mod hostile;
mod idle;
mod jobs;
mod json_answers;
mod load;
mod log;
mod media;
mod memory;
mod memory_files;
mod model;
mod models;
mod notify;
mod ollama;
mod operator_rules;
mod patience;
mod people;
mod pictures;
mod preview;
mod prompts;
mod reload;
mod repairs;
mod replay;
mod request;
mod responses;
mod rows;
mod rules;
mod schedules;
mod sink;
mod stopping;
mod telegram;
mod unit;
mod voice;
mod webhook;
