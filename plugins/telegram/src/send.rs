//! Sends a text chunk to the platform.

use avocet_protocol::channel::SendError;
use avocet_protocol::chat::{Delivery, Receipt};
use teloxide::payloads::{SendMessage, SendMessageSetters, SendPoll, SendPollSetters};
use teloxide::types::InputPollOption;

use crate::Telegram;
use crate::api::MessageReceipt;
use crate::compose::{buttons, no_preview};
use crate::fault::BotApiError;
use crate::telegram::attempt::Attempt;
use crate::telegram::edit;

/// Characters of a question (Bot API, sendPoll).
const MAX_QUESTION: usize = 300;

impl Telegram {
    /// Sends a chunk to its chat, or edits the message that shows a part of it.
    pub(crate) async fn send(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        let mut attempt = Attempt::new(self, delivery)?;
        loop {
            let sent = match attempt.edited {
                Some(number) => {
                    let message = attempt.place.message(number).ok_or(SendError::Gone)?;
                    self.edit_text(&attempt, message).await
                }
                None if delivery.content.poll.is_some() => self.send_poll(&attempt).await,
                None => self.send_text(&attempt).await,
            };
            match sent {
                Ok(message) => return Ok(attempt.receipt(message)),
                Err(fault) if attempt.edited.is_some() && edit::is_gone(&fault) => {
                    return Err(SendError::Gone);
                }
                Err(fault) => attempt = attempt.adapt(self, &fault)?,
            }
            self.pace.leave_again();
        }
    }

    /// Sends a poll. The extra lines of the message stand above its question.
    async fn send_poll(&self, attempt: &Attempt<'_>) -> Result<MessageReceipt, BotApiError> {
        let Attempt { delivery, place, text, .. } = attempt;
        let poll = delivery.content.poll.iter();
        let answers = poll.clone().flat_map(|poll| &poll.answers).map(InputPollOption::new);
        let question: String = text.text.chars().take(MAX_QUESTION).collect();
        let mut request = SendPoll::new(place.chat, question, answers)
            .allows_multiple_answers(poll.clone().any(|poll| poll.multiple));
        if let Some(topic) = attempt.topic() {
            request = request.message_thread_id(topic);
        }
        if let Some(replied) = attempt.reply_to() {
            request = request.reply_parameters(replied);
        }
        self.api.send(attempt.in_topic(request)).await
    }

    async fn send_text(&self, attempt: &Attempt<'_>) -> Result<MessageReceipt, BotApiError> {
        if let Some(sent) = self.send_ephemeral(attempt).await {
            return sent;
        }
        if let Some(sent) = self.send_rich(attempt, None).await {
            return sent;
        }
        let Attempt { delivery, place, text, entities, .. } = attempt;
        let request = SendMessage::new(place.chat, &text.text);
        let mut request = request.entities(entities.clone()).link_preview_options(no_preview());
        if let Some(topic) = attempt.topic() {
            request = request.message_thread_id(topic);
        }
        if let Some(replied) = attempt.reply_to() {
            request = request.reply_parameters(replied);
        }
        if !delivery.content.choices.is_empty() {
            request = request.reply_markup(buttons(&delivery.content.choices));
        }
        self.api.send(attempt.in_topic(request)).await
    }
}
