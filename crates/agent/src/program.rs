//! The request of a program that asks for one answer: its instructions, the conversation that it
//! keeps itself, and the tools that it runs itself.
//!
//! All of it is part of the message in the log, so a turn shows it again after a crash. A call of a
//! tool of the program gets a result at once, and ends the turn. The program runs the call, and
//! sends the real result with its next message. So every call in the log has its result.

use avocet_protocol::bus::{
    END_OF_INSTRUCTIONS, ProgramCall, ProgramMessage, ProgramRequest, ProgramTool, SENT_TO_PROGRAM,
};
use avocet_protocol::chat::LoggedInbound;
use avocet_protocol::model::{Message, SentCall, ToolCall};
use avocet_protocol::tool::ToolSpec;
use avocet_protocol::turn::{CallResult, LoggedCall, ResultKind, TurnRecord};

use crate::marks::Marks;

/// The group of the program's tools.
const GROUP: &str = "program";
const INSTRUCTIONS: &str = "[Instructions of the program that asks:]";
const ANSWER_IN_JSON: &str = "Write the answer to the last message as one JSON value without other \
    text and without a code fence. It has to be valid by this JSON Schema:";
const BEGINS_WITH_ANSWER: &str = "[The conversation begins with an answer of yours.]";

/// Returns the request behind a turn: that of its last message.
pub(crate) fn request_of(turn: &TurnRecord) -> Option<&ProgramRequest> {
    let steered = turn.steps.iter().flat_map(|step| &step.steered);
    let last = turn.origin.messages().iter().chain(steered).last()?;
    last.message.inbound.content.program.as_deref()
}

/// Adds the messages of a program that come before its own message.
pub(crate) fn add_messages(messages: &mut Vec<Message>, inbound: &LoggedInbound, marks: Marks) {
    let Some(program) = inbound.message.inbound.content.program.as_deref() else { return };
    let mut lead: Vec<String> = Vec::new();
    if let Some(instructions) = &program.instructions {
        lead.push(format!("{INSTRUCTIONS}\n{instructions}"));
    }
    if let Some(schema) = &program.answer_schema {
        lead.push(format!("[{ANSWER_IN_JSON} {schema}]"));
    }
    if !lead.is_empty() {
        lead.push(END_OF_INSTRUCTIONS.to_owned());
        messages.push(Message::user(lead.join("\n")));
    } else if matches!(program.earlier.first(), Some(ProgramMessage::Assistant { .. })) {
        messages.push(Message::user(BEGINS_WITH_ANSWER));
    }
    let mut called: Vec<&ProgramCall> = Vec::new();
    for message in &program.earlier {
        messages.push(match message {
            ProgramMessage::User { text } => Message::user(text),
            ProgramMessage::Assistant { text, calls } => {
                called.extend(calls);
                let calls = calls.iter().map(sent_call).collect();
                Message::assistant(text.clone(), calls)
            }
            ProgramMessage::Result { call, text } => {
                let known = called.iter().find(|known| known.id == *call);
                let from = known.map_or("a call", |known| known.name.as_str());
                let place = format!("{} {call}", inbound.id);
                let result = marks.mark_foreign(&place, from, text);
                match known {
                    Some(_) => Message::ToolResult { call: call.clone(), ok: true, result },
                    None => Message::user(format!("[The result of the call {call}:]\n{result}")),
                }
            }
        });
    }
}

fn sent_call(call: &ProgramCall) -> SentCall {
    let ProgramCall { id, name, arguments } = call;
    SentCall { id: id.clone(), name: name.clone(), arguments: arguments.clone() }
}

/// Returns the tools of the program as the model is shown them.
pub(crate) fn tool_specs(tools: &[ProgramTool]) -> Vec<ToolSpec> {
    let spec = |tool: &ProgramTool| {
        let ProgramTool { name, description, parameters } = tool;
        let mut parameters = parameters.clone();
        // Only our own keys may have an effect.
        if let Some(object) = parameters.as_object_mut() {
            object.retain(|key, _| !key.starts_with("x-"));
        }
        ToolSpec {
            name: name.clone(),
            aliases: Vec::new(),
            group: GROUP.to_owned(),
            description: description.clone(),
            parameters,
        }
    };
    tools.iter().map(spec).collect()
}

/// Returns the first result of a call that the program runs; `None` for other calls.
pub(crate) fn call_result(turn: &TurnRecord, call: &ToolCall) -> Option<CallResult> {
    let is_own = request_of(turn)?.has_tool(&call.name);
    is_own.then(|| CallResult::ok(SENT_TO_PROGRAM.into()).with_kind(ResultKind::SentToProgram))
}

/// Returns the text of the last step, if it ends the turn with calls that the program runs. A
/// message that has arrived meanwhile is answered first.
pub(crate) fn text_before_calls(turn: &TurnRecord) -> Option<String> {
    let step = turn.steps.last().filter(|step| step.closed && step.steered.is_empty())?;
    let mut results = step.calls.iter().filter_map(LoggedCall::result);
    let is_sent = results.any(|result| result.kind == ResultKind::SentToProgram);
    is_sent.then(|| step.text.trim().to_owned())
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
