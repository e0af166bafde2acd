//! An answer that would carry something away, where the model has read what is not to be believed: it is
//! held back as a call that a person has to allow, and said once it is.

use avocet_protocol::{Arguments, ToolCall, TurnRecord};
use serde_json::{Value, json};

use crate::AgentLoop;
use crate::calls::Set;

/// The name of that call. No tool has it, and a model that writes it gets what it would get for an answer.
pub(crate) const HELD: &str = "say_held_answer";

pub(crate) fn call(text: String) -> ToolCall {
    let Value::Object(arguments) = json!({ "text": text }) else { unreachable!("an object") };
    ToolCall { name: HELD.to_owned(), arguments: Arguments::Object(arguments) }
}

/// The answer that such a call holds back.
pub(crate) fn text(call: &ToolCall) -> Option<String> {
    let text = call.arguments.to_object().get("text")?.as_str()?.to_owned();
    (call.name == HELD).then_some(text)
}

/// The answer that the last step held back, if it may be said now.
pub(crate) fn released(turn: &TurnRecord) -> Option<String> {
    let step = turn.steps.last().filter(|step| step.closed)?;
    let [held] = &step.calls[..] else { return None };
    held.result().filter(|result| result.ok)?;
    text(&held.call)
}

impl AgentLoop {
    /// Whether an answer is held back until a person allows it.
    pub(crate) fn is_held(&self, turn: &TurnRecord, text: &str, set: &Set<'_>) -> bool {
        let id = avocet_protocol::CallId { turn: turn.id, step: 0, ordinal: 0 };
        self.toolbox.hold(text, &self.context(turn, id, set)).is_some()
    }
}
