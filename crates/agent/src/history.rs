//! From the log to the conversation that a model reads.

use avocet_protocol::{
    CallResult, ChatKind, LoggedCall, LoggedInbound, Message, Origin, Past, SentCall, Step,
    TurnRecord,
};
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::images;
use crate::note::note;
use crate::shorten::{Keep, OLD, OLD_STEP, shortened};

/// What stands before the first message where turns are left out.
const LEFT_OUT: &str = "[The earlier part of this conversation is left out.]";

/// Characters of a name that are shown.
const NAME: usize = 64;

/// How the turn that goes on is made to fit where it alone is too long: its messages stay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Trim {
    /// So many steps are left out.
    pub(crate) left_out: usize,
    /// The steps before this one are as short as old ones.
    pub(crate) shortened: usize,
    /// And how long the results of the others may be.
    pub(crate) others: Option<Keep>,
}

/// The conversation so far: instructions, what was condensed, earlier turns, this turn. Everything is
/// made of what is in the log and is made alike every time, so that the beginning of two requests of a
/// session stays the same to the byte.
pub(crate) fn conversation(
    instructions: &str,
    past: &Past,
    turn: &TurnRecord,
    zone: &TimeZone,
    trim: Trim,
) -> Vec<Message> {
    let mut messages = vec![Message::System { text: instructions.to_owned() }];
    messages.extend(beginning(past).map(Message::user));
    messages.extend(past.turns.iter().flat_map(|turn| past_turn(past, turn, zone)));
    add_origin(&mut messages, turn, zone);
    messages.extend(left_out(&turn.steps[..trim.left_out.min(turn.steps.len())]));
    for (place, step) in turn.steps.iter().enumerate() {
        if place < trim.left_out {
            add_inbound(&mut messages, &step.steered);
            continue;
        }
        let keep = if place < trim.shortened { Some(OLD_STEP) } else { trim.others };
        add_step(&mut messages, step, keep);
    }
    messages
}

/// What stands for the turns that are not shown.
pub(crate) fn beginning(past: &Past) -> Option<String> {
    match &past.condensed.summary {
        Some(summary) => {
            let gap = if past.has_gap { format!("\n\n{LEFT_OUT}") } else { String::new() };
            Some(format!("[What was said before, in short:]\n\n{summary}{gap}"))
        }
        None if past.has_gap || past.condensed.summary_to.is_some() => Some(LEFT_OUT.to_owned()),
        None => None,
    }
}

/// The messages of a turn that has ended.
pub(crate) fn past_turn(past: &Past, turn: &TurnRecord, zone: &TimeZone) -> Vec<Message> {
    let keep = (Some(turn.id) <= past.condensed.shortened_to).then_some(OLD);
    let mut messages = Vec::new();
    add_origin(&mut messages, turn, zone);
    turn.steps.iter().for_each(|step| add_step(&mut messages, step, keep));
    if let Some(notice) = &turn.notice {
        messages.push(Message::assistant(format!("[{notice}]"), Vec::new()));
    }
    messages
}

fn add_origin(messages: &mut Vec<Message>, turn: &TurnRecord, zone: &TimeZone) {
    match &turn.origin {
        Origin::Messages(inbound) => add_inbound(messages, inbound),
        Origin::Child { prompt, .. } => messages.push(Message::user(prompt)),
    }
    messages.push(Message::user(note(turn, zone)));
}

/// What stands for steps of the turn that goes on.
fn left_out(steps: &[Step]) -> Option<Message> {
    let mut called: Vec<&str> =
        steps.iter().flat_map(|step| &step.calls).map(|call| call.call.name.as_str()).collect();
    called.sort_unstable();
    called.dedup();
    let (count, called) = (steps.len(), called.join(", "));
    let text =
        format!("[{count} earlier steps of this answer are left out; they called {called}.]");
    (count > 0).then(|| Message::user(text))
}

fn add_inbound(messages: &mut Vec<Message>, inbound: &[LoggedInbound]) {
    messages.extend(inbound.iter().map(|one| Message::User {
        text: said(one),
        images: images::of(&one.message.inbound.content),
    }));
}

/// Where several people speak, a message says who wrote it.
fn said(message: &LoggedInbound) -> String {
    let (text, inbound) = (message.model_text(), &message.message.inbound);
    match (&inbound.sender.name, inbound.chat) {
        (Some(name), ChatKind::Group) => format!("[{}]: {text}", shown_name(name)),
        _ => text,
    }
}

/// A name as its owner has chosen it, which is no place for other words.
pub(crate) fn shown_name(name: &str) -> String {
    let in_line = |c: char| if c.is_control() || "[]:".contains(c) { ' ' } else { c };
    name.chars().take(NAME).map(in_line).collect::<String>().trim().to_owned()
}

fn add_step(messages: &mut Vec<Message>, step: &Step, keep: Option<Keep>) {
    let calls = step.calls.iter().map(sent).collect();
    let (text, reasoning) = (step.text.clone(), step.reasoning.clone());
    let mut said = vec![Message::Assistant { text, calls, reasoning }];
    for call in &step.calls {
        if let Some(result) = call.result() {
            let (ok, result) = (result.ok, result_text(result));
            said.push(Message::ToolResult { call: call.id.to_string(), ok, result });
        }
    }
    match keep {
        None => messages.append(&mut said),
        Some(keep) => messages.extend(said.into_iter().map(|message| shortened(message, keep))),
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
