//! Jobs go on until their model says that the task is complete, or answers without a call twice in
//! a row.

use avocet_protocol::chat::SessionId;
use avocet_protocol::model::{Arguments, ModelReply, ToolCall};
use avocet_protocol::turn::{CallResult, TurnRecord};
use serde_json::{Map, json};

/// The line with which a model ends a job.
pub(crate) const COMPLETE: &str = "TASK COMPLETE";

/// The name of the call that the log has for an answer without calls. No tool has this name.
pub(crate) const GO_ON_CALL: &str = "go_on_with_job";

/// Tells the model how a job ends. Part of the note of the job's turns.
pub(crate) const ABOUT_JOBS: &str = "This is a job: work until it is done, without questions that \
    you can answer yourself. Then answer with a summary whose last line is TASK COMPLETE.";

/// The result of a [`GO_ON_CALL`].
const GO_ON: &str = "You made no tool call. If the task is complete, answer with the summary again \
    and the last line TASK COMPLETE. Otherwise go on with the next tool call.";

/// Returns `true` if the session belongs to a job.
pub(crate) fn is_job(session: &SessionId) -> bool {
    session.is_named_as_job()
}

/// Returns `true` if a job goes on although its model has answered without a call.
pub(crate) fn goes_on(turn: &TurnRecord, reply: &ModelReply) -> bool {
    let is_done = reply.is_done || says_complete(&reply.text);
    is_job(&turn.session) && !is_done && !has_just_gone_on(turn)
}

/// Returns the call that the log has for an answer without calls.
pub(crate) fn go_on_call() -> ToolCall {
    ToolCall { name: GO_ON_CALL.to_owned(), arguments: Arguments::Object(Map::new()) }
}

/// Returns the result of a [`GO_ON_CALL`]; `None` for the call of a tool.
pub(crate) fn go_on_result(call: &ToolCall) -> Option<CallResult> {
    (call.name == GO_ON_CALL).then(|| CallResult::ok(json!(GO_ON)))
}

/// Returns a text without the line that ends a job.
pub(crate) fn without_mark(text: &str) -> String {
    let kept: Vec<&str> = text.lines().filter(|line| !is_mark(line)).collect();
    kept.join("\n").trim_end().to_owned()
}

fn says_complete(text: &str) -> bool {
    text.lines().any(is_mark)
}

/// Returns `true` for the mark in any Markdown emphasis.
fn is_mark(line: &str) -> bool {
    let bare = line.trim_matches(|c: char| c.is_whitespace() || "*_`#.!".contains(c));
    bare.eq_ignore_ascii_case(COMPLETE)
}

fn has_just_gone_on(turn: &TurnRecord) -> bool {
    let last = turn.steps.last();
    last.is_some_and(|step| step.calls.iter().any(|call| call.call.name == GO_ON_CALL))
}

#[cfg(test)]
#[path = "job_tests.rs"]
mod tests;
