//! The messages that were sent from this terminal, and how far the daemon is with them.

use std::time::Duration;

use avocet_protocol::{MessageId, TurnEvent, TurnId, WaitKind};

/// How long after the outcome of a message its answer may take to be heard, and how long after a message was sent it
/// may take to become the answer to a question.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// A message whose answer has not been shown yet.
#[derive(Debug)]
struct OwnMessage {
    id: MessageId,
    is_command: bool,
    sent_at: Duration,
    turn: Option<TurnId>,
    /// Something was said that may be its answer.
    is_answered: bool,
    /// The event of its end was heard. Events come in their order, so those before it were heard as well.
    is_ended: bool,
    /// When its outcome was known.
    outcome_at: Option<Duration>,
}

impl OwnMessage {
    /// When the wait for the missing answer or event is over.
    fn deadline(&self) -> Option<Duration> {
        self.outcome_at.map(|at| at + GRACE)
    }

    fn is_finished(&self, now: Duration) -> bool {
        let is_over = self.deadline().is_some_and(|deadline| now >= deadline);
        is_over || (self.outcome_at.is_some() && self.is_answered && self.is_ended)
    }
}

/// All of them, oldest first.
#[derive(Debug, Default)]
pub(super) struct OwnMessages {
    messages: Vec<OwnMessage>,
    /// What the turn of the chat waits for.
    waits: Option<WaitKind>,
    /// Something was said since the turn went on for the last time: the question, if it waits.
    has_spoken: bool,
}

impl OwnMessages {
    pub(super) fn add(&mut self, id: MessageId, is_command: bool, now: Duration) {
        // Any text answers the agent's own question, and the turn goes on with it.
        if self.waits == Some(WaitKind::Answer) && !is_command {
            self.go_on();
        }
        self.messages.push(OwnMessage {
            id,
            is_command,
            sent_at: now,
            turn: None,
            is_answered: false,
            is_ended: false,
            outcome_at: None,
        });
    }

    pub(super) fn end(&mut self, id: MessageId, turn: Option<TurnId>, now: Duration) {
        if let Some(message) = self.messages.iter_mut().find(|message| message.id == id) {
            message.turn = message.turn.or(turn);
            message.outcome_at = Some(now);
        }
    }

    pub(super) fn hear_text(&mut self, turn: Option<TurnId>) {
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

    pub(super) fn hear(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::Started { turn, messages } => {
                self.go_on();
                let starts = |one: &&mut OwnMessage| messages.iter().any(|of| of.id == one.id);
                for message in self.messages.iter_mut().filter(starts) {
                    message.is_answered &= message.turn == Some(*turn);
                    message.turn = Some(*turn);
                }
            }
            TurnEvent::Thinking { .. } | TurnEvent::ToolStarted { .. } | TurnEvent::Resumed => {
                self.go_on();
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

    /// The turn of the chat does not wait any more.
    fn go_on(&mut self) {
        self.waits = None;
        self.has_spoken = false;
    }

    pub(super) fn forget_finished(&mut self, now: Duration) {
        self.messages.retain(|message| !message.is_finished(now));
    }

    /// Whether any has no outcome yet.
    pub(super) fn is_open(&self) -> bool {
        self.messages.iter().any(|message| message.outcome_at.is_none())
    }

    /// Whether the person was asked something and has to answer.
    pub(super) fn is_asked(&self) -> bool {
        self.waits.is_some() && self.has_spoken
    }

    /// Whether the daemon works for the person.
    pub(super) fn is_working(&self) -> bool {
        self.is_open() && !self.is_asked()
    }

    /// Since when it does.
    pub(super) fn since(&self) -> Option<Duration> {
        let open = self.messages.iter().filter(|message| message.outcome_at.is_none());
        open.map(|message| message.sent_at).min()
    }

    /// Whether an answer is still to come before the person says something again.
    pub(super) fn is_busy(&self, now: Duration) -> bool {
        self.messages
            .iter()
            .any(|message| !message.is_finished(now) && !self.is_behind(message, now))
    }

    /// Whether a message waits until the person has answered the turn's question.
    fn is_behind(&self, message: &OwnMessage, now: Duration) -> bool {
        let is_no_answer = message.turn.is_some() || now >= message.sent_at + GRACE;
        self.is_asked() && message.outcome_at.is_none() && !message.is_command && is_no_answer
    }

    /// When the answers change if nothing happens until then.
    pub(super) fn deadline(&self, now: Duration) -> Option<Duration> {
        let deadlines = self.messages.iter().flat_map(|message| {
            let waits = self.is_asked() && message.turn.is_none() && !message.is_command;
            [message.deadline(), waits.then(|| message.sent_at + GRACE)]
        });
        deadlines.flatten().filter(|deadline| *deadline > now).min()
    }
}
