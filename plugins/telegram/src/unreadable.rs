//! What is said about messages that are not for the agent, to whoever wrote them.

use avocet_channel_kit::unreadable;
use avocet_protocol::{ChatAddress, Content, DedupeKey, IdError, Inbound, PublishError, Sender};

use crate::receive::{Receiver, Stopped};

/// A message that can be read by nobody here.
#[derive(Debug, PartialEq)]
pub(crate) struct Unreadable {
    /// What there is of it: nothing but who wrote it, and where.
    inbound: Inbound,
    /// With its article: `a story`.
    kind: String,
}

impl Unreadable {
    /// A message of this kind in a private chat.
    pub(crate) fn new(
        chat: ChatAddress,
        message: &DedupeKey,
        sender: Sender,
        kind: impl Into<String>,
    ) -> Result<Self, IdError> {
        let key = DedupeKey::parse(&format!("unreadable {message}"))?;
        let inbound = Inbound::new(chat, sender, key, Content::default());
        Ok(Self { inbound: Inbound { from_platform: true, ..inbound }, kind: kind.into() })
    }
}

impl Receiver<'_> {
    /// Says once that a message cannot be read.
    pub(crate) async fn decline(&self, message: &Unreadable) -> Result<(), Stopped> {
        let Unreadable { inbound, kind } = message;
        self.say_back(inbound, &unreadable(kind)).await
    }

    /// Says something to whoever wrote what the agent is not given, if they may speak.
    pub(crate) async fn say_back(&self, inbound: &Inbound, line: &Content) -> Result<(), Stopped> {
        let publish = &self.context.publish;
        match self.committed(|| publish.decline(inbound.clone(), line.clone())).await? {
            Ok(()) => {}
            Err(error @ PublishError::NotAllowed { .. }) => {
                tracing::info!(sender = %inbound.sender.id, %error, "not answered");
            }
            Err(error) => {
                tracing::warn!(chat = %inbound.address, %error, "nobody was told: {}", line.text);
            }
        }
        Ok(())
    }
}
