//! From what the platform sends to an inbound message, or to the reason why it is none.

use std::collections::BTreeSet;

use avocet_protocol::{
    AccountName, ChannelName, ChatAddress, ChatId, ChatKind, CommandHelp, Content, DedupeKey,
    IdError, Inbound, Quote, Sender, SenderId, Timestamp, TopicId,
};
use serenity::model::channel::{Message, MessageReferenceKind, MessageType, Poll};
use serenity::model::id::{ChannelId, MessageId, UserId};
use serenity::model::user::User;

use crate::attachments;
use crate::places::Place;

/// The bot, as what is sent to it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bot<'a> {
    pub(crate) me: UserId,
    pub(crate) channel: &'a ChannelName,
    pub(crate) account: &'a AccountName,
    /// Whether it answers to everything.
    pub(crate) answer_all: bool,
    /// Channels in which it does.
    pub(crate) unmentioned: &'a BTreeSet<ChannelId>,
    pub(crate) commands: &'a [CommandHelp],
}

/// What the platform sent.
#[derive(Debug, PartialEq)]
pub(crate) enum Converted {
    /// Something was said.
    Inbound(Box<Inbound>),
    /// It was meant for the agent, which cannot read it: nothing but who wrote it, and where.
    Unreadable(Box<Inbound>),
    /// It is not for the agent; counted under this reason.
    Ignored(&'static str),
}

impl Converted {
    /// Ids come from the platform, which has its own rules for them.
    pub(crate) fn of(read: Result<Inbound, IdError>) -> Self {
        match read {
            Ok(inbound) => Self::Inbound(Box::new(inbound)),
            Err(error) => {
                tracing::warn!(%error, "an impossible id");
                Self::Ignored("with an impossible id")
            }
        }
    }
}

impl Bot<'_> {
    /// Why a message is not for the agent, whatever it says; none if it is.
    pub(crate) fn why_not(&self, message: &Message, place: Place) -> Option<&'static str> {
        match message.kind {
            MessageType::Regular | MessageType::InlineReply => {}
            _ => return Some("of another kind"),
        }
        let listens = match place {
            Place::Private => true,
            Place::Channel => self.unmentioned.contains(&message.channel_id),
            Place::Thread { parent } => self.unmentioned.contains(&parent),
        };
        let for_us = listens || self.answer_all || self.is_addressed(message);
        (!for_us).then_some("not mentioned")
    }

    /// Whoever wrote it waits for an answer; where the agent merely listens, nobody does.
    fn is_to_us(&self, message: &Message, place: Place) -> bool {
        place == Place::Private || self.is_addressed(message)
    }

    /// In a server the agent answers only when it is spoken to: mentioned, replied to, commanded.
    fn is_addressed(&self, message: &Message) -> bool {
        let replied = message.referenced_message.as_ref().map(|replied| replied.author.id);
        replied == Some(self.me)
            || message.mentions.iter().any(|user| user.id == self.me)
            || self.is_command(&message.content)
    }

    /// Whether a text is one of our commands. Our own name may stand in front of it.
    pub(crate) fn is_command(&self, text: &str) -> bool {
        let text = self.readable(text, &[]);
        let word = text.split_whitespace().next().unwrap_or_default();
        let name = word.strip_prefix('/');
        name.is_some_and(|name| self.commands.iter().any(|command| command.name == name))
    }

    /// Reads a message. An edited one is a correction of what it was.
    pub(crate) fn message(&self, message: &Message, place: Place, edited: bool) -> Converted {
        let content = self.content(message);
        let is_empty = content.is_empty();
        match Converted::of(self.inbound(message, place, content, edited)) {
            Converted::Inbound(inbound) if is_empty && !edited && self.is_to_us(message, place) => {
                Converted::Unreadable(inbound)
            }
            Converted::Inbound(_) if is_empty => Converted::Ignored("without text"),
            converted => converted,
        }
    }

    fn inbound(
        &self,
        message: &Message,
        place: Place,
        content: Content,
        edited: bool,
    ) -> Result<Inbound, IdError> {
        let key = key_of(message.id)?;
        let edited_at = message
            .edited_timestamp
            .map(|at| Timestamp(at.unix_timestamp() * 1000 + i64::from(at.millisecond())));
        let address = self.address(message.channel_id, place)?;
        let said = Inbound {
            chat: kind(place),
            from_platform: true,
            written_at: Some(Timestamp(message.id.created_at().unix_timestamp() * 1000)),
            edited_at: edited_at.filter(|_| !edited),
            ..Inbound::new(address, sender(message)?, key.clone(), content)
        };
        let Some(at) = edited_at.filter(|_| edited) else { return Ok(said) };
        Ok(Inbound {
            key: DedupeKey::parse(&format!("{key}e{}", at.0))?,
            written_at: Some(at),
            corrects: Some(key),
            ..said
        })
    }

    fn content(&self, message: &Message) -> Content {
        let forwarded = message
            .message_reference
            .as_ref()
            .filter(|reference| reference.kind == MessageReferenceKind::Forward)
            .and_then(|_| message.message_snapshots.first());
        let mut text = self.readable(&message.content, &message.mentions);
        if let Some(snapshot) = forwarded {
            text.push_str(&self.readable(&snapshot.content, &snapshot.mentions));
        }
        let snapshots = forwarded.into_iter().flat_map(|snapshot| &snapshot.sticker_items);
        for sticker in message.sticker_items.iter().chain(snapshots) {
            text.push_str(&format!("\n[sticker: {}]", sticker.name));
        }
        if let Some(poll) = &message.poll {
            text.push_str(&format!("\n{}", poll_line(poll)));
        }
        Content {
            quote: message.referenced_message.as_deref().map(|replied| self.quote(replied)),
            forwarded_from: forwarded.map(|_| "another message".to_owned()),
            attachments: attachments::of(message),
            ..Content::text(text.trim())
        }
    }

    fn quote(&self, replied: &Message) -> Quote {
        let author = &replied.author;
        let from = (author.id != self.me).then(|| display_name(author).to_owned());
        Quote { from, text: self.readable(&replied.content, &replied.mentions) }
    }

    /// The text with names where Discord writes numbers. What it begins with, if that is our own name,
    /// goes: `@Avocet /stop` is `/stop`.
    fn readable(&self, text: &str, mentions: &[User]) -> String {
        let marks = |id: UserId| [format!("<@{id}>"), format!("<@!{id}>")];
        let mut text = text.trim();
        while let Some(rest) = marks(self.me).iter().find_map(|mark| text.strip_prefix(mark)) {
            text = rest.trim_start();
        }
        let mut text = text.to_owned();
        for user in mentions {
            for mark in marks(user.id) {
                text = text.replace(&mark, &format!("@{}", display_name(user)));
            }
        }
        text
    }

    /// Where something was said. A thread is a topic of the channel that it is in.
    pub(crate) fn address(&self, channel: ChannelId, place: Place) -> Result<ChatAddress, IdError> {
        let (chat, topic) = match place {
            Place::Private | Place::Channel => (channel, None),
            Place::Thread { parent } => (parent, Some(channel)),
        };
        Ok(ChatAddress {
            channel: self.channel.clone(),
            account: self.account.clone(),
            chat: ChatId::parse(&chat.to_string())?,
            topic: topic.map(|topic| TopicId::parse(&topic.to_string())).transpose()?,
        })
    }
}

/// The key of a message.
fn key_of(message: MessageId) -> Result<DedupeKey, IdError> {
    DedupeKey::parse(&format!("m{message}"))
}

/// The message that has a key; an interaction has one, too, and is no message.
pub(crate) fn message_of(key: &DedupeKey) -> Option<MessageId> {
    key.as_str().strip_prefix('m')?.parse().ok()
}

/// `[poll: Tea or coffee? (tea / coffee)]`.
fn poll_line(poll: &Poll) -> String {
    let answers = poll.answers.iter().filter_map(|answer| answer.poll_media.text.as_deref());
    let answers: Vec<&str> = answers.collect();
    let question = poll.question.text.as_deref().unwrap_or_default();
    format!("[poll: {question} ({})]", answers.join(" / "))
}

/// Who else reads a place.
pub(crate) fn kind(place: Place) -> ChatKind {
    match place {
        Place::Private => ChatKind::Private,
        Place::Channel | Place::Thread { .. } => ChatKind::Group,
    }
}

fn sender(message: &Message) -> Result<Sender, IdError> {
    let nick = message.member.as_ref().and_then(|member| member.nick.as_deref());
    let mut sender = person(&message.author, nick)?;
    sender.is_bot |= message.webhook_id.is_some();
    Ok(sender)
}

/// The name that Discord shows for a user: the one they chose, else their account's.
fn display_name(user: &User) -> &str {
    user.global_name.as_deref().unwrap_or(&user.name)
}

/// A user, by the name that they have in the place.
pub(crate) fn person(user: &User, nick: Option<&str>) -> Result<Sender, IdError> {
    Ok(Sender {
        id: SenderId::parse(&user.id.to_string())?,
        name: Some(nick.unwrap_or(display_name(user)).to_owned()),
        is_bot: user.bot,
    })
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
