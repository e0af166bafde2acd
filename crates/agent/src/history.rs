//! From the log to the conversation that a model reads.

use avocet_protocol::{
    CallResult, LoggedCall, LoggedInbound, Message, Origin, SentCall, Step, TurnRecord,
};
use serde_json::Value;

use crate::images;

/// The conversation so far: instructions, earlier turns, this turn. Contains nothing that changes
/// between two requests of a session, so that its beginning stays the same to the byte.
pub(crate) fn conversation(system: &str, past: &[TurnRecord], turn: &TurnRecord) -> Vec<Message> {
    let mut messages = vec![Message::System { text: system.to_owned() }];
    for turn in past.iter().chain([turn]) {
        add_turn(&mut messages, turn);
    }
    messages
}

fn add_turn(messages: &mut Vec<Message>, turn: &TurnRecord) {
    match &turn.origin {
        Origin::Messages(inbound) => add_inbound(messages, inbound),
        Origin::Child { prompt, .. } => messages.push(Message::user(prompt)),
    }
    for step in &turn.steps {
        add_step(messages, step);
    }
    if let Some(notice) = &turn.notice {
        messages.push(Message::assistant(format!("[{notice}]"), Vec::new()));
    }
}

fn add_inbound(messages: &mut Vec<Message>, inbound: &[LoggedInbound]) {
    messages.extend(inbound.iter().map(|one| Message::User {
        text: one.model_text(),
        images: images::of(&one.message.inbound.content),
    }));
}

fn add_step(messages: &mut Vec<Message>, step: &Step) {
    let calls = step.calls.iter().map(sent).collect();
    let (text, reasoning) = (step.text.clone(), step.reasoning.clone());
    messages.push(Message::Assistant { text, calls, reasoning });
    for call in &step.calls {
        if let Some(result) = call.result() {
            let (ok, result) = (result.ok, result_text(result));
            messages.push(Message::ToolResult { call: call.id.to_string(), ok, result });
        }
    }
    add_inbound(messages, &step.steered);
}

fn sent(call: &LoggedCall) -> SentCall {
    SentCall {
        id: call.id.to_string(),
        name: call.call.name.clone(),
        arguments: call.call.arguments.to_object(),
    }
}

/// A text as it is, everything else as JSON.
fn result_text(result: &CallResult) -> String {
    match &result.value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
