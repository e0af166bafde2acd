//! The phase of a message: `commentary` before calls, `final_answer` at the end of a turn (OpenAI API
//! reference, "Create a model response", `phase`). Models that send it need it back with every
//! earlier message: without it they end their turns early.
//!
//! - The phase of a step is kept in its placeholder: see [`keep_phase`].
//! - Final answers are stored without state, and so are the steps of old turns. Their phase follows
//!   from their place: a message before calls is a comment, a message without calls ended its turn.
//! - It goes only to a model that has sent a phase, in the request's history or since the start of
//!   the program. Others refuse the unknown field.

use avocet_protocol::model::{Message, ModelReply, ModelRequest};
use serde_json::Value;

use super::SAID;

const COMMENTARY: &str = "commentary";
const FINAL_ANSWER: &str = "final_answer";
/// Maximum length of a phase, in bytes. A longer one is none.
const MAX_PHASE: usize = 32;

/// Returns the placeholder for a text of this phase.
pub(super) fn keep_phase(phase: Option<&str>) -> Value {
    match phase {
        Some(phase) => format!("{SAID}:{phase}").into(),
        None => SAID.into(),
    }
}

/// Reads the phase that a server sent.
pub(super) fn read_phase(sent: Option<&str>) -> Option<&str> {
    sent.filter(|phase| (1..=MAX_PHASE).contains(&phase.len()))
}

/// Returns the phase of a placeholder: `None` if the part of the state is no text, `Some(None)` for
/// a text without a phase.
pub(super) fn phase_of_part(part: &Value) -> Option<Option<&str>> {
    let rest = part.as_str()?.strip_prefix(SAID)?;
    if rest.is_empty() { Some(None) } else { rest.strip_prefix(':').map(Some) }
}

/// Returns the first phase in the state of an answer.
pub(super) fn phase_of_state(content: &Value) -> Option<&str> {
    content.as_array()?.iter().find_map(|part| phase_of_part(part).flatten())
}

/// Returns the phase of a message whose state lacks one.
pub(super) fn phase_of_place(has_calls: bool) -> &'static str {
    if has_calls { COMMENTARY } else { FINAL_ANSWER }
}

/// Returns `true` if the server sent a phase with this answer. A phase is state of an answer with
/// calls only: that of a final answer follows from its place.
pub(in crate::openai) fn learn_phase(reply: &mut ModelReply) -> bool {
    let Some(own) = &reply.reasoning else { return false };
    let has_phase = phase_of_state(&own.content).is_some();
    let has_thought =
        own.content.as_array().is_some_and(|parts| parts.iter().any(Value::is_object));
    if reply.calls.is_empty() && !has_thought {
        reply.reasoning = None;
    }
    has_phase
}

/// Returns `true` if the history has a phase of this model. `name` is `provider/model`.
pub(super) fn has_earlier_phase(request: &ModelRequest, name: &str) -> bool {
    request.messages.iter().any(|message| match message {
        Message::Assistant { reasoning: Some(own), .. } if own.model == name => {
            phase_of_state(&own.content).is_some()
        }
        _ => false,
    })
}

#[cfg(test)]
#[path = "phases_tests.rs"]
mod tests;
