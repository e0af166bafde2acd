//! The rights of other programs on the socket.

use std::fmt;

/// The rights of a program that connects to the daemon. Each role includes the ones before it.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ClientRole {
    /// Reads.
    #[default]
    Observer,
    /// Writes to the agent and to chats under its own name.
    Sender,
    /// Decides about calls that wait for an approval.
    Approver,
    /// Serves chats of a channel: also brings in messages of other people.
    Channel,
    /// Does everything.
    Operator,
}

impl ClientRole {
    /// In the order of declaration.
    pub const ALL: [Self; 5] =
        [Self::Observer, Self::Sender, Self::Approver, Self::Channel, Self::Operator];

    /// The word in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Observer => "observer",
            Self::Sender => "sender",
            Self::Approver => "approver",
            Self::Channel => "channel",
            Self::Operator => "operator",
        }
    }
}

impl fmt::Display for ClientRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
