//! Changes to a chat without a new message: edits, deletions, and the typing indicator.

use avocet_protocol::channel::SendError;
use avocet_protocol::chat::ChatAddress;
use avocet_protocol::ids::PlatformId;
use serde::de::IgnoredAny;
use teloxide::payloads::{
    DeleteMessage, EditMessageText, EditMessageTextSetters, SendChatAction, SendChatActionSetters,
};
use teloxide::types::{ChatAction, MessageId};

use crate::Telegram;
use crate::api::{ANSWER_LIMIT, MessageReceipt};
use crate::compose::{buttons, no_preview};
use crate::direct_topics::DirectTopic;
use crate::fault::BotApiError;
use crate::moved::{ChatPlace, MessageNumber};
use crate::telegram::attempt::Attempt;
use crate::topic::{self, TopicLoss};

/// Returns `true` if an edit failed because the message is gone or no longer editable.
pub(crate) fn is_gone(fault: &BotApiError) -> bool {
    let gone = ["message to edit not found", "message can't be edited", "MESSAGE_ID_INVALID"];
    gone.iter().any(|text| fault.contains(text)) || TopicLoss::from_fault(fault).is_some()
}

impl Telegram {
    /// Replaces the text of a message that shows a part of the chunk. A message that already shows
    /// the whole chunk is not changed.
    pub(crate) async fn edit_text(
        &self,
        attempt: &Attempt<'_>,
        message: MessageId,
    ) -> Result<MessageReceipt, BotApiError> {
        if let Some(edited) = self.send_rich(attempt, Some(message)).await {
            return edited;
        }
        let Attempt { delivery, place, text, entities, .. } = attempt;
        let mut request = EditMessageText::new(place.chat, message, &text.text)
            .entities(entities.clone())
            .link_preview_options(no_preview());
        if !delivery.content.choices.is_empty() {
            request = request.reply_markup(buttons(&delivery.content.choices));
        }
        match self.api.send(request).await {
            Err(fault) if fault.contains("message is not modified") => {
                Ok(MessageReceipt { id: Some(message) })
            }
            edited => edited,
        }
    }

    /// Shows the typing indicator for five seconds (Bot API, sendChatAction). The method has no
    /// parameter for a topic of direct messages.
    pub(crate) async fn show_typing(&self, chat: &ChatAddress) {
        let Ok(place) = self.place(chat) else { return };
        if DirectTopic::from_chat(chat).is_some() {
            return;
        }
        if self.drafts.is_shown(chat, self.clock.elapsed()) || !self.pace.spare_request(&chat.chat)
        {
            return;
        }
        let mut request = SendChatAction::new(place.chat, ChatAction::Typing);
        if let Some(topic) = topic::thread_of_chat(chat) {
            request = request.message_thread_id(topic);
        }
        let (clock, limit) = (self.clock.as_ref(), ANSWER_LIMIT);
        let shown = self.api.call_with_repeats::<IgnoredAny, _>(clock, limit, request).await;
        if let Err(error) = shown {
            tracing::debug!(%chat, %error, "cannot show the typing indicator");
        }
    }

    /// Deletes one of our messages. A message that is gone, or that was left behind by a move of
    /// its group, needs no deletion.
    pub(crate) async fn delete(
        &self,
        chat: &ChatAddress,
        shown_as: &PlatformId,
    ) -> Result<(), SendError> {
        let mut place = self.place(chat)?;
        let number = MessageNumber::of_sent(shown_as).ok_or(SendError::Gone)?;
        while let Some(message) = place.message(number) {
            let request = DeleteMessage::new(place.chat, message);
            match self.api.call::<IgnoredAny, _>(request).await {
                Err(BotApiError::Moved(new)) if new != place.chat => {
                    place = ChatPlace::moved_to(new);
                }
                Err(fault) if fault.contains("message to delete not found") => break,
                Err(fault) => {
                    tracing::debug!(%chat, error = %fault, "cannot delete a message");
                    return Err(self.outcome(&fault));
                }
                Ok(_) => break,
            }
        }
        Ok(())
    }
}
