//! Withholds an answer that could leak information after the model has read untrusted content. The
//! answer becomes a call that a person has to approve, and is sent after the approval.

use avocet_protocol::model::{Arguments, ToolCall};
use avocet_protocol::turn::{CallResult, LoggedCall, Step, TurnRecord};
use serde_json::Map;

/// The name of that call, which no tool has. If a model writes such a call itself, it is treated as
/// an answer.
pub(crate) const WITHHELD_CALL: &str = "say_held_answer";

pub(crate) fn withheld_call(text: String) -> ToolCall {
    let arguments = Map::from_iter([("text".to_owned(), text.into())]);
    ToolCall { name: WITHHELD_CALL.to_owned(), arguments: Arguments::Object(arguments) }
}

/// Returns the answer that such a call withholds.
pub(crate) fn withheld_text(call: &ToolCall) -> Option<String> {
    let text = call.arguments.to_object().get("text")?.as_str()?.to_owned();
    (call.name == WITHHELD_CALL).then_some(text)
}

/// Returns the answer that the last step withheld, if it is approved and no message has arrived
/// since.
pub(crate) fn released_answer(turn: &TurnRecord) -> Option<String> {
    let step = turn.steps.last().filter(|step| step.closed && step.steered.is_empty())?;
    allowed_texts(step).next()?;
    Some(join_texts(&turn.steps, None))
}

/// Returns an answer, preceded by withheld answers that were approved but had to wait until a later
/// message was answered too.
pub(crate) fn with_allowed(turn: &TurnRecord, text: String) -> String {
    join_texts(&turn.steps, Some(text))
}

/// Returns an answer, preceded by replies that were written as calls and denied: their text is an
/// answer, too. Replies before a withheld answer are part of that answer already.
pub(crate) fn with_denied(turn: &TurnRecord, text: String) -> String {
    let mut denied: Vec<&str> = Vec::new();
    for step in &turn.steps {
        if step.calls.iter().any(|call| call.call.name == WITHHELD_CALL) {
            denied.clear();
        }
        let is_denied = |call: &LoggedCall| call.result().is_some_and(CallResult::is_denied);
        denied.extend(step.written.as_deref().filter(|_| step.calls.iter().all(is_denied)));
    }
    let denied = denied.into_iter().map(str::trim_end).map(str::to_owned);
    denied.chain([text]).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn join_texts(steps: &[Step], last: Option<String>) -> String {
    let allowed = steps.iter().flat_map(allowed_texts);
    allowed.chain(last).collect::<Vec<_>>().join("\n\n")
}

fn allowed_texts(step: &Step) -> impl Iterator<Item = String> {
    let allowed = step.calls.iter().filter(|call| call.result().is_some_and(|result| result.ok));
    allowed.filter_map(|call| withheld_text(&call.call))
}

#[cfg(test)]
#[path = "withheld_tests.rs"]
mod tests;
