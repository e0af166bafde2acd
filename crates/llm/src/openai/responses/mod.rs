//! OpenAI's Responses (OpenAI API reference, "Responses"): nothing is kept by the provider, and what a
//! model thought before its calls comes back sealed.

mod answer;
mod event;
mod request;
pub(crate) mod thoughts;

pub(crate) use answer::PartialAnswer;
pub(super) use request::Body;

/// What stands for the text of a step among its thoughts.
const SAID: &str = "message";
/// What stands for the next call of a step among its thoughts.
const CALLED: &str = "call";

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
