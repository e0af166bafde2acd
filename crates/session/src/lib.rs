//! Sessions: a lane for each session with work, the commands that bypass the lanes, and waits. A
//! turn ends here, with its last transaction and the wake-up of the outbox.
//!
//! [`Sessions`] (`sessions.rs`) gets the wake-ups of the bus and passes them on:
//!
//! | a wake-up for | goes to | which |
//! |---|---|---|
//! | a session | `lane.rs` | claims its turns, one after the other |
//! | | → `run_turn.rs` | runs one turn |
//! | | → → `preview.rs` | shows its progress in the chat |
//! | | → → `settle.rs` | writes its end, or its wait |
//! | a command | `commands.rs` | acts beside the lanes |
//! | an ended turn | `running.rs` | interrupts its work |
//!
//! Waits that time out need no wake-up: `expiry.rs` ends them.
//!
//! **To settle** takes these steps (`settle.rs`):
//!
//! 1. From the end of the turn, plan what the chat gets: the reply, a notice that names each
//!    message, or nothing if the text was sent before or tells nothing new. The channel cuts it
//!    into chunks.
//! 2. Take the usage that no step has recorded. It goes back if the transaction fails, unless the
//!    turn has ended meanwhile.
//! 3. Reserve the first send, if the chat is idle and the rate limit has a turn.
//! 4. Write all of it in one transaction (T5; `turns.rs` of the store has its order).
//! 5. Then only wake others: the channels that react to outcomes, the reserved send or the delivery
//!    worker, the lane of the parent turn, the listeners of events.
//!
//! A crash before step 4 leaves the turn running. The next start queues it, and the model is asked
//! for the answer again. A crash after step 4 loses wake-ups, which the next start replaces. It also
//! leaves the outcome of a reserved send unknown. `settle.rs` has a table of these cases. A turn that
//! waits is written in another transaction, with its waits, the prompts for the chats and the writes
//! of the calls.
//!
//! **Who may write.** A lane writes for its own turn only. A command may end the turn of a lane: it
//! writes the end first, and interrupts the work afterwards. So a lane that is too late finds its
//! turn ended ([`StoreError::Stale`](avocet_protocol::store::StoreError::Stale)), and stops.

mod agents;
mod answer_command;
mod approvals;
mod choice_bits;
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
mod rule_command;
mod run_turn;
mod running;
mod sampler;
mod sessions;
mod settle;
mod silence;
mod spoken;
mod status_text;
mod stop_all;
mod stop_desk;
mod stopped;
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
pub use reminders::remind_approvers;
pub use retrying_log::{RetryingLedger, RetryingLog};
pub use running::RunningTurns;
pub use sampler::Sampler;
pub use sessions::{NotMoving, Sessions};
pub use spoken::SpokenAnswers;
pub use stop_desk::StopDesk;
pub use tasks::TaskControl;
