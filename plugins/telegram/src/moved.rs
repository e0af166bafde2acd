//! A group that becomes a supergroup has another id from then on. What is under way goes to the new
//! one ([`Telegram::send`]); what is said there is a conversation of its own, and the chat is told.

use avocet_protocol::{ChatAddress, ChatKind, Content, DedupeKey, IdError, Inbound};
use teloxide::types::Message;

use crate::Telegram;
use crate::convert::{Bot, Converted, sender};
use crate::receive::{Receiver, Stopped};

/// A group that has another id from now on.
#[derive(Debug, PartialEq)]
pub(crate) struct Moved {
    /// Who made it move, in the group as it was.
    inbound: Inbound,
    to: ChatAddress,
}

impl Bot<'_> {
    /// What the message that a group leaves behind says; none if it is another.
    pub(crate) fn moved(&self, message: &Message) -> Result<Option<Converted>, IdError> {
        let Some(to) = message.migrate_to_chat_id() else { return Ok(None) };
        let Some(by) = &message.from else { return Ok(None) };
        let address = self.address(message.chat.id, None)?;
        let key = DedupeKey::parse(&format!("moved to {to}"))?;
        let inbound = Inbound {
            chat: ChatKind::Group,
            from_platform: true,
            ..Inbound::new(address, sender(by)?, key, Content::default())
        };
        Ok(Some(Converted::Moved(Box::new(Moved { inbound, to: self.address(*to, None)? }))))
    }
}

impl Receiver<'_> {
    /// Tells the operator, who may have named the group in the configuration, and the group itself if
    /// whoever made it move may speak there. What is sent to the old id goes to the new one.
    pub(crate) async fn tell_moved(&self, moved: &Moved) -> Result<(), Stopped> {
        let Moved { inbound, to } = moved;
        let Telegram { name, account, .. } = self.telegram;
        tracing::warn!(
            %account,
            "the group {} is now the supergroup {}; if [channels.{name}] names it in groups, name it \
             so from now on",
            inbound.address.chat,
            to.chat
        );
        let line = "This group is a supergroup now, which is another chat to me: I begin a new \
            conversation here and do not see what was said before.";
        self.say_back(inbound, &Content::text(line)).await
    }
}
