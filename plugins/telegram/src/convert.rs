//! Converts updates of the platform to inbound messages, or to a reason for ignoring them.

use std::collections::BTreeSet;

use avocet_channel_kit::{Converted, Unreadable};
use avocet_protocol::{
    AccountName, ChannelName, ChatAddress, ChatId, ChatKind, CommandHelp, Content, DedupeKey,
    IdError, Inbound, Quote, Sender, SenderId, Timestamp, TopicId,
};
use teloxide::types::{
    CallbackQuery, Chat, MaybeInaccessibleMessage, Me, Message, MessageEntityKind, MessageOrigin,
    ThreadId, UpdateKind, User,
};

use crate::entities;
use crate::media::{self, Carried};
use crate::moved::Moves;
use crate::update::Update;

/// The bot's identity and settings, for reading its updates.
#[derive(Debug)]
pub(crate) struct BotIdentity<'a> {
    pub(crate) me: &'a Me,
    pub(crate) channel: &'a ChannelName,
    pub(crate) account: &'a AccountName,
    /// Groups in which it answers without a mention.
    pub(crate) unmentioned: &'a BTreeSet<i64>,
    pub(crate) moves: &'a Moves,
    pub(crate) commands: &'a [CommandHelp],
}

impl BotIdentity<'_> {
    /// Converts an update, or the updates of an album as one. The platform has its own rules for
    /// ids, so an id may be invalid here.
    pub(crate) fn convert(&self, updates: &[Update]) -> Converted {
        let addressed = updates.iter().any(|update| match &update.kind {
            UpdateKind::Message(message) | UpdateKind::EditedMessage(message) => {
                message.chat.is_private()
                    || self.listens_to_all(message.chat.id)
                    || self.is_addressed(message)
            }
            _ => false,
        });
        let convert = |update| self.convert_one(update, addressed).unwrap_or_else(Converted::from);
        updates.iter().map(convert).reduce(joined).unwrap_or(Converted::Ignored("empty"))
    }

    fn convert_one(&self, update: &Update, addressed: bool) -> Result<Converted, IdError> {
        match &update.kind {
            UpdateKind::Message(message) => self.message(message, addressed),
            UpdateKind::EditedMessage(message) => self.edited(message, addressed),
            UpdateKind::CallbackQuery(query) => self.pressed(query),
            UpdateKind::Error(raw) => self.misread(raw),
            _ => Ok(Converted::Ignored("of another kind")),
        }
    }

    pub(crate) fn message(&self, message: &Message, addressed: bool) -> Result<Converted, IdError> {
        let Some(from) = &message.from else { return Ok(Converted::Ignored("without a sender")) };
        let carried = media::carried(message);
        let text = message.text().or_else(|| message.caption());
        if text.is_none() && carried == Carried::Nothing {
            return Ok(Converted::Ignored("without text"));
        }
        if !addressed {
            return Ok(Converted::Ignored("not mentioned"));
        }
        let topic = message.thread_id.filter(|_| message.is_topic_message);
        let address = self.address(message.chat.id, topic)?;
        let key = self.key_of(message.chat.id, message.id.0.into())?;
        let inbound = Inbound {
            chat: kind(&message.chat),
            from_platform: true,
            written_at: Some(Timestamp(message.date.timestamp_millis())),
            ..Inbound::new(address, sender(from)?, key, Content::default())
        };
        if let Carried::Unreadable(kind) = carried {
            return Ok(Converted::Unreadable(Box::new(Unreadable::new(inbound, kind)?)));
        }
        let (line, attachments) = carried.into_parts();
        let text = text.map(|text| self.without_own_name(text));
        let text: Vec<String> = text.into_iter().chain(line).collect();
        let content = Content {
            quote: self.quote(message),
            forwarded_from: message.forward_origin().map(original_sender),
            attachments,
            ..Content::text(text.join("\n"))
        };
        Ok(Converted::Inbound(Box::new(Inbound { content, ..inbound })))
    }

    fn edited(&self, message: &Message, addressed: bool) -> Result<Converted, IdError> {
        let Some(edited) = message.edit_date() else {
            return Ok(Converted::Ignored("edited at no time"));
        };
        let is_location = message.location().is_some();
        match no_correction(is_location, message.media_group_id().is_some()) {
            Some(reason) => Ok(Converted::Ignored(reason)),
            None => corrected_at(self.message(message, addressed)?, edited.timestamp()),
        }
    }

    /// The quoted part of the message replied to, or all of it. In a topic, the platform marks a
    /// plain message as a reply to the topic's first one; that is ignored.
    fn quote(&self, message: &Message) -> Option<Quote> {
        let replied = message.reply_to_message().filter(|replied| {
            replied.forum_topic_created().is_none()
                && Some(replied.id) != message.thread_id.map(|topic| topic.0)
        })?;
        let chosen = message.quote().map(|quote| quote.text.as_str());
        let text = chosen.or_else(|| replied.text()).or_else(|| replied.caption())?;
        let from = replied.from.as_ref().filter(|from| from.id != self.me.id);
        Some(Quote { from: from.map(User::full_name), text: text.to_owned() })
    }

    /// A pressed button counts as a message with the button's text.
    fn pressed(&self, query: &CallbackQuery) -> Result<Converted, IdError> {
        let (Some(says), Some(message)) = (&query.data, &query.message) else {
            return Ok(Converted::Ignored("a button without words"));
        };
        let chat = message.chat();
        let topic = match message {
            MaybeInaccessibleMessage::Regular(message) => {
                message.thread_id.filter(|_| message.is_topic_message)
            }
            MaybeInaccessibleMessage::Inaccessible(_) => None,
        };
        let place = (self.address(chat.id, topic)?, kind(chat));
        self.said_by_button(&query.id.0, says, place, sender(&query.from)?)
    }

    /// The message for a pressed button; `query` is the id of the press.
    pub(crate) fn said_by_button(
        &self,
        query: &str,
        says: &str,
        (address, chat): (ChatAddress, ChatKind),
        sender: Sender,
    ) -> Result<Converted, IdError> {
        let key = DedupeKey::parse(&format!("c{query}"))?;
        let said = Inbound::new(address, sender, key, Content::text(says));
        let inbound = Inbound { chat, from_platform: true, ..said };
        Ok(Converted::Inbound(Box::new(inbound)))
    }

    /// Returns `true` if the bot answers in this group without a mention.
    pub(crate) fn listens_to_all(&self, chat: teloxide::types::ChatId) -> bool {
        self.unmentioned.contains(&self.moves.home(chat).0)
    }

    /// Returns `true` if a group message is meant for the bot: a mention, a reply, or a command.
    pub(crate) fn is_addressed(&self, message: &Message) -> bool {
        let reply = message.reply_to_message().and_then(|replied| replied.from.as_ref());
        if reply.is_some_and(|from| from.id == self.me.id) {
            return true;
        }
        entities::marked(message).any(|(kind, text)| match kind {
            MessageEntityKind::Mention => self.is_own_name(&text),
            MessageEntityKind::TextMention { user } => user.id == self.me.id,
            MessageEntityKind::BotCommand => match text.split_once('@') {
                Some((_, name)) => self.is_own_name(name),
                None => self.is_ours(&text),
            },
            _ => false,
        })
    }

    /// Returns `true` for a command of ours. Without a bot's name, others may be meant for another
    /// bot.
    fn is_ours(&self, command: &str) -> bool {
        let name = command.strip_prefix('/').unwrap_or(command);
        self.commands.iter().any(|ours| ours.name.eq_ignore_ascii_case(name))
    }

    fn is_own_name(&self, name: &str) -> bool {
        name.trim_start_matches('@').eq_ignore_ascii_case(self.me.username())
    }

    /// Changes `/stop@our_bot now` to `/stop now`.
    fn without_own_name(&self, text: &str) -> String {
        let (word, rest) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
        match word.split_once('@') {
            Some((command, name)) if command.starts_with('/') && self.is_own_name(name) => {
                format!("{command}{rest}")
            }
            _ => text.to_owned(),
        }
    }

    /// The key of a message of a chat. Message ids are used because update ids restart after an
    /// idle week. Message ids restart only in a group that has moved.
    pub(crate) fn key_of(
        &self,
        chat: teloxide::types::ChatId,
        message: i64,
    ) -> Result<DedupeKey, IdError> {
        let begins = if self.moves.home(chat) == chat { 'm' } else { 'n' };
        DedupeKey::parse(&format!("{begins}{message}"))
    }

    /// The address of a chat. A group that has moved keeps its old address.
    pub(crate) fn address(
        &self,
        chat: teloxide::types::ChatId,
        topic: Option<ThreadId>,
    ) -> Result<ChatAddress, IdError> {
        let chat = self.moves.home(chat);
        let topic = topic.map(|topic| TopicId::parse(&topic.0.0.to_string())).transpose()?;
        Ok(ChatAddress {
            channel: self.channel.clone(),
            account: self.account.clone(),
            chat: ChatId::parse(&chat.0.to_string())?,
            topic,
        })
    }
}

/// Joins a message with the next one of the same album.
fn joined(first: Converted, next: Converted) -> Converted {
    match (first, next) {
        (Converted::Inbound(mut first), Converted::Inbound(next)) => {
            let (content, next) = (&mut first.content, next.content);
            let gap = if content.text.is_empty() || next.text.is_empty() { "" } else { "\n" };
            content.text = format!("{}{gap}{}", content.text, next.text);
            content.attachments.extend(next.attachments);
            Converted::Inbound(first)
        }
        (first @ Converted::Inbound(_), _) => first,
        (_, next) => next,
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
        // The sender was told about the original message already.
        Converted::Unreadable(_) => Converted::Ignored("an edit of the unreadable"),
        Converted::Ignored(reason) => Converted::Ignored(reason),
    })
}

/// The author of a forwarded message, as far as the author's privacy settings allow.
fn original_sender(origin: &MessageOrigin) -> String {
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

pub(crate) fn sender(user: &User) -> Result<Sender, IdError> {
    let id = SenderId::parse(&user.id.0.to_string())?;
    Ok(Sender { id, name: Some(user.full_name()), is_bot: user.is_bot })
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
