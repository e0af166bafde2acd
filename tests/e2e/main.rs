//! Tests of the real program from outside, in a home of its own: its output, its answers, its
//! errors for bad input, and the safety of messages.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod acp;
mod approvals;
mod asking;
mod audit;
mod bad_config;
mod bad_input;
mod book;
mod certificates;
mod chat;
mod children;
mod cli;
mod client_libraries;
mod clients;
mod coder;
mod config;
mod config_file;
mod copies;
mod crate_jobs;
mod damage;
mod directory;
mod doctor;
mod door;
mod events;
mod external;
mod full_disk;
mod hardening;
mod hostile_text;
mod http;
mod jobs;
mod looking;
mod memory;
mod memory_files;
mod mistakes;
mod protected;
mod python_channels;
mod references;
mod replaced;
mod replay;
mod roots;
mod schedule;
mod sdks;
mod secrets;
mod shell;
mod skills;
mod socket;
mod support;
mod telemetry;
mod terminal;
mod trust;
mod unbroken;
mod unread;
mod web;
mod web_console;
