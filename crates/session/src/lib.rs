//! Sessions: a lane for each session with work, the commands that bypass the lanes, and waits. A
//! turn ends here, with its last transaction and the wake-up of the outbox.

mod agents;
mod answer_command;
mod approvals;
mod command_plan;
mod commands;
mod compact;
mod dead_letters;
mod events;
mod expiry;
mod extension;
mod failures;
mod fetch;
mod job_command;
mod job_plan;
mod job_summary;
mod jobs;
mod lane;
mod lane_work;
mod long_code;
mod long_reply;
mod memory;
mod mode;
mod model;
mod model_pages;
mod options;
mod outcomes;
mod parts;
mod people;
mod preview;
mod questions;
mod reminders;
mod retry;
mod retrying_log;
mod run_turn;
mod running;
mod sampler;
mod sessions;
mod settle;
mod silence;
mod spoken;
mod status_text;
mod tasks;
mod think;
mod turn_facts;
mod usage;
mod voice;
mod voice_command;
mod welcome;

pub use agents::{
    Agent, AgentDirectories, AgentJobs, Agents, BySession, DEFAULT_AGENT, NoAgent, NoDirectory,
    SessionBinding, SessionChoice, TurnAgent, permission_mode,
};
pub use approvals::Decisions;
pub use commands::commands;
pub use dead_letters::DeadLetterDesk;
pub use events::Events;
pub use fetch::{AttachmentFetcher, Attachments};
pub use jobs::{JobDesk, no_agent};
pub use lane::LaneLimits;
pub use options::OptionDesk;
pub use parts::SessionParts;
pub use questions::{QuestionParts, Questions};
pub use reminders::remind;
pub use retrying_log::{RetryingLedger, RetryingLog};
pub use running::RunningTurns;
pub use sampler::Sampler;
pub use sessions::{NotMoving, Sessions};
pub use spoken::SpokenAnswers;
pub use tasks::TaskControl;
