//! Fakes and a manual clock, for tests only. A fake refuses the requests that the real server
//! refuses.
//!
//! The fakes of ports are always there. Those of servers are behind a feature of their platform: a crate
//! names the platforms that its tests use in its `[dev-dependencies]`.

#![expect(clippy::unwrap_used, reason = "a fake that cannot go on fails its test")]

#[cfg(feature = "providers")]
mod answer;
#[cfg(feature = "providers")]
pub mod anthropic;
mod attachments;
mod bus;
mod calendar;
mod channel;
mod clock;
mod closed_port;
mod copied_program;
mod destinations;
#[cfg(feature = "discord")]
pub mod discord;
mod editor;
#[cfg(feature = "providers")]
pub mod embeddings;
mod events;
mod files;
#[cfg(feature = "providers")]
pub mod gemini;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "http")]
pub mod http_client;
#[cfg(feature = "providers")]
mod image;
mod model;
#[cfg(feature = "providers")]
mod model_fake;
#[cfg(feature = "providers")]
pub mod model_lists;
mod models;
#[cfg(any(feature = "discord", feature = "providers", feature = "telegram"))]
mod multipart;
#[cfg(feature = "providers")]
pub mod ollama;
#[cfg(feature = "providers")]
pub mod openai;
#[cfg(feature = "telemetry")]
pub mod otlp;
mod recall;
#[cfg(any(feature = "providers", feature = "search", feature = "telemetry"))]
mod request_log;
mod roles;
#[cfg(feature = "search")]
pub mod search;
mod skills;
mod skips;
pub mod socket;
#[cfg(feature = "http")]
mod socks;
#[cfg(feature = "providers")]
mod speak;
#[cfg(feature = "providers")]
pub mod speech;
#[cfg(feature = "telegram")]
pub mod telegram;
mod toolbox;
mod transcribe;
#[cfg(feature = "providers")]
pub mod transcription;

#[cfg(feature = "providers")]
pub use answer::ModelAnswer;
pub use attachments::FakeAttachments;
pub use bus::FakeBus;
pub use calendar::FakeCalendar;
pub use channel::{FakeChannel, OnFetch, OnSend};
pub use clock::{ManualClock, START};
pub use closed_port::{ClosedPort, find_free_port};
pub use copied_program::copy_program;
pub use destinations::FakeDestinations;
pub use editor::{EditorMood, FakeEditor};
pub use events::RecordedEvents;
pub use files::{FakeFiles, OneWorkspace};
pub use model::{Scripted, ScriptedModel, history_complaint};
pub use models::FakeModels;
pub use recall::FakeRecall;
pub use roles::FakeRoles;
pub use skills::FakeSkills;
pub use skips::{SystemPart, skip_without};
#[cfg(feature = "http")]
pub use socks::SocksFake;
#[cfg(feature = "providers")]
pub use speak::FakeSpeaker;
pub use toolbox::{FakeToolbox, WAIT, private_place, tool_context};
pub use transcribe::FakeTranscriber;
