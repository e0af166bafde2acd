//! The rules of delivery: what follows each attempt to send. They neither wait nor write, so that
//! a table can test them.
//!
//! [`next`] looks at the chunk at the head of a chat, and [`judge_attempt`] at the result of a
//! send:
//!
//! ```text
//! result of the send      then                          at most
//! arrived                 sent
//! refused for now         again, 0.25 s to 5 min later    MAX_ATTEMPTS, or STUCK_AFTER
//! rate limit              again, at the stated time     does not count
//! refused permanently     dead, with a notice
//! unknown                 by the channel's rule:
//!   RepeatSafe              again, without a mark       MAX_ATTEMPTS, or STUCK_AFTER
//!   RepeatMarked            once more, with a mark      twice; a question QUESTION_ATTEMPTS
//! chat unreachable        waits until it is reachable
//! message to edit gone    sent as a new one; the outcome below a question is left out
//! removal fails           left in the chat              MAX_REMOVALS
//! ```
//!
//! **Unknown is the hard case.** After a timeout or a crash, nobody can tell if the text has
//! arrived. To send again may show it twice, and not to send may lose it. A platform with
//! idempotency keys, or an edit, can repeat safely. Elsewhere the text is sent once more with a
//! mark that tells the reader why it may be there twice. If that outcome is unknown, too, the chunk
//! is *unconfirmed*, and a notice says so.
//!
//! **Stuck.** A chunk that fails while other chats of its account succeed is itself the problem,
//! and the messages behind it would wait for a day. Two failures, each after a success elsewhere,
//! and four minutes tell it from an outage.
//!
//! **Partly sent.** A chunk may need several messages of the platform. If some have arrived, later
//! sends carry the mark, because after a restart they begin with the first message again.

use std::time::Duration;

use avocet_protocol::channel::{OnUnknown, SendError};
use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::chat::{Content, Receipt};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::{Head, SendEnd};

/// Failed sends after which a chunk is abandoned: about a day, so that an outage overnight costs no
/// answer.
const MAX_ATTEMPTS: u32 = 300;
/// Longest time that a chunk may fail while other chats of its account succeed. Then the chunk
/// itself is the problem, and is abandoned for the sake of the messages behind it. Ten attempts
/// fit into this time.
const STUCK_AFTER: Duration = Duration::from_mins(4);
/// Minimum number of failures that each follow a success in another chat. One is not enough: after
/// an outage overnight, this chat's first attempt may fail just after another chat has succeeded.
const STUCK_FAILURES: u32 = 2;
/// A request that was certainly not carried out is repeated soon: most connections that were refused
/// or reset work again at once.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_mins(5);
/// Delay between a send of unknown outcome and its one marked repetition, and then until the notice
/// that neither was confirmed. The repetition is the last chance, so it must come after a proxy
/// restart or a burst of 5xx, which take seconds. A longer delay would help little, because a long
/// outage refuses connections, and then the outcome is known. It would also hurt: the person has
/// seen no answer yet, at worst for the timeout of a send, and the chat waits behind it.
pub(crate) const AFTER_UNKNOWN: Duration = Duration::from_secs(15);

/// Maximum number of sends of a question whose outcome stays unknown. The turn waits for its
/// answer, and only the first answer counts, so that more copies are better than none.
const QUESTION_ATTEMPTS: u32 = 5;

/// Attempts to remove a message, which the messages behind it wait for.
const MAX_REMOVALS: u32 = 5;

/// The next action for the chunk at the head of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// Send it. `repeat`: mark it as a repetition, because it may have arrived before.
    Send { repeat: bool },
    /// Abandon it, since it may have arrived.
    Abandon,
    /// Wait until this time before sending.
    Wait(Timestamp),
}

/// Returns the next action for a chunk.
pub(crate) fn next(head: &Head, rule: OnUnknown, now: Timestamp) -> NextStep {
    if head.unknown {
        return match rule_for_unknown(head, rule) {
            OnUnknown::RepeatSafe if head.attempts < MAX_ATTEMPTS => {
                NextStep::Send { repeat: false }
            }
            OnUnknown::RepeatMarked if !head.delivery.repeat || asks_again(head) => {
                NextStep::Send { repeat: true }
            }
            OnUnknown::RepeatSafe | OnUnknown::RepeatMarked => NextStep::Abandon,
        };
    }
    match due_at(head, now) {
        due if due > now => NextStep::Wait(due),
        _ => NextStep::Send { repeat: false },
    }
}

/// Returns `true` for a question that may be sent again although it may have arrived twice.
fn asks_again(head: &Head) -> bool {
    !head.delivery.content.choices.is_empty() && head.attempts < QUESTION_ATTEMPTS
}

/// Returns the time from which a chunk may be sent. If the wall clock was set back meanwhile, the
/// wait is at most as long as at its beginning.
fn due_at(head: &Head, now: Timestamp) -> Timestamp {
    let wait = head.held_at.until(head.not_before);
    head.not_before.min(now.after(wait))
}

/// Returns the rule for unknown outcomes. Repeating an edit is always safe, because it leaves one
/// message.
fn rule_for_unknown(head: &Head, of_channel: OnUnknown) -> OnUnknown {
    if head.delivery.shown_as.is_some() { OnUnknown::RepeatSafe } else { of_channel }
}

/// Returns the delay after a send of unknown outcome. After a crash there is no such delay, because
/// the crash itself caused the failure.
pub(crate) fn pause_after_unknown(head: &Head, of_channel: OnUnknown) -> Duration {
    match rule_for_unknown(head, of_channel) {
        OnUnknown::RepeatMarked => AFTER_UNKNOWN,
        // Repeated for a long time, and so outlasts the failure.
        OnUnknown::RepeatSafe => wait_after(head.attempts + 1),
    }
}

/// The result of an attempt.
pub(crate) enum AttemptOutcome {
    /// Recorded without a notice.
    End(SendEnd),
    /// Abandoned; the chat is informed, unless the chunk was itself a notice.
    Dead(String),
    /// Abandoned after some of its messages have arrived; the chat is informed in the same way.
    PartlyDead(String),
    /// Abandoned although it may have arrived; the chat is informed.
    Unconfirmed(String),
    /// Recorded without a notice. The chat is unreachable, and the chunk waits until it is
    /// reachable.
    Unreachable(SendEnd),
}

/// Judges an attempt. `failed_alone` counts failed sends of this chunk, including this one, that
/// each follow a success in another chat of the account since the send before.
pub(crate) fn judge_attempt(
    sent: Result<Receipt, SendError>,
    head: &Head,
    of_channel: OnUnknown,
    failed_alone: u32,
    now: Timestamp,
) -> AttemptOutcome {
    let (attempts, first_sent_at) = (head.attempts + 1, head.delivery.first_sent_at);
    let is_stuck = failed_alone >= STUCK_FAILURES
        && head.failing_since.is_some_and(|since| since.until(now) >= STUCK_AFTER);
    let stuck = |error| {
        format!("{error}; tried {attempts} times while messages to other chats got through")
    };
    let again = |wait, error, counts| {
        let not_before = now.after(wait);
        AttemptOutcome::End(SendEnd::Again { not_before, error, counts, first_sent_at })
    };
    match sent {
        Ok(receipt) => AttemptOutcome::End(SendEnd::Sent(receipt)),
        Err(SendError::Unreachable) => AttemptOutcome::Unreachable(SendEnd::Unreachable),
        // The text stays in the chat. That needs no notice.
        Err(SendError::Failed(_) | SendError::Unknown(_))
            if head.is_removal() && (is_stuck || attempts >= MAX_REMOVALS) =>
        {
            AttemptOutcome::End(SendEnd::Sent(Receipt { platform_id: None }))
        }
        // The person has deleted the message, or it can no longer be changed.
        Err(SendError::Gone | SendError::Refused(_)) if head.is_edit => {
            AttemptOutcome::End(SendEnd::Sent(Receipt { platform_id: None }))
        }
        Err(SendError::Gone) => AttemptOutcome::End(SendEnd::Anew),
        Err(SendError::Refused(error)) => AttemptOutcome::Dead(error),
        Err(SendError::Unknown(error))
            if is_stuck && rule_for_unknown(head, of_channel) == OnUnknown::RepeatSafe =>
        {
            AttemptOutcome::Unconfirmed(stuck(error))
        }
        Err(SendError::Unknown(error)) => AttemptOutcome::End(SendEnd::Unknown { error }),
        Err(error @ SendError::RetryAfter(wait)) => again(wait, error.to_string(), false),
        Err(SendError::Failed(error)) if attempts >= MAX_ATTEMPTS => {
            AttemptOutcome::Dead(format!("{error}; tried {attempts} times"))
        }
        Err(SendError::Failed(error)) if is_stuck => AttemptOutcome::Dead(stuck(error)),
        Err(SendError::Failed(error)) => again(wait_after(attempts), error, true),
        Err(SendError::Partly(rest)) => {
            mark_partly_sent(judge_attempt(Err(*rest), head, of_channel, failed_alone, now))
        }
    }
}

/// Marks the later sends of a chunk of which some messages have arrived. A send after a restart
/// begins with the first message again.
fn mark_partly_sent(rest: AttemptOutcome) -> AttemptOutcome {
    match rest {
        // A chunk with an unknown outcome is repeated once, always with the mark.
        AttemptOutcome::End(end @ SendEnd::Unknown { .. }) => AttemptOutcome::End(end),
        AttemptOutcome::End(end) => AttemptOutcome::End(SendEnd::Partly(Box::new(end))),
        // The repetition by /resend has to be marked too.
        AttemptOutcome::Dead(error) | AttemptOutcome::PartlyDead(error) => {
            AttemptOutcome::PartlyDead(error)
        }
        AttemptOutcome::Unconfirmed(error) => AttemptOutcome::Unconfirmed(error),
        AttemptOutcome::Unreachable(end) => {
            AttemptOutcome::Unreachable(SendEnd::Partly(Box::new(end)))
        }
    }
}

/// Returns the delay after an attempt, which doubles each time up to `LONGEST_WAIT`.
pub(crate) fn wait_after(attempts: u32) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(attempts.saturating_sub(1)));
    doubled.min(LONGEST_WAIT)
}

/// Returns the error text of a chunk whose outcome stays unknown.
pub(crate) fn never_confirmed(head: &Head) -> String {
    let error = head.error.as_deref().unwrap_or("a crash during the send");
    format!("{error}; sent {} times and never confirmed", head.attempts)
}

/// Returns the notice about a chunk whose outcome is unknown.
pub(crate) fn unconfirmed_notice(content: &Content) -> Content {
    let start = content.in_short();
    let text =
        format!("I could not confirm that this message arrived: {start} /resend sends it again.");
    notices::Unconfirmed.for_reader(readers::EVERYBODY, text)
}

/// Returns the notice about a message that could not be sent. Only owners read the error.
pub(crate) fn dead_notice(content: &Content, error: &str, is_for_owner: bool) -> Content {
    let start = content.in_short();
    let text = |cause: &str| {
        format!("I could not send this message: {start}{cause} /resend tries it again.")
    };
    if is_for_owner {
        notices::NotSent.for_reader(readers::Owner, text(&format!(" ({error}).")))
    } else {
        notices::NotSent.for_reader(readers::OTHERS, text(""))
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
