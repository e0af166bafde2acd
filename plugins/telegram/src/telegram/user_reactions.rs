//! Reactions of people to the bot's messages, from the updates of the platform.

use avocet_channel_kit::{Converted, ReactionNotes, UserReaction, reaction_emoji};
use avocet_protocol::chat::{ChatAddress, Delivery, Inbound, Receipt};
use avocet_protocol::ids::DedupeKey;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use teloxide::types::{ChatId, UpdateKind};

use crate::Telegram;
use crate::commands::is_command;
use crate::moved::MessageNumber;
use crate::update::{self, Update};

/// The id of a message: that of its chat, and the number in it.
type MessageId = (avocet_protocol::ids::ChatId, i32);

/// The reactions that the model does not know yet.
#[derive(Debug, Default)]
pub(crate) struct UserReactions(Mutex<ReactionNotes<ChatAddress, MessageId>>);

/// The used fields of an update (Bot API, `MessageReactionUpdated`).
#[derive(Debug, Deserialize)]
pub(crate) struct ReactionUpdate {
    chat: IdField,
    message_id: i32,
    /// `None` for a person who reacts in the name of a chat.
    user: Option<Value>,
    old_reaction: Vec<Value>,
    new_reaction: Vec<Value>,
}

#[derive(Debug, Deserialize)]
struct IdField {
    id: i64,
}

impl ReactionUpdate {
    /// Reads a changed reaction; `None` for other updates.
    pub(crate) fn read(update: &Update) -> Option<Self> {
        let UpdateKind::Error(raw) = &update.kind else { return None };
        update::read(raw.get("message_reaction")?)
    }

    /// Returns the emojis that are new.
    fn added(&self) -> impl Iterator<Item = String> {
        let new = self.new_reaction.iter().filter(|one| !self.old_reaction.contains(one));
        new.filter_map(|one| reaction_emoji(one["emoji"].as_str()?))
    }
}

/// A message of a person that is being committed.
pub(crate) struct ReceivedMessage {
    address: ChatAddress,
    key: DedupeKey,
}

impl Telegram {
    /// Notes a reaction to a message of the bot.
    pub(crate) fn note_user_reaction(&self, reaction: &ReactionUpdate) {
        let home = self.moves.home(ChatId(reaction.chat.id)).0.to_string();
        let Ok(chat) = home.parse::<avocet_protocol::ids::ChatId>() else { return };
        let Some(person) = &reaction.user else { return };
        let Some(user) = person["id"].as_u64() else { return };
        let message = (chat, reaction.message_id);
        let mut notes = self.user_reactions.0.lock();
        let Some(chat) = notes.chat_of(&message) else { return };
        notes.remove_reactions(&chat, &message, user);
        let names = ["first_name", "last_name"].iter().filter_map(|name| person[name].as_str());
        let name = names.collect::<Vec<_>>().join(" ");
        for emoji in reaction.added() {
            let (message, name) = (message.clone(), name.clone());
            notes.add_reaction(chat.clone(), UserReaction { message, user, name, emoji });
        }
    }

    /// Notes a message of the bot, to which people can react.
    pub(crate) fn note_own(&self, delivery: &Delivery, receipt: &Receipt) {
        let address = &delivery.address;
        let mut notes = self.user_reactions.0.lock();
        for number in receipt.platform_id.iter().flat_map(MessageNumber::all_of_sent) {
            let message = (address.chat.clone(), number.id.0);
            notes.note_own(address.clone(), message);
        }
    }

    /// Adds the reactions in its chat to a message for the agent. Returns the message, unless it is
    /// a command, an edit or a button.
    pub(crate) fn with_reactions(&self, converted: &mut Converted) -> Option<ReceivedMessage> {
        let Converted::Inbound(inbound) = converted else { return None };
        let Inbound { address, key, content, sender, corrects, .. } = &mut **inbound;
        MessageNumber::of_received(key)?;
        if corrects.is_some() || is_command(&content.text) {
            return None;
        }
        let author = sender.id.as_str().parse().unwrap_or_default();
        content.earlier.extend(self.user_reactions.0.lock().of_chat(address, author));
        Some(ReceivedMessage { address: address.clone(), key: key.clone() })
    }

    /// Notes a message that is in the log, together with the reactions that came with it.
    pub(crate) fn note_received(&self, message: &ReceivedMessage) {
        let ReceivedMessage { address, key } = message;
        self.user_reactions.0.lock().forget_chat(address);
        self.reactions.note_received(address, key, self.clock.elapsed());
    }
}
