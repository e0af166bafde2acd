//! Reactions of people to the bot's messages. They start no turn: the next message of the chat tells
//! the model about them. Memory holds them.

use std::collections::{HashMap, VecDeque};

use avocet_protocol::Quote;
use serde::Deserialize;
use serde_json::Value;
use serenity::model::channel::Message;
use serenity::model::id::{ChannelId, MessageId, UserId};

use crate::bounded::MakeRoom;
use crate::gateway::BotIds;

use super::Receiver;

/// Reactions to keep per channel.
const MAX_REACTIONS: usize = 10;
/// Messages of the bot whose texts are kept.
const MAX_OWN: usize = 200;
/// Characters of a message that a report about a reaction shows.
const SHOWN: usize = 60;
/// Longest name of an emoji that is told, in characters.
const MAX_EMOJI: usize = 32;

/// The reactions that the model does not know yet.
#[derive(Debug, Default)]
pub(super) struct UserReactions {
    channels: HashMap<ChannelId, Vec<UserReaction>>,
    /// The beginnings of the bot's last messages.
    own: VecDeque<(MessageId, String)>,
}

/// A reaction to a message of the bot.
#[derive(Debug)]
struct UserReaction {
    user: UserId,
    name: String,
    emoji: String,
    /// The beginning of the message; empty if it is unknown.
    to: String,
}

/// The used fields of the event (Discord API, "Message Reaction Add").
#[derive(Deserialize)]
struct ReactionEvent {
    user_id: UserId,
    channel_id: ChannelId,
    message_id: MessageId,
    #[serde(default)]
    message_author_id: Option<UserId>,
    emoji: EmojiFields,
    #[serde(default)]
    member: Value,
}

#[derive(Deserialize)]
struct EmojiFields {
    /// `None` for an emoji of Unicode.
    id: Option<String>,
    name: Option<String>,
}

impl EmojiFields {
    /// Returns the emoji as text. A name of a server's own emoji has letters, digits and `_` only.
    fn shown(&self) -> Option<String> {
        let name: String = self.name.as_deref()?.chars().take(MAX_EMOJI).collect();
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if self.id.is_some() {
            return (!name.is_empty() && name.chars().all(is_letter)).then(|| format!(":{name}:"));
        }
        let is_emoji = |c: char| !c.is_ascii() || "#*0123456789".contains(c);
        (!name.is_empty() && name.chars().all(is_emoji) && !name.is_ascii()).then_some(name)
    }
}

impl UserReactions {
    /// Notes the text of a message of the bot, which an edit may have replaced.
    pub(super) fn note_own(&mut self, message: &Message) {
        let words = message.content.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut text: String = words.chars().take(SHOWN).collect();
        if text.len() < words.len() {
            text.push('…');
        }
        match self.own.iter_mut().rev().find(|(id, _)| *id == message.id) {
            Some((_, known)) => *known = text,
            None => self.own.push_back((message.id, text)),
        }
        if self.own.len() > MAX_OWN {
            self.own.pop_front();
        }
    }

    /// Returns the reactions in a channel as notes for the model.
    pub(super) fn in_channel(&self, channel: ChannelId, author: UserId) -> Vec<Quote> {
        let reactions = self.channels.get(&channel).into_iter().flatten();
        reactions.map(|reaction| reaction.note(author)).collect()
    }

    pub(super) fn forget(&mut self, channel: ChannelId) {
        self.channels.remove(&channel);
    }
}

impl UserReaction {
    /// Describes the reaction. Only that of another person is untrusted.
    fn note(&self, author: UserId) -> Quote {
        let Self { user, name, emoji, to } = self;
        let to = if to.is_empty() { String::new() } else { format!(" “{to}”") };
        if *user == author {
            let text = format!("[the author of this message reacted with {emoji} to yours{to}]");
            return Quote { from: None, text };
        }
        Quote {
            from: Some(name.clone()),
            text: format!("[reacted with {emoji} to your message{to}]"),
        }
    }
}

impl Receiver<'_> {
    /// Notes a reaction to a message of the bot.
    pub(super) fn note_reaction(&mut self, bot: BotIds, data: &Value) {
        let Ok(event) = ReactionEvent::deserialize(data) else { return };
        let known = self.reactions.own.iter().rev().find(|(id, _)| *id == event.message_id);
        let is_to_us = event.message_author_id == Some(bot.user) || known.is_some();
        let Some(emoji) = event.emoji.shown().filter(|_| is_to_us) else { return };
        if event.user_id == bot.user {
            return;
        }
        let to = known.map(|(_, text)| text.clone()).unwrap_or_default();
        let user = &event.member["user"];
        let names = [&event.member["nick"], &user["global_name"], &user["username"]];
        let name = names.iter().find_map(|name| name.as_str()).unwrap_or("somebody").to_owned();
        let reaction = UserReaction { user: event.user_id, name, emoji, to };
        self.reactions.channels.make_room(&event.channel_id);
        let reactions = self.reactions.channels.entry(event.channel_id).or_default();
        reactions.push(reaction);
        if reactions.len() > MAX_REACTIONS {
            reactions.remove(0);
        }
    }
}
