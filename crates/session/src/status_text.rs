//! The sentences of `/status`.

use avocet_protocol::bus::QueueMode;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::{OpenTurn, SessionStatus};
use avocet_protocol::tool::WaitKind;
use avocet_protocol::turn::TurnState;

/// The state of a session at a moment.
pub(crate) struct StatusFacts<'a> {
    pub(crate) status: &'a SessionStatus,
    pub(crate) is_compacting: bool,
    pub(crate) now: Timestamp,
}

impl StatusFacts<'_> {
    /// Returns the sentences about work, waiting messages and deliveries. Zero counts are left out.
    pub(crate) fn sentences(&self) -> String {
        let SessionStatus { open, mode, queued, pending, unconfirmed, .. } = self.status;
        let work = match open {
            Some(open) => describe_work(open, self.now),
            None if self.is_compacting => "I am summarising the earlier conversation.".to_owned(),
            None => "I am not doing anything.".to_owned(),
        };
        let waiting = match queued {
            0 => None,
            1 => Some(format!("1 more message waits; {}.", describe_queue(*mode, "it is", "it"))),
            many => Some(format!(
                "{many} more messages wait; {}.",
                describe_queue(*mode, "they are", "they")
            )),
        };
        let pending = match pending {
            0 => None,
            1 => Some("1 part of an answer is still to be delivered.".to_owned()),
            many => Some(format!("{many} parts of answers are still to be delivered.")),
        };
        let unconfirmed = match unconfirmed {
            0 => None,
            1 => Some("1 delivery is unconfirmed; /resend sends it again.".to_owned()),
            many => Some(format!("{many} deliveries are unconfirmed; /resend sends them again.")),
        };
        let sentences = [Some(work), waiting, pending, unconfirmed];
        sentences.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

fn describe_work(open: &OpenTurn, now: Timestamp) -> String {
    let since = format_span(open.started_at.until(now).as_secs());
    match (open.waits_for, open.state) {
        (Some(kind), _) => {
            let reason = match kind {
                WaitKind::Approval => "for your approval",
                WaitKind::Answer => "for the answer to my question",
                WaitKind::Child => "for a sub-agent",
                WaitKind::Choice => "for your choice about an interrupted action: /retry or /skip",
            };
            format!("I am waiting {reason}. I began {since} ago.")
        }
        (None, TurnState::Queued) => "I am about to go on with an answer.".to_owned(),
        (None, _) => match open.steps {
            0 => format!("I have been working on an answer for {since}."),
            1 => format!("I have been working on an answer for {since}, and took 1 step so far."),
            steps => format!(
                "I have been working on an answer for {since}, and took {steps} steps so far."
            ),
        },
    }
}

/// Returns the way in which waiting messages are treated.
fn describe_queue(mode: QueueMode, are: &str, they: &str) -> String {
    match mode {
        QueueMode::Queue => format!("{are} answered afterwards"),
        QueueMode::Collect => format!("{are} answered together afterwards"),
        QueueMode::Steer => format!("I read {} at my next step", they.replace("they", "them")),
        QueueMode::Interrupt => format!("{are} answered next"),
    }
}

pub(crate) fn format_span(seconds: u64) -> String {
    let (number, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7200 => (seconds / 60, "minute"),
        _ => (seconds / 3600, "hour"),
    };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use avocet_protocol::access::{PermissionMode, Trust};
    use avocet_protocol::ids::TurnId;

    use super::*;

    fn idle() -> SessionStatus {
        SessionStatus {
            mode: QueueMode::default(),
            model: None,
            effort: None,
            voice: None,
            permission_mode: PermissionMode::Default,
            agent: None,
            person: None,
            queued: 0,
            open: None,
            pending: 0,
            unconfirmed: 0,
            trust: Trust::Full,
        }
    }

    fn status(open: Option<(TurnState, u32, Option<WaitKind>)>) -> SessionStatus {
        let open = open.map(|(state, steps, waits_for)| OpenTurn {
            turn: TurnId(8),
            state,
            started_at: Timestamp(0),
            steps,
            waits_for,
        });
        SessionStatus { open, ..idle() }
    }

    fn sentences(status: &SessionStatus, seconds: i64) -> String {
        let now = Timestamp(seconds * 1000);
        StatusFacts { status, is_compacting: false, now }.sentences()
    }

    #[test]
    fn sentences_say_the_work_and_its_age() {
        use TurnState::{Queued, Running, Waiting};
        let table = [
            (None, 0, "I am not doing anything."),
            (Some((Running, 0, None)), 1, "I have been working on an answer for 1 second."),
            (
                Some((Running, 1, None)),
                150,
                "I have been working on an answer for 2 minutes, and took 1 step so far.",
            ),
            (
                Some((Running, 7, None)),
                7200,
                "I have been working on an answer for 2 hours, and took 7 steps so far.",
            ),
            (Some((Queued, 2, None)), 9, "I am about to go on with an answer."),
            (
                Some((Waiting, 2, Some(WaitKind::Approval))),
                60,
                "I am waiting for your approval. I began 60 seconds ago.",
            ),
            (
                Some((Waiting, 2, Some(WaitKind::Child))),
                600,
                "I am waiting for a sub-agent. I began 10 minutes ago.",
            ),
        ];
        for (open, seconds, expected) in table {
            assert_eq!(sentences(&status(open), seconds), expected);
        }
        let idle = status(None);
        let facts = StatusFacts { status: &idle, is_compacting: true, now: Timestamp(0) };
        assert_eq!(facts.sentences(), "I am summarising the earlier conversation.");
    }

    #[test]
    fn sentences_count_waiting_messages_and_deliveries() {
        let counted = |mode, queued, pending, unconfirmed| SessionStatus {
            mode,
            queued,
            pending,
            unconfirmed,
            ..idle()
        };
        let table = [
            (
                counted(QueueMode::Queue, 1, 0, 0),
                "1 more message waits; it is answered afterwards.",
            ),
            (
                counted(QueueMode::Collect, 2, 0, 0),
                "2 more messages wait; they are answered together afterwards.",
            ),
            (
                counted(QueueMode::Steer, 1, 0, 0),
                "1 more message waits; I read it at my next step.",
            ),
            (
                counted(QueueMode::Steer, 3, 0, 0),
                "3 more messages wait; I read them at my next step.",
            ),
            (counted(QueueMode::Interrupt, 1, 0, 0), "1 more message waits; it is answered next."),
            (
                counted(QueueMode::Queue, 0, 1, 1),
                "1 part of an answer is still to be delivered. 1 delivery is unconfirmed; /resend \
                 sends it again.",
            ),
            (
                counted(QueueMode::Queue, 0, 2, 3),
                "2 parts of answers are still to be delivered. 3 deliveries are unconfirmed; \
                 /resend sends them again.",
            ),
        ];
        for (status, expected) in table {
            assert_eq!(sentences(&status, 0), format!("I am not doing anything. {expected}"));
        }
    }
}
