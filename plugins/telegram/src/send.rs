//! A chunk on its way to the platform, and what its answer says of the outcome.

use avocet_channel_kit::telegram::{self, Entity, EntityKind, entities};
use avocet_channel_kit::{Styled, messages, render};
use avocet_protocol::{
    ChatAddress, Choice, Content, Delivery, PlatformId, REPEAT_MARK, Receipt, SendError,
};
use teloxide::payloads::SendMessageSetters;
use teloxide::requests::{Request, Requester};
use teloxide::types::{
    ChatId, InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions, MessageEntity,
    MessageEntityKind, MessageId, ReplyParameters, ThreadId,
};
use teloxide::{ApiError, RequestError};

use crate::Telegram;
use crate::edit;
use crate::fault::{fault, refusal};
use crate::moved::{Number, Place};

/// Bytes of what a button says (Bot API, "InlineKeyboardButton").
const MAX_SAYS_BYTES: usize = 64;

/// Cuts a text into messages, numbered or not. The buttons go with the last one.
pub(crate) fn plan(reply: &Content, numbered: bool) -> Vec<Content> {
    // Room for the mark of a message that is sent again.
    let limit = telegram::limit().reserving(REPEAT_MARK.len() + 1);
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

/// The text as it looks; one that was planned is rendered already.
pub(crate) fn styled(content: &Content) -> Styled {
    match &content.styles {
        Some(styles) => Styled { text: content.text.clone(), styles: styles.clone() },
        None => render(&content.as_text()),
    }
}

impl Telegram {
    /// Sends a chunk to its chat, or to the supergroup that its chat has become. If the platform
    /// refuses how the text looks, it gets the text (F23).
    pub(crate) async fn send(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        let mut place = self.place(&delivery.address)?;
        let number = |shown| Number::of_sent(shown).ok_or(SendError::Gone);
        let edited = delivery.shown_as.as_ref().map(number).transpose()?;
        let text = marked(styled(&delivery.content), delivery.repeat && edited.is_none());
        let mut looks = looks(&text)?;
        loop {
            let sent = match edited {
                Some(number) => {
                    let message = place.message(number).ok_or(SendError::Gone)?;
                    self.edit_text((place.chat, message), &text.text, looks.clone(), delivery).await
                }
                None => self.send_text(place, &text.text, looks.clone(), delivery).await,
            };
            match sent {
                Ok(message) => return Ok(receipt(place, message)),
                Err(error) if edited.is_some() && edit::is_gone(&error) => {
                    return Err(SendError::Gone);
                }
                Err(RequestError::MigrateToChatId(new)) if new != place.chat => {
                    place = Place::moved_to(new);
                }
                Err(error) if is_about_looks(&error) && !looks.is_empty() => looks.clear(),
                Err(error) => return Err(outcome(&error)),
            }
        }
    }

    async fn send_text(
        &self,
        place: Place,
        text: &str,
        looks: Vec<MessageEntity>,
        delivery: &Delivery,
    ) -> Result<MessageId, RequestError> {
        let request = self.client.send_message(place.chat, text);
        let mut request = request.entities(looks).link_preview_options(no_preview());
        if let Some(topic) = topic(&delivery.address) {
            request = request.message_thread_id(topic);
        }
        if let Some(replied) = reply_to(&delivery.content, place) {
            request = request.reply_parameters(replied);
        }
        if !delivery.content.choices.is_empty() {
            request = request.reply_markup(buttons(&delivery.content.choices));
        }
        Ok(request.send().await?.id)
    }

    /// Where a chat is.
    pub(crate) fn place(&self, chat: &ChatAddress) -> Result<Place, SendError> {
        let chat = chat.chat.as_str();
        let unknown = |_| format!("{chat} is no chat of Telegram: it is not a number");
        let chat = chat.parse().map(ChatId).map_err(unknown).map_err(SendError::Refused)?;
        Ok(self.moves.place(chat))
    }
}

/// The topic of a chat.
pub(crate) fn topic(chat: &ChatAddress) -> Option<ThreadId> {
    let topic = chat.topic.as_ref()?.as_str().parse().ok()?;
    Some(ThreadId(MessageId(topic)))
}

/// What a message replies to. Where that was deleted, or left behind, it replies to nothing.
pub(crate) fn reply_to(content: &Content, place: Place) -> Option<ReplyParameters> {
    let replied = place.message(Number::of_heard(content.reply_to.as_ref()?)?)?;
    Some(ReplyParameters::new(replied).allow_sending_without_reply())
}

/// How a text looks, in the platform's terms.
pub(crate) fn looks(text: &Styled) -> Result<Vec<MessageEntity>, SendError> {
    entities(text).into_iter().map(entity).collect()
}

pub(crate) fn marked(text: Styled, repeat: bool) -> Styled {
    if !repeat {
        return text;
    }
    let mark = format!("{REPEAT_MARK}\n");
    let mut styles = text.styles;
    for range in &mut styles {
        range.start += mark.len();
        range.end += mark.len();
    }
    Styled { text: mark + &text.text, styles }
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

/// A button for each choice that the platform can carry; the others are in the text.
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

pub(crate) fn receipt(place: Place, id: MessageId) -> Receipt {
    let number = Number { id, anew: place.moved };
    Receipt { platform_id: PlatformId::parse(&number.to_string()).ok() }
}

/// Whether a refusal is about entities, not about the message.
pub(crate) fn is_about_looks(error: &RequestError) -> bool {
    match error {
        RequestError::Api(ApiError::CantParseEntities(_)) => true,
        RequestError::Api(ApiError::Unknown(text)) => text.contains("entit"),
        _ => false,
    }
}

/// What is known of a send that was answered with an error.
pub(crate) fn outcome(error: &RequestError) -> SendError {
    let text = fault(error);
    match error {
        RequestError::RetryAfter(seconds) => SendError::RetryAfter(seconds.duration()),
        RequestError::Network(error) if error.is_connect() || error.is_builder() => {
            SendError::Failed(text)
        }
        // Not a refusal: it may have been taken before the server failed.
        RequestError::Api(ApiError::Unknown(text)) if is_trouble_of_its_own(text) => {
            SendError::Unknown(text.clone())
        }
        // The operator gives the bot another token; until then messages wait.
        RequestError::Api(ApiError::InvalidToken) => SendError::Failed(text),
        RequestError::Api(_) | RequestError::MigrateToChatId(_) => {
            SendError::Refused(refusal(error))
        }
        RequestError::Network(_) | RequestError::InvalidJson { .. } | RequestError::Io(_) => {
            SendError::Unknown(text)
        }
    }
}

/// Whether an answer is about the platform and not about the message: 5xx in its words.
fn is_trouble_of_its_own(text: &str) -> bool {
    let words = ["Internal", "Bad Gateway", "Service Unavailable", "Gateway Time"];
    words.iter().any(|words| text.starts_with(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f5_trouble_of_the_platform_is_no_refusal() {
        let cases = [
            ("Bad Gateway", true),
            ("Internal Server Error: restart", true),
            ("Bad Request: chat not found", false),
        ];
        for (text, unknown) in cases {
            let error = RequestError::Api(ApiError::Unknown(text.to_owned()));
            assert_eq!(matches!(outcome(&error), SendError::Unknown(_)), unknown, "{text}");
        }
    }
}
