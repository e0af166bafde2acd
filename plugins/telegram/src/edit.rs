//! What changes in a chat without a new message: a message that is there already, and the sign that
//! somebody writes.

use avocet_protocol::{ChatAddress, Delivery, PlatformId};
use teloxide::payloads::{EditMessageTextSetters, SendChatActionSetters};
use teloxide::requests::{Request, Requester};
use teloxide::types::{ChatAction, ChatId, MessageEntity, MessageId};
use teloxide::{ApiError, RequestError};

use crate::Telegram;
use crate::fault::fault;
use crate::moved::{Number, Place};
use crate::send::{buttons, no_preview, topic};

/// Whether an edit found no message to be made in.
pub(crate) fn is_gone(error: &RequestError) -> bool {
    matches!(
        error,
        RequestError::Api(
            ApiError::MessageToEditNotFound
                | ApiError::MessageCantBeEdited
                | ApiError::MessageIdInvalid
        )
    )
}

impl Telegram {
    /// Puts a chunk in the place of the message that shows a part of it. One that shows all of it
    /// is left as it is.
    pub(crate) async fn edit_text(
        &self,
        (chat, message): (ChatId, MessageId),
        text: &str,
        looks: Vec<MessageEntity>,
        delivery: &Delivery,
    ) -> Result<MessageId, RequestError> {
        let mut request = self
            .client
            .edit_message_text(chat, message, text)
            .entities(looks)
            .link_preview_options(no_preview());
        if !delivery.content.choices.is_empty() {
            request = request.reply_markup(buttons(&delivery.content.choices));
        }
        match request.send().await {
            Err(RequestError::Api(ApiError::MessageNotModified)) => Ok(message),
            edited => edited.map(|edited| edited.id),
        }
    }

    /// Shows for five seconds that somebody writes (Bot API, sendChatAction).
    pub(crate) async fn type_in(&self, chat: &ChatAddress) {
        let Ok(place) = self.place(chat) else { return };
        let mut request = self.client.send_chat_action(place.chat, ChatAction::Typing);
        if let Some(topic) = topic(chat) {
            request = request.message_thread_id(topic);
        }
        if let Err(error) = request.send().await {
            tracing::debug!(%chat, error = fault(&error), "that somebody writes is not shown");
        }
    }

    /// Takes a message of ours back, if the platform lets it.
    pub(crate) async fn delete(&self, chat: &ChatAddress, shown_as: &PlatformId) {
        let (Ok(mut place), Some(number)) = (self.place(chat), Number::of_sent(shown_as)) else {
            return;
        };
        while let Some(message) = place.message(number) {
            match self.client.delete_message(place.chat, message).send().await {
                Err(RequestError::MigrateToChatId(new)) if new != place.chat => {
                    place = Place::moved_to(new);
                }
                Err(error) => {
                    let error = fault(&error);
                    tracing::warn!(%chat, error, "a message could not be taken back");
                    break;
                }
                Ok(_) => break,
            }
        }
    }
}
