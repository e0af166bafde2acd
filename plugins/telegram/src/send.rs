//! Sends a chunk to the platform, and derives the outcome from its answer.

use avocet_channel_kit::telegram::{self, Entity, EntityKind, entities};
use avocet_channel_kit::{Styled, messages, render};
use avocet_protocol::{ChatAddress, Choice, Content, Delivery, PlatformId, Receipt, SendError};
use teloxide::payloads::{SendMessage, SendMessageSetters};
use teloxide::types::{
    ChatId, InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions, MessageEntity,
    MessageEntityKind, MessageId,
};

use crate::Telegram;
use crate::api::MessageReceipt;
use crate::attempt::{Attempt, LINES_ABOVE};
use crate::edit;
use crate::fault::{BotApiError, BotApiRefusal, DELETED_AT_ONCE};
use crate::moved::{ChatPlace, Number};
use crate::token;

/// Bytes of a button's data (Bot API, "InlineKeyboardButton").
const MAX_SAYS_BYTES: usize = 64;

/// Splits a text into messages, numbered or not. The buttons go with the last one.
pub(crate) fn plan(reply: &Content, numbered: bool) -> Vec<Content> {
    let limit = telegram::limit().reserving(LINES_ABOVE);
    let chunks = messages(&styled(reply), limit, numbered);
    let last = chunks.len().saturating_sub(1);
    let content = |(place, Styled { text, styles })| {
        let (attachments, choices) = match place == last {
            true => (reply.attachments.clone(), reply.choices.clone()),
            false => Default::default(),
        };
        Content { text, styles: Some(styles), attachments, choices, ..Content::default() }
    };
    chunks.into_iter().enumerate().map(content).collect()
}

/// The styled text. A planned chunk is rendered already.
pub(crate) fn styled(content: &Content) -> Styled {
    match &content.styles {
        Some(styles) => Styled { text: content.text.clone(), styles: styles.clone() },
        None => render(&content.as_text()),
    }
}

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
                None => self.send_text(&attempt).await,
            };
            match sent {
                Ok(message) => return Ok(receipt(&attempt, message)),
                Err(fault) if attempt.edited.is_some() && edit::is_gone(&fault) => {
                    return Err(SendError::Gone);
                }
                Err(fault) => attempt = attempt.adapt(self, &fault)?,
            }
            self.pace.leave_again();
        }
    }

    async fn send_text(&self, attempt: &Attempt<'_>) -> Result<MessageId, BotApiError> {
        let Attempt { delivery, place, text, looks, .. } = attempt;
        let request = SendMessage::new(place.chat, &text.text);
        let mut request = request.entities(looks.clone()).link_preview_options(no_preview());
        if let Some(topic) = attempt.topic() {
            request = request.message_thread_id(topic);
        }
        if let Some(replied) = attempt.reply_to() {
            request = request.reply_parameters(replied);
        }
        if !delivery.content.choices.is_empty() {
            request = request.reply_markup(buttons(&delivery.content.choices));
        }
        self.api.call(request).await.map(MessageReceipt::id)
    }

    /// The outcome of a failed send.
    pub(crate) fn outcome(&self, fault: &BotApiError) -> SendError {
        if token::is_refused(fault) {
            self.account_refused(fault);
        }
        outcome(fault)
    }

    /// The platform's chat for an address.
    pub(crate) fn place(&self, chat: &ChatAddress) -> Result<ChatPlace, SendError> {
        let chat = chat.chat.as_str();
        let unknown = |_| format!("{chat} is no chat of Telegram: it is not a number");
        let chat = chat.parse().map(ChatId).map_err(unknown).map_err(SendError::Refused)?;
        Ok(self.moves.place(chat))
    }
}

/// The styles as entities of the platform.
pub(crate) fn looks(text: &Styled) -> Result<Vec<MessageEntity>, SendError> {
    entities(text).into_iter().map(entity).collect()
}

fn entity(entity: Entity) -> Result<MessageEntity, SendError> {
    let kind = match entity.kind {
        EntityKind::Bold => MessageEntityKind::Bold,
        EntityKind::Italic => MessageEntityKind::Italic,
        EntityKind::Strikethrough => MessageEntityKind::Strikethrough,
        EntityKind::Spoiler => MessageEntityKind::Spoiler,
        EntityKind::Code => MessageEntityKind::Code,
        EntityKind::Pre { language } => MessageEntityKind::Pre { language },
        EntityKind::Blockquote => MessageEntityKind::Blockquote,
        EntityKind::TextLink { url } => MessageEntityKind::TextLink {
            url: url.parse().map_err(|_| SendError::Refused(format!("{url} is no URL")))?,
        },
    };
    Ok(MessageEntity { kind, offset: entity.offset, length: entity.length })
}

/// A button for each choice that fits into the limit; the text names the others.
pub(crate) fn buttons(choices: &[Choice]) -> InlineKeyboardMarkup {
    let fits = choices.iter().filter(|choice| choice.says.len() <= MAX_SAYS_BYTES);
    let row = fits.map(|choice| InlineKeyboardButton::callback(&choice.label, &choice.says));
    InlineKeyboardMarkup::new([row.collect::<Vec<_>>()])
}

pub(crate) fn no_preview() -> LinkPreviewOptions {
    LinkPreviewOptions {
        is_disabled: true,
        url: None,
        prefer_small_media: false,
        prefer_large_media: false,
        show_above_text: false,
    }
}

pub(crate) fn receipt(attempt: &Attempt<'_>, id: MessageId) -> Receipt {
    let number = Number { id, anew: attempt.place.moved, lost: attempt.lost };
    Receipt { platform_id: PlatformId::parse(&number.to_string()).ok() }
}

fn outcome(fault: &BotApiError) -> SendError {
    let text = fault.to_string();
    match fault {
        BotApiError::Wait(wait) => SendError::RetryAfter(*wait),
        BotApiError::NotSent(_) => SendError::Failed(text),
        BotApiError::Broken(_) => SendError::Unknown(text),
        BotApiError::Moved(_) => SendError::Refused(text),
        BotApiError::Refused(refusal) => match refusal.turned_away_for() {
            Some(wait) => SendError::RetryAfter(wait),
            None => refused(refusal),
        },
    }
}

fn refused(refusal: &BotApiRefusal) -> SendError {
    let text = refusal.to_string();
    match (refusal.code, &refusal.words) {
        // Messages wait until the operator corrects the token or `api_url`.
        (401 | 404, _) => SendError::Failed(text),
        // A retry would end in the same way.
        (500, Some(words)) if words.contains(DELETED_AT_ONCE) => {
            SendError::Refused(refusal.with_advice())
        }
        (500.., _) if refusal.is_certain_failure() => SendError::Failed(text),
        (500.., _) => SendError::Unknown(text),
        // The message is too large, whichever server says so.
        (413, _) => SendError::Refused(text),
        // A server in front of the Bot API refused, regardless of the message.
        (400.., None) => SendError::Failed(text),
        (400.., Some(_)) => SendError::Refused(refusal.with_advice()),
        (..400, _) => SendError::Unknown(text),
    }
}

#[cfg(test)]
#[path = "send_tests.rs"]
mod tests;
