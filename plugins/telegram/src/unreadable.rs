//! The polite line for what cannot be read. Whoever sent it would wait for ever otherwise.

use avocet_protocol::{ChatAddress, Content, DedupeKey, IdError, Outbound};

use crate::receive::{Receiver, Stopped};

/// A message that can be read by nobody here.
#[derive(Debug, PartialEq)]
pub(crate) struct Unreadable {
    chat: ChatAddress,
    key: DedupeKey,
    /// With its article: `a story`.
    kind: String,
}

impl Unreadable {
    /// A message of this kind in a private chat.
    pub(crate) fn new(
        chat: ChatAddress,
        message: i64,
        kind: impl Into<String>,
    ) -> Result<Self, IdError> {
        let key = DedupeKey::parse(&format!("unreadable m{message}"))?;
        Ok(Self { chat, key, kind: kind.into() })
    }
}

impl Receiver<'_> {
    /// Says once that a message cannot be read, to those who may speak.
    pub(crate) async fn decline(&self, unreadable: &Unreadable) -> Result<(), Stopped> {
        use avocet_protocol::Channel;
        let Unreadable { chat, key, kind } = unreadable;
        if !self.telegram.may_write(chat) {
            return Ok(());
        }
        let text = format!(
            "I cannot read this kind of message: {kind}. Send me a text, a photo, a voice message \
             or a file."
        );
        let line = Outbound { address: chat.clone(), content: Content::text(text) };
        let publish = &self.context.publish;
        let said = self.committed(|| publish.send(line.clone(), key.clone())).await?;
        if let Err(error) = said {
            tracing::warn!(%chat, %error, "nobody was told that a message cannot be read");
        }
        Ok(())
    }
}
