//! The greeting in a group to which a person with access has added the bot.

use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::chat::{ChatKind, Content, Inbound};
use avocet_protocol::ids::{DedupeKey, IdError};
use serde_json::Value;
use teloxide::types::{ChatId, Me};

use crate::bot::BotIdentity;
use crate::lenient::read_person;
use crate::numbers::read_integer;
use crate::update::{MEMBERSHIP, Update};

/// The statuses of a member who can read a group.
const IN_GROUP: [&str; 3] = ["member", "administrator", "creator"];

/// Returns the change of the bot's membership that an update reports.
pub(crate) fn read_membership(update: &Update) -> Option<&Value> {
    update.raw.get(MEMBERSHIP)
}

/// Returns the greeting, as from the person who has added the bot to a group. `None` if the change is
/// another one.
///
/// # Errors
/// [`IdError`] for an invalid id.
pub(crate) fn read_greeting(
    bot: &BotIdentity<'_>,
    update: &Update,
    change: &Value,
) -> Result<Option<(Inbound, Content)>, IdError> {
    let is_in =
        |status: &Value| status["status"].as_str().is_some_and(|status| IN_GROUP.contains(&status));
    let is_new = !is_in(&change["old_chat_member"]) && is_in(&change["new_chat_member"]);
    let is_group = matches!(change["chat"]["type"].as_str(), Some("group" | "supergroup"));
    let (Some(chat), true) = (read_integer(&change["chat"]["id"]), is_new && is_group) else {
        return Ok(None);
    };
    let Some(sender) = read_person(&change["from"]).transpose()? else { return Ok(None) };
    let key = DedupeKey::parse(&format!("greeting{}", update.id))?;
    let address = bot.address(ChatId(chat), None)?;
    let inbound = Inbound::new(address, sender, key, Content::default());
    let inbound = Inbound { chat: ChatKind::Group, from_platform: true, ..inbound };
    Ok(Some((inbound, notices::Greeting.for_reader(readers::Group, text(bot.me)))))
}

fn text(me: &Me) -> String {
    let reads = if me.can_read_all_group_messages {
        "I receive all messages of this group, and answer those that are for me."
    } else {
        "I receive only messages that are for me, because my privacy mode is on. To change that, send \
         /setprivacy to @BotFather, and add me again."
    };
    format!(
        "Hello, I am Avocet, an assistant. Mention me as @{}, or reply to me, and I answer. {reads}\n\n\
         /id shows the ids of this chat and of yourself, which my owner needs to let people in. /help \
         shows the commands.",
        me.username()
    )
}
