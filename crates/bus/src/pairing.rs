//! Pairing: codes for strangers, decisions about codes, limits and texts. Works without a model.

use std::time::Duration;

use avocet_protocol::access::{
    AccessError, Allow, Decision, DecisionEffect, Pairing, PairingCode, PersonId, Role, Roles,
    SettledPairing,
};
use avocet_protocol::bus::PublishError;
use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::chat::{
    ChatAddress, ChatKind, Choice, Content, Inbound, InboundKind, NewInbound, Planned,
};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::CommandReply;
use avocet_text::{in_one_line, sanitise};

use crate::Bus;
use crate::wake::WakeUp;

/// Time in which a code can be approved.
const CODE_LIFETIME: Duration = Duration::from_mins(10);
/// Time for which codes are kept; at least as long as each limit below looks back.
const KEPT: Duration = Duration::from_hours(24);

const HOUR: Duration = Duration::from_hours(1);
/// Hints to one stranger per hour: two of them may be overlooked.
const PER_SENDER_AND_HOUR: usize = 3;
/// Hints to one stranger per day; a stranger who needs more is unwanted.
const PER_SENDER_AND_DAY: usize = 10;
/// Open codes at a time: more than a household needs, and few enough to read.
const OPEN: usize = 10;
/// Hints per hour to all strangers, well below the platforms' rate limits.
const PER_HOUR: usize = 30;
/// Longest message of a stranger that is kept, in bytes of JSON: more than an ordinary message of any
/// platform.
const KEPT_BYTES: usize = 16 * 1024;
/// Characters of a name in a notice.
pub(crate) const NAME_LENGTH: usize = 64;

impl Bus {
    /// Gives a code to a stranger in a private chat, and informs the owners. Above the limits, it
    /// does nothing. `has_message` is `true` if the message is worth an answer after the approval.
    pub(crate) async fn give_code(
        &self,
        inbound: &Inbound,
        has_message: bool,
    ) -> Result<(), PublishError> {
        let Inbound { address, sender, chat, .. } = inbound;
        let pairs = match self.access.admission.access_rule(address).as_deref() {
            Some(Allow::Listed(lists)) => lists.pairing,
            Some(Allow::Local) | None => false,
        };
        // A button press in another person's chat gets no reply there.
        let in_others = self
            .access
            .admission
            .cache
            .owner_of_chat(address)
            .is_some_and(|whose| whose != sender.id);
        if *chat == ChatKind::Group || sender.is_bot || in_others || !pairs {
            return Ok(());
        }
        let _creating = self.access.creating_code.lock().await;
        let (person, now) = (PersonId::from_inbound(inbound), self.clock.now());
        if !self.access.admission.cache.read(|access| may_give(&access.pairings, &person, now)) {
            tracing::debug!(%person, "no pairing code for a stranger: too many were issued lately");
            return Ok(());
        }
        let pairing = new_pairing(person, sender.name.as_deref(), address.whole_chat(), now);
        let messages = self.pairing_messages(&pairing, address, has_message)?;
        let forget = Timestamp(now.0.saturating_sub(Timestamp(0).after(KEPT).0));
        self.access.people.add_pairing(&pairing, &messages, forget).await?;
        self.reload_access().await?;
        tracing::info!(person = %pairing.person, "a stranger got a pairing code");
        messages.iter().for_each(|one| self.deliveries.wake(&one.address));
        Ok(())
    }

    /// Plans the hint to the stranger, and a notice for each owner with a known private chat.
    fn pairing_messages(
        &self,
        pairing: &Pairing,
        address: &ChatAddress,
        has_message: bool,
    ) -> Result<Vec<Planned>, PublishError> {
        let notice = owner_notice(pairing);
        // Owners whose channel is gone are skipped.
        let may_decide = |chat: &ChatAddress| self.may_decide_for(chat, Some(&pairing.chat));
        let chats = self.owners_chats().into_iter().filter(may_decide);
        let notices = chats.filter_map(|chat| self.destinations.plan(&chat, &notice).ok());
        let notices: Vec<Planned> = notices.collect();
        let code = notices.is_empty().then_some(&pairing.code);
        let hint = self.destinations.plan(address, &pairing_hint(code, has_message))?;
        Ok(std::iter::once(hint).chain(notices).collect())
    }

    /// Returns a stranger's message in the form for the log. `None` for a command, which acts at its
    /// time only, and for a message without a readable text or above the limit.
    pub(crate) fn message_to_keep(&self, inbound: &Inbound) -> Option<NewInbound> {
        let message = self.access.admission.prepare_message(inbound.clone()).ok()?;
        let is_short =
            serde_json::to_vec(&message).is_ok_and(|message| message.len() <= KEPT_BYTES);
        (message.kind == InboundKind::Text && is_short).then_some(message)
    }

    /// Keeps the first message of a stranger with an open code, or an edit of it.
    pub(crate) async fn keep_message(&self, message: &NewInbound) -> Result<(), PublishError> {
        let Inbound { address, corrects, .. } = &message.inbound;
        let (person, chat) = (PersonId::from_inbound(&message.inbound), address.whole_chat());
        let now = self.clock.now();
        let code = self.access.admission.cache.read(|access| {
            let theirs = |one: &&Pairing| one.person == person && one.chat == chat;
            let open = access.pairings.iter().filter(theirs).find(|one| is_open(one, now))?;
            let has_first = access.kept.contains(&open.code);
            (has_first == corrects.is_some()).then(|| open.code.clone())
        });
        let Some(code) = code else { return Ok(()) };
        self.access.people.keep_message(&code, message).await?;
        self.reload_access().await?;
        Ok(())
    }

    /// Prepares the approval or denial of a code by a person; the caller commits it.
    ///
    /// # Errors
    /// [`AccessError`] if the code is unknown, expired or already decided.
    pub fn prepare_decision(
        &self,
        code: &str,
        decision: Decision,
        by: &str,
    ) -> Result<(Pairing, SettledPairing), AccessError> {
        let pairing = self.open_pairing(code)?;
        let notice = match decision {
            Decision::Approved(role) => {
                let has_message =
                    self.access.admission.cache.read(|access| access.kept.contains(&pairing.code));
                Some(self.destinations.plan(&pairing.chat, &welcome_text(role, has_message))?)
            }
            Decision::Denied => None,
        };
        let outcome = describe_decision(&pairing, decision, by);
        let outcome = notices::PairingDecided.for_reader(readers::Owner, outcome);
        let chats = self.owners_chats().into_iter();
        let chats = chats.filter(|chat| self.destinations.can_edit(chat));
        let outcomes = chats.filter_map(|chat| self.destinations.plan(&chat, &outcome).ok());
        let outcomes = outcomes.collect();
        let settled = SettledPairing { code: pairing.code.clone(), decision, notice, outcomes };
        Ok((pairing, settled))
    }

    /// Commits a decision. Fails if another one was faster.
    pub(crate) async fn commit_decision(
        &self,
        settled: &SettledPairing,
    ) -> Result<(), AccessError> {
        let _changing = self.block_publishing().await;
        let effect = self.access.people.decide(settled).await?;
        self.reload_access().await?;
        if effect == DecisionEffect::Nothing {
            let code = settled.code.clone();
            return Err(self
                .open_pairing(code.as_str())
                .err()
                .unwrap_or(AccessError::ExpiredCode(code)));
        }
        let messages = settled.notice.iter().chain(&settled.outcomes);
        messages.for_each(|message| self.deliveries.wake(&message.address));
        if let DecisionEffect::Queued(session) = effect {
            self.waker.send_wake(WakeUp::Lane(session));
        }
        Ok(())
    }

    fn open_pairing(&self, code: &str) -> Result<Pairing, AccessError> {
        let code: PairingCode = code.parse()?;
        let found =
            self.access.admission.cache.read(|access| {
                access.pairings.iter().find(|pairing| pairing.code == code).cloned()
            });
        match found {
            None => Err(AccessError::UnknownCode(code)),
            Some(Pairing { decision: Some(decision), .. }) => {
                Err(AccessError::UsedCode(code, decision.as_str()))
            }
            Some(pairing) if !is_open(&pairing, self.clock.now()) => {
                Err(AccessError::ExpiredCode(code))
            }
            Some(pairing) => Ok(pairing),
        }
    }
}

/// Describes a decision, for the owners. The log fills in the time.
#[must_use]
pub fn describe_decision(pairing: &Pairing, decision: Decision, by: &str) -> String {
    let (who, time) = (describe_person(pairing), CommandReply::TIME);
    match decision {
        Decision::Approved(_) => format!("{who} may speak with me, approved by {by} at {time}."),
        Decision::Denied => format!("{who} may not speak with me, denied by {by} at {time}."),
    }
}

/// Returns the name of a stranger with their id, in code, so that no name looks like markup.
fn describe_person(Pairing { person, name, .. }: &Pairing) -> String {
    match in_one_line(name.as_deref().unwrap_or_default(), NAME_LENGTH).as_str() {
        "" => format!("`{person}`"),
        name => format!("`{name}` (`{person}`)"),
    }
}

/// Returns `true` if a stranger may get a code now. `given` contains the codes of the last day.
fn may_give(given: &[Pairing], to: &PersonId, now: Timestamp) -> bool {
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
fn new_pairing(person: PersonId, name: Option<&str>, chat: ChatAddress, now: Timestamp) -> Pairing {
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

/// Returns the text for the stranger. `code` is for an owner who could not be asked.
fn pairing_hint(code: Option<&PairingCode>, has_message: bool) -> Content {
    let minutes = CODE_LIFETIME.as_secs() / 60;
    let then = if has_message {
        "I will answer your message after that."
    } else {
        "Write your message now, and I will answer it after that."
    };
    let text = match code {
        None => format!("I do not know you yet, so I have asked my owner. {then}"),
        Some(code) => format!(
            "I do not know you yet. Please ask my owner to run: `avocet pair approve {code}` (within \
                {minutes} minutes). {then}"
        ),
    };
    notices::StrangerHint.for_reader(readers::Stranger, text)
}

fn owner_notice(pairing: &Pairing) -> Content {
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
    Content { choices, ..notices::StrangerAsks.for_reader(readers::Owner, text) }
}

/// Returns a stranger's name without characters that could change the notice's layout.
fn shown_name(pairing: &Pairing) -> String {
    let name = pairing.name.as_deref().unwrap_or_default();
    let plain = name.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    let name: String = plain.filter(|c| *c != '`').take(NAME_LENGTH).collect();
    match name.trim() {
        "" => "Somebody".to_owned(),
        name => format!("`{name}`"),
    }
}

/// Returns the text for an admitted stranger.
fn welcome_text(role: Role, has_message: bool) -> Content {
    let now = match role {
        Role::User => "You may speak with me now.",
        Role::Owner => "You may speak with me now, as an owner.",
    };
    let then = if has_message { "I am reading your message." } else { "What can I do for you?" };
    let text = format!("{now} {then}");
    match role {
        Role::User => notices::Welcome.for_reader(readers::Member, text),
        Role::Owner => notices::Welcome.for_reader(readers::Owner, text),
    }
}

#[cfg(test)]
#[path = "pairing_tests.rs"]
mod tests;
