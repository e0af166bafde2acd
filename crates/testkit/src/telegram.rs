//! The Telegram Bot API on loopback, for one bot. It refuses the requests that the real one
//! refuses, and forgets data after the same time.

mod bot;
mod chat_reactions;
mod chats;
#[cfg(test)]
mod client;
mod drafts;
mod ephemeral;
mod faults;
mod files;
mod images;
mod keyboard;
mod limits;
mod media_group;
mod methods;
mod odd;
mod reactions;
mod rich;
mod said;
mod seen;
mod set_webhook;
mod shown_drafts;
mod shown_ephemeral;
mod text;
mod updates;
mod webhook;
mod wire;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::clock::Timestamp;
use serde_json::{Value, json};

pub use bot::{ApiCall, RefusedCall};
pub use chats::{SentFile, SentMessage};
pub use faults::{InjectedFault, On};
pub use files::{DOWNLOAD_LIMIT, FILE_PATH_KEPT};
pub use images::png;
pub use keyboard::CALLBACK_DATA_LIMIT;
pub use odd::{odd_message, odd_messages, odd_updates};
pub use said::UserMessage;
pub use shown_ephemeral::EphemeralMessage;
pub use text::{CAPTION_LIMIT, ENTITY_LIMIT, TEXT_LIMIT, check_text};
pub use updates::{CALLBACK_KEPT, UPDATE_KEPT};
pub use wire::ApiError;

use crate::http::{HttpFake, Piece};
pub use crate::multipart::Upload;
use bot::{BotState, SharedBot};
use set_webhook::SetWebhook;

/// The bot's name, without the `@`.
pub const USERNAME: &str = "avocet_bot";

/// A server at `http://ADDRESS` that knows one bot. Its time moves only when the test moves it.
pub struct TelegramFake {
    server: HttpFake,
    shared: Arc<SharedBot>,
}

impl fmt::Debug for TelegramFake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TelegramFake").field("address", &self.server.address()).finish()
    }
}

/// A user's message in its chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostedMessage {
    /// The id of the chat.
    pub chat: i64,
    /// The id of the message, unique in its chat.
    pub id: i64,
    /// The id of the update for the bot. `None` if the bot has not requested this kind of update.
    pub update: Option<i64>,
}

/// The way in which an open poll breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Break {
    /// The platform forgets it without an answer, like a half-open connection.
    Hang,
    /// The connection is closed after half of the body.
    Cut,
    /// The connection is reset.
    Reset,
    /// The answer is this error.
    Refuse(ApiError),
}

impl TelegramFake {
    /// Starts a server for the bot with this token, for example `123:abc`.
    #[expect(clippy::disallowed_methods, reason = "a fake is not part of the daemon")]
    pub async fn start(token: &str) -> Self {
        let shared = SharedBot::new(token);
        tokio::spawn(webhook::deliver(Arc::downgrade(&shared)));
        let served = shared.clone();
        let server = HttpFake::start(move |request| served.answer(&request)).await;
        Self { server, shared }
    }

    /// Returns the value for `api_url`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    fn change<T>(&self, change: impl FnOnce(&mut BotState) -> T) -> T {
        self.shared.change(change)
    }
}

/// Actions of users.
impl TelegramFake {
    /// Sends a message. The chat and its topic are known from then on.
    pub fn say(&self, said: UserMessage) -> PostedMessage {
        self.change(|bot| bot.hear(said))
    }

    /// Sends a text in a private chat.
    pub fn private_text(&self, user: i64, text: &str) -> PostedMessage {
        self.say(UserMessage::private(user, text))
    }

    /// Sends a text in a topic of a supergroup.
    pub fn topic_text(&self, user: i64, chat: i64, thread: i64, text: &str) -> PostedMessage {
        self.say(UserMessage::group(user, chat, text).thread(thread))
    }

    /// Sends photos that users see as one message, and the bot as several. The first one has the
    /// caption.
    pub fn album(
        &self,
        user: i64,
        chat: i64,
        group: &str,
        files: &[&str],
        text: &str,
    ) -> Vec<PostedMessage> {
        let photo = |(place, file): (usize, &&str)| {
            let said = UserMessage::thing(user, chat, "photo", UserMessage::photo(file));
            let said = said.with("media_group_id", group.into());
            self.say(if place == 0 { said.with("caption", text.into()) } else { said })
        };
        files.iter().enumerate().map(photo).collect()
    }

    /// Edits the text of a message. Returns the id of the update.
    pub fn edit(&self, heard: PostedMessage, text: &str) -> Option<i64> {
        self.change(|bot| bot.hear_edit((heard.chat, heard.id), text))
    }

    /// Presses the button with this data. Returns the id of the query.
    ///
    /// # Panics
    /// If the bot's message has no such button.
    pub fn press(&self, user: i64, message: &SentMessage, data: &str) -> String {
        self.change(|bot| bot.press(user, message, data))
    }

    /// Sends an update of any kind with any content. Returns its id, or `None` if the bot has not
    /// requested this kind.
    pub fn push(&self, kind: &str, body: Value) -> Option<i64> {
        self.change(|bot| bot.push(kind, body))
    }

    /// Sends an update like [`Self::push`], also of a kind that the bot has not requested.
    pub fn push_unasked(&self, kind: &str, body: Value) -> i64 {
        self.change(|bot| bot.push_unasked(kind, body))
    }

    /// Sends this update unchanged, even without an id. The platform keeps it under the next id.
    pub fn push_whole(&self, update: Value) -> i64 {
        self.change(|bot| bot.push_whole(update))
    }

    /// Makes a chat known without a message.
    pub fn open_chat(&self, chat: i64) {
        self.change(|bot| bot.chats.open(chat));
    }

    /// The user blocks the bot; an update reports this (`my_chat_member`).
    pub fn block(&self, user: i64) {
        self.change(|bot| {
            bot.chats.block(user);
            bot.hear_membership(user, user, ["member", "kicked"]);
        });
    }

    /// The user removes the bot from a group; an update reports this (`my_chat_member`).
    pub fn kick(&self, user: i64, chat: i64) {
        self.change(|bot| {
            bot.chats.kick(chat);
            bot.hear_membership(user, chat, ["member", "kicked"]);
        });
    }

    /// The user unblocks the bot, or adds it to the group again; an update reports this.
    pub fn take_back(&self, user: i64, chat: i64) {
        self.change(|bot| {
            bot.chats.reopen(chat);
            bot.hear_membership(user, chat, ["kicked", "member"]);
        });
    }

    /// Deletes a topic and all messages in it.
    pub fn delete_topic(&self, chat: i64, thread: i64) {
        self.change(|bot| bot.chats.delete_thread(chat, thread));
    }

    /// Closes a topic, so that members cannot write there.
    pub fn close_topic(&self, chat: i64, thread: i64) {
        self.change(|bot| bot.chats.close_thread(chat, thread));
    }

    /// Reopens a closed topic.
    pub fn reopen_topic(&self, chat: i64, thread: i64) {
        self.change(|bot| bot.chats.reopen_thread(chat, thread));
    }

    /// Turns a group into a supergroup with another id. A message in each of them reports this to
    /// the bot.
    pub fn migrate(&self, user: i64, from: i64, to: i64) {
        self.say(UserMessage::thing(user, from, "migrate_to_chat_id", to.into()));
        self.say(UserMessage::thing(user, to, "migrate_from_chat_id", from.into()));
        self.change(|bot| bot.chats.migrate(from, to));
    }

    /// Puts a file on the platform. `size` is the reported size in bytes, right or wrong. If it is
    /// above [`DOWNLOAD_LIMIT`], downloads are refused.
    pub fn add_file(&self, id: &str, size: Option<u64>, bytes: &[u8]) {
        self.change(|bot| bot.files.add(id, size, bytes));
    }
}

/// Faults.
impl TelegramFake {
    /// Applies this fault to the next `times` calls that match `on`. `usize::MAX` stands for all.
    pub fn inject(&self, on: On, times: usize, fault: InjectedFault) {
        self.change(|bot| bot.faults.add(on, times, fault));
    }

    /// Writes these bytes in place of this text, in every later answer and delivery.
    pub fn write_odd_bytes(&self, text: &str, bytes: &[u8]) {
        self.change(|bot| bot.odd_bytes.add(text, bytes));
    }

    /// Removes all pending faults.
    pub fn clear_faults(&self) {
        self.change(|bot| bot.faults.clear());
    }

    /// Enforces the documented rate limits from now on: 429 with `retry_after`.
    pub fn enforce_limits(&self) {
        self.change(|bot| bot.limits.enforce());
    }

    /// Bans the bot from now on if it sends more than this number of messages in a second, in all
    /// chats together. During the ban, its messages are refused.
    pub fn ban_above(&self, messages: usize, ban: Duration) {
        self.change(|bot| bot.limits.ban_above(messages, ban));
    }

    /// Revokes the token: 401 from now on, also for the open poll.
    pub fn revoke(&self) {
        self.change(|bot| {
            bot.revoked = true;
            bot.end_poll(ApiError::unauthorized().pieces());
        });
    }

    /// Makes the token valid again, as if the bot had received this one again.
    pub fn reinstate(&self) {
        self.change(|bot| bot.revoked = false);
    }

    /// Sets a webhook of another program: polls get 409 until the bot deletes it.
    pub fn set_webhook(&self) {
        self.change(|bot| bot.webhook = Some(SetWebhook::foreign()));
    }

    /// Deletes the webhook, like its owner would.
    pub fn unset_webhook(&self) {
        self.change(|bot| bot.webhook = None);
    }

    /// Delivers updates for the webhook to this server, whatever the host in its URL. `None` stops
    /// the deliveries.
    pub fn deliver_to(&self, server: Option<SocketAddr>) {
        self.change(|bot| bot.webhook_server = server);
    }

    /// Ends the open poll without updates. Returns `false` if there is none.
    pub fn end_poll(&self) -> bool {
        self.change(|bot| bot.end_poll(wire::success(&json!([]))))
    }

    /// Breaks the open poll. Returns `false` if there is none.
    pub fn break_poll(&self, how: Break) -> bool {
        let pieces = match how {
            Break::Hang => vec![Piece::Hang],
            Break::Cut => wire::half(&json!([])),
            Break::Reset => vec![Piece::Reset],
            Break::Refuse(error) => error.pieces(),
        };
        self.change(|bot| bot.end_poll(pieces))
    }

    /// Cuts downloads after half of the body, or stops doing so.
    pub fn cut_downloads(&self, cut: bool) {
        self.change(|bot| bot.files.cut(cut));
    }
}

/// Time.
impl TelegramFake {
    /// Returns the platform's time. It begins at [`crate::START`].
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.lock().now
    }

    /// Sets the platform's time.
    pub fn set_now(&self, now: Timestamp) {
        self.change(|bot| {
            bot.now = now;
            bot.wake();
        });
    }

    /// Moves the platform's time. Old updates are forgotten, and a poll after its timeout ends.
    pub fn advance(&self, by: Duration) {
        self.set_now(self.now().after(by));
    }

    /// Continues the update ids at `next`, as after a week without updates.
    ///
    /// # Panics
    /// If there are unconfirmed updates.
    pub fn restart_update_ids(&self, next: i64) {
        self.change(|bot| bot.updates.restart_ids(next));
    }
}

#[cfg(test)]
#[path = "telegram_tests.rs"]
mod tests;
