//! What follows on an attempt to send: the whole policy, without any waiting or writing.

use std::time::Duration;

use avocet_protocol::{Content, Head, OnUnknown, Receipt, SendEnd, SendError, Timestamp};

/// Sends of one chunk that may fail before it is given up: about a day, so that a line that is down
/// overnight costs no answer.
const MAX_ATTEMPTS: u32 = 300;
/// How long a chunk may fail while other chats of its account get messages through: then the trouble
/// is with this chunk, and the messages behind it are not kept waiting. Nine attempts fit into it.
const STUCK_AFTER: Duration = Duration::from_mins(4);
/// Failures before each of which another chat got a message through. One is not enough: when a line
/// comes up again after a night, the first attempt of this chat may fail after that of another one
/// succeeded.
const STUCK_FAILURES: u32 = 2;
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_mins(5);
/// How long after a send of unknown outcome its one marked repetition is made, and after that the notice
/// that neither was confirmed. It is the last chance of both, so it has to be behind a proxy that is being
/// restarted or a burst of 5xx, which take seconds. Longer would help little, because a line that is down
/// for long refuses connections, and that is no unknown outcome; and it would hurt: whoever waits for
/// the answer has seen nothing yet, at worst for the time limit of a send, and the chat waits behind it.
pub(crate) const AFTER_UNKNOWN: Duration = Duration::from_secs(15);

/// What is done with the chunk at the head of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// It is sent; `repeat` says that it may have arrived before and is marked.
    Send { repeat: bool },
    /// It may have arrived, and is not sent again.
    GiveUp,
    /// It is not sent before this.
    Wait(Timestamp),
}

/// What to do with the next chunk.
pub(crate) fn next(head: &Head, rule: OnUnknown, now: Timestamp) -> Step {
    if head.unknown {
        return match self::rule(head, rule) {
            OnUnknown::RepeatSafe if head.attempts < MAX_ATTEMPTS => Step::Send { repeat: false },
            OnUnknown::RepeatMarked if !head.delivery.repeat => Step::Send { repeat: true },
            OnUnknown::RepeatSafe | OnUnknown::RepeatMarked => Step::GiveUp,
        };
    }
    match due(head, now) {
        due if due > now => Step::Wait(due),
        _ => Step::Send { repeat: false },
    }
}

/// When a chunk may be sent again. A wall clock that was set back since the wait began makes the wait
/// as long as it was at its beginning, and no longer.
fn due(head: &Head, now: Timestamp) -> Timestamp {
    let wait = head.held_at.until(head.not_before);
    head.not_before.min(now.after(wait))
}

/// What follows on a send of unknown outcome: an edit leaves one message, however often it is made.
fn rule(head: &Head, of_channel: OnUnknown) -> OnUnknown {
    if head.delivery.shown_as.is_some() { OnUnknown::RepeatSafe } else { of_channel }
}

/// How long after a send of unknown outcome the chunk is looked at again. A process that was killed
/// in between does not wait at its next start: its own end was the trouble.
pub(crate) fn pause_after_unknown(head: &Head, of_channel: OnUnknown) -> Duration {
    match rule(head, of_channel) {
        OnUnknown::RepeatMarked => AFTER_UNKNOWN,
        // It may be made for long, and so outlasts the trouble.
        OnUnknown::RepeatSafe => wait_after(head.attempts + 1),
    }
}

/// What an attempt came to.
pub(crate) enum Verdict {
    /// Recorded as it is.
    End(SendEnd),
    /// Given up: the chat is told, unless the chunk was itself such a notice.
    Dead(String),
    /// It may have arrived and is not sent again: the chat is told.
    Unconfirmed(String),
    /// The chat is not reachable; the chunk waits until it is.
    Nobody,
}

/// `failed_alone`: how many sends of this chunk have failed, this one included, each after another chat
/// of the account had got a message through since the send before.
pub(crate) fn judge(
    sent: Result<Receipt, SendError>,
    head: &Head,
    of_channel: OnUnknown,
    failed_alone: u32,
    now: Timestamp,
) -> Verdict {
    let (attempts, first_sent_at) = (head.attempts + 1, head.delivery.first_sent_at);
    let is_stuck = failed_alone >= STUCK_FAILURES
        && head.failing_since.is_some_and(|since| since.until(now) >= STUCK_AFTER);
    let stuck = |error| {
        format!("{error}; tried {attempts} times while messages to other chats got through")
    };
    let again = |wait, error, counts| {
        let not_before = now.after(wait);
        Verdict::End(SendEnd::Again { not_before, error, counts, first_sent_at })
    };
    match sent {
        Ok(receipt) => Verdict::End(SendEnd::Sent(receipt)),
        Err(SendError::Nobody) => Verdict::Nobody,
        Err(SendError::Gone) => Verdict::End(SendEnd::Anew),
        Err(SendError::Refused(error)) => Verdict::Dead(error),
        Err(SendError::Unknown(error))
            if is_stuck && rule(head, of_channel) == OnUnknown::RepeatSafe =>
        {
            Verdict::Unconfirmed(stuck(error))
        }
        Err(SendError::Unknown(error)) => Verdict::End(SendEnd::Unknown { error }),
        Err(error @ SendError::RetryAfter(wait)) => again(wait, error.to_string(), false),
        Err(SendError::Failed(error)) if attempts >= MAX_ATTEMPTS => {
            Verdict::Dead(format!("{error}; tried {attempts} times"))
        }
        Err(SendError::Failed(error)) if is_stuck => Verdict::Dead(stuck(error)),
        Err(SendError::Failed(error)) => again(wait_after(attempts), error, true),
    }
}

/// How long after an attempt it is made again: doubles from attempt to attempt.
pub(crate) fn wait_after(attempts: u32) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(attempts.saturating_sub(1)));
    doubled.min(LONGEST_WAIT)
}

/// Why a chunk of unknown outcome is given up.
pub(crate) fn never_confirmed(head: &Head) -> String {
    let error = head.error.as_deref().unwrap_or("a crash during the send");
    format!("{error}; sent {} times and never confirmed", head.attempts)
}

/// What a chat is told about a chunk that may or may not have arrived.
pub(crate) fn unconfirmed_notice(content: &Content) -> Content {
    let start = content.in_short();
    Content::text(format!(
        "I could not confirm that this message arrived: {start} /resend sends it again."
    ))
}

/// What a chat is told about a message that could not be sent.
pub(crate) fn dead_notice(content: &Content, error: &str) -> Content {
    let start = content.in_short();
    Content::text(format!(
        "I could not send this message: {start} ({error}). /resend tries it again."
    ))
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
