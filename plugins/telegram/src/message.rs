//! Converts messages, edits and pressed buttons that teloxide has parsed.

use avocet_channel_kit::{Converted, Unreadable};
use avocet_protocol::chat::{ChatAddress, ChatKind, Content, Inbound, Quote, Sender};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{DedupeKey, IdError, PlatformId, SenderId};
use teloxide::types::{
    CallbackQuery, Chat, MaybeInaccessibleMessage, Message, MessageOrigin, User,
};

use crate::bot::{Audience, BotIdentity};
use crate::commands;
use crate::convert::NOT_MENTIONED;
use crate::hidden_addresses::{add_addresses, describe_buttons};
use crate::media::{self, Carried};
use crate::raw_chat::Fields;

impl BotIdentity<'_> {
    /// Converts a message. A message for others is ignored.
    pub(crate) fn message(
        &self,
        message: &Message,
        audience: Audience,
    ) -> Result<Converted, IdError> {
        let Some(from) = &message.from else { return Ok(Converted::Ignored("without a sender")) };
        let carried = media::carried(message);
        let text = message.text().or_else(|| message.caption());
        if text.is_none() && carried == Carried::Nothing {
            return Ok(Converted::Ignored("without text"));
        }
        if audience == Audience::Others {
            return Ok(Converted::Ignored(NOT_MENTIONED));
        }
        let topic = message.thread_id.filter(|_| message.is_topic_message);
        let address = self.address(message.chat.id, topic)?;
        let key = self.key_of(message.chat.id, message.id.0.into())?;
        let inbound = Inbound {
            chat: kind(&message.chat),
            from_platform: true,
            written_at: Some(Timestamp(message.date.timestamp_millis())),
            ..Inbound::new(address, author(message, from)?, key, Content::default())
        };
        if let Carried::Unreadable(kind) = carried {
            return Ok(Converted::Unreadable(Box::new(Unreadable::new(inbound, kind)?)));
        }
        let is_card = carried.is_card();
        let (line, attachments) = carried.into_parts();
        let shown =
            |text: &str| self.fields.map_or(text.to_owned(), |raw| add_addresses(text, raw));
        let text = text.map(|text| self.without_own_name(&shown(text)));
        let buttons = self.fields.and_then(describe_buttons);
        let forwarded_from = message.forward_origin().map(original_sender);
        let author = self.fields.and_then(bot_author);
        let card = is_card.then(|| "a card in this message".to_owned());
        let parts = [
            MessagePart { from: author.clone(), text },
            MessagePart { from: author.or(card), text: line },
            MessagePart { from: Some("the buttons of this message".to_owned()), text: buttons },
        ];
        let mut content = Content { attachments, ..join_parts(parts, forwarded_from) };
        if let Some(replied) = self.fields.and_then(|fields| self.replied_message(fields)) {
            replied.add_to(&mut content);
        }
        Ok(Converted::Inbound(Box::new(Inbound { content, ..inbound })))
    }

    /// Converts an edited message to a correction.
    pub(crate) fn edited(
        &self,
        message: &Message,
        audience: Audience,
    ) -> Result<Converted, IdError> {
        let Some(edited) = message.edit_date() else {
            return Ok(Converted::Ignored("edited without a time"));
        };
        let is_location = message.location().is_some();
        match no_correction(is_location, message.media_group_id().is_some()) {
            Some(reason) => Ok(Converted::Ignored(reason)),
            None => corrected_at(self.message(message, audience)?, edited.timestamp()),
        }
    }

    pub(crate) fn pressed(&self, query: &CallbackQuery) -> Result<Converted, IdError> {
        let (Some(text), Some(message)) = (&query.data, &query.message) else {
            return Ok(Converted::Ignored("a button without text"));
        };
        let chat = message.chat();
        let topic = match message {
            MaybeInaccessibleMessage::Regular(message) => {
                message.thread_id.filter(|_| message.is_topic_message)
            }
            MaybeInaccessibleMessage::Inaccessible(_) => None,
        };
        let address = self.address(chat.id, topic)?;
        let sender = sender(&query.from)?;
        let pressed = self.sent_number(chat.id, message.id());
        ButtonPress { id: &query.id.0, text, address, chat: kind(chat), sender, pressed }.convert()
    }
}

/// A part of a message's text.
struct MessagePart {
    /// The author, if it is not the message's sender.
    from: Option<String>,
    text: Option<String>,
}

/// Joins the parts that the sender has written. The others are untrusted. A forwarded message stays
/// whole, because all of it is untrusted.
fn join_parts(parts: [MessagePart; 3], forwarded_from: Option<String>) -> Content {
    let (mut own, mut untrusted) = (Vec::new(), Vec::new());
    for MessagePart { from, text } in parts {
        match (from, text) {
            (_, None) => {}
            (Some(from), Some(text)) if forwarded_from.is_none() => {
                untrusted.push(Quote { from: Some(from), text });
            }
            (_, Some(text)) => own.push(text),
        }
    }
    Content { forwarded_from, untrusted, ..Content::text(own.join("\n")) }
}

/// Returns the bot that has written a message for its sender (Bot API, `via_bot`).
fn bot_author(message: &Fields) -> Option<String> {
    let bot = message.get("via_bot").filter(|bot| bot.is_object())?;
    let name = bot["username"].as_str().or_else(|| bot["first_name"].as_str());
    Some(format!("the bot {}", name.unwrap_or("of another person")))
}

/// A pressed button, which counts as a message with the button's text.
pub(crate) struct ButtonPress<'a> {
    pub(crate) id: &'a str,
    pub(crate) text: &'a str,
    pub(crate) address: ChatAddress,
    pub(crate) chat: ChatKind,
    pub(crate) sender: Sender,
    /// The message with the button.
    pub(crate) pressed: Option<PlatformId>,
}

impl ButtonPress<'_> {
    pub(crate) fn convert(self) -> Result<Converted, IdError> {
        let Self { id, text, address, chat, sender, pressed } = self;
        let key = DedupeKey::parse(&format!("c{id}"))?;
        // The reply of a command is the answer to its press.
        let reply_to = commands::is_command(text).then(|| key.clone());
        let content = Content { pressed, by_button: true, reply_to, ..Content::text(text) };
        let inbound = Inbound::new(address, sender, key, content);
        Ok(Converted::Inbound(Box::new(Inbound { chat, from_platform: true, ..inbound })))
    }
}

/// The reason to ignore an edit, depending on the edited message.
pub(crate) fn no_correction(is_location: bool, is_in_album: bool) -> Option<&'static str> {
    match (is_location, is_in_album) {
        (true, _) => Some("a live location that moved"),
        // An album is one inbound message. The edit of one part would replace all of it.
        (_, true) => Some("an edit of an album"),
        (false, false) => None,
    }
}

/// Turns an edited message into a correction. The edit time, in seconds, is part of the key, so
/// that it differs from earlier edits.
pub(crate) fn corrected_at(edited: Converted, seconds: i64) -> Result<Converted, IdError> {
    Ok(match edited {
        Converted::Inbound(inbound) => Converted::Inbound(Box::new(Inbound {
            key: DedupeKey::parse(&format!("{}e{seconds}", inbound.key))?,
            corrects: Some(inbound.key.clone()),
            written_at: Some(Timestamp(seconds.saturating_mul(1000))),
            ..*inbound
        })),
        // The sender got a reply about the original message already.
        Converted::Unreadable(_) => Converted::Ignored("an edit of the unreadable"),
        Converted::Ignored(reason) => Converted::Ignored(reason),
    })
}

/// The author of a forwarded message, as far as the author's privacy settings allow.
pub(crate) fn original_sender(origin: &MessageOrigin) -> String {
    match origin {
        MessageOrigin::User { sender_user, .. } => sender_user.full_name(),
        MessageOrigin::HiddenUser { sender_user_name, .. } => sender_user_name.clone(),
        MessageOrigin::Chat { sender_chat: chat, .. } | MessageOrigin::Channel { chat, .. } => {
            chat.title().unwrap_or("a channel").to_owned()
        }
    }
}

fn kind(chat: &Chat) -> ChatKind {
    if chat.is_private() { ChatKind::Private } else { ChatKind::Group }
}

/// The author of a message: a person, or the group or channel as which a person writes.
fn author(message: &Message, from: &User) -> Result<Sender, IdError> {
    match &message.sender_chat {
        // A post of the linked channel, which Telegram forwards by itself.
        Some(_) if message.is_automatic_forward() => sender(from),
        Some(chat) => {
            let id = SenderId::parse(&chat.id.0.to_string())?;
            Ok(Sender { id, name: chat.title().map(str::to_owned), is_bot: false })
        }
        None => sender(from),
    }
}

pub(crate) fn sender(user: &User) -> Result<Sender, IdError> {
    let id = SenderId::parse(&user.id.0.to_string())?;
    Ok(Sender { id, name: Some(user.full_name()), is_bot: user.is_bot })
}
