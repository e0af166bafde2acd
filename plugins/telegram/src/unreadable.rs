//! What is said about messages that are not for the agent, to whoever wrote them.

use avocet_channel_kit::unreadable;
use avocet_protocol::{
    ChatAddress, ChatKind, Content, DedupeKey, IdError, Inbound, PublishError, Sender,
};

use crate::receive::{Receiver, Stopped};

/// A message that can be read by nobody here.
#[derive(Debug, PartialEq)]
pub(crate) struct Unreadable {
    /// What there is of it: nothing but who wrote it, and where.
    inbound: Inbound,
    /// With its article: `a story`.
    kind: String,
    /// Where others write in between, the message.
    reply_to: Option<DedupeKey>,
}

impl Unreadable {
    /// The message that has this key.
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
    /// Says once that a message cannot be read, if whoever wrote it may speak.
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
                tracing::warn!(chat = %inbound.address, %error, "nobody was told: {}", line.text);
            }
        }
        Ok(())
    }
}
