//! Converts events of the platform to inbound messages, or to the reason for ignoring them.

use std::collections::BTreeSet;

use avocet_channel_kit::{Converted, RepliedAuthor, RepliedMessage, Unreadable};
use avocet_protocol::channel::CommandHelp;
use avocet_protocol::chat::{ChatAddress, ChatKind, Content, Inbound, Quote, Sender};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{
    AccountName, ChannelName, ChatId, DedupeKey, IdError, PlatformId, SenderId, TopicId,
};
use serenity::model::channel::{Message, MessageReferenceKind, MessageSnapshot, MessageType, Poll};
use serenity::model::id::{ChannelId, InteractionId, MessageId, UserId};
use serenity::model::user::User;

use crate::bounded::KnownSet;
use crate::cards::{CARD, card_text};
use crate::channels::DiscordChannel;
use crate::discord::attachments;
use crate::discord::threads::Threads;
use crate::names::KnownNames;

/// The kind of a message without content, in the reply to it.
const EMPTY: &str = "an empty one, or one whose content Discord does not show me";

/// The end of an interaction's key if only the caller may see the answer.
const EPHEMERAL: &str = "p";

/// The reason for ignoring a message that is for others.
pub(crate) const NOT_MENTIONED: &str = "not mentioned";

/// The bot, for the conversion of its events.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BotIdentity<'a> {
    pub(crate) user: UserId,
    pub(crate) channel: &'a ChannelName,
    pub(crate) account: &'a AccountName,
    /// `true` if the bot answers every message.
    pub(crate) answer_all: bool,
    /// Channels in which the bot answers every message.
    pub(crate) unmentioned: &'a BTreeSet<ChannelId>,
    /// Threads in which the bot answers every message, because it has written there.
    pub(crate) spoken: Option<&'a KnownSet<ChannelId>>,
    pub(crate) threads: Threads,
    pub(crate) commands: &'a [CommandHelp],
    pub(crate) names: &'a KnownNames,
}

/// The version of a message that an event reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageVersion {
    Original,
    Edited,
}

impl BotIdentity<'_> {
    /// Returns the reason for ignoring a message, whatever its content; `None` if it is for the
    /// agent.
    pub(crate) fn why_not(
        &self,
        message: &Message,
        channel_type: DiscordChannel,
    ) -> Option<&'static str> {
        match message.kind {
            MessageType::Regular | MessageType::InlineReply => {}
            _ => return Some("of another kind"),
        }
        let listens = match channel_type {
            DiscordChannel::Direct => true,
            DiscordChannel::Server => self.unmentioned.contains(&message.channel_id),
            DiscordChannel::Thread { parent } => {
                let is_spoken = |spoken: &KnownSet<_>| spoken.contains(&message.channel_id);
                self.unmentioned.contains(&parent) || self.spoken.is_some_and(is_spoken)
            }
        };
        let for_us = listens || self.answer_all || self.is_addressed(message);
        (!for_us).then_some(NOT_MENTIONED)
    }

    /// Returns `true` if the author waits for an answer. In channels in which the agent merely
    /// listens, only addressed messages count.
    fn is_to_us(&self, message: &Message, channel_type: DiscordChannel) -> bool {
        channel_type == DiscordChannel::Direct || self.is_addressed(message)
    }

    /// Returns `true` if a message mentions the agent, replies to it, or begins with a command.
    fn is_addressed(&self, message: &Message) -> bool {
        let replied = message.referenced_message.as_ref().map(|replied| replied.author.id);
        replied == Some(self.user)
            || message.mentions.iter().any(|user| user.id == self.user)
            || self.is_command(&message.content)
    }

    /// Returns `true` if a text is one of our commands, also behind our own name.
    pub(crate) fn is_command(&self, text: &str) -> bool {
        let text = self.readable(text, &[]);
        let word = text.split_whitespace().next().unwrap_or_default();
        let name = word.strip_prefix('/');
        name.is_some_and(|name| self.commands.iter().any(|command| command.name == name))
    }

    /// Converts a message. An edited version becomes a correction.
    pub(crate) fn message(
        &self,
        message: &Message,
        channel_type: DiscordChannel,
        version: MessageVersion,
    ) -> Converted {
        let content = self.content(message);
        if !content.is_empty() {
            return Converted::inbound(self.inbound(message, channel_type, content, version));
        }
        if version == MessageVersion::Edited || !self.is_to_us(message, channel_type) {
            return Converted::Ignored("without text");
        }
        let unreadable = self
            .inbound(message, channel_type, content, version)
            .and_then(|inbound| Unreadable::new(inbound, EMPTY));
        unreadable.map_or_else(Converted::from, |message| Converted::Unreadable(Box::new(message)))
    }

    fn inbound(
        &self,
        message: &Message,
        channel_type: DiscordChannel,
        content: Content,
        version: MessageVersion,
    ) -> Result<Inbound, IdError> {
        let key = key_of(message.id)?;
        let edited_at = message
            .edited_timestamp
            .map(|at| Timestamp(at.unix_timestamp() * 1000 + i64::from(at.millisecond())));
        let address = self.address_of(message, channel_type)?;
        let original = Inbound {
            chat: chat_kind(channel_type),
            from_platform: true,
            written_at: Some(Timestamp(message.id.created_at().unix_timestamp() * 1000)),
            edited_at: edited_at.filter(|_| version == MessageVersion::Original),
            ..Inbound::new(address, sender(message)?, key.clone(), content)
        };
        let (MessageVersion::Edited, Some(at)) = (version, edited_at) else { return Ok(original) };
        Ok(Inbound {
            key: DedupeKey::parse(&format!("{key}e{}", at.0))?,
            written_at: Some(at),
            corrects: Some(key),
            ..original
        })
    }

    /// Returns the content of a message. A card in it is not the author's own text, so it counts as
    /// forwarded. The words of polls and stickers are untrusted, and so is a webhook's text.
    fn content(&self, message: &Message) -> Content {
        let attachments = attachments::from_message(message);
        let mut content = if forwarded(message).is_some() {
            let forwarded_from = Some("another message".to_owned());
            Content { forwarded_from, attachments, ..Content::text(self.text(message)) }
        } else {
            let text = self.readable(&message.content, &message.mentions);
            let untrusted = untyped_parts(message);
            Content { untrusted, attachments, ..Content::text(text.trim()) }
        };
        if message.webhook_id.is_some() && !content.text.is_empty() {
            let text = std::mem::take(&mut content.text);
            content.untrusted.insert(0, Quote { from: Some("a webhook".to_owned()), text });
        }
        if let Some(replied) = message.referenced_message.as_deref() {
            self.replied(message, replied).add_to(&mut content);
        }
        match card_text(&message.embeds) {
            None => content,
            Some(card) if content.text.is_empty() && content.untrusted.is_empty() => {
                Content { text: card.to_owned(), forwarded_from: Some(CARD.to_owned()), ..content }
            }
            Some(card) => {
                let card = Quote { from: Some(CARD.to_owned()), text: card.to_owned() };
                Content { forwarded: vec![card], ..content }
            }
        }
    }

    /// Returns the text of a message, and of the one that it forwards, with stickers and polls.
    fn text(&self, message: &Message) -> String {
        let forwarded = forwarded(message);
        let mut text = self.readable(&message.content, &message.mentions);
        if let Some(snapshot) = forwarded {
            text.push_str(&self.readable(&snapshot.content, &snapshot.mentions));
            if let Some(card) = card_text(&snapshot.embeds) {
                text.push_str(&format!("\n{card}"));
            }
        }
        let snapshots = forwarded.into_iter().flat_map(|snapshot| &snapshot.sticker_items);
        for sticker in snapshots {
            text.push_str(&format!("\n[sticker: {}]", sticker.name));
        }
        for part in untyped_parts(message) {
            text.push_str(&format!("\n{}", part.text));
        }
        text.trim().to_owned()
    }

    /// Returns the message replied to, with its cards and files. Cards of our own messages are left
    /// out: they would count as our words. A forward or a card is not its sender's own.
    fn replied(&self, message: &Message, replied: &Message) -> RepliedMessage {
        let (author, files) = (&replied.author, attachments::from_message(replied));
        if author.id == self.user {
            let text = self.readable(&replied.content, &replied.mentions);
            let id = PlatformId::parse(&replied.id.to_string()).ok();
            return RepliedMessage { author: RepliedAuthor::Agent(id), text, files };
        }
        let card = card_text(&replied.embeds);
        let is_own = author.id == message.author.id
            && card.is_none()
            && forwarded(replied).is_none()
            && replied.webhook_id.is_none()
            && untyped_parts(replied).is_empty();
        let parts = [self.text(replied), card.unwrap_or_default().to_owned()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let name = display_name(author).to_owned();
        let author = if is_own { RepliedAuthor::Sender(name) } else { RepliedAuthor::Other(name) };
        RepliedMessage { author, text: parts.join("\n"), files }
    }

    /// Returns the text with names in place of Discord's ids. Our own name is removed from the
    /// beginning: `@Avocet /stop` becomes `/stop`.
    fn readable(&self, text: &str, mentions: &[User]) -> String {
        let marks = |id: UserId| [format!("<@{id}>"), format!("<@!{id}>")];
        let mut text = text.trim();
        while let Some(rest) = marks(self.user).iter().find_map(|mark| text.strip_prefix(mark)) {
            text = rest.trim_start();
        }
        let mut text = self.names.with_names(text);
        for user in mentions {
            for mark in marks(user.id) {
                text = text.replace(&mark, &format!("@{}", display_name(user)));
            }
        }
        text
    }

    /// Returns the address of a message: its channel, or the thread that the answer will create.
    fn address_of(
        &self,
        message: &Message,
        channel_type: DiscordChannel,
    ) -> Result<ChatAddress, IdError> {
        let mut address = self.address(message.channel_id, channel_type)?;
        if self.wants_thread(message, channel_type) {
            address.topic = Some(TopicId::parse(&message.id.to_string())?);
        }
        Ok(address)
    }

    /// Returns `true` if the bot creates a thread for a message.
    pub(crate) fn wants_thread(&self, message: &Message, channel_type: DiscordChannel) -> bool {
        self.threads == Threads::Auto
            && channel_type == DiscordChannel::Server
            && self.is_addressed(message)
            && !self.is_command(&message.content)
    }

    /// Returns a message that is not for the bot as a quote for the model.
    pub(crate) fn as_quote(&self, message: &Message) -> Quote {
        let nick = message.member.as_ref().and_then(|member| member.nick.as_deref());
        let from = nick.unwrap_or(display_name(&message.author)).to_owned();
        Quote { from: Some(from), text: self.content(message).as_text() }
    }

    /// Returns a message's text, as the name of its thread.
    pub(crate) fn title(&self, message: &Message) -> String {
        self.readable(&message.content, &message.mentions)
    }

    /// Returns the address of a channel. A thread is a topic of the channel that contains it.
    pub(crate) fn address(
        &self,
        channel: ChannelId,
        channel_type: DiscordChannel,
    ) -> Result<ChatAddress, IdError> {
        let (chat, topic) = match channel_type {
            DiscordChannel::Direct | DiscordChannel::Server => (channel, None),
            DiscordChannel::Thread { parent } => (parent, Some(channel)),
        };
        Ok(ChatAddress {
            channel: self.channel.clone(),
            account: self.account.clone(),
            chat: ChatId::parse(&chat.to_string())?,
            topic: topic.map(|topic| TopicId::parse(&topic.to_string())).transpose()?,
        })
    }
}

/// Returns the message that a message forwards.
fn forwarded(message: &Message) -> Option<&MessageSnapshot> {
    let reference = message.message_reference.as_ref();
    let is_forward =
        reference.is_some_and(|reference| reference.kind == MessageReferenceKind::Forward);
    message.message_snapshots.first().filter(|_| is_forward)
}

pub(crate) fn key_of(message: MessageId) -> Result<DedupeKey, IdError> {
    DedupeKey::parse(&format!("m{message}"))
}

/// Returns the message with this key; `None` for the key of an interaction.
pub(crate) fn message_of(key: &DedupeKey) -> Option<MessageId> {
    key.as_str().strip_prefix('m')?.parse().ok()
}

/// Returns the interaction with this key; `None` for the key of a message.
pub(crate) fn interaction_of(key: &DedupeKey) -> Option<InteractionId> {
    let id = key.as_str().strip_prefix('i')?;
    id.strip_suffix(EPHEMERAL).unwrap_or(id).parse().ok()
}

/// Returns the key of an interaction. The key also records, for the time after a restart, if only
/// the caller may see the answer.
pub(crate) fn key_of_interaction(
    interaction: InteractionId,
    is_ephemeral: bool,
) -> Result<DedupeKey, IdError> {
    let suffix = if is_ephemeral { EPHEMERAL } else { "" };
    DedupeKey::parse(&format!("i{interaction}{suffix}"))
}

/// Returns `true` for the key of an interaction whose answer only the caller may see.
pub(crate) fn is_ephemeral(key: &DedupeKey) -> bool {
    interaction_of(key).is_some() && key.as_str().ends_with(EPHEMERAL)
}

/// Returns the stickers and the poll of a message. A stranger may have named the sticker, or written
/// the poll.
fn untyped_parts(message: &Message) -> Vec<Quote> {
    let part = |from: &str, text: String| Quote { from: Some(from.to_owned()), text };
    let stickers = message.sticker_items.iter();
    let stickers =
        stickers.map(|sticker| part("a sticker", format!("[sticker: {}]", sticker.name)));
    let poll = message.poll.iter().map(|poll| part("a poll", poll_line(poll)));
    stickers.chain(poll).collect()
}

/// Returns a poll as `[poll: Tea or coffee? (tea / coffee)]`.
fn poll_line(poll: &Poll) -> String {
    let answers = poll.answers.iter().filter_map(|answer| answer.poll_media.text.as_deref());
    let answers: Vec<&str> = answers.collect();
    let question = poll.question.text.as_deref().unwrap_or_default();
    format!("[poll: {question} ({})]", answers.join(" / "))
}

pub(crate) fn chat_kind(channel_type: DiscordChannel) -> ChatKind {
    match channel_type {
        DiscordChannel::Direct => ChatKind::Private,
        DiscordChannel::Server | DiscordChannel::Thread { .. } => ChatKind::Group,
    }
}

fn sender(message: &Message) -> Result<Sender, IdError> {
    let nick = message.member.as_ref().and_then(|member| member.nick.as_deref());
    let mut sender = read_sender(&message.author, nick)?;
    sender.is_bot |= message.webhook_id.is_some();
    Ok(sender)
}

/// Returns the name that Discord shows for a user: the chosen one, or that of the account.
fn display_name(user: &User) -> &str {
    user.global_name.as_deref().unwrap_or(&user.name)
}

/// Returns a user as sender, with the name that is used in the place.
pub(crate) fn read_sender(user: &User, nick: Option<&str>) -> Result<Sender, IdError> {
    Ok(Sender {
        id: SenderId::parse(&user.id.to_string())?,
        name: Some(nick.unwrap_or(display_name(user)).to_owned()),
        is_bot: user.bot,
    })
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
