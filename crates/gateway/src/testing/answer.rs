//! The answer to the fake's only message.

use avocet_protocol::{MessageId, MessageStatus, ProgramCall, Timestamp, TurnId, Usage};

use super::{FakeDaemon, session};

/// The parts of the answer to `m1` that differ from the plain one.
#[derive(Debug, Clone, Default)]
pub struct FakeAnswer {
    /// The text; `None` for `the reply`.
    pub reply: Option<String>,
    /// `true` if the turn ended with an error.
    pub failed: bool,
    /// The tokens; `None` before a turn began.
    pub usage: Option<Usage>,
    /// Calls that the program has to run.
    pub calls: Vec<ProgramCall>,
}

impl FakeDaemon {
    /// Returns the status of the message `m1`.
    pub(super) fn first_message(&self) -> MessageStatus {
        let outcome = *self.outcome.lock().unwrap();
        let FakeAnswer { reply, failed, usage, calls } = self.answer.lock().unwrap().clone();
        let reply = outcome.map(|_| reply.unwrap_or_else(|| "the reply".to_owned()));
        MessageStatus {
            id: MessageId(1),
            session: session(),
            turn: usage.map(|_| TurnId(1)),
            outcome,
            reply,
            failed,
            received_at: usage.map(|_| Timestamp(5000)),
            usage,
            calls,
        }
    }
}
