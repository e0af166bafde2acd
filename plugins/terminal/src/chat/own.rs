//! The messages sent from this terminal, and their state at the daemon.

use std::time::Duration;

use avocet_protocol::ids::{MessageId, TurnId};
use avocet_protocol::tool::WaitKind;
use avocet_protocol::turn::TurnEvent;

use super::STOP;

/// Two grace periods: after the outcome of a message, the time for its answer to arrive; after a
/// message was sent, the time for it to count as the answer to a question.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// A message with an outstanding answer.
#[derive(Debug)]
struct OwnMessage {
    id: MessageId,
    is_command: bool,
    is_stop: bool,
    sent_at: Duration,
    turn: Option<TurnId>,
    /// A text has arrived that may be the answer.
    is_answered: bool,
    /// The event of its end has arrived. Events are ordered, so all earlier ones have arrived, too.
    is_ended: bool,
    /// The time at which the outcome arrived.
    outcome_at: Option<Duration>,
}

impl OwnMessage {
    /// The end of the wait for the missing answer or event.
    fn missing_until(&self) -> Option<Duration> {
        self.outcome_at.map(|at| at + GRACE)
    }

    fn is_finished(&self, now: Duration) -> bool {
        let is_over = self.missing_until().is_some_and(|deadline| now >= deadline);
        is_over || (self.outcome_at.is_some() && self.is_answered && self.is_ended)
    }
}

/// All unanswered messages, oldest first.
#[derive(Debug, Default)]
pub(super) struct OwnMessages {
    messages: Vec<OwnMessage>,
    /// The kind of input that the chat's turn waits for.
    waits: Option<WaitKind>,
    /// A text has arrived since the turn last resumed: the question, if the turn waits.
    has_spoken: bool,
}

impl OwnMessages {
    pub(super) fn add_sent(&mut self, id: MessageId, text: &str, now: Duration) {
        let is_command = text.starts_with('/');
        // Any text answers the agent's own question and resumes the turn.
        if self.waits == Some(WaitKind::Answer) && !is_command {
            self.note_resumed();
        }
        self.messages.push(OwnMessage {
            id,
            is_command,
            is_stop: text == STOP,
            sent_at: now,
            turn: None,
            is_answered: false,
            is_ended: false,
            outcome_at: None,
        });
    }

    pub(super) fn end_message(&mut self, id: MessageId, turn: Option<TurnId>, now: Duration) {
        if let Some(message) = self.messages.iter_mut().find(|message| message.id == id) {
            message.turn = message.turn.or(turn);
            message.outcome_at = Some(now);
        }
    }

    pub(super) fn note_text(&mut self, turn: Option<TurnId>) {
        self.has_spoken = true;
        match turn {
            Some(_) => {
                let of_turn = self.messages.iter_mut().filter(|message| message.turn == turn);
                of_turn.for_each(|message| message.is_answered = true);
            }
            None => {
                let mut open = self.messages.iter_mut().filter(|one| !one.is_answered);
                if let Some(message) = open.find(|message| message.turn.is_none()) {
                    message.is_answered = true;
                }
            }
        }
    }

    pub(super) fn note_event(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::Started { turn, messages } => {
                self.note_resumed();
                let starts = |one: &&mut OwnMessage| messages.iter().any(|of| of.id == one.id);
                for message in self.messages.iter_mut().filter(starts) {
                    message.is_answered &= message.turn == Some(*turn);
                    message.turn = Some(*turn);
                }
            }
            TurnEvent::Thinking { .. } | TurnEvent::ToolStarted { .. } | TurnEvent::Resumed => {
                self.note_resumed();
            }
            TurnEvent::Waiting { kind } => self.waits = Some(*kind),
            TurnEvent::Ended { turn, messages, .. } => {
                if turn.is_some() {
                    self.waits = None;
                }
                let ends = |one: &&mut OwnMessage| messages.contains(&one.id);
                self.messages.iter_mut().filter(ends).for_each(|message| message.is_ended = true);
            }
            _ => {}
        }
    }

    /// Records that the chat's turn has resumed.
    fn note_resumed(&mut self) {
        self.waits = None;
        self.has_spoken = false;
    }

    pub(super) fn forget_finished(&mut self, now: Duration) {
        self.messages.retain(|message| !message.is_finished(now));
    }

    /// The time until which the answers of messages with an outcome may still arrive; `None` if all
    /// have arrived.
    pub(super) fn answers_due(&self, now: Duration) -> Option<Duration> {
        let unanswered = self.messages.iter().filter(|message| !message.is_answered);
        unanswered.filter_map(OwnMessage::missing_until).filter(|deadline| *deadline > now).max()
    }

    /// Returns `true` if the outcome of a message is outstanding.
    pub(super) fn is_open(&self) -> bool {
        self.messages.iter().any(|message| message.outcome_at.is_none())
    }

    /// Returns `true` if the outcome of a `/stop` is outstanding.
    pub(super) fn is_stopping(&self) -> bool {
        self.messages.iter().any(|message| message.is_stop && message.outcome_at.is_none())
    }

    /// Returns `true` if the turn has asked a question and waits for the person.
    pub(super) fn is_asked(&self) -> bool {
        self.waits.is_some() && self.has_spoken
    }

    /// Returns `true` if the daemon works for the person.
    pub(super) fn is_working(&self) -> bool {
        self.is_open() && !self.is_asked()
    }

    /// The time at which the oldest open message was sent.
    pub(super) fn oldest_sent_at(&self) -> Option<Duration> {
        let open = self.messages.iter().filter(|message| message.outcome_at.is_none());
        open.map(|message| message.sent_at).min()
    }

    /// Returns `true` if an answer must come before the person's next line.
    pub(super) fn is_busy(&self, now: Duration) -> bool {
        self.messages
            .iter()
            .any(|message| !message.is_finished(now) && !self.is_behind(message, now))
    }

    /// Returns `true` if a message has to wait until the person has answered the turn's question.
    fn is_behind(&self, message: &OwnMessage, now: Duration) -> bool {
        let is_not_answer = message.turn.is_some() || now >= message.sent_at + GRACE;
        self.is_asked() && message.outcome_at.is_none() && !message.is_command && is_not_answer
    }

    /// The next time at which `is_busy` or `is_finished` changes without an event.
    pub(super) fn next_change_at(&self, now: Duration) -> Option<Duration> {
        let deadlines = self.messages.iter().flat_map(|message| {
            let waits = self.is_asked() && message.turn.is_none() && !message.is_command;
            [message.missing_until(), waits.then(|| message.sent_at + GRACE)]
        });
        deadlines.flatten().filter(|deadline| *deadline > now).min()
    }
}
