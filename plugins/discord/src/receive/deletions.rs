//! Messages that were deleted, by their author or by a moderator. One that waits or runs is not
//! answered any more, and one that was read along is no longer told to the model.
//!
//! The platform reports a deletion once, to the sessions of that moment. A session that is resumed gets
//! it, too. Behind a gap, such as a restart of the daemon, each message without an answer is asked for
//! once.

use avocet_channel_kit::Stopped;
use avocet_protocol::store::UnansweredMessage;
use serde::Deserialize;
use serde_json::Value;
use serenity::model::id::{ChannelId, MessageId};

use crate::fault::RestError;
use crate::gateway::BotIds;
use crate::{convert, send};

use super::Receiver;
use super::requests::PlatformRequest;
use super::schedule::{Subject, When};

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

/// Messages that are asked for behind a gap. They take a few seconds of the limit for requests.
const MAX_CHECKED: u32 = 100;
/// Discord's error code for a deleted message.
const UNKNOWN_MESSAGE: isize = 10_008;

/// Returns the message that a refused request shows to be deleted.
pub(super) fn find_deleted(request: PlatformRequest, fault: &RestError) -> Option<MessageId> {
    match request {
        PlatformRequest::Message(_, message) if fault.is_refused_with(UNKNOWN_MESSAGE) => {
            Some(message)
        }
        _ => None,
    }
}

impl Receiver<'_> {
    /// Schedules a request for each message that has no answer yet. Turns are not kept back meanwhile:
    /// the turn of a deleted message ends as soon as its deletion is known.
    pub(super) async fn check_unanswered(&mut self) -> Result<(), Stopped> {
        let now = self.context.clock.elapsed();
        for UnansweredMessage { chat, key } in self.intake.list_unanswered(MAX_CHECKED).await? {
            let channel = send::channel_or_user(&chat);
            if let (Some(channel), Some(message)) = (channel, convert::message_of(&key)) {
                self.schedule.add(Subject::Message(channel.into(), message), When::At(now));
                self.unanswered.insert(message, chat);
            }
        }
        Ok(())
    }

    /// Takes back a message that was deleted during a gap.
    pub(super) async fn withdraw_unanswered(&mut self, message: MessageId) -> Result<(), Stopped> {
        let chat = self.unanswered.remove(&message);
        if let (Some(chat), Ok(key)) = (chat, convert::key_of(message)) {
            self.intake.withdraw_message(&chat, &key).await?;
        }
        Ok(())
    }

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
                self.intake.withdraw_message(&chat, &key).await?;
            }
        }
        Ok(())
    }
}
