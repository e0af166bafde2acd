//! Discord on loopback, REST and gateway, for one bot. It refuses what the real one refuses, and
//! forgets what the real one forgets.

#[cfg(test)]
mod client;
mod commands;
mod components;
mod connection;
mod describe;
mod draft;
mod error;
mod events;
mod faults;
mod form;
mod gateway;
mod interactions;
mod limits;
mod mentions;
mod messages;
mod methods;
mod platform;
mod rest;
mod said;
mod scripted;
mod seen;
mod sending;
mod session;
mod snowflake;
mod world;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::Timestamp;
use serde_json::Value;

pub use commands::{COMMAND_LIMIT, DESCRIPTION_LIMIT, NAME_LIMIT};
pub use components::{BUTTON_LIMIT, CUSTOM_ID_LIMIT, LABEL_LIMIT, ROW_LIMIT};
pub use describe::LINK_KEPT;
pub use draft::{EMBED_LIMIT, EMBED_TEXT_LIMIT, FILE_LIMIT, NONCE_LIMIT, TEXT_LIMIT};
pub use error::ApiError;
pub use faults::{Fault, On};
pub use gateway::{
    GatewayFault, HEARTBEAT_INTERVAL, Identify, Resume, SESSION_KEPT, START_LIMIT, START_WINDOW,
};
pub use interactions::{FIRST_ANSWER, Interaction, TOKEN_KEPT};
pub use limits::{CHANNEL_LIMIT, CHANNEL_WINDOW, GLOBAL_LIMIT};
pub use mentions::Mention;
pub use messages::{Attachment, Created, Mentioned, Message, NONCE_KEPT};
pub use platform::{ApiCall, Refusal};
pub use rest::Route;
pub use said::Said;
pub use session::{PAYLOAD_LIMIT, PAYLOAD_WINDOW};

use crate::http::HttpFake;
pub use crate::multipart::Upload;
use platform::{Platform, Shared};
use world::{Closed, Place};

/// The bot's name.
pub const USERNAME: &str = "avocet";
/// Bytes of a file that the bot uploads, unless the test says otherwise.
pub const UPLOAD_LIMIT: usize = 10 * 1024 * 1024;
/// Where sessions go on, below the gateway's address.
pub const RESUME_PATH: &str = "/resume";

/// A server at `http://ADDRESS` that knows one bot, and its gateway. Time stands still unless the
/// test moves it; nothing here waits by the wall clock. So do the windows of the rate limits: who
/// does not test them switches them off ([`Self::limit_rates`]).
pub struct DiscordFake {
    server: HttpFake,
    shared: Arc<Shared>,
}

impl fmt::Debug for DiscordFake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiscordFake").field("address", &self.server.address()).finish()
    }
}

impl DiscordFake {
    /// A server for the bot with this token, without `Bot ` in front.
    pub async fn start(token: &str) -> Self {
        let shared = Shared::new(token);
        let served = shared.clone();
        let answer = move |request| served.change(|platform| platform.answer(&request));
        let server = HttpFake::start(answer).await;
        shared.change(|platform| platform.base_url = format!("http://{}", server.address()));
        connection::listen(shared.clone()).await;
        Self { server, shared }
    }

    /// What goes into `api_url`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// The address of the gateway: `ws://ADDRESS`.
    #[must_use]
    pub fn gateway_url(&self) -> String {
        self.shared.lock().gateway.url.clone()
    }

    /// The bot, which is its application too.
    #[must_use]
    pub fn bot(&self) -> u64 {
        self.shared.lock().world.me.id
    }

    fn change<T>(&self, change: impl FnOnce(&mut Platform) -> T) -> T {
        self.shared.change(change)
    }
}

/// Who and what there is. The bot is told of it if it is connected.
impl DiscordFake {
    /// Somebody with a name. Whoever says something needs none: any id is somebody.
    pub fn user(&self, name: &str) -> u64 {
        self.change(|platform| platform.add_user(name, false))
    }

    /// A guild with the bot in it.
    pub fn guild(&self, name: &str) -> u64 {
        self.change(|platform| platform.add_guild(name))
    }

    /// A text channel of a guild.
    pub fn channel(&self, guild: u64, name: &str) -> u64 {
        self.change(|platform| platform.add_channel(name, Place::Text { guild }))
    }

    /// A public thread of a text channel.
    ///
    /// # Panics
    /// If there is no such channel.
    pub fn thread(&self, channel: u64, name: &str) -> u64 {
        self.change(|platform| {
            let guild = platform.guild_of(channel).expect("a channel of a guild");
            platform.add_channel(name, Place::Thread { guild, parent: channel })
        })
    }

    /// The direct messages with somebody, opened if they are not. No event tells of it: the
    /// platform sends none (`CHANNEL_CREATE` is for guilds).
    pub fn dm(&self, user: u64) -> u64 {
        self.change(|platform| {
            platform.world.users.entry(user).or_insert_with(|| world::User::unnamed(user));
            platform.dm(user)
        })
    }

    /// A channel as the platform describes it, for events of the test's own.
    #[must_use]
    pub fn describe_channel(&self, channel: u64) -> Value {
        let platform = self.shared.lock();
        platform.world.channel(&platform.world.channels[&channel])
    }

    /// A message as an event describes it, for events of the test's own.
    ///
    /// # Panics
    /// If there is no such message.
    #[must_use]
    pub fn describe_message(&self, message: u64) -> Value {
        let platform = self.shared.lock();
        let channel = platform.messages.channel_of(message).expect("a message");
        let message = platform.messages.find(channel, message).expect("a message that is there");
        platform.message_event(message, true)
    }
}

/// What people do.
impl DiscordFake {
    /// Somebody says something: the message.
    ///
    /// # Panics
    /// If there is no such channel.
    pub fn say(&self, channel: u64, user: u64, text: &str) -> u64 {
        self.post(Said::new(channel, user, text))
    }

    /// Somebody says something, in whatever way.
    ///
    /// # Panics
    /// If there is no such channel.
    pub fn post(&self, said: Said) -> u64 {
        self.change(|platform| platform.say(said))
    }

    /// Somebody changes the text of a message.
    ///
    /// # Panics
    /// If there is no such message.
    pub fn edit(&self, message: u64, text: &str) {
        self.change(|platform| platform.hear_edit(message, text));
    }

    /// The platform finds out what is behind a link in a message, and shows it: an update, and no
    /// edit.
    ///
    /// # Panics
    /// If there is no such message.
    pub fn unfurl(&self, message: u64, embed: &Value) {
        self.change(|platform| platform.unfurl(message, embed));
    }

    /// Somebody deletes a message, whoever's it is.
    ///
    /// # Panics
    /// If there is no such message.
    pub fn delete(&self, message: u64) {
        self.change(|platform| platform.hear_delete(message));
    }

    /// Somebody presses the button with this `custom_id`: the interaction. If the bot is not
    /// connected, nobody hears of it.
    ///
    /// # Panics
    /// If the message has no such button.
    pub fn press(&self, user: u64, message: u64, custom_id: &str) -> u64 {
        self.change(|platform| platform.press(user, message, custom_id))
    }

    /// Somebody enters a slash command: the interaction. `options` are those of its data:
    /// `[{ "name": "text", "type": 3, "value": "x" }]`.
    ///
    /// # Panics
    /// If there is no such channel.
    pub fn slash(&self, user: u64, channel: u64, name: &str, options: &Value) -> u64 {
        self.change(|platform| platform.slash(user, channel, name, options))
    }

    /// The person takes no direct messages from the bot any more.
    pub fn block(&self, user: u64) {
        let dm = self.dm(user);
        self.change(|platform| platform.set_closed(dm, Some(Closed::Blocked)));
    }

    /// The bot cannot see the channel any more: `Missing Access`.
    pub fn hide(&self, channel: u64) {
        self.change(|platform| platform.set_closed(channel, Some(Closed::Hidden)));
    }

    /// The bot cannot write in the channel any more: `Missing Permissions`.
    pub fn mute(&self, channel: u64) {
        self.change(|platform| platform.set_closed(channel, Some(Closed::Muted)));
    }

    /// The bot cannot read what was said in the channel any more, and hears and writes as before: no
    /// page has messages, and no message is replied to.
    pub fn close_history(&self, channel: u64) {
        self.change(|platform| platform.set_closed(channel, Some(Closed::Past)));
    }

    /// The channel or thread is deleted; an event tells it.
    pub fn delete_channel(&self, channel: u64) {
        self.change(|platform| platform.set_closed(channel, Some(Closed::Deleted)));
    }

    /// A thread has been silent for long: it is not listed any more, until somebody writes there.
    ///
    /// # Panics
    /// If there is no such thread.
    pub fn archive(&self, thread: u64) {
        self.change(|platform| platform.set_archived(thread, true));
    }

    /// The bot can do everything in the channel again.
    pub fn reopen(&self, channel: u64) {
        self.change(|platform| platform.set_closed(channel, None));
    }

    /// A guild is boosted to this tier, from 0 to 3.
    pub fn boost(&self, guild: u64, tier: u8) {
        self.change(|platform| platform.boost(guild, tier));
    }

    /// The bot is thrown out of a guild; an event tells it.
    pub fn kick(&self, guild: u64) {
        self.change(|platform| platform.set_left(guild, true));
    }

    /// The bot is taken back into a guild; an event tells it.
    pub fn take_back(&self, guild: u64) {
        self.change(|platform| platform.set_left(guild, false));
    }
}

/// Time.
impl DiscordFake {
    /// The time of the platform: [`crate::START`] unless it was moved.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.lock().now
    }

    /// Sets the time of the platform.
    pub fn set_now(&self, now: Timestamp) {
        self.change(|platform| platform.now = now);
    }

    /// Moves the time of the platform: nonces, interactions, sessions and links are forgotten.
    pub fn advance(&self, by: Duration) {
        self.set_now(self.now().after(by));
    }
}

#[cfg(test)]
#[path = "discord_tests.rs"]
mod tests;
