//! Computes the trust level of a request: the lowest of all its parts.

use std::cell::Cell;
use std::sync::Arc;

use avocet_protocol::{
    Inbound, LoggedCall, LoggedInbound, Origin, Past, Role, Roles, Seen, SeenCall, Step, Trust,
    TurnRecord,
};

use crate::history::result_text;
use crate::images;

/// Returns the lowest trust of the next request of a turn: of the summary, the past turns, the
/// messages of this turn, and the results of its closed steps. Content that an owner has declared
/// trusted does not lower it.
pub(crate) fn of_request(past: &Past, turn: &TurnRecord, roles: &dyn Roles) -> Trust {
    let roles = KnownRoles::new(roles);
    let turns = past.turns.iter().map(Arc::as_ref).chain([turn]);
    let turns = turns.map(|turn| of_one_turn(past, turn, &roles));
    turns.chain([past.compacted.trust]).min().unwrap_or_default()
}

/// Returns the lowest trust of a turn. Of a running turn, only the closed steps count.
pub(crate) fn of_turn(past: &Past, turn: &TurnRecord, roles: &dyn Roles) -> Trust {
    of_one_turn(past, turn, &KnownRoles::new(roles))
}

/// The roles of senders. Most messages of a conversation have the sender of the message before them,
/// whose role is kept.
struct KnownRoles<'r> {
    roles: &'r dyn Roles,
    last: Cell<Option<(&'r Inbound, Role)>>,
}

impl<'r> KnownRoles<'r> {
    fn new(roles: &'r dyn Roles) -> Self {
        Self { roles, last: Cell::new(None) }
    }

    fn role(&self, inbound: &'r Inbound) -> Role {
        let is_same = |last: &Inbound| {
            (&last.address, &last.sender.id, last.chat)
                == (&inbound.address, &inbound.sender.id, inbound.chat)
        };
        let known = self.last.get().filter(|(last, _)| is_same(last)).map(|(_, role)| role);
        let role = known.unwrap_or_else(|| self.roles.role(inbound));
        self.last.set(Some((inbound, role)));
        role
    }
}

fn of_one_turn<'r>(past: &Past, turn: &'r TurnRecord, roles: &KnownRoles<'r>) -> Trust {
    let recalled = turn.recalled.iter().map(|memory| memory.trust);
    let asked = match &turn.origin {
        _ if is_trusted(past, turn, None) => Trust::Full,
        Origin::Messages(messages) => {
            let lost = turn.undelivered.messages.iter().map(|lost| lost.trust);
            let reports = turn.reports.texts.iter().map(|report| report.trust);
            lost.chain(reports).chain(recalled).fold(of_messages(messages, roles), Trust::min)
        }
        Origin::Child { trust, .. } => recalled.fold(*trust, Trust::min),
    };
    let read = turn.steps.iter().map(|step| {
        let request = of_step(past, turn, step);
        // The results of an open step are in no request yet.
        if !step.closed || is_trusted(past, turn, Some(step.number)) {
            return request;
        }
        let results = step.calls.iter().filter_map(|call| Some(call.result()?.trust));
        results.chain([of_messages(&step.steered, roles)]).fold(request, Trust::min)
    });
    read.fold(asked, Trust::min)
}

/// Returns `true` if an owner has declared the content up to a step trusted; `None` means the
/// messages.
fn is_trusted(past: &Past, turn: &TurnRecord, step: Option<u32>) -> bool {
    Some((turn.id, step)) <= past.trusted_to
}

/// Returns the lowest trust of a step's request, whose content was read by the step before.
fn of_step(past: &Past, turn: &TurnRecord, step: &Step) -> Trust {
    if is_trusted(past, turn, step.number.checked_sub(1)) { Trust::Full } else { step.trust }
}

fn of_messages<'r>(messages: &'r [LoggedInbound], roles: &KnownRoles<'r>) -> Trust {
    messages.iter().map(|message| of_message(message, roles)).min().unwrap_or_default()
}

/// Returns the trust of a message: that of its sender's role, up to the limit of the message.
/// Forwarded or quoted text and pictures are untrusted.
fn of_message<'r>(message: &'r LoggedInbound, roles: &KnownRoles<'r>) -> Trust {
    let inbound = &message.message.inbound;
    let content = &inbound.content;
    if content.has_untrusted_parts() || !images::of(content).is_empty() {
        Trust::Low
    } else {
        Trust::from(roles.role(inbound)).min(message.message.trust)
    }
}

/// Returns the text read and the calls made in the conversation. `asked_by` are the messages of the
/// root turn, if this one is a child. Trusted results are left out: they repeat what the model told
/// the tool.
pub(crate) fn seen(past: &Past, turn: &TurnRecord, asked_by: &[LoggedInbound]) -> Seen {
    let turns = || past.turns.iter().map(Arc::as_ref).chain([turn]);
    let steps = || turns().flat_map(|turn| turn.steps.iter().map(move |step| (turn, step)));
    let steered = steps().flat_map(|(_, step)| &step.steered);
    let asked = turns().flat_map(|turn| turn.origin.messages());
    let messages: Vec<&LoggedInbound> = asked_by.iter().chain(asked).chain(steered).collect();
    let results = steps().flat_map(|(_, step)| &step.calls).filter_map(|call| {
        let result = call.result().filter(|result| result.ok && result.trust == Trust::Low)?;
        Some(result_text(result))
    });
    let recalled = turns().flat_map(|turn| &turn.recalled);
    let recalled = recalled.filter(|memory| memory.trust == Trust::Low);
    Seen {
        people: messages.iter().filter_map(|message| own_words(message)).collect(),
        texts: messages
            .iter()
            .map(|message| message.model_text())
            .chain(results)
            .chain(recalled.map(|memory| memory.text.clone()))
            .collect(),
        calls: steps()
            .flat_map(|(turn, step)| {
                let trust = of_step(past, turn, step);
                step.calls.iter().map(move |call| seen_call(call, trust))
            })
            .collect(),
    }
}

/// Returns the text that a person has typed, without forwarded or quoted parts.
fn own_words(message: &LoggedInbound) -> Option<String> {
    let inbound = &message.message.inbound;
    let is_own = !inbound.sender.is_bot
        && inbound.content.forwarded_from.is_none()
        && message.message.trust > Trust::Low;
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
