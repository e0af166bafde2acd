//! Reactions of people to the bot's messages. They start no turn: the next message of the chat
//! tells the model about them.

use avocet_channel_kit::{ReactionNotes, UserReaction, reaction_emoji};
use serde::Deserialize;
use serde_json::Value;
use serenity::model::id::{ChannelId, MessageId, UserId};

use crate::gateway::BotIds;

use super::Receiver;

/// Longest name of a server's own emoji that the model gets, in characters.
const MAX_NAME: usize = 32;

/// The reactions that the model does not know yet.
pub(super) type UserReactions = ReactionNotes<ChannelId, MessageId>;

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
        let name = self.name.as_deref()?;
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if self.id.is_none() {
            return reaction_emoji(name);
        }
        let name: String = name.chars().take(MAX_NAME).collect();
        (!name.is_empty() && name.chars().all(is_letter)).then(|| format!(":{name}:"))
    }
}

impl Receiver<'_> {
    /// Notes a reaction to a message of the bot.
    pub(super) fn note_reaction(&mut self, bot: BotIds, data: &Value) {
        let Ok(event) = ReactionEvent::deserialize(data) else { return };
        let is_known = self.reactions.chat_of(&event.message_id).is_some();
        let is_to_us = event.message_author_id == Some(bot.user) || is_known;
        let Some(emoji) = event.emoji.shown().filter(|_| is_to_us) else { return };
        if event.user_id == bot.user {
            return;
        }
        let user = &event.member["user"];
        let names = [&event.member["nick"], &user["global_name"], &user["username"]];
        let name = names.iter().find_map(|name| name.as_str()).unwrap_or("somebody").to_owned();
        let (message, user) = (event.message_id, event.user_id.get());
        self.reactions.add_reaction(event.channel_id, UserReaction { message, user, name, emoji });
    }
}
