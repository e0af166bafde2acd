//! Threads that the bot starts from messages (Start Thread from Message, API reference).

use serde_json::json;

use super::error::ApiError;
use super::events::GUILDS;
use super::form::{FormErrors, length};
use super::platform::{ApiReply, MethodResult, PlatformState};
use super::rest::ParsedRequest;
use super::world::{DiscordChannelKind, merge};

/// Maximum length of a thread's name, in characters.
pub const THREAD_NAME_LIMIT: usize = 100;
/// The accepted times in minutes after which a silent thread is hidden.
const HIDE_AFTER: [u64; 4] = [60, 1440, 4320, 10_080];

impl PlatformState {
    /// Starts a thread from a message. Its id is that of the message.
    pub(super) fn create_thread(&mut self, call: &ParsedRequest) -> MethodResult {
        let parent = self.world.writable(call.major)?;
        let DiscordChannelKind::Text { guild } = parent.place else {
            return Err(ApiError::new(400, 50_024, "Cannot execute action on this channel type"));
        };
        let (parent, message) = (parent.id, call.message.unwrap_or_default());
        self.messages.find(parent, message).ok_or_else(ApiError::unknown_message)?;
        let mut errors = FormErrors::default();
        let name = call.body["name"].as_str().unwrap_or_default().trim();
        errors.one_to("name", length(name), THREAD_NAME_LIMIT);
        if let Some(minutes) = call.body["auto_archive_duration"].as_u64() {
            errors.one_of("auto_archive_duration", minutes, &HIDE_AFTER);
        }
        errors.finish()?;
        if self.world.channels.contains_key(&message) {
            let why = "A thread has already been created for this message";
            return Err(ApiError::new(400, 160_004, why));
        }
        self.world.add_channel(message, name, DiscordChannelKind::Thread { guild, parent });
        let thread = self.world.channels.get_mut(&message).expect("it was just added");
        (thread.is_bots, thread.joined) = (true, true);
        let body = self.world.channel(&self.world.channels[&message]);
        let mut event = body.clone();
        merge(&mut event, &json!({ "newly_created": true }));
        self.dispatch("THREAD_CREATE", GUILDS, |_| event.clone());
        Ok(ApiReply::Json(body))
    }
}

#[cfg(test)]
#[path = "threads_tests.rs"]
mod tests;
