//! OpenAI's Responses API (OpenAI API reference, "Responses"). The provider stores nothing; it
//! returns the reasoning before calls in encrypted form.

mod answer;
mod phases;
mod placeholders;
mod request;
pub(crate) mod thoughts;

pub(crate) use answer::ResponsesAnswer;
pub(super) use phases::learn_phase;
pub(super) use request::ResponsesRequest;

use placeholders::{CALLED, SAID};

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
