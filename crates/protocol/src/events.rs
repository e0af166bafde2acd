//! What happens in a turn while it happens: for showing, never for keeping.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{MessageId, Outcome, SessionId, TurnId, WaitKind};

/// One thing that happens in a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TurnEvent {
    /// A lane has taken the turn.
    Started {
        /// The turn.
        turn: TurnId,
        /// What it answers.
        messages: Vec<StartedMessage>,
    },
    /// The earlier conversation is condensed, because it has become too long.
    Condensing,
    /// The model is being asked.
    Thinking {
        /// The step, from 0.
        step: u32,
    },
    /// The model writes.
    Text {
        /// The next piece.
        delta: String,
    },
    /// What the model has written in this step does not count.
    Restarted,
    /// A tool runs.
    ToolStarted {
        /// Which.
        name: String,
    },
    /// A tool has run.
    ToolFinished {
        /// Which.
        name: String,
        /// Whether it succeeded.
        ok: bool,
    },
    /// The turn waits for something from outside.
    Waiting {
        /// For what.
        kind: WaitKind,
    },
    /// A person has decided what the turn waited for, and it goes on.
    Resumed,
    /// The turn has ended, or a command has acted, and that is in the log.
    Ended {
        /// The turn; none for a command.
        turn: Option<TurnId>,
        /// The messages that it ended.
        messages: Vec<MessageId>,
        /// How it ended.
        outcome: Outcome,
    },
}

/// A message that a turn answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedMessage {
    /// Its number.
    pub id: MessageId,
    /// Who wrote it.
    pub sender: String,
    /// What it says.
    pub text: String,
}

/// Where turns say what happens in them, and where others listen.
pub trait TurnEvents: fmt::Debug + Send + Sync {
    /// Tells whoever listens. Never waits: a listener that does not keep up misses something.
    fn emit(&self, session: &SessionId, event: TurnEvent);

    /// Listens to one session from now on.
    fn subscribe(&self, session: &SessionId) -> flume::Receiver<TurnEvent>;
}
