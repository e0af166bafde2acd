//! The methods of the Bot API, with the checks of the platform.

use serde_json::{Value, json};

use super::bot::BotState;
use super::chats::{SentFile, UnsentMessage};
use super::text::{self, CAPTION_LIMIT, Formatted, TEXT_LIMIT};
use super::updates::CALLBACK_KEPT;
use super::wire::{ApiError, MethodCall};
use super::{USERNAME, keyboard};

type MethodResult = Result<Value, ApiError>;

impl BotState {
    /// Runs a method. `getUpdates` is elsewhere, because it may have to wait.
    pub(super) fn run(&mut self, call: &MethodCall) -> MethodResult {
        match call.method.as_str() {
            "getme" => Ok(self.get_me()),
            "sendmessage" if self.ephemeral.is_meant_by(call) => self.send_ephemeral(call),
            "sendmessage" => self.send_message(call),
            "editmessagetext" if self.knows_rich && call.get("rich_message").is_some() => {
                self.edit_to_rich_message(call)
            }
            "editmessagetext" => self.edit_message_text(call),
            "editmessagereplymarkup" => self.edit_message_reply_markup(call),
            "deletemessage" => self.delete_message(call),
            "sendchataction" => self.send_chat_action(call),
            "answercallbackquery" => self.answer_callback_query(call),
            "sendaudio" => self.send_file(call, "audio"),
            "senddocument" => self.send_file(call, "document"),
            "sendvideo" => self.send_file(call, "video"),
            "sendvoice" => self.send_file(call, "voice"),
            "sendmessagedraft" if self.drafts.are_known() => self.send_message_draft(call),
            "sendrichmessage" if self.knows_rich => self.send_rich_message(call),
            "sendpoll" => self.send_poll(call),
            "sendphoto" => self.send_file(call, "photo"),
            "sendmediagroup" => self.send_media_group(call),
            "getfile" => self.files.get(call.text("file_id"), self.now),
            "setmessagereaction" => self.set_message_reaction(call),
            "setmycommands" => self.set_my_commands(call),
            "getmycommands" => Ok(Value::Array(self.commands.clone())),
            "setwebhook" => self.set_webhook(call),
            "deletewebhook" => Ok(self.delete_webhook(call)),
            "getwebhookinfo" => Ok(self.webhook_info()),
            _ => Err(ApiError::new(404, "Not Found: method not found")),
        }
    }

    fn get_me(&self) -> Value {
        json!({
            "id": self.id(), "is_bot": true, "first_name": "Avocet", "username": USERNAME,
            "can_join_groups": true, "can_read_all_group_messages": false,
            "supports_inline_queries": false, "can_connect_to_business": false,
            "has_main_web_app": false, "has_topics_enabled": false })
    }

    fn send_message(&mut self, call: &MethodCall) -> MethodResult {
        let formatted = message_text(call, "message is too long")?;
        let preview_off = preview_off(call)?;
        let draft = UnsentMessage { formatted, preview_off, ..self.draft(call)? };
        Ok(self.say(draft))
    }

    fn send_file(&mut self, call: &MethodCall, kind: &str) -> MethodResult {
        let formatted = text::read(call, "caption", "caption_entities")?;
        if text::length(&formatted.text) > CAPTION_LIMIT {
            return Err(ApiError::bad_request("message caption is too long"));
        }
        let draft = self.draft(call)?;
        let file = Some(self.sent_file(call, kind)?);
        Ok(self.say(UnsentMessage { formatted, file, ..draft }))
    }

    /// Sends a poll with 2 to 12 different answers (Bot API, sendPoll).
    fn send_poll(&mut self, call: &MethodCall) -> MethodResult {
        let question = call.text("question");
        match text::length(question) {
            0 => return Err(ApiError::bad_request("message text is empty")),
            1..=300 => {}
            _ => return Err(ApiError::bad_request("poll question length must not exceed 300")),
        }
        let Some(Value::Array(options)) = call.json("options")? else {
            return Err(ApiError::bad_request("can't parse options: expected an Array"));
        };
        if !(2..=12).contains(&options.len()) {
            let why = "poll must have at least 2 option, and must not have more than 12";
            return Err(ApiError::bad_request(why));
        }
        for (place, option) in options.iter().enumerate() {
            let length = text::length(option["text"].as_str().unwrap_or_default());
            if !(1..=100).contains(&length) {
                return Err(ApiError::bad_request("poll options length must not exceed 100"));
            }
            if options[..place].iter().any(|other| other["text"] == option["text"]) {
                return Err(ApiError::bad_request("poll options must be unique"));
            }
        }
        let formatted = Formatted { text: question.to_owned(), entities: Vec::new() };
        let several = call.json("allows_multiple_answers")? == Some(Value::Bool(true));
        let poll = Some(json!({ "options": options, "allows_multiple_answers": several }));
        let draft = UnsentMessage { formatted, poll, ..self.draft(call)? };
        Ok(self.say(draft))
    }

    /// Checks the parameters that all messages share, in the platform's order.
    pub(super) fn draft(&self, call: &MethodCall) -> Result<UnsentMessage, ApiError> {
        let keyboard = keyboard::read(call)?;
        let chat = self.open_chat(call)?;
        let thread = call.int("message_thread_id").filter(|thread| *thread != 0);
        if let Some(thread) = thread {
            self.chats.check_thread(chat, thread)?;
        }
        let direct_topic = call.int("direct_messages_topic_id");
        self.chats.check_direct_topic(chat, direct_topic)?;
        let reply_to = self.reply_to(call, chat)?;
        let (preview_off, formatted, file) = (false, Formatted::default(), None);
        let (poll, album, rich) = (None, None, None);
        Ok(UnsentMessage {
            chat,
            thread,
            direct_topic,
            reply_to,
            keyboard,
            preview_off,
            formatted,
            file,
            poll,
            album,
            rich,
        })
    }

    pub(super) fn say(&mut self, draft: UnsentMessage) -> Value {
        let (me, date) = (self.me(), self.date());
        self.drafts.end(draft.chat);
        self.chats.send(draft, &me, date)
    }

    pub(super) fn open_chat(&self, call: &MethodCall) -> Result<i64, ApiError> {
        if call.get("chat_id").is_none_or(|given| *given == "") {
            return Err(ApiError::bad_request("chat_id is empty"));
        }
        // A name would be that of a public chat, and the fake has none.
        let chat = call.int("chat_id").ok_or_else(|| ApiError::bad_request("chat not found"))?;
        self.chats.check_open(chat)?;
        Ok(chat)
    }

    fn reply_to(&self, call: &MethodCall, chat: i64) -> Result<Option<i64>, ApiError> {
        let Some(reply) = call.json("reply_parameters")? else { return Ok(None) };
        let Some(message) = reply["message_id"].as_i64() else {
            return Err(ApiError::bad_request("can't parse reply parameters: message_id"));
        };
        if reply["chat_id"].as_i64().unwrap_or(chat) == chat
            && self.chats.has_message(chat, message)
        {
            return Ok(Some(message));
        }
        if reply["allow_sending_without_reply"] == true {
            return Ok(None);
        }
        Err(ApiError::bad_request("message to be replied not found"))
    }

    /// Reads a file: a part of the form, `attach://PART`, or an identifier.
    pub(super) fn sent_file(
        &mut self,
        call: &MethodCall,
        kind: &str,
    ) -> Result<SentFile, ApiError> {
        let given = call.text(kind);
        let part = given.strip_prefix("attach://").unwrap_or(kind);
        let is_photo = kind == "photo";
        let shown_as = kind.to_owned();
        if let Some(upload) = call.files.get(part) {
            let id = self.files.upload(&upload.bytes, kind)?;
            return Ok(SentFile { is_photo, shown_as, id, upload: Some(upload.clone()) });
        }
        if given.is_empty() {
            return Err(ApiError::bad_request(format!("there is no {kind} in the request")));
        }
        if !self.files.is_known(given) {
            return Err(ApiError::bad_request("wrong file identifier/HTTP URL specified"));
        }
        Ok(SentFile { is_photo, shown_as, id: given.to_owned(), upload: None })
    }

    fn edit_message_text(&mut self, call: &MethodCall) -> MethodResult {
        let formatted = message_text(call, "MESSAGE_TOO_LONG")?;
        let (keyboard, preview_off) = (keyboard::read(call)?, preview_off(call)?);
        let place = self.edited(call)?;
        let (me, now) = (self.me(), self.date());
        let edited = self.chats.edit(place, Some(formatted), keyboard, &me, now)?;
        self.chats.set_preview_off(place, preview_off);
        Ok(edited)
    }

    fn edit_message_reply_markup(&mut self, call: &MethodCall) -> MethodResult {
        let keyboard = keyboard::read(call)?;
        let place = self.edited(call)?;
        let (me, now) = (self.me(), self.date());
        self.chats.edit(place, None, keyboard, &me, now)
    }

    pub(super) fn edited(&self, call: &MethodCall) -> Result<(i64, i64), ApiError> {
        let message = call.int("message_id");
        let unnamed = || ApiError::bad_request("message identifier is not specified");
        Ok((self.open_chat(call)?, message.ok_or_else(unnamed)?))
    }

    fn delete_message(&mut self, call: &MethodCall) -> MethodResult {
        let (chat, message) = self.edited(call)?;
        self.chats.delete(chat, message, self.date())?;
        Ok(Value::Bool(true))
    }

    fn send_chat_action(&self, call: &MethodCall) -> MethodResult {
        const ACTIONS: [&str; 11] = [
            "typing",
            "upload_photo",
            "record_video",
            "upload_video",
            "record_voice",
            "upload_voice",
            "upload_document",
            "choose_sticker",
            "find_location",
            "record_video_note",
            "upload_video_note",
        ];
        if !ACTIONS.contains(&call.text("action")) {
            return Err(ApiError::bad_request("wrong parameter action in request"));
        }
        let chat = self.open_chat(call)?;
        // The method has no parameter for the topic.
        self.chats.check_direct_topic(chat, None)?;
        if let Some(thread) = call.int("message_thread_id") {
            self.chats.check_thread(chat, thread)?;
        }
        Ok(Value::Bool(true))
    }

    /// Answers a press. Each press accepts one answer, within its lifetime.
    fn answer_callback_query(&mut self, call: &MethodCall) -> MethodResult {
        const ANSWER_LIMIT: usize = 200;
        if text::length(call.text("text")) > ANSWER_LIMIT {
            return Err(ApiError::bad_request("MESSAGE_TOO_LONG"));
        }
        let pressed = self.pressed.remove(call.text("callback_query_id"));
        if pressed.is_some_and(|at| at.after(CALLBACK_KEPT) > self.now) {
            return Ok(Value::Bool(true));
        }
        Err(ApiError::bad_request(
            "query is too old and response timeout expired or query ID is invalid",
        ))
    }

    fn set_my_commands(&mut self, call: &MethodCall) -> MethodResult {
        let Some(Value::Array(commands)) = call.json("commands")? else {
            return Err(ApiError::bad_request("expected an Array of BotCommand"));
        };
        if commands.len() > 100 {
            return Err(ApiError::bad_request("BOT_COMMANDS_TOO_MUCH"));
        }
        commands.iter().try_for_each(check_command)?;
        self.commands = commands;
        Ok(Value::Bool(true))
    }
}

/// Reads a text. It must be present and within the limit.
pub(super) fn message_text(call: &MethodCall, too_long: &str) -> Result<Formatted, ApiError> {
    if call.text("text").is_empty() {
        return Err(ApiError::bad_request("message text is empty"));
    }
    let formatted = text::read(call, "text", "entities")?;
    match text::length(&formatted.text) {
        0 => Err(ApiError::bad_request("text must be non-empty")),
        1..=TEXT_LIMIT => Ok(formatted),
        _ => Err(ApiError::bad_request(too_long)),
    }
}

fn preview_off(call: &MethodCall) -> Result<bool, ApiError> {
    match call.json("link_preview_options")? {
        None => Ok(false),
        Some(options) if !options.is_object() => {
            Err(ApiError::bad_request("object expected as link preview options"))
        }
        Some(options) => Ok(options["is_disabled"] == true),
    }
}

fn check_command(command: &Value) -> Result<(), ApiError> {
    let unreadable =
        |why: &str| Err(ApiError::bad_request(format!("can't parse BotCommand: {why}")));
    let (Some(name), Some(description)) =
        (command["command"].as_str(), command["description"].as_str())
    else {
        return unreadable("Can't find field \"command\" or \"description\"");
    };
    let fits = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '_');
    if !(1..=32).contains(&name.len()) || !name.chars().all(fits) {
        return Err(ApiError::bad_request("BOT_COMMAND_INVALID"));
    }
    if !(1..=256).contains(&text::length(description)) {
        return Err(ApiError::bad_request("BOT_COMMAND_DESCRIPTION_INVALID"));
    }
    Ok(())
}

#[cfg(test)]
#[path = "methods_tests.rs"]
mod tests;
