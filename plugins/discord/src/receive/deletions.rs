//! Messages that were deleted, by their author or by a moderator. One that waits or runs is not
//! answered any more, and one that was read along is no longer told to the model.

use avocet_channel_kit::Stopped;
use serde::Deserialize;
use serde_json::Value;
use serenity::model::id::{ChannelId, MessageId};

use crate::convert;
use crate::gateway::BotIds;

use super::Receiver;

/// The event of several messages of a channel that a moderator has deleted at once.
pub(super) const MESSAGE_DELETE_BULK: &str = "MESSAGE_DELETE_BULK";

/// The fields of both events.
#[derive(Debug, Deserialize)]
struct DeletedMessages {
    channel_id: ChannelId,
    id: Option<MessageId>,
    #[serde(default)]
    ids: Vec<MessageId>,
}

impl Receiver<'_> {
    /// Takes deleted messages back.
    pub(super) async fn handle_deletion(
        &mut self,
        bot: BotIds,
        data: &Value,
    ) -> Result<(), Stopped> {
        let Ok(DeletedMessages { channel_id, id, ids }) = DeletedMessages::deserialize(data) else {
            return self.intake.ignore("unreadable", None).await;
        };
        for message in id.into_iter().chain(ids) {
            self.unmentioned.pop(&message);
            self.recent.forget_messages(&channel_id, |known| *known == message);
            let chat = self.identity(bot).address(channel_id, self.channel_type(channel_id));
            if let (Ok(chat), Ok(key)) = (chat, convert::key_of(message)) {
                self.intake.withdraw(&chat, &key).await?;
            }
        }
        Ok(())
    }
}
