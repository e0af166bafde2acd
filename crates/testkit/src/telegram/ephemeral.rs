//! Messages in a group that only one person sees (Bot API 10.2). The fake is an older server, which
//! ignores the fields, until a test lets it know them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::TelegramFake;
use super::bot::BotState;
use super::chats::describe;
use super::methods::message_text;
use super::said::{found_entities, person};
use super::shown_ephemeral::EphemeralMessage;
use super::wire::{ApiError, MethodCall};

impl BotState {
    /// Shows a message to one person of a group. A bot that is no administrator has to answer a
    /// command that was ephemeral, too.
    pub(super) fn send_ephemeral(&mut self, call: &MethodCall) -> Result<Value, ApiError> {
        let text = message_text(call, "message is too long")?.text;
        let (chat, receiver) = (self.open_chat(call)?, read_receiver(call)?);
        let reply = call.json("reply_parameters")?.unwrap_or_default();
        let reply_to = reply["ephemeral_message_id"].as_i64();
        let is_administrator = self.reactions.administered.contains(&chat);
        let shown = &mut self.ephemeral;
        match reply_to {
            Some(number) if !shown.commands.contains(&(chat, receiver, number)) => {
                return Err(ApiError::bad_request("MESSAGE_NOT_COMMAND"));
            }
            // Private chats have no administrators.
            None if !is_administrator => {
                return Err(ApiError::bad_request("BOT_NOT_ADMIN"));
            }
            _ => {}
        }
        shown.shown.push(EphemeralMessage { chat, receiver, reply_to, text: text.clone() });
        let number = 700_000 + shown.shown.len();
        Ok(json!({ "message_id": 0, "ephemeral_message_id": number, "from": self.me(),
            "receiver_user": person(receiver), "chat": describe(chat), "date": self.date(),
            "text": text }))
    }
}

/// Reads the receiver, who stands in one field or in both.
fn read_receiver(call: &MethodCall) -> Result<i64, ApiError> {
    let parameters = call.json("ephemeral_message_parameters")?.unwrap_or_default();
    let named = [call.int("receiver_user_id"), parameters["receiver_user_id"].as_i64()];
    let receivers: BTreeSet<i64> = named.into_iter().flatten().collect();
    match receivers.first() {
        Some(receiver) if receivers.len() == 1 => Ok(*receiver),
        _ => Err(ApiError::bad_request("USER_ID_INVALID")),
    }
}

impl TelegramFake {
    /// Makes it a server that knows ephemeral messages.
    pub fn learn_ephemeral_messages(&self) {
        self.change(|bot| bot.ephemeral.is_known = true);
    }

    /// A user sends a command that only the bot sees.
    pub fn say_ephemeral(&self, user: i64, chat: i64, number: i64, text: &str) {
        self.open_chat(chat);
        self.change(|bot| {
            bot.ephemeral.commands.insert((chat, user, number));
            let message = json!({ "message_id": 0, "ephemeral_message_id": number,
                "from": person(user), "receiver_user": bot.me(), "chat": describe(chat),
                "date": bot.date(), "text": text, "entities": found_entities(text) });
            bot.push("message", message);
        });
    }

    /// Forgets the ephemeral commands, as the platform does after a while.
    pub fn forget_ephemeral_commands(&self) {
        self.change(|bot| bot.ephemeral.commands.clear());
    }

    /// Returns the messages that only their receiver sees.
    #[must_use]
    pub fn shown_ephemeral(&self) -> Vec<EphemeralMessage> {
        self.change(|bot| bot.ephemeral.shown.clone())
    }
}
