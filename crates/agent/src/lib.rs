//! Runs one turn with `AgentLoop`, from its context over models and tools to the final text. Every
//! step is in the log before the next one begins, and a turn resumes at the end of its log.

mod agent_loop;
#[cfg(feature = "testing")]
pub mod benching;
mod budgets;
mod calls;
mod context;
mod held;
mod history;
mod images;
mod instructions;
mod limits;
mod marks;
mod note;
mod prompt;
mod repeats;
mod shorten;
mod summary;
mod truncate;
mod trust;
mod unbooked;
mod valid;
mod window;
#[cfg(test)]
mod world;

pub use agent_loop::{AgentLoop, CUT_OFF, Scene, TurnEnd};
pub use budgets::Budgets;
pub use limits::TurnLimits;
pub use marks::{ABOUT_MARKS, Marks};
pub use prompt::{PromptPart, PromptReport};
pub use summary::Compaction;
pub use unbooked::Unbooked;
pub use valid::make_valid;
