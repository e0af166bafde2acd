//! Pairing codes for strangers: limits and texts. Works without a model.

use std::time::Duration;

use avocet_protocol::{
    ChatAddress, Choice, Content, Pairing, PairingCode, PersonId, Role, Timestamp, sanitise,
};

/// Time in which a code can be approved.
pub(crate) const CODE_LIFETIME: Duration = Duration::from_mins(10);
/// Time for which codes are kept; at least as long as each limit below looks back.
pub(crate) const KEPT: Duration = Duration::from_hours(24);

const HOUR: Duration = Duration::from_hours(1);
/// Hints to one stranger per hour: two of them may be overlooked.
const PER_SENDER_AND_HOUR: usize = 3;
/// Hints to one stranger per day; a stranger who needs more is unwanted.
const PER_SENDER_AND_DAY: usize = 10;
/// Open codes at a time: more than a household needs, and few enough to read.
const OPEN: usize = 10;
/// Hints per hour to all strangers, well below the platforms' rate limits.
const PER_HOUR: usize = 30;
/// Characters of a stranger's name that owners see.
const NAME_LENGTH: usize = 64;

/// Returns `true` if a stranger may get a code now. `given` contains the codes of the last day.
pub(crate) fn may_offer(given: &[Pairing], to: &PersonId, now: Timestamp) -> bool {
    // A time in the future means that the clock was set back; it counts as now.
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

/// Returns `true` if a code can still be approved or denied.
pub(crate) fn is_open(pairing: &Pairing, now: Timestamp) -> bool {
    pairing.decision.is_none() && now < pairing.expires_at
}

/// Makes a code for a stranger.
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

/// Returns the text for the stranger.
pub(crate) fn hint(code: &PairingCode) -> Content {
    let minutes = CODE_LIFETIME.as_secs() / 60;
    Content::text(format!(
        "I do not know you yet. Ask my owner to run: `avocet pair approve {code}` (within \
         {minutes} minutes)."
    ))
}

/// Returns the notice for owners.
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

/// Returns a stranger's name without characters that could change the notice's layout.
pub(crate) fn shown_name(pairing: &Pairing) -> String {
    let name = pairing.name.as_deref().unwrap_or_default();
    let plain = name.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    let name: String = plain.filter(|c| *c != '`').take(NAME_LENGTH).collect();
    match name.trim() {
        "" => "Somebody".to_owned(),
        name => format!("`{name}`"),
    }
}

/// Returns the text for an admitted stranger.
pub(crate) fn welcome(role: Role) -> Content {
    Content::text(match role {
        Role::User => "You may speak with me now. What can I do for you?",
        Role::Owner => "You may speak with me now, as an owner. What can I do for you?",
    })
}

#[cfg(test)]
#[path = "pairing_tests.rs"]
mod tests;
