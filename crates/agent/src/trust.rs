//! How far what a request contains may be believed: as far as the least of it.

use avocet_protocol::{
    LoggedCall, LoggedInbound, Origin, Past, Roles, Seen, SeenCall, Step, Trust, TurnRecord,
};

use crate::history::result_text;
use crate::images;

/// The least trust of what the next request of a turn contains: what was condensed, the turns of the
/// past, the messages of this one and what its closed steps have read, as far as no owner has said that
/// it may be believed.
pub(crate) fn of_request(past: &Past, turn: &TurnRecord, roles: &dyn Roles) -> Trust {
    let turns = past.turns.iter().map(|turn| of_turn(past, turn, roles));
    turns.chain([past.condensed.trust, of_turn(past, turn, roles)]).min().unwrap_or_default()
}

/// The least trust of a turn, of one that goes on as far as its steps are closed.
pub(crate) fn of_turn(past: &Past, turn: &TurnRecord, roles: &dyn Roles) -> Trust {
    let asked = match &turn.origin {
        _ if is_believed(past, turn, None) => Trust::Full,
        Origin::Messages(messages) => {
            let told = turn.undelivered.messages.iter().map(|lost| lost.trust);
            told.fold(of_messages(messages, roles), Trust::min)
        }
        Origin::Child { trust, .. } => *trust,
    };
    let read = turn.steps.iter().map(|step| {
        let request = of_step(past, turn, step);
        // What an open step reads is in no request yet.
        if !step.closed || is_believed(past, turn, Some(step.number)) {
            return request;
        }
        let results = step.calls.iter().filter_map(|call| Some(call.result()?.trust));
        results.chain([of_messages(&step.steered, roles)]).fold(request, Trust::min)
    });
    read.fold(asked, Trust::min)
}

/// Whether an owner has said that what was read up to a step may be believed; `None` for the messages.
fn is_believed(past: &Past, turn: &TurnRecord, step: Option<u32>) -> bool {
    Some((turn.id, step)) <= past.believed_to
}

/// The least trust of the request of a step. What was in it was read by the step before.
fn of_step(past: &Past, turn: &TurnRecord, step: &Step) -> Trust {
    match is_believed(past, turn, step.number.checked_sub(1)) {
        true => Trust::Full,
        false => step.trust,
    }
}

fn of_messages(messages: &[LoggedInbound], roles: &dyn Roles) -> Trust {
    messages.iter().map(|message| of_message(message, roles)).min().unwrap_or_default()
}

/// Somebody's words may be believed as far as they can ask for something; words of others that are
/// passed on, not at all, nor what is to be seen in a picture.
fn of_message(message: &LoggedInbound, roles: &dyn Roles) -> Trust {
    let inbound = &message.message.inbound;
    let content = &inbound.content;
    match content.has_foreign_words() || !images::of(content).is_empty() {
        true => Trust::Low,
        false => roles.role(inbound).into(),
    }
}

/// What was read and done in the conversation. `asked_by` are the messages of the turn at the root, if this
/// one is a child. Trusted results are left out: they repeat what the model told the tool.
pub(crate) fn seen(past: &Past, turn: &TurnRecord, asked_by: &[LoggedInbound]) -> Seen {
    let turns = || past.turns.iter().chain([turn]);
    let steps = || turns().flat_map(|turn| turn.steps.iter().map(move |step| (turn, step)));
    let steered = steps().flat_map(|(_, step)| &step.steered);
    let asked = turns().flat_map(|turn| turn.origin.messages());
    let messages: Vec<&LoggedInbound> = asked_by.iter().chain(asked).chain(steered).collect();
    let results = steps().flat_map(|(_, step)| &step.calls).filter_map(|call| {
        let result = call.result().filter(|result| result.ok && result.trust == Trust::Low)?;
        Some(result_text(result))
    });
    Seen {
        people: messages.iter().filter_map(|message| own_words(message)).collect(),
        texts: messages.iter().map(|message| message.model_text()).chain(results).collect(),
        calls: steps()
            .flat_map(|(turn, step)| {
                let trust = of_step(past, turn, step);
                step.calls.iter().map(move |call| seen_call(call, trust))
            })
            .collect(),
    }
}

/// What a person has written in a message, without what it forwards or quotes.
fn own_words(message: &LoggedInbound) -> Option<String> {
    let inbound = &message.message.inbound;
    let is_own = !inbound.sender.is_bot && inbound.content.forwarded_from.is_none();
    is_own.then(|| inbound.content.text.clone())
}

fn seen_call(logged: &LoggedCall, trust: Trust) -> SeenCall {
    SeenCall {
        id: logged.id,
        call: logged.call.clone(),
        trust,
        is_allowed: logged.allowed.is_some(),
        result: logged.result().filter(|result| result.ok).cloned(),
    }
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
