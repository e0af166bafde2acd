//! OpenAI's Responses API (OpenAI API reference, "Responses"). The provider stores nothing; it
//! returns the reasoning before calls in encrypted form.

mod answer;
mod phases;
mod request;
pub(crate) mod thoughts;

pub(crate) use answer::ResponsesAnswer;
pub(super) use phases::learn_phase;
pub(super) use request::{ResponsesRequest, is_reasoning};

/// The placeholder for a step's text among its reasoning items. With a phase it is `message:PHASE`.
const SAID: &str = "message";
/// The placeholder for the next call of a step among its reasoning items.
const CALLED: &str = "call";

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
