//! Messages through REST: create, read, edit, delete.

use serde_json::{Value, json};

use super::content_access::ContentAccess;
use super::draft::{MessageFields, MessageRules};
use super::error::ApiError;
use super::form::FormErrors;
use super::mentions::{Mention, told};
use super::messages::{Attachment, DiscordMessage, Mentioned};
use super::platform::{ApiReply, MethodResult, PlatformState};
use super::rest::ParsedRequest;
use super::world::DiscordChannelKind;
use crate::multipart::Upload;

const HISTORY_DEFAULT: u64 = 50;
const HISTORY_LIMIT: u64 = 100;

impl PlatformState {
    pub(super) fn create_message(&mut self, call: &ParsedRequest) -> MethodResult {
        let found = self.world.writable(call.major)?;
        if matches!(found.place, DiscordChannelKind::Forum { .. }) {
            let why = "Cannot send messages in a non-text channel";
            return Err(ApiError::new(400, 50_008, why));
        }
        let channel = found.id;
        let file_size = self.world.boosted_limit(channel).unwrap_or(self.rules.file_size);
        let draft =
            MessageFields::read(call, &call.body, MessageRules { file_size, ..self.rules })?;
        if draft.is_empty() {
            return Err(empty());
        }
        if let Some(nonce) = draft.nonce.as_deref().filter(|_| draft.enforce_nonce)
            && let Some(earlier) = self.messages.by_nonce(channel, nonce, self.now)
        {
            return Ok(ApiReply::Json(self.with_nonce(earlier)));
        }
        self.check_reply(channel, &draft)?;
        let id = self.send(channel, draft, None);
        let message = self.messages.sent.last().expect("it was just sent");
        debug_assert_eq!(message.id, id);
        Ok(ApiReply::Json(self.with_nonce(message)))
    }

    fn check_reply(&self, channel: u64, draft: &MessageFields) -> Result<(), ApiError> {
        if draft.reply_to.is_some() && !self.world.may_read_past(channel) {
            return Err(ApiError::no_reply_without_history());
        }
        let Some(replied) = draft.reply_to.filter(|_| !draft.reply_or_not) else { return Ok(()) };
        if self.messages.find(channel, replied).is_some() {
            return Ok(());
        }
        let mut errors = FormErrors::default();
        errors.add("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message");
        errors.finish()
    }

    /// Puts a message of the bot into a channel and returns its id.
    pub(super) fn send(
        &mut self,
        channel: u64,
        draft: MessageFields,
        interaction: Option<u64>,
    ) -> u64 {
        let id = self.next_id();
        self.send_as(id, channel, draft, interaction);
        id
    }

    /// Puts a message of the bot with this id into a channel.
    pub(super) fn send_as(
        &mut self,
        id: u64,
        channel: u64,
        draft: MessageFields,
        interaction: Option<u64>,
    ) {
        let files = self.uploaded(&draft.files);
        // A reply to a missing message becomes an ordinary message.
        let reply_to = draft.reply_to.filter(|id| self.messages.find(channel, *id).is_some());
        let allowed = draft.allowed_mentions;
        let message = DiscordMessage {
            channel,
            id,
            author: self.world.me.id,
            at: self.now,
            nonce: draft.nonce,
            reply_to,
            pings: allowed.as_ref().is_none_or(|allowed| allowed["replied_user"] == true),
            text: draft.text.unwrap_or_default(),
            components: draft.components.unwrap_or_default(),
            embeds: draft.embeds.unwrap_or_default(),
            poll: draft.poll,
            flags: draft.flags.unwrap_or_default(),
            files,
            edits: Vec::new(),
            edited_at: None,
            deleted: false,
            interaction,
            more: json!({}),
        };
        self.note_told(&message, allowed.as_ref());
        self.messages.send(message.clone());
        if !message.is_ephemeral() {
            self.unarchive(channel);
            self.set_last_message(channel, id);
            self.join(channel);
            self.tell_message("MESSAGE_CREATE", &message);
        }
    }

    /// The bot joins a thread by writing.
    fn join(&mut self, channel: u64) {
        if let Some(channel) = self.world.channels.get_mut(&channel) {
            channel.joined = true;
        }
    }

    pub(super) fn set_last_message(&mut self, channel: u64, id: u64) {
        if let Some(channel) = self.world.channels.get_mut(&channel) {
            channel.last_message = Some(id);
        }
    }

    fn uploaded(&mut self, files: &[Upload]) -> Vec<Attachment> {
        let taken = files.iter().map(|file| Attachment {
            id: self.next_id(),
            name: file.name.clone(),
            media_type: None,
            size: u64::try_from(file.bytes.len()).unwrap(),
            bytes: file.bytes.as_slice().into(),
        });
        taken.collect()
    }

    /// Records the notifications of a message: its mentions, and the author that it replies to.
    fn note_told(&mut self, message: &DiscordMessage, allowed: Option<&Value>) {
        let mut who = told(message.mentions(), allowed);
        who.extend(self.pinged(message).map(Mention::User));
        if !who.is_empty() {
            let (channel, id) = (message.channel, message.id);
            self.messages.mentioned.push(Mentioned { channel, id, who });
        }
    }

    /// Returns a message with its nonce, for its creator.
    fn with_nonce(&self, message: &DiscordMessage) -> Value {
        let mut described = self.message(message, ContentAccess::Granted);
        if let Some(nonce) = &message.nonce {
            described["nonce"] = json!(nonce);
        }
        described
    }

    /// Returns a page of the history, the newest message first.
    pub(super) fn history(&self, call: &ParsedRequest) -> MethodResult {
        self.world.readable(call.major)?;
        let limit = history_limit(call)?;
        let (after, before) =
            (call.number("after", "snowflake")?, call.number("before", "snowflake")?);
        let mut shown = self.messages.history(call.major);
        // The request succeeds: "no messages will be returned" (Get Channel Messages, API
        // reference).
        shown.retain(|_| self.world.may_read_past(call.major));
        if let Some(before) = before {
            shown.retain(|message| message.id < before);
        }
        if let Some(after) = after {
            shown.retain(|message| message.id > after);
            // With `after`, a page begins with the oldest messages after this one.
            shown.truncate(limit);
        }
        let access = self.gateway.content_access();
        let newest = shown.iter().rev().take(limit);
        Ok(ApiReply::Json(newest.map(|message| self.message(message, access)).collect()))
    }

    pub(super) fn get_message(&self, call: &ParsedRequest) -> MethodResult {
        self.world.readable(call.major)?;
        if !self.world.may_read_past(call.major) {
            return Err(ApiError::missing_permissions());
        }
        let found = self.messages.find(call.major, call.message.unwrap_or_default());
        let found = found.filter(|message| !message.is_ephemeral());
        let found = found.ok_or_else(ApiError::unknown_message)?;
        Ok(ApiReply::Json(self.message(found, self.gateway.content_access())))
    }

    pub(super) fn edit_message(&mut self, call: &ParsedRequest) -> MethodResult {
        let channel = self.world.writable(call.major)?.id;
        let found = self.messages.find(channel, call.message.unwrap_or_default());
        let found = found.filter(|message| !message.is_ephemeral());
        let found = found.ok_or_else(ApiError::unknown_message)?;
        if found.author != self.world.me.id {
            let why = "Cannot edit a message authored by another user";
            return Err(ApiError::new(403, 50005, why));
        }
        let id = found.id;
        self.edit(channel, id, call, &call.body)
    }

    /// Edits a message of the bot. Absent fields stay unchanged.
    pub(super) fn edit(
        &mut self,
        channel: u64,
        id: u64,
        call: &ParsedRequest,
        body: &Value,
    ) -> MethodResult {
        let draft = MessageFields::read(call, body, self.rules)?;
        let files = self.uploaded(&draft.files);
        let now = self.now;
        let message = self.messages.find_mut(channel, id).ok_or_else(ApiError::unknown_message)?;
        let mut changed = message.clone();
        // `null` removes the text. In the draft, it looks like an absent text.
        if body.get("content").is_some() {
            changed.text = draft.text.clone().unwrap_or_default();
        }
        changed.components = draft.components.clone().unwrap_or(changed.components);
        changed.embeds = draft.embeds.clone().unwrap_or(changed.embeds);
        changed.flags = draft.flags.unwrap_or(changed.flags);
        if let Some(stay) = &draft.attachments {
            let stays: Vec<&str> = stay.iter().filter_map(|kept| kept["id"].as_str()).collect();
            changed.files.retain(|file| stays.contains(&file.id.to_string().as_str()));
        }
        changed.files.extend(files);
        if is_blank(&changed) {
            return Err(empty());
        }
        if changed.text != message.text {
            changed.edits.push(message.text.clone());
        }
        changed.edited_at = Some(now);
        *message = changed.clone();
        self.note_told(&changed, Some(draft.allowed_mentions.as_ref().unwrap_or(&json!({}))));
        if !changed.is_ephemeral() {
            self.tell_message("MESSAGE_UPDATE", &changed);
        }
        Ok(ApiReply::Json(self.message(&changed, ContentAccess::Granted)))
    }

    /// Deletes a message: the bot's own or, in a guild, any message, because the bot may manage
    /// messages there.
    pub(super) fn delete_message(&mut self, call: &ParsedRequest) -> MethodResult {
        let channel = self.world.readable(call.major)?;
        let is_dm = channel.guild().is_none();
        let (channel, me) = (channel.id, self.world.me.id);
        let found = self.messages.find_mut(channel, call.message.unwrap_or_default());
        let found = found.ok_or_else(ApiError::unknown_message)?;
        if is_dm && found.author != me {
            return Err(ApiError::new(403, 50003, "Cannot execute action on a DM channel"));
        }
        found.deleted = true;
        let id = found.id;
        self.tell_deleted(channel, id);
        Ok(ApiReply::Nothing)
    }
}

fn history_limit(call: &ParsedRequest) -> Result<usize, ApiError> {
    let limit = call.number("limit", "int")?.unwrap_or(HISTORY_DEFAULT);
    let mut errors = FormErrors::default();
    if limit < 1 {
        let why = "int value should be greater than or equal to 1.";
        errors.add("limit", "NUMBER_TYPE_MIN", why);
    }
    if limit > HISTORY_LIMIT {
        let why = format!("int value should be less than or equal to {HISTORY_LIMIT}.");
        errors.add("limit", "NUMBER_TYPE_MAX", &why);
    }
    errors.finish()?;
    Ok(usize::try_from(limit).unwrap())
}

fn is_blank(message: &DiscordMessage) -> bool {
    message.text.trim().is_empty()
        && message.embeds.is_empty()
        && message.components.is_empty()
        && message.files.is_empty()
}

pub(super) fn empty() -> ApiError {
    ApiError::new(400, 50006, "Cannot send an empty message")
}

#[cfg(test)]
#[path = "sending_tests.rs"]
mod tests;
