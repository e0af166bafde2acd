//! A group that becomes a supergroup has another id from then on. What is under way goes to the new
//! one ([`Telegram::send`]); what is said there is a conversation of its own, and the chat is told.

use avocet_protocol::{ChatAddress, Content, DedupeKey, IdError, Outbound};
use teloxide::types::Message;

use crate::Telegram;
use crate::convert::{Bot, Converted};
use crate::receive::{Receiver, Stopped};

/// A group that has another id from now on.
#[derive(Debug, PartialEq)]
pub(crate) struct Moved {
    from: ChatAddress,
    to: ChatAddress,
    /// Whether it was a group that the bot listens to, or one of its people made it move: others are
    /// not written to.
    is_ours: bool,
}

impl Bot<'_> {
    /// What the message that a group leaves behind says; none if it is another.
    pub(crate) fn moved(&self, message: &Message) -> Result<Option<Converted>, IdError> {
        let Some(to) = message.migrate_to_chat_id() else { return Ok(None) };
        let from = self.address(message.chat.id, None)?;
        let by = message.from.as_ref().map(|from| from.id.0);
        let is_ours = self.unmentioned.contains(&message.chat.id.0)
            || by.is_some_and(|by| self.allow.contains(&by));
        Ok(Some(Converted::Moved(Box::new(Moved { from, to: self.address(*to, None)?, is_ours }))))
    }
}

impl Receiver<'_> {
    /// Tells the operator, who may have named the group in the configuration, and the group itself.
    pub(crate) async fn tell_moved(&self, moved: &Moved) -> Result<(), Stopped> {
        let Moved { from, to, is_ours } = moved;
        let Telegram { name, account, .. } = self.telegram;
        tracing::warn!(
            %account,
            "the group {} is now the supergroup {}; if [channels.{name}] names it in groups, name it \
             so from now on",
            from.chat,
            to.chat
        );
        if !is_ours {
            return Ok(());
        }
        let text = "This group is a supergroup now, which is another chat to me: I begin a new \
            conversation here and do not see what was said before.";
        let line = Outbound { address: to.clone(), content: Content::text(text) };
        let Ok(key) = DedupeKey::parse(&format!("moved from {}", from.chat)) else { return Ok(()) };
        let publish = &self.context.publish;
        if let Err(error) = self.committed(|| publish.send(line.clone(), key.clone())).await? {
            tracing::warn!(chat = %to, %error, "the group was not told that it is a new chat");
        }
        Ok(())
    }
}
