//! The Telegram Bot API on loopback, for one bot. It refuses what the real one refuses, and
//! forgets what the real one forgets.

mod bot;
mod chats;
#[cfg(test)]
mod client;
mod faults;
mod files;
mod images;
mod keyboard;
mod limits;
mod methods;
mod odd;
mod said;
mod seen;
mod text;
mod updates;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::Timestamp;
use serde_json::{Value, json};

pub use bot::{ApiCall, Refusal};
pub use chats::{SentFile, SentMessage};
pub use faults::{Fault, On};
pub use files::{DOWNLOAD_LIMIT, FILE_PATH_KEPT};
pub use images::png;
pub use keyboard::CALLBACK_DATA_LIMIT;
pub use odd::{odd_message, odd_messages, odd_updates};
pub use said::Said;
pub use text::{CAPTION_LIMIT, ENTITY_LIMIT, TEXT_LIMIT, check_text};
pub use updates::{CALLBACK_KEPT, UPDATE_KEPT};
pub use wire::ApiError;

use crate::http::{HttpFake, Piece};
pub use crate::multipart::Upload;
use bot::{Bot, Shared};

/// The bot's name, without the `@`.
pub const USERNAME: &str = "avocet_bot";

/// A server at `http://ADDRESS` that knows one bot. Time stands still unless the test moves it;
/// nothing here waits by the wall clock.
pub struct TelegramFake {
    server: HttpFake,
    shared: Arc<Shared>,
}

impl fmt::Debug for TelegramFake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TelegramFake").field("address", &self.server.address()).finish()
    }
}

/// A message of somebody, in its chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// The chat.
    pub chat: i64,
    /// The message, in its chat.
    pub id: i64,
    /// The update that tells the bot; none if the bot did not ask for updates of this kind.
    pub update: Option<i64>,
}

/// How a poll that waits is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Break {
    /// It is never answered, and the platform has forgotten it: half-open.
    Hang,
    /// The connection is closed after half of a body.
    Cut,
    /// The connection is reset.
    Reset,
    /// It is answered with an error.
    Refuse(ApiError),
}

impl TelegramFake {
    /// A server for the bot with this token: `123:abc`.
    pub async fn start(token: &str) -> Self {
        let shared = Shared::new(token);
        let served = shared.clone();
        let server = HttpFake::start(move |request| served.answer(&request)).await;
        Self { server, shared }
    }

    /// What goes into `api_url`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    fn change<T>(&self, change: impl FnOnce(&mut Bot) -> T) -> T {
        self.shared.change(change)
    }
}

/// What people do.
impl TelegramFake {
    /// Somebody says something. The chat and its topic are known from then on.
    pub fn say(&self, said: Said) -> Heard {
        self.change(|bot| bot.hear(said))
    }

    /// A text in a private chat.
    pub fn private_text(&self, user: i64, text: &str) -> Heard {
        self.say(Said::private(user, text))
    }

    /// A text in a topic of a supergroup.
    pub fn topic_text(&self, user: i64, chat: i64, thread: i64, text: &str) -> Heard {
        self.say(Said::group(user, chat, text).thread(thread))
    }

    /// Photos in one message to the eye, in several to the bot: the caption is with the first.
    pub fn album(
        &self,
        user: i64,
        chat: i64,
        group: &str,
        files: &[&str],
        text: &str,
    ) -> Vec<Heard> {
        let photo = |(place, file): (usize, &&str)| {
            let said = Said::thing(user, chat, "photo", Said::photo(file));
            let said = said.with("media_group_id", group.into());
            self.say(if place == 0 { said.with("caption", text.into()) } else { said })
        };
        files.iter().enumerate().map(photo).collect()
    }

    /// Somebody changes the text of a message. Returns the update.
    pub fn edit(&self, heard: Heard, text: &str) -> Option<i64> {
        self.change(|bot| bot.hear_edit((heard.chat, heard.id), text))
    }

    /// Somebody presses the button with this data. Returns the id of the query.
    ///
    /// # Panics
    /// If the bot's message has no such button.
    pub fn press(&self, user: i64, message: &SentMessage, data: &str) -> String {
        self.change(|bot| bot.press(user, message, data))
    }

    /// An update of any kind with any content; its id, unless the bot did not ask for it.
    pub fn push(&self, kind: &str, body: Value) -> Option<i64> {
        self.change(|bot| bot.push(kind, body))
    }

    /// As [`Self::push`], also of a kind that the bot did not ask for.
    pub fn push_unasked(&self, kind: &str, body: Value) -> i64 {
        self.change(|bot| bot.push_unasked(kind, body))
    }

    /// An update that is this and nothing else, also without an id of its own. The platform keeps it
    /// under the number that would have been its id.
    pub fn push_whole(&self, update: Value) -> i64 {
        self.change(|bot| bot.push_whole(update))
    }

    /// Makes a chat known without a message.
    pub fn open_chat(&self, chat: i64) {
        self.change(|bot| bot.chats.open(chat));
    }

    /// The person blocks the bot; an update tells it (`my_chat_member`).
    pub fn block(&self, user: i64) {
        self.change(|bot| {
            bot.chats.block(user);
            bot.hear_membership(user, user, ["member", "kicked"]);
        });
    }

    /// Somebody throws the bot out of a group; an update tells it (`my_chat_member`).
    pub fn kick(&self, user: i64, chat: i64) {
        self.change(|bot| {
            bot.chats.kick(chat);
            bot.hear_membership(user, chat, ["member", "kicked"]);
        });
    }

    /// The person unblocks the bot, or takes it back into the group; an update tells it.
    pub fn take_back(&self, user: i64, chat: i64) {
        self.change(|bot| {
            bot.chats.reopen(chat);
            bot.hear_membership(user, chat, ["kicked", "member"]);
        });
    }

    /// Somebody deletes a topic, and all that was said there.
    pub fn delete_topic(&self, chat: i64, thread: i64) {
        self.change(|bot| bot.chats.delete_thread(chat, thread));
    }

    /// Somebody closes a topic: it takes no messages of members.
    pub fn close_topic(&self, chat: i64, thread: i64) {
        self.change(|bot| bot.chats.close_thread(chat, thread, true));
    }

    /// Somebody opens a closed topic again.
    pub fn reopen_topic(&self, chat: i64, thread: i64) {
        self.change(|bot| bot.chats.close_thread(chat, thread, false));
    }

    /// Somebody turns the group into a supergroup with another number: a message in either
    /// tells the bot.
    pub fn migrate(&self, user: i64, from: i64, to: i64) {
        self.say(Said::thing(user, from, "migrate_to_chat_id", to.into()));
        self.say(Said::thing(user, to, "migrate_from_chat_id", from.into()));
        self.change(|bot| bot.chats.migrate(from, to));
    }

    /// Puts a file on the platform. `size` is what it says about it, in bytes, whatever the file
    /// really holds; above [`DOWNLOAD_LIMIT`] it is not given out.
    pub fn add_file(&self, id: &str, size: Option<u64>, bytes: &[u8]) {
        self.change(|bot| bot.files.add(id, size, bytes));
    }
}

/// What goes wrong.
impl TelegramFake {
    /// The next `times` calls that `on` means meet this fault; `usize::MAX` is for ever.
    pub fn inject(&self, on: On, times: usize, fault: Fault) {
        self.change(|bot| bot.faults.add(on, times, fault));
    }

    /// No fault is to come any more.
    pub fn clear_faults(&self) {
        self.change(|bot| bot.faults.clear());
    }

    /// From now on the bot may speak no faster than the platform says: 429 with `retry_after`.
    pub fn enforce_limits(&self) {
        self.change(|bot| bot.limits.enforce());
    }

    /// From now on more than so many messages in a second, to all chats together, ban the bot: whatever
    /// it sends is refused for the time of the ban.
    pub fn ban_above(&self, messages: usize, ban: Duration) {
        self.change(|bot| bot.limits.ban_above(messages, ban));
    }

    /// The token is worth nothing any more: 401 from now on, also for the poll that waits.
    pub fn revoke(&self) {
        self.change(|bot| {
            bot.revoked = true;
            bot.end_poll(ApiError::unauthorized().pieces());
        });
    }

    /// The token is worth something again, as if the bot had been given this one anew.
    pub fn reinstate(&self) {
        self.change(|bot| bot.revoked = false);
    }

    /// Somebody has set a webhook: 409 on polls, until the bot deletes it.
    pub fn set_webhook(&self) {
        self.change(|bot| bot.webhook = true);
    }

    /// Whoever has set the webhook has deleted it.
    pub fn unset_webhook(&self) {
        self.change(|bot| bot.webhook = false);
    }

    /// Ends the poll that waits, with what there is for it: nothing. False if none waits.
    pub fn end_poll(&self) -> bool {
        self.change(|bot| bot.end_poll(wire::success(&json!([]))))
    }

    /// Breaks the poll that waits. False if none waits.
    pub fn break_poll(&self, how: Break) -> bool {
        let pieces = match how {
            Break::Hang => vec![Piece::Hang],
            Break::Cut => wire::half(&json!([])),
            Break::Reset => vec![Piece::Reset],
            Break::Refuse(error) => error.pieces(),
        };
        self.change(|bot| bot.end_poll(pieces))
    }

    /// Downloads end after half of the body, or no longer.
    pub fn cut_downloads(&self, cut: bool) {
        self.change(|bot| bot.files.cut(cut));
    }
}

/// Time.
impl TelegramFake {
    /// The time of the platform: [`crate::START`] unless it was moved.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.lock().now
    }

    /// Sets the time of the platform.
    pub fn set_now(&self, now: Timestamp) {
        self.change(|bot| {
            bot.now = now;
            bot.wake();
        });
    }

    /// Moves the time of the platform: old updates are forgotten, and a poll whose time is over
    /// ends.
    pub fn advance(&self, by: Duration) {
        self.set_now(self.now().after(by));
    }

    /// As after a week without updates: ids go on at `next`.
    ///
    /// # Panics
    /// If an update waits.
    pub fn restart_update_ids(&self, next: i64) {
        self.change(|bot| bot.updates.restart_ids(next));
    }
}

#[cfg(test)]
#[path = "telegram_tests.rs"]
mod tests;
