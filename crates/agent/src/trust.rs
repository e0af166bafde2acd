//! How far what a request contains may be believed: as far as the least of it.

use avocet_protocol::{LoggedInbound, Origin, Past, Roles, Seen, Trust, TurnRecord};

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
    let is_believed = |step: Option<u32>| Some((turn.id, step)) <= past.believed_to;
    let asked = match &turn.origin {
        _ if is_believed(None) => Trust::Full,
        Origin::Messages(messages) => of_messages(messages, roles),
        Origin::Child { trust, .. } => *trust,
    };
    let read = turn.steps.iter().map(|step| {
        // What was in the request of a step was read by the one before it.
        let request = match is_believed(step.number.checked_sub(1)) {
            true => Trust::Full,
            false => step.trust,
        };
        // What an open step reads is in no request yet.
        if !step.closed || is_believed(Some(step.number)) {
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

/// What others than the model have written of all that it has read: people's messages, and what tools have
/// found that anybody may have written. What tools say themselves repeats what they were told.
pub(crate) fn seen(past: &Past, turn: &TurnRecord) -> Seen {
    let turns = || past.turns.iter().chain([turn]);
    let said = turns().flat_map(|turn| {
        let steered = turn.steps.iter().flat_map(|step| &step.steered);
        turn.origin.messages().iter().chain(steered).map(LoggedInbound::model_text)
    });
    let calls = turns().flat_map(|turn| &turn.steps).flat_map(|step| &step.calls);
    let found = calls.filter_map(|call| {
        let result = call.result().filter(|result| result.ok && result.trust == Trust::Low)?;
        Some(result_text(result))
    });
    said.chain(found).collect()
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
