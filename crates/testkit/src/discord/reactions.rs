//! Reactions of the bot and of users (Reactions, API reference).

use serde_json::{Value, json};

use super::DiscordFake;
use super::error::ApiError;
use super::platform::{ApiReply, MethodResult, PlatformState};
use super::rest::ParsedRequest;
use super::world::with;

/// The intents that events about reactions belong to (Gateway Intents, API reference).
const GUILD_REACTIONS: u64 = 1 << 10;
const DIRECT_REACTIONS: u64 = 1 << 13;

impl PlatformState {
    /// Adds or removes a reaction of the bot.
    pub(super) fn change_reaction(&mut self, call: &ParsedRequest, is_added: bool) -> MethodResult {
        self.world.writable(call.major)?;
        let message = call.message.unwrap_or_default();
        self.messages.find(call.major, message).ok_or_else(ApiError::unknown_message)?;
        if call.emoji.is_empty() || call.emoji.is_ascii() && !call.emoji.contains(':') {
            return Err(ApiError::new(400, 10_014, "Unknown Emoji"));
        }
        let reaction = (message, call.emoji.clone(), self.world.me.id);
        if is_added {
            self.reactions.insert(reaction);
        } else {
            self.reactions.remove(&reaction);
        }
        Ok(ApiReply::Nothing)
    }

    fn react(&mut self, user: u64, message: u64, emoji: &Value) {
        let channel = self.messages.channel_of(message).expect("a message");
        let author = self.messages.find(channel, message).expect("it is there").author;
        let mut body = json!({ "user_id": user.to_string(), "channel_id": channel.to_string(),
            "message_id": message.to_string(), "message_author_id": author.to_string(),
            "burst": false, "type": 0, "emoji": emoji });
        let mut intent = DIRECT_REACTIONS;
        if let Some(guild) = self.guild_of(channel) {
            intent = GUILD_REACTIONS;
            body["guild_id"] = json!(guild.to_string());
            let member = self.world.member_of(guild, user);
            body["member"] = with(member, &json!({ "user": self.world.user(user) }));
        }
        self.dispatch("MESSAGE_REACTION_ADD", intent, |_| body.clone());
    }
}

impl DiscordFake {
    /// Adds the reaction of a user to a message: `{ "id": null, "name": "👍" }`.
    ///
    /// # Panics
    /// If there is no such message.
    pub fn react(&self, user: u64, message: u64, emoji: &Value) {
        self.change(|platform| platform.react(user, message, emoji));
    }

    /// Returns the emojis with which the bot has reacted to a message.
    #[must_use]
    pub fn reactions(&self, message: u64) -> Vec<String> {
        let platform = self.shared.lock();
        let of_bot = platform
            .reactions
            .iter()
            .filter(|(to, _, by)| *to == message && *by == platform.world.me.id);
        of_bot.map(|(_, emoji, _)| emoji.clone()).collect()
    }

    /// Waits until the bot's reactions to a message are these.
    pub async fn wait_for_reactions(&self, message: u64, emojis: &[&str]) {
        self.wait(|platform| {
            let me = platform.world.me.id;
            let own = platform.reactions.iter().filter(|(to, _, by)| *to == message && *by == me);
            own.map(|(_, emoji, _)| emoji.as_str()).eq(emojis.iter().copied()).then_some(())
        })
        .await;
    }
}
