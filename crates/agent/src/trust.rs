//! How far what a request contains may be believed: as far as the least of it.

use crate::images;
use avocet_protocol::{LoggedInbound, Message, Origin, Past, Roles, Seen, Trust, TurnRecord};

/// The least trust of what the next request of a turn contains: what was condensed, the turns of the
/// past, the messages of this one and what its closed steps have read, as far as no owner has said that
/// it may be believed.
pub(crate) fn of_request(past: &Past, turn: &TurnRecord, roles: &dyn Roles) -> Trust {
    let turns = past.turns.iter().map(|turn| of_turn(past, turn, roles));
    turns.chain([past.condensed.trust, of_turn(past, turn, roles)]).min().unwrap_or_default()
}

/// The least trust of a turn, of one that goes on as far as its steps are closed.
pub(crate) fn of_turn(past: &Past, turn: &TurnRecord, roles: &dyn Roles) -> Trust {
    let is_believed = |step: Option<u32>| Some((turn.id, step)) <= past.believed_to;
    let asked = match &turn.origin {
        _ if is_believed(None) => Trust::Full,
        Origin::Messages(messages) => of_messages(messages, roles),
        Origin::Child { trust, .. } => *trust,
    };
    let read = turn.steps.iter().filter(|step| step.closed).map(|step| {
        // What was in the request of a step was read by the one before it.
        let request = match is_believed(step.number.checked_sub(1)) {
            true => Trust::Full,
            false => step.trust,
        };
        if is_believed(Some(step.number)) {
            return request;
        }
        let results = step.calls.iter().filter_map(|call| Some(call.result()?.trust));
        results.chain([of_messages(&step.steered, roles)]).fold(request, Trust::min)
    });
    read.fold(asked, Trust::min)
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

/// What the model has before it that it has not written itself.
pub(crate) fn seen(messages: Vec<Message>) -> Seen {
    let texts = messages.into_iter().filter_map(|message| match message {
        Message::System { text } | Message::User { text, .. } => Some(text),
        Message::ToolResult { result, .. } => Some(result),
        Message::Assistant { .. } => None,
    });
    texts.collect()
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
