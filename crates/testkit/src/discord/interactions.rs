//! Interactions (pressed buttons and slash commands) and their answers (Receiving and Responding,
//! API reference).

use std::time::Duration;

use serde_json::{Value, json};

use super::content_access::ContentAccess;
use super::draft::{EPHEMERAL, MessageFields};
use super::error::ApiError;
use super::form::FormErrors;
use super::open_interactions::Interaction;
use super::platform::{ApiReply, MethodResult, PlatformState};
use super::rest::ParsedRequest;
use super::sending::empty;
use super::snowflake::iso;
use super::world::with;

/// Timeout for the first answer to an interaction.
pub const FIRST_ANSWER: Duration = Duration::from_secs(3);
/// Lifetime of an interaction's token, counted from the interaction.
pub const TOKEN_KEPT: Duration = Duration::from_secs(15 * 60);

const MESSAGE: u64 = 4;
const DEFER: u64 = 5;
const DEFER_UPDATE: u64 = 6;
const UPDATE: u64 = 7;

impl PlatformState {
    /// Presses a button. Returns the id of the interaction.
    pub(super) fn press(&mut self, user: u64, message: u64, custom_id: &str) -> u64 {
        let channel = self.messages.channel_of(message).expect("a message with a button");
        let found = self.messages.find(channel, message).expect("a message that is there");
        let is_it = |button: &Value| button["custom_id"] == custom_id;
        assert!(found.buttons().iter().any(is_it), "no button {custom_id:?} below {found:?}");
        let shown = self.message(found, ContentAccess::Granted);
        let data = json!({ "custom_id": custom_id, "component_type": 2, "id": 1 });
        let more = json!({ "type": 3, "data": data, "message": shown });
        self.interact(user, channel, Some(message), &more)
    }

    /// Chooses an option of a menu. Returns the id of the interaction.
    pub(super) fn choose(&mut self, user: u64, message: u64, value: &str) -> u64 {
        let channel = self.messages.channel_of(message).expect("a message with a menu");
        let found = self.messages.find(channel, message).expect("a message that is there");
        let has_it = |menu: &Value| {
            let options = menu["options"].as_array().into_iter().flatten();
            options.into_iter().any(|option| option["value"] == value)
        };
        let menus = found.buttons();
        let menu = menus.iter().find(|menu| has_it(menu)).expect("a menu with this option");
        let data = json!({ "custom_id": menu["custom_id"], "component_type": 3, "id": 1,
            "values": [value] });
        let shown = self.message(found, ContentAccess::Granted);
        let more = json!({ "type": 3, "data": data, "message": shown });
        self.interact(user, channel, Some(message), &more)
    }

    /// Enters a command. Returns the id of the interaction. `options` is the field of its data.
    pub(super) fn slash(&mut self, user: u64, channel: u64, name: &str, options: &Value) -> u64 {
        let registered = self.commands.iter().find(|command| command["name"] == name);
        let id = registered.map_or_else(|| json!("1"), |command| command["id"].clone());
        let data = json!({ "id": id, "name": name, "type": 1, "options": options });
        self.interact(user, channel, None, &json!({ "type": 2, "data": data }))
    }

    /// Enters a command in a chat with another user, where the bot is not a member. Returns the id of
    /// the interaction.
    pub(super) fn slash_elsewhere(&mut self, user: u64, name: &str) -> u64 {
        let is_offered = |command: &&Value| {
            let contexts = command["contexts"].as_array().into_iter().flatten();
            command["name"] == name && contexts.into_iter().any(|context| *context == 2)
        };
        assert!(self.commands.iter().any(|one| is_offered(&one)), "no command {name} elsewhere");
        let data = json!({ "id": "1", "name": name, "type": 1, "options": [] });
        self.interact_elsewhere(user, &json!({ "type": 2, "data": data }))
    }

    /// Presses a button of an answer in such a chat.
    pub(super) fn press_elsewhere(&mut self, user: u64, custom_id: &str) -> u64 {
        let (message, channel) = (self.next_id(), self.next_id());
        let shown = json!({ "id": message.to_string(), "channel_id": channel.to_string(),
            "author": self.world.user(self.world.me.id), "content": "May I?", "type": 0,
            "timestamp": iso(self.now), "edited_timestamp": null, "tts": false, "pinned": false,
            "mention_everyone": false, "mentions": [], "mention_roles": [], "attachments": [],
            "embeds": [], "flags": 0 });
        let data = json!({ "custom_id": custom_id, "component_type": 2, "id": 1 });
        self.interact_elsewhere(user, &json!({ "type": 3, "data": data, "message": shown }))
    }

    fn interact_elsewhere(&mut self, user: u64, more: &Value) -> u64 {
        let (id, channel) = (self.next_id(), self.next_id());
        let (at, token) = (self.now, format!("interaction-{id}"));
        let event = json!({ "id": id.to_string(), "application_id": self.world.me.id.to_string(),
            "token": token, "version": 1, "channel_id": channel.to_string(),
            "channel": { "id": channel.to_string(), "type": 1, "flags": 0,
                "recipients": [self.world.user(user), self.world.user(1)] },
            "app_permissions": "0", "locale": "en-US", "entitlements": [], "context": 2,
            "authorizing_integration_owners": { "1": user.to_string() },
            "attachment_size_limit": self.rules.file_size, "user": self.world.user(user) });
        let event = with(event, more);
        let (message, answered, data, original) = (None, None, Value::Null, None);
        let interaction = Interaction { id, token, channel, at, message, answered, data, original };
        self.interactions.0.insert(id, interaction);
        self.dispatch("INTERACTION_CREATE", 0, |_| event.clone());
        id
    }

    fn interact(&mut self, user: u64, channel: u64, message: Option<u64>, more: &Value) -> u64 {
        let (id, at) = (self.next_id(), self.now);
        let token = format!("interaction-{id}");
        let place = &self.world.channels[&channel];
        let person = self.world.user(user);
        let who = match place.guild() {
            Some(guild) => {
                let member = with(
                    self.world.member_of(guild, user),
                    &json!({ "user": person, "permissions": "0" }),
                );
                json!({ "guild_id": guild.to_string(), "guild_locale": "en-US", "member": member,
                    "context": 0 })
            }
            None => json!({ "user": person, "context": 1 }),
        };
        let event = json!({ "id": id.to_string(), "application_id": self.world.me.id.to_string(),
            "token": token, "version": 1, "channel_id": channel.to_string(),
            "channel": self.world.channel(place), "app_permissions": "2248473465835073",
            "locale": "en-US", "entitlements": [], "authorizing_integration_owners": {},
            "attachment_size_limit": self.rules.file_size });
        let event = with(with(event, &who), more);
        let (answered, data, original) = (None, Value::Null, None);
        let interaction = Interaction { id, token, channel, at, message, answered, data, original };
        self.interactions.0.insert(id, interaction);
        self.dispatch("INTERACTION_CREATE", 0, |_| event.clone());
        id
    }

    /// Handles the first answer.
    pub(super) fn respond(&mut self, call: &ParsedRequest) -> MethodResult {
        let found = self.interactions.0.get(&call.major);
        let found = found.filter(|interaction| interaction.token == call.token);
        let found = found.ok_or_else(ApiError::unknown_interaction)?.clone();
        if found.answered.is_some() {
            let why = "Interaction has already been acknowledged.";
            return Err(ApiError::new(400, 40060, why));
        }
        if found.at.until(self.now) >= FIRST_ANSWER {
            return Err(ApiError::unknown_interaction());
        }
        let kind = call.body["type"].as_u64().unwrap_or_default();
        let mut errors = FormErrors::default();
        let pressed = [1, MESSAGE, DEFER, DEFER_UPDATE, UPDATE];
        let choices = if found.message.is_some() { &pressed[..] } else { &pressed[..3] };
        errors.one_of("type", kind, choices);
        errors.finish()?;
        let original = self.first_answer(&found, kind, call)?;
        let kept = self.interactions.0.get_mut(&found.id).unwrap();
        (kept.answered, kept.data, kept.original) =
            (Some(kind), call.body["data"].clone(), original);
        Ok(ApiReply::Nothing)
    }

    /// Returns the message of the first answer: a new one, or the one with the button.
    fn first_answer(
        &mut self,
        found: &Interaction,
        kind: u64,
        call: &ParsedRequest,
    ) -> Result<Option<u64>, ApiError> {
        let data = &call.body["data"];
        match kind {
            MESSAGE => {
                let draft = MessageFields::read(call, data, self.rules)?;
                if draft.is_empty() {
                    return Err(empty());
                }
                Ok(Some(self.send(found.channel, draft, Some(found.id))))
            }
            UPDATE => {
                let message = found.message.expect("checked above");
                self.edit(found.channel, message, call, data)?;
                Ok(found.message)
            }
            DEFER_UPDATE => Ok(found.message),
            _ => Ok(None),
        }
    }

    /// Returns the interaction in the path of a webhook, if it is answered and its token is valid.
    fn answered(&self, call: &ParsedRequest) -> Result<Interaction, ApiError> {
        self.check_application(call)?;
        let unknown = || ApiError::new(404, 10015, "Unknown Webhook");
        let found = self.interactions.by_token(&call.token).ok_or_else(unknown)?;
        if found.at.until(self.now) >= TOKEN_KEPT {
            return Err(ApiError::new(401, 50027, "Invalid Webhook Token"));
        }
        if found.answered.is_none() {
            return Err(unknown());
        }
        Ok(found.clone())
    }

    /// Handles a further message.
    pub(super) fn follow_up(&mut self, call: &ParsedRequest) -> MethodResult {
        let found = self.answered(call)?;
        let draft = MessageFields::read(call, &call.body, self.rules)?;
        if draft.is_empty() {
            return Err(empty());
        }
        let id = self.send(found.channel, draft, Some(found.id));
        // The first message after a deferred answer is that answer.
        if found.answered == Some(DEFER) && found.original.is_none() {
            self.interactions.0.get_mut(&found.id).unwrap().original = Some(id);
        }
        let message = self.messages.find(found.channel, id).expect("it was just sent");
        Ok(ApiReply::Json(self.message(message, ContentAccess::Granted)))
    }

    pub(super) fn get_response(&self, call: &ParsedRequest) -> MethodResult {
        let (found, id) = self.response(call)?;
        let message = self.messages.find(found.channel, id.unwrap_or_default());
        Ok(ApiReply::Json(
            self.message(message.ok_or_else(ApiError::unknown_message)?, ContentAccess::Granted),
        ))
    }

    pub(super) fn edit_response(&mut self, call: &ParsedRequest) -> MethodResult {
        let (found, id) = self.response(call)?;
        if id.is_none() && found.answered == Some(DEFER) {
            let ephemeral = found.data["flags"].as_u64().unwrap_or_default() & EPHEMERAL;
            let mut draft = MessageFields::read(call, &call.body, self.rules)?;
            if draft.is_empty() {
                return Err(empty());
            }
            draft.flags = Some(draft.flags.unwrap_or_default() | ephemeral);
            let id = self.send(found.channel, draft, Some(found.id));
            self.interactions.0.get_mut(&found.id).unwrap().original = Some(id);
            return self.get_response(call);
        }
        self.edit(found.channel, id.unwrap_or_default(), call, &call.body)
    }

    pub(super) fn delete_response(&mut self, call: &ParsedRequest) -> MethodResult {
        let (found, id) = self.response(call)?;
        let message = self.messages.find_mut(found.channel, id.unwrap_or_default());
        message.ok_or_else(ApiError::unknown_message)?.deleted = true;
        self.tell_deleted(found.channel, id.unwrap_or_default());
        Ok(ApiReply::Nothing)
    }

    /// Returns the interaction, and the message in the path.
    fn response(&self, call: &ParsedRequest) -> Result<(Interaction, Option<u64>), ApiError> {
        let found = self.answered(call)?;
        let id = call.message.or(found.original);
        Ok((found, id))
    }
}

#[cfg(test)]
#[path = "interactions_tests.rs"]
mod tests;
