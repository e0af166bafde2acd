//! Reactions to messages, of the bot and of users.

use serde_json::{Value, json};

use super::bot::BotState;
use super::chats::{SentMessage, describe};
use super::said::person;
use super::wire::{ApiError, MethodCall};
use super::{PostedMessage, TelegramFake};

/// The emojis with which everyone can react, in chats that allow all reactions.
const EMOJIS: &str = "👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ \
    🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ \
    🤷 🤷‍♀ 😡";

impl BotState {
    /// Sets or removes the reaction of the bot to a message.
    pub(super) fn set_message_reaction(&mut self, call: &MethodCall) -> Result<Value, ApiError> {
        let (chat, message) = self.edited(call)?;
        if !self.chats.has_message(chat, message) {
            return Err(ApiError::bad_request("message to react not found"));
        }
        let reaction = match call.json("reaction")? {
            None => Vec::new(),
            Some(Value::Array(reaction)) => reaction,
            Some(_) => return Err(ApiError::bad_request("expected an Array of ReactionType")),
        };
        let emoji = match &reaction[..] {
            [] => {
                self.reactions.own.remove(&(chat, message));
                return Ok(Value::Bool(true));
            }
            [one] if one["type"] == "emoji" => one["emoji"].as_str().unwrap_or_default(),
            [_] => return Err(ApiError::bad_request("REACTION_INVALID")),
            [_, _, ..] => return Err(ApiError::bad_request("REACTIONS_TOO_MANY")),
        };
        let is_known = EMOJIS.split(' ').any(|known| known == emoji);
        if !is_known || self.reactions.forbidden.contains(&chat) {
            return Err(ApiError::bad_request("REACTION_INVALID"));
        }
        self.reactions.own.insert((chat, message), emoji.to_owned());
        Ok(Value::Bool(true))
    }

    /// Changes the reaction of a user. The bot is told in private chats, and in groups in which it is
    /// an administrator.
    fn hear_reaction(&mut self, user: i64, (chat, message): (i64, i64), emoji: &str) {
        let list = |emoji: Option<&str>| -> Vec<Value> {
            emoji.into_iter().map(|emoji| json!({ "type": "emoji", "emoji": emoji })).collect()
        };
        let place = (chat, message, user);
        let new = Some(emoji).filter(|emoji| !emoji.is_empty());
        let old = match new {
            Some(emoji) => self.reactions.of_users.insert(place, emoji.to_owned()),
            None => self.reactions.of_users.remove(&place),
        };
        if chat < 0 && !self.reactions.administered.contains(&chat) {
            return;
        }
        let body = json!({ "chat": describe(chat), "message_id": message, "user": person(user),
            "date": self.date(), "old_reaction": list(old.as_deref()), "new_reaction": list(new) });
        self.push("message_reaction", body);
    }
}

impl TelegramFake {
    /// Sets the reaction of a user to a message of the bot. An empty emoji withdraws it.
    pub fn react(&self, user: i64, message: &SentMessage, emoji: &str) {
        self.change(|bot| bot.hear_reaction(user, (message.chat, message.id), emoji));
    }

    /// Sets the reaction of a user to a message of a user.
    pub fn react_to_user(&self, user: i64, message: PostedMessage, emoji: &str) {
        self.change(|bot| bot.hear_reaction(user, (message.chat, message.id), emoji));
    }

    /// Forbids reactions in a chat.
    pub fn forbid_reactions(&self, chat: i64) {
        self.change(|bot| bot.reactions.forbidden.insert(chat));
    }

    /// Makes the bot an administrator of a group.
    pub fn make_administrator(&self, chat: i64) {
        self.change(|bot| bot.reactions.administered.insert(chat));
    }

    /// Returns the bot's reaction to a message; empty without one.
    #[must_use]
    pub fn reaction(&self, message: PostedMessage) -> String {
        let place = (message.chat, message.id);
        self.shared.lock().reactions.own.get(&place).cloned().unwrap_or_default()
    }

    /// Waits until the bot's reaction to a message is this one; empty for none.
    pub async fn wait_for_reaction(&self, message: PostedMessage, emoji: &str) {
        let place = (message.chat, message.id);
        let reaction = |bot: &BotState| bot.reactions.own.get(&place).cloned().unwrap_or_default();
        self.wait(|bot| (reaction(bot) == emoji).then_some(())).await;
    }
}

#[cfg(test)]
mod tests {
    use super::super::UserMessage;
    use super::super::client::{GROUP, USER, call, fake};
    use super::*;

    fn reaction(chat: i64, message: i64, emojis: &[&str]) -> Value {
        let list: Vec<Value> =
            emojis.iter().map(|emoji| json!({ "type": "emoji", "emoji": emoji })).collect();
        json!({ "chat_id": chat, "message_id": message, "reaction": list })
    }

    #[tokio::test]
    async fn set_message_reaction_replaces_the_one_reaction_of_the_bot() {
        let fake = fake().await;
        let heard = fake.private_text(USER, "hello");
        for emoji in ["👀", "❤\u{200d}🔥"] {
            let set = reaction(USER, heard.id, &[emoji]);
            assert_eq!(call(&fake, "setMessageReaction", &set).await.result(), json!(true));
            assert_eq!(fake.reaction(heard), emoji);
        }
        call(&fake, "setMessageReaction", &reaction(USER, heard.id, &[])).await.result();
        assert_eq!(fake.reaction(heard), "");
    }

    #[tokio::test]
    async fn set_message_reaction_refuses_what_the_platform_refuses() {
        let fake = fake().await;
        let heard = fake.private_text(USER, "hello");
        let in_group = fake.say(UserMessage::group(USER, GROUP, "hello"));
        fake.forbid_reactions(GROUP);
        let table = [
            (reaction(USER, heard.id + 9, &["👀"]), "message to react not found"),
            (reaction(USER, heard.id, &["✅"]), "REACTION_INVALID"),
            (reaction(USER, heard.id, &["👀", "👍"]), "REACTIONS_TOO_MANY"),
            (reaction(GROUP, in_group.id, &["👀"]), "REACTION_INVALID"),
        ];
        for (set, why) in table {
            let refused = call(&fake, "setMessageReaction", &set).await.refusal();
            assert_eq!(refused, (400, format!("Bad Request: {why}")));
        }
    }

    #[tokio::test]
    async fn react_is_an_update_on_request_and_in_groups_for_administrators() {
        let fake = fake().await;
        let in_group = json!({ "chat_id": GROUP, "text": "x" });
        call(&fake, "sendMessage", &in_group).await.result();
        let sent = fake.sent();
        let changes = || -> Vec<Value> {
            let updates = fake.pending_updates().into_iter();
            updates.filter_map(|update| update.get("message_reaction").cloned()).collect()
        };
        fake.react(USER, &sent[0], "👍");
        assert_eq!(changes(), [Value::Null; 0]);
        let kinds = json!({ "allowed_updates": ["message_reaction"] });
        call(&fake, "getUpdates", &kinds).await.result();
        fake.react(USER, &sent[0], "👎");
        fake.react(USER, &sent[1], "👍");
        fake.make_administrator(GROUP);
        fake.react(USER, &sent[1], "");
        let emojis = |list: &Value| -> Vec<String> {
            let list = list.as_array().unwrap().iter();
            list.map(|one| one["emoji"].as_str().unwrap().to_owned()).collect()
        };
        let changes: Vec<_> = changes()
            .iter()
            .map(|change| (emojis(&change["old_reaction"]), emojis(&change["new_reaction"])))
            .collect();
        let list = |emoji: &str| vec![emoji.to_owned()];
        assert_eq!(changes, [(list("👍"), list("👎")), (list("👍"), vec![])]);
    }
}
