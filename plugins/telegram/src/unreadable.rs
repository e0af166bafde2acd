//! Replies to senders of unreadable messages.

use avocet_channel_kit::unreadable;
use avocet_protocol::{
    ChatAddress, ChatKind, Content, DedupeKey, IdError, Inbound, PublishError, Sender,
};

use crate::receive::{Receiver, Stopped};

/// A message with unreadable content.
#[derive(Debug, PartialEq)]
pub(crate) struct Unreadable {
    /// The message without content: only its sender and its chat are used.
    inbound: Inbound,
    /// With its article: `a story`.
    kind: String,
    /// In a group, the message to reply to.
    reply_to: Option<DedupeKey>,
}

impl Unreadable {
    /// Describes the unreadable message with the key `message`.
    pub(crate) fn new(
        (address, chat): (ChatAddress, ChatKind),
        message: DedupeKey,
        sender: Sender,
        kind: impl Into<String>,
    ) -> Result<Self, IdError> {
        let key = DedupeKey::parse(&format!("unreadable {message}"))?;
        let said = Inbound::new(address, sender, key, Content::default());
        let inbound = Inbound { chat, from_platform: true, ..said };
        let reply_to = (chat == ChatKind::Group).then_some(message);
        Ok(Self { inbound, kind: kind.into(), reply_to })
    }
}

impl Receiver<'_> {
    /// Tells the sender once that a message is unreadable, if the sender is admitted.
    pub(crate) async fn decline(&self, message: &Unreadable) -> Result<(), Stopped> {
        let Unreadable { inbound, kind, reply_to } = message;
        let line = Content { reply_to: reply_to.clone(), ..unreadable(kind) };
        let publish = &self.context.publish;
        match self.committed(|| publish.decline(inbound.clone(), line.clone())).await? {
            Ok(()) => {}
            Err(error @ PublishError::NotAllowed { .. }) => {
                tracing::info!(sender = %inbound.sender.id, %error, "not answered");
            }
            Err(error) => {
                tracing::warn!(chat = %inbound.address, %error, "the sender was not told: {}", line.text);
            }
        }
        Ok(())
    }
}
