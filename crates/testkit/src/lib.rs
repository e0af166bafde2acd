//! Fakes and a manual clock, for tests only. A fake refuses the requests that the real server
//! refuses.

#![expect(clippy::unwrap_used, reason = "a fake that cannot go on fails its test")]

mod answer;
pub mod anthropic;
mod attachments;
mod bus;
mod calendar;
mod channel;
mod clock;
mod destinations;
pub mod discord;
mod editor;
pub mod embeddings;
mod events;
mod files;
pub mod gemini;
pub mod http;
pub mod http_client;
mod image;
mod model;
mod model_fake;
pub mod model_lists;
mod models;
mod multipart;
pub mod ollama;
pub mod openai;
pub mod otlp;
mod recall;
mod request_log;
mod roles;
pub mod search;
mod skills;
pub mod socket;
mod socks;
mod speak;
pub mod speech;
pub mod telegram;
mod toolbox;
mod transcribe;
pub mod transcription;

pub use answer::ModelAnswer;
pub use attachments::FakeAttachments;
pub use bus::FakeBus;
pub use calendar::FakeCalendar;
pub use channel::{FakeChannel, OnFetch, OnSend};
pub use clock::{ManualClock, START};
pub use destinations::FakeDestinations;
pub use editor::{EditorMood, FakeEditor};
pub use events::RecordedEvents;
pub use files::{FakeFiles, OneWorkspace};
pub use model::{Scripted, ScriptedModel, history_complaint};
pub use models::FakeModels;
pub use recall::FakeRecall;
pub use roles::FakeRoles;
pub use skills::FakeSkills;
pub use socks::SocksFake;
pub use speak::FakeSpeaker;
pub use toolbox::{FakeToolbox, WAIT, private_place, tool_context};
pub use transcribe::FakeTranscriber;
