//! Withholds an answer until a person has decided: if it could leak information after the model has read
//! untrusted content, or if the changes of files have to be reviewed first. The answer becomes a call
//! that a person has to approve, and is sent after the approval.

use avocet_protocol::model::{Arguments, ToolCall};
use avocet_protocol::turn::{CallResult, LoggedCall, Step, TurnRecord};
use serde_json::Map;

/// The name of that call, which no tool has. If a model writes such a call itself, it is treated as
/// an answer.
pub(crate) const WITHHELD_CALL: &str = "say_held_answer";

/// The name of the call that withholds an answer until the changes of files are reviewed.
pub(crate) const REVIEW_CALL: &str = "review_changes";

/// The call that waits for the review of changes. Its arguments tell the model what a decision does.
pub(crate) fn review_call(text: String) -> ToolCall {
    let arguments = [
        ("text", text),
        ("if_denied", "the changes of files are undone, every file is as it was".to_owned()),
        ("if_expired", "the changes of files stay".to_owned()),
    ];
    let arguments = arguments.map(|(name, value)| (name.to_owned(), value.into()));
    let arguments = Arguments::Object(Map::from_iter(arguments));
    ToolCall { name: REVIEW_CALL.to_owned(), arguments }
}

/// Returns the answer that a review of changes withholds.
pub(crate) fn reviewed_text(call: &ToolCall) -> Option<String> {
    text_of_call(call, REVIEW_CALL)
}

/// Returns the result of the review that ended last, if a person did not approve the changes.
pub(crate) fn unapproved_review(turn: &TurnRecord) -> Option<&CallResult> {
    let calls = &turn.steps.last()?.calls;
    let review = calls.iter().find(|call| call.call.name == REVIEW_CALL)?;
    review.result().filter(|result| !result.ok)
}

pub(crate) fn withheld_call(text: String) -> ToolCall {
    let arguments = Map::from_iter([("text".to_owned(), text.into())]);
    ToolCall { name: WITHHELD_CALL.to_owned(), arguments: Arguments::Object(arguments) }
}

/// Returns the answer that such a call withholds.
pub(crate) fn withheld_text(call: &ToolCall) -> Option<String> {
    text_of_call(call, WITHHELD_CALL)
}

fn text_of_call(call: &ToolCall, name: &str) -> Option<String> {
    if call.name != name {
        return None;
    }
    Some(call.arguments.to_object().get("text")?.as_str()?.to_owned())
}

/// Returns the answer that the last step withheld, if it is approved and no message has arrived
/// since.
pub(crate) fn released_answer(turn: &TurnRecord) -> Option<String> {
    let step = turn.steps.last().filter(|step| step.closed && step.steered.is_empty())?;
    allowed_texts(step).next()?;
    // A review after a failure has no answer.
    Some(join_texts(&turn.steps, None)).filter(|text| !text.is_empty())
}

/// Returns `true` for a call of the program that withholds an answer, for either reason.
pub(crate) fn is_withheld(call: &ToolCall) -> bool {
    [WITHHELD_CALL, REVIEW_CALL].contains(&call.name.as_str())
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
        if step.calls.iter().any(|call| is_withheld(&call.call)) {
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
    let parts = allowed.chain(last).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n\n")
}

fn allowed_texts(step: &Step) -> impl Iterator<Item = String> {
    let allowed = step.calls.iter().filter(|call| call.result().is_some_and(|result| result.ok));
    allowed.filter_map(|call| withheld_text(&call.call).or_else(|| reviewed_text(&call.call)))
}

#[cfg(test)]
#[path = "withheld_tests.rs"]
mod tests;
