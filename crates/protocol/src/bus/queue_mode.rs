//! The queue mode of a session.

use serde::{Deserialize, Serialize};

/// The handling of messages that arrive while a turn runs.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum QueueMode {
    /// Each message gets its own turn, in order.
    #[default]
    Queue,
    /// All waiting messages are answered together.
    Collect,
    /// The running turn reads the messages at its next step.
    Steer,
    /// The messages cancel the running turn.
    Interrupt,
}

impl QueueMode {
    /// In the order of declaration.
    pub const ALL: [Self; 4] = [Self::Queue, Self::Collect, Self::Steer, Self::Interrupt];

    /// The word in the configuration, the log and the command.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Collect => "collect",
            Self::Steer => "steer",
            Self::Interrupt => "interrupt",
        }
    }
}
