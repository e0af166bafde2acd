//! Discord on loopback, REST and gateway, for one bot. It refuses the requests that the real one
//! refuses, and forgets data after the same time.

#[cfg(test)]
mod client;
mod commands;
mod components;
mod connection;
mod content_access;
mod describe;
mod draft;
mod error;
mod events;
mod faults;
mod form;
mod forum_tags;
mod forums;
mod gateway;
mod interactions;
mod limits;
mod mentions;
mod messages;
mod methods;
mod open_interactions;
mod platform;
mod reactions;
mod rest;
mod said;
mod scripted;
mod seen;
mod sending;
mod session;
mod snowflake;
mod threads;
mod world;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::clock::Timestamp;
use serde_json::Value;

pub use commands::{COMMAND_LIMIT, DESCRIPTION_LIMIT, NAME_LIMIT};
pub use components::{BUTTON_LIMIT, CUSTOM_ID_LIMIT, LABEL_LIMIT, OPTION_LIMIT, ROW_LIMIT};
pub use describe::LINK_KEPT;
pub use draft::{EMBED_LIMIT, EMBED_TEXT_LIMIT, FILE_LIMIT, NONCE_LIMIT, TEXT_LIMIT};
pub use error::ApiError;
pub use faults::{InjectedFault, On};
pub use forums::POST_TAG_LIMIT;
pub use gateway::{
    GatewayFault, HEARTBEAT_INTERVAL, Identify, Resume, SESSION_KEPT, START_LIMIT, START_WINDOW,
};
pub use interactions::{FIRST_ANSWER, TOKEN_KEPT};
pub use limits::{CHANNEL_LIMIT, CHANNEL_WINDOW, GLOBAL_LIMIT};
pub use mentions::Mention;
pub use messages::{Attachment, Created, DiscordMessage, Mentioned, NONCE_KEPT};
pub use open_interactions::Interaction;
pub use platform::{ApiCall, RefusedRequest};
pub use rest::Route;
pub use said::UserMessage;
pub use session::{PAYLOAD_LIMIT, PAYLOAD_WINDOW};
pub use threads::THREAD_NAME_LIMIT;

use crate::http::HttpFake;
pub use crate::multipart::Upload;
use platform::{PlatformState, SharedPlatform};
use world::{Closed, DiscordChannelKind};

/// The bot's name.
pub const USERNAME: &str = "avocet";
/// Default maximum size in bytes of an uploaded file.
pub const UPLOAD_LIMIT: usize = 10 * 1024 * 1024;
/// Path of the address for resumed sessions, below the gateway's address.
pub const RESUME_PATH: &str = "/resume";

/// A server at `http://ADDRESS` that knows one bot, with its gateway. Its time moves only when the
/// test moves it, and so do the windows of the rate limits. Tests of other things switch the rate
/// limits off ([`Self::limit_rates`]).
pub struct DiscordFake {
    server: HttpFake,
    shared: Arc<SharedPlatform>,
}

impl fmt::Debug for DiscordFake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiscordFake").field("address", &self.server.address()).finish()
    }
}

impl DiscordFake {
    /// Starts a server for the bot with this token, without the prefix `Bot `.
    pub async fn start(token: &str) -> Self {
        let shared = SharedPlatform::new(token);
        let served = shared.clone();
        let answer = move |request| served.change(|platform| platform.answer(&request));
        let server = HttpFake::start(answer).await;
        shared.change(|platform| platform.base_url = format!("http://{}", server.address()));
        connection::listen(shared.clone()).await;
        Self { server, shared }
    }

    /// Returns the value for `api_url`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Returns the address of the gateway: `ws://ADDRESS`.
    #[must_use]
    pub fn gateway_url(&self) -> String {
        self.shared.lock().gateway.url.clone()
    }

    /// Returns the id of the bot and of its application.
    #[must_use]
    pub fn bot(&self) -> u64 {
        self.shared.lock().world.me.id
    }

    fn change<T>(&self, change: impl FnOnce(&mut PlatformState) -> T) -> T {
        self.shared.change(change)
    }
}

/// Users, guilds and channels. A connected bot gets events about changes.
impl DiscordFake {
    /// Adds a user with a name. Users that only write messages need no entry: any id is a user.
    pub fn user(&self, name: &str) -> u64 {
        self.change(|platform| platform.add_user(name))
    }

    /// Adds a guild that the bot belongs to.
    pub fn guild(&self, name: &str) -> u64 {
        self.change(|platform| platform.add_guild(name))
    }

    /// Adds a text channel to a guild.
    pub fn channel(&self, guild: u64, name: &str) -> u64 {
        self.change(|platform| platform.add_channel(name, DiscordChannelKind::Text { guild }))
    }

    /// Adds a forum with these tags to a guild.
    pub fn forum(&self, guild: u64, name: &str, tags: &[&str]) -> u64 {
        self.change(|platform| platform.add_forum(guild, name, tags))
    }

    /// Makes a forum refuse posts without a tag.
    ///
    /// # Panics
    /// If there is no such forum.
    pub fn require_tag(&self, forum: u64) {
        self.change(|platform| {
            let forum = platform.world.forums.get_mut(&forum).expect("a forum");
            forum.requires_tag = true;
        });
    }

    /// Returns the names of a post's tags.
    pub fn tags(&self, post: u64) -> Vec<String> {
        self.shared.lock().world.tags_of(post)
    }

    /// Adds a public thread to a text channel, or a post to a forum.
    ///
    /// # Panics
    /// If there is no such channel.
    pub fn thread(&self, channel: u64, name: &str) -> u64 {
        self.change(|platform| {
            let guild = platform.guild_of(channel).expect("a channel of a guild");
            platform.add_channel(name, DiscordChannelKind::Thread { guild, parent: channel })
        })
    }

    /// Returns the direct messages with a user, and opens them if necessary. Like the real
    /// platform, it sends no event (`CHANNEL_CREATE` is for guilds).
    pub fn dm(&self, user: u64) -> u64 {
        self.change(|platform| {
            platform.world.users.entry(user).or_insert_with(|| world::User::unnamed(user));
            platform.dm(user)
        })
    }

    /// Returns a channel in the platform's format, for events that a test makes itself.
    #[must_use]
    pub fn describe_channel(&self, channel: u64) -> Value {
        let platform = self.shared.lock();
        platform.world.channel(&platform.world.channels[&channel])
    }

    /// Returns a message in the format of events, for events that a test makes itself.
    ///
    /// # Panics
    /// If there is no such message.
    #[must_use]
    pub fn describe_message(&self, message: u64) -> Value {
        let platform = self.shared.lock();
        let channel = platform.messages.channel_of(message).expect("a message");
        let message = platform.messages.find(channel, message).expect("a message that is there");
        platform.message_event(message, content_access::ContentAccess::Granted)
    }
}

/// Actions of users.
impl DiscordFake {
    /// Sends a text and returns the id of the message.
    ///
    /// # Panics
    /// If there is no such channel.
    pub fn say(&self, channel: u64, user: u64, text: &str) -> u64 {
        self.post(UserMessage::new(channel, user, text))
    }

    /// Sends any message and returns its id.
    ///
    /// # Panics
    /// If there is no such channel.
    pub fn post(&self, said: UserMessage) -> u64 {
        self.change(|platform| platform.say(said))
    }

    /// Edits the text of a message.
    ///
    /// # Panics
    /// If there is no such message.
    pub fn edit(&self, message: u64, text: &str) {
        self.change(|platform| platform.hear_edit(message, text));
    }

    /// Adds a preview of a link to a message, as the platform does. This is an update, but not an
    /// edit.
    ///
    /// # Panics
    /// If there is no such message.
    pub fn unfurl(&self, message: u64, embed: &Value) {
        self.change(|platform| platform.unfurl(message, embed));
    }

    /// Deletes a message of any author.
    ///
    /// # Panics
    /// If there is no such message.
    pub fn delete(&self, message: u64) {
        self.change(|platform| platform.hear_delete(message));
    }

    /// Presses the button with this `custom_id` and returns the id of the interaction. It is lost
    /// if the bot is not connected.
    ///
    /// # Panics
    /// If the message has no such button.
    pub fn press(&self, user: u64, message: u64, custom_id: &str) -> u64 {
        self.change(|platform| platform.press(user, message, custom_id))
    }

    /// Chooses the option with this value in a menu below a message. Returns the id of the
    /// interaction.
    ///
    /// # Panics
    /// If the message has no such option.
    pub fn choose(&self, user: u64, message: u64, value: &str) -> u64 {
        self.change(|platform| platform.choose(user, message, value))
    }

    /// Enters a slash command and returns the id of the interaction. `options` is the field of its
    /// data: `[{ "name": "text", "type": 3, "value": "x" }]`.
    ///
    /// # Panics
    /// If there is no such channel.
    pub fn slash(&self, user: u64, channel: u64, name: &str, options: &Value) -> u64 {
        self.change(|platform| platform.slash(user, channel, name, options))
    }

    /// Enters a slash command in a chat with another user, as a user who has installed the bot.
    /// Returns the id of the interaction.
    ///
    /// # Panics
    /// If the bot does not offer the command there.
    pub fn slash_elsewhere(&self, user: u64, name: &str) -> u64 {
        self.change(|platform| platform.slash_elsewhere(user, name))
    }

    /// The user accepts no further direct messages from the bot.
    pub fn block(&self, user: u64) {
        let dm = self.dm(user);
        self.change(|platform| platform.set_closed(dm, Some(Closed::Blocked)));
    }

    /// Hides the channel from the bot: `Missing Access`.
    pub fn hide(&self, channel: u64) {
        self.change(|platform| platform.set_closed(channel, Some(Closed::Hidden)));
    }

    /// Makes the channel read-only for the bot: `Missing Permissions`.
    pub fn mute(&self, channel: u64) {
        self.change(|platform| platform.set_closed(channel, Some(Closed::Muted)));
    }

    /// Hides the history of the channel from the bot. Pages are empty and replies are refused, but
    /// events and sending still work.
    pub fn close_history(&self, channel: u64) {
        self.change(|platform| platform.set_closed(channel, Some(Closed::Past)));
    }

    /// Deletes the channel or thread; an event reports this.
    pub fn delete_channel(&self, channel: u64) {
        self.change(|platform| platform.set_closed(channel, Some(Closed::Deleted)));
    }

    /// Archives a thread, as after a long silence. It is listed again after the next message.
    ///
    /// # Panics
    /// If there is no such thread.
    pub fn archive(&self, thread: u64) {
        self.change(|platform| platform.set_archived(thread, true));
    }

    /// Restores all permissions of the bot in the channel.
    pub fn reopen(&self, channel: u64) {
        self.change(|platform| platform.set_closed(channel, None));
    }

    /// Boosts a guild to this tier, from 0 to 3.
    pub fn boost(&self, guild: u64, tier: u8) {
        self.change(|platform| platform.boost(guild, tier));
    }

    /// Gives a member of a guild a role.
    pub fn grant(&self, guild: u64, user: u64, role: u64) {
        self.change(|platform| platform.world.roles.insert((guild, user, role)));
    }

    /// Takes a role from a user.
    pub fn revoke_role(&self, guild: u64, user: u64, role: u64) {
        self.change(|platform| platform.world.roles.remove(&(guild, user, role)));
    }

    /// Presses a button below an answer in a chat with another user, as a user who has installed the
    /// bot. Returns the id of the interaction.
    pub fn press_elsewhere(&self, user: u64, custom_id: &str) -> u64 {
        self.change(|platform| platform.press_elsewhere(user, custom_id))
    }

    /// Removes the bot from a guild; an event reports this.
    pub fn kick(&self, guild: u64) {
        self.change(|platform| platform.set_left(guild, true));
    }

    /// Adds the bot to a guild again; an event reports this.
    pub fn take_back(&self, guild: u64) {
        self.change(|platform| platform.set_left(guild, false));
    }
}

/// Time.
impl DiscordFake {
    /// Returns the platform's time. It begins at [`crate::START`].
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.lock().now
    }

    /// Sets the platform's time.
    pub fn set_now(&self, now: Timestamp) {
        self.change(|platform| platform.now = now);
    }

    /// Moves the platform's time. Nonces, interactions, sessions and links expire.
    pub fn advance(&self, by: Duration) {
        self.set_now(self.now().after(by));
    }
}

#[cfg(test)]
#[path = "discord_tests.rs"]
mod tests;
