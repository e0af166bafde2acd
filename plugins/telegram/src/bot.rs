//! The bot as its chats see it: its name, its commands, and the groups in which it answers. Also
//! the addresses and keys of messages.

use std::collections::BTreeSet;

use avocet_protocol::channel::CommandHelp;
use avocet_protocol::chat::ChatAddress;
use avocet_protocol::ids::{
    AccountName, ChannelName, ChatId, DedupeKey, IdError, PlatformId, TopicId,
};
use teloxide::types::{Me, Message, MessageEntityKind, MessageId, ThreadId, UpdateKind};

use crate::album::BotAlbums;
use crate::direct_topics::DirectTopic;
use crate::entities;
use crate::moved::{MessageNumber, Moves};
use crate::raw_chat::{Fields, read_place};
use crate::telegram::ephemeral::key_of_ephemeral;
use crate::update::Update;

/// The bot's identity and settings, for reading its updates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BotIdentity<'a> {
    pub(crate) me: &'a Me,
    pub(crate) channel: &'a ChannelName,
    pub(crate) account: &'a AccountName,
    /// Groups in which it answers without a mention.
    pub(crate) unmentioned: &'a BTreeSet<i64>,
    pub(crate) moves: &'a Moves,
    pub(crate) albums: &'a BotAlbums,
    pub(crate) commands: &'a [CommandHelp],
    /// The topic of the update that is being read.
    pub(crate) direct_topic: Option<DirectTopic>,
    /// The message that is being read, as the platform sent it.
    pub(crate) fields: Option<&'a Fields>,
}

/// The intended reader of a message in a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    Bot,
    Others,
}

impl BotIdentity<'_> {
    /// Returns the identity for reading this update.
    pub(crate) fn reading<'u>(&'u self, update: &'u Update) -> BotIdentity<'u> {
        BotIdentity { direct_topic: update.direct_topic, fields: update.fields(), ..*self }
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

    /// Returns `true` for a command of ours. An unknown command without a bot's name may be for
    /// another bot.
    fn is_ours(&self, command: &str) -> bool {
        let name = command.strip_prefix('/').unwrap_or(command);
        self.commands.iter().any(|ours| ours.name.eq_ignore_ascii_case(name))
    }

    fn is_own_name(&self, name: &str) -> bool {
        name.trim_start_matches('@').eq_ignore_ascii_case(self.me.username())
    }

    /// Changes `/stop@our_bot now` to `/stop now`.
    pub(crate) fn without_own_name(&self, text: &str) -> String {
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
        // A message that only its author sees has no number in the chat.
        if let Some(key) = self.fields.filter(|_| message == 0).and_then(key_of_ephemeral) {
            return key;
        }
        let begins = if self.moves.home(chat) == chat { 'm' } else { 'n' };
        DedupeKey::parse(&format!("{begins}{message}"))
    }

    /// The id of a message of the bot, as a receipt has it.
    pub(crate) fn sent_number(
        &self,
        chat: teloxide::types::ChatId,
        id: MessageId,
    ) -> Option<PlatformId> {
        let in_supergroup = self.moves.home(chat) != chat;
        let number = MessageNumber { id, in_supergroup, lost: None };
        PlatformId::parse(&number.to_string()).ok()
    }

    /// The address of the chat of a message; `None` if the chat is unreadable.
    pub(crate) fn address_of(&self, update: &Update) -> Option<ChatAddress> {
        let (chat, topic) = match &update.kind {
            UpdateKind::Message(message) => {
                (message.chat.id, message.thread_id.filter(|_| message.is_topic_message))
            }
            UpdateKind::Error(raw) => read_place(raw.get("message")?.as_object()?)?,
            _ => return None,
        };
        self.address(chat, topic).ok()
    }

    /// The address of a chat. A group that has moved keeps its old address.
    pub(crate) fn address(
        &self,
        chat: teloxide::types::ChatId,
        topic: Option<ThreadId>,
    ) -> Result<ChatAddress, IdError> {
        let chat = self.moves.home(chat);
        let topic = match (self.direct_topic, topic) {
            (Some(topic), _) => Some(topic.id()?),
            (None, topic) => {
                topic.map(|topic| TopicId::parse(&topic.0.0.to_string())).transpose()?
            }
        };
        Ok(ChatAddress {
            channel: self.channel.clone(),
            account: self.account.clone(),
            chat: ChatId::parse(&chat.0.to_string())?,
            topic,
        })
    }
}
