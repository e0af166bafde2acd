//! The notices of turns that end without an answer. Each names the messages that it is about.

use avocet_agent::PlainNotice;
use avocet_protocol::access::Roles;
use avocet_protocol::chat::LoggedInbound;
use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::turn::FailureCode;

use crate::SessionParts;
use crate::retry::HOW_TO_RETRY;

/// Milliseconds in which the owners are told of one kind of failure at most once.
const TOLD_ONCE_IN: i64 = 60 * 60 * 1000;

/// The two texts about a turn without an answer.
pub(super) struct EndNotice {
    /// The text for an owner, and for the log.
    pub(super) full: String,
    /// The text for everybody else.
    pub(super) plain: PlainNotice,
    /// `true` if its messages can be repeated.
    can_retry: bool,
}

impl EndNotice {
    /// The notice of an error.
    pub(super) fn of_error(full: String, plain: PlainNotice, bound: &[LoggedInbound]) -> Self {
        let PlainNotice { text, needs_owner } = plain;
        let plain = PlainNotice { text: error_notice(text, bound), needs_owner };
        Self { full: error_notice(full, bound), plain, can_retry: false }
    }

    /// The notice of dropped messages, for a reason that everybody understands.
    pub(super) fn of_drop(why: &str, bound: &[LoggedInbound]) -> Self {
        let full = drop_notice(why, bound);
        Self { plain: PlainNotice::for_reader(&full), full, can_retry: false }
    }

    /// The notice of messages whose turn has killed the process.
    pub(super) fn of_poison(attempts: u32, bound: &[LoggedInbound]) -> Self {
        let full = drop_notice(&format!("I crashed {attempts} times while working on it"), bound);
        let text = drop_notice("I tried several times without success", bound);
        let plain = PlainNotice { text, needs_owner: true };
        Self { full, plain, can_retry: false }
    }

    /// Adds the way to repeat the messages.
    pub(super) fn with_way_to_retry(self) -> Self {
        Self { full: format!("{} {HOW_TO_RETRY}", self.full), can_retry: true, ..self }
    }

    /// Returns the text for the chat of a message. If only an owner can do something about the cause,
    /// the owners are told first: a crash in between tells them twice at most, under one key.
    pub(super) async fn text_for(
        &self,
        parts: &SessionParts,
        to: &LoggedInbound,
        code: FailureCode,
    ) -> String {
        let inbound = &to.message.inbound;
        if parts.bus.is_owners_chat(&inbound.address) {
            return notices::NoAnswer.for_reader(readers::Owner, &self.full).text;
        }
        let told =
            if self.plain.needs_owner { self.tell_owners(parts, to, code).await } else { None };
        match told {
            // Nobody else could be told, so that the cause would be in the log only.
            None if self.plain.needs_owner && parts.bus.is_owners(inbound) => {
                notices::NoAnswer.for_reader(readers::Owner, &self.full).text
            }
            told => {
                let mut text = self.plain.text.clone();
                if let Some(name) = told {
                    text.push_str(&format!(" {name} has been told."));
                }
                if self.can_retry {
                    text.push(' ');
                    text.push_str(HOW_TO_RETRY);
                }
                notices::NoAnswerPlain.for_reader(readers::OTHERS, text).text
            }
        }
    }

    async fn tell_owners(
        &self,
        parts: &SessionParts,
        to: &LoggedInbound,
        code: FailureCode,
    ) -> Option<String> {
        let inbound = &to.message.inbound;
        let who = inbound.sender.name.as_deref().unwrap_or(inbound.sender.id.as_str());
        let text = format!(
            "I could not answer `{}` in `{}`. {} `avocet trace {}` shows this message, and `avocet \
             doctor` checks models and channels. I tell you of this kind of failure once an hour.",
            avocet_text::in_one_line(who, 40),
            inbound.address,
            self.full.trim_end_matches(HOW_TO_RETRY).trim_end(),
            to.id,
        );
        let hour = parts.clock.now().0 / TOLD_ONCE_IN;
        let notice = notices::NoAnswerOfOthers.for_reader(readers::Owner, text);
        parts.bus.tell_owners(&format!("no-answer {} {hour}", code.as_str()), &notice).await
    }
}

/// Returns the notice of an error. It replies to a single message, and names several ones.
fn error_notice(reason: String, bound: &[LoggedInbound]) -> String {
    match bound {
        [] | [_] => reason,
        several => format!("{reason} This concerns {}.", name_messages(several)),
    }
}

/// Returns the notice for dropped messages.
fn drop_notice(why: &str, bound: &[LoggedInbound]) -> String {
    match bound {
        [] => format!("I dropped this turn because {why}."),
        [message] => format!("I dropped this message because {why}: {}.", quoted(message, 200)),
        several => format!("I dropped what you asked because {why}: {}.", name_messages(several)),
    }
}

fn name_messages(messages: &[LoggedInbound]) -> String {
    let most_chars = if messages.len() > 5 { 60 } else { 200 };
    let quotes: Vec<String> = messages.iter().map(|one| quoted(one, most_chars)).collect();
    quotes.join(", ")
}

fn quoted(message: &LoggedInbound, most_chars: usize) -> String {
    format!("“{}”", message.model_text().chars().take(most_chars).collect::<String>())
}
