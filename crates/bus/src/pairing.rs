//! Codes for strangers: who is given one, how often, and what is said about it. No model is asked.

use std::time::Duration;

use avocet_protocol::{
    ChatAddress, Choice, Content, Pairing, PairingCode, PersonId, Role, Timestamp, sanitise,
};

/// How long a code can be approved.
pub(crate) const CODE_LIFETIME: Duration = Duration::from_mins(10);
/// How long it is known what became of a code; no limit below looks further back.
pub(crate) const KEPT: Duration = Duration::from_hours(24);

const HOUR: Duration = Duration::from_hours(1);
/// Hints to one stranger within an hour: two that were overlooked.
const PER_SENDER_AND_HOUR: usize = 3;
/// Hints to one stranger within a day: whoever needs more is not wanted.
const PER_SENDER_AND_DAY: usize = 10;
/// Codes that can be approved at a time: more than any household needs, and few enough to read.
const OPEN: usize = 10;
/// Hints within an hour over all strangers: what the platforms' rates do not notice.
const PER_HOUR: usize = 30;
/// Characters of a stranger's name that owners are shown.
const NAME_LENGTH: usize = 64;

/// Whether a stranger is given a code now. `given` are the codes of the last day.
pub(crate) fn may_offer(given: &[Pairing], to: &PersonId, now: Timestamp) -> bool {
    // A moment in the future is a clock that was set back: as if it were now.
    let within = |one: &Pairing, time: Duration| one.created_at.until(now) < time;
    let count = |to: Option<&PersonId>, time| {
        let theirs = |one: &&Pairing| to.is_none_or(|to| one.person == *to);
        given.iter().filter(theirs).filter(|one| within(one, time)).count()
    };
    let open = given.iter().filter(|one| is_open(one, now)).count();
    count(Some(to), CODE_LIFETIME) == 0
        && count(Some(to), HOUR) < PER_SENDER_AND_HOUR
        && count(Some(to), KEPT) < PER_SENDER_AND_DAY
        && open < OPEN
        && count(None, HOUR) < PER_HOUR
}

/// Whether a code can still be decided about.
pub(crate) fn is_open(pairing: &Pairing, now: Timestamp) -> bool {
    pairing.decision.is_none() && now < pairing.expires_at
}

/// A code for a stranger.
pub(crate) fn new(
    person: PersonId,
    name: Option<&str>,
    chat: ChatAddress,
    now: Timestamp,
) -> Pairing {
    Pairing {
        code: PairingCode::from_bits(uuid::Uuid::new_v4().as_u128()),
        person,
        name: name.map(|name| sanitise(name).text),
        chat,
        created_at: now,
        expires_at: now.after(CODE_LIFETIME),
        decision: None,
    }
}

/// What the stranger is told.
pub(crate) fn hint(code: &PairingCode) -> Content {
    let minutes = CODE_LIFETIME.as_secs() / 60;
    Content::text(format!(
        "I do not know you yet. Ask my owner to run: `avocet pair approve {code}` (within \
         {minutes} minutes)."
    ))
}

/// What owners are told.
pub(crate) fn notice(pairing: &Pairing) -> Content {
    let Pairing { code, person, .. } = pairing;
    let choices = vec![
        Choice::new("Approve", format!("/pair approve {code}")),
        Choice::new("Deny", format!("/pair deny {code}")),
    ];
    let text = format!(
        "{} (`{person}`) wants to speak with me. To let them in, as a user: /pair approve {code}. \
         Otherwise: /pair deny {code}.",
        shown_name(pairing)
    );
    Content { choices, ..Content::text(text) }
}

/// A stranger's name, without anything that a chat would show as more than that.
pub(crate) fn shown_name(pairing: &Pairing) -> String {
    let name = pairing.name.as_deref().unwrap_or_default();
    let plain = name.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    let name: String = plain.filter(|c| *c != '`').take(NAME_LENGTH).collect();
    match name.trim() {
        "" => "Somebody".to_owned(),
        name => format!("`{name}`"),
    }
}

/// What the stranger is told who may speak now.
pub(crate) fn welcome(role: Role) -> Content {
    Content::text(match role {
        Role::User => "You may speak with me now. What can I do for you?",
        Role::Owner => "You may speak with me now, as an owner. What can I do for you?",
    })
}

#[cfg(test)]
#[path = "pairing_tests.rs"]
mod tests;
