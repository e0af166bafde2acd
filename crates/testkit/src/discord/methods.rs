//! The routes, with the checks of the platform.

use std::time::Duration;

use avocet_protocol::clock::Timestamp;
use serde_json::{Value, json};

use super::commands;
use super::error::ApiError;
use super::platform::{ApiReply, MethodResult, PlatformState};
use super::rest::{ParsedRequest, Route};
use super::world::{DiscordChannelKind, with};

impl PlatformState {
    /// Runs a request.
    pub(super) fn run(&mut self, call: &ParsedRequest) -> MethodResult {
        match call.route {
            Route::Gateway => Ok(ApiReply::Json(json!({ "url": self.gateway.url }))),
            Route::GatewayBot => Ok(ApiReply::Json(self.gateway_bot())),
            Route::Me => Ok(ApiReply::Json(self.world.user(self.world.me.id))),
            Route::Application => Ok(ApiReply::Json(self.application())),
            Route::MyGuilds => Ok(ApiReply::Json(self.world.my_guilds())),
            Route::OpenDm => self.open_dm(call),
            Route::Channel => {
                let channel = self.world.readable(call.major)?;
                Ok(ApiReply::Json(self.world.channel(channel)))
            }
            Route::History => self.history(call),
            Route::CreateMessage => self.create_message(call),
            Route::GetMessage => self.get_message(call),
            Route::EditMessage => self.edit_message(call),
            Route::DeleteMessage => self.delete_message(call),
            Route::Typing => self.world.writable(call.major).map(|_| ApiReply::Nothing),
            Route::GetMember => {
                self.world.guild(call.major)?;
                let user = call.user.unwrap_or_default();
                let member = self.world.member_of(call.major, user);
                Ok(ApiReply::Json(with(member, &json!({ "user": self.world.user(user) }))))
            }
            Route::CreateThread => self.create_thread(call),
            Route::CreatePost => self.create_post(call),
            Route::ArchivedThreads => self.archived_threads(call),
            Route::AddReaction => self.change_reaction(call, true),
            Route::RemoveReaction => self.change_reaction(call, false),
            Route::GuildChannels => {
                self.world.guild(call.major)?;
                Ok(ApiReply::Json(self.world.channels_of(call.major).into()))
            }
            Route::ActiveThreads => {
                self.world.guild(call.major)?;
                let threads = self.world.threads_of(call.major);
                Ok(ApiReply::Json(json!({ "threads": threads, "members": [] })))
            }
            Route::SetCommands => self.set_commands(call),
            Route::GetCommands => {
                self.check_application(call)?;
                Ok(ApiReply::Json(self.commands.clone().into()))
            }
            Route::Respond => self.respond(call),
            Route::FollowUp => self.follow_up(call),
            Route::GetResponse => self.get_response(call),
            Route::EditResponse => self.edit_response(call),
            Route::DeleteResponse => self.delete_response(call),
            Route::Download => self.download(call),
        }
    }

    fn gateway_bot(&self) -> Value {
        let limit = &self.gateway.start_limit;
        json!({ "url": self.gateway.url, "shards": 1, "session_start_limit": {
            "total": limit.total, "remaining": limit.remaining(self.now),
            "reset_after": limit.reset_after(self.now).as_millis(), "max_concurrency": 1 } })
    }

    fn application(&self) -> Value {
        let id = self.world.me.id;
        json!({ "id": id.to_string(), "name": super::USERNAME, "icon": null, "description": "",
            "bot_public": false, "bot_require_code_grant": false, "verify_key": "00",
            "team": null, "flags": self.gateway.application_flags(),
            "owner": self.world.user(1), "bot": self.world.user(id) })
    }

    fn open_dm(&mut self, call: &ParsedRequest) -> MethodResult {
        let user = call.body["recipient_id"].as_str().and_then(|id| id.parse().ok());
        let known = user.filter(|user| self.world.users.contains_key(user));
        let Some(user) = known.filter(|user| *user != self.world.me.id) else {
            return Err(ApiError::new(400, 50033, "Invalid Recipient(s)"));
        };
        let dm = self.dm(user);
        Ok(ApiReply::Json(self.world.channel(&self.world.channels[&dm])))
    }

    /// Returns the direct messages with a user, and opens them if necessary.
    pub(super) fn dm(&mut self, user: u64) -> u64 {
        if let Some(known) = self.world.dm(user) {
            return known;
        }
        let id = self.next_id();
        self.world.add_channel(id, "", DiscordChannelKind::Dm { user });
        id
    }

    /// Checks that the path names the bot's own application.
    pub(super) fn check_application(&self, call: &ParsedRequest) -> Result<(), ApiError> {
        if call.major == self.world.me.id {
            return Ok(());
        }
        Err(ApiError::new(404, 10002, "Unknown Application"))
    }

    fn set_commands(&mut self, call: &ParsedRequest) -> MethodResult {
        self.check_application(call)?;
        let given = commands::read(&call.body)?;
        let application = call.major.to_string();
        let kept = given.into_iter().map(|mut command| {
            let id = self.next_id().to_string();
            command["id"] = json!(id);
            command["version"] = json!(id);
            command["application_id"] = json!(application);
            command["type"] = json!(1);
            command
        });
        self.commands = kept.collect();
        Ok(ApiReply::Json(self.commands.clone().into()))
    }

    /// Returns a file, during the lifetime of its link.
    fn download(&self, call: &ParsedRequest) -> MethodResult {
        let gone = || ApiError {
            is_plain: true,
            ..ApiError::new(404, 0, "This content is no longer available.")
        };
        let until = call.query.get("ex").and_then(|hex| i64::from_str_radix(hex, 16).ok());
        let is_good =
            |until: i64| Timestamp(0).after(Duration::from_secs(until.unsigned_abs())) > self.now;
        if !until.is_some_and(is_good) {
            return Err(gone());
        }
        let steps: Vec<&str> = call.token.split('/').collect();
        let ["", "attachments", channel, id, name] = steps[..] else { return Err(gone()) };
        let all = self.messages.sent.iter().chain(&self.messages.heard);
        let is_there = |message: &&super::DiscordMessage| {
            !message.deleted && message.channel.to_string() == channel
        };
        let mut files = all.filter(is_there).flat_map(|message| &message.files);
        let file = files.find(|file| file.id.to_string() == id && file.name == name);
        Ok(ApiReply::File(file.ok_or_else(gone)?.bytes.clone()))
    }
}

#[cfg(test)]
#[path = "methods_tests.rs"]
mod tests;
