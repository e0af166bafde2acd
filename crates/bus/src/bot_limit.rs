//! Limits for messages from bots. Only bots in the configuration have access, and the rate limit
//! slows loops between two bots (F38).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use avocet_protocol::chat::ChatAddress;
use parking_lot::Mutex;

/// Messages from bots accepted from one chat per minute.
pub(crate) const BOT_MESSAGES_A_MINUTE: usize = 6;
const MINUTE: Duration = Duration::from_mins(1);

/// Times of accepted bot messages within the last minute, by chat.
#[derive(Debug, Default)]
pub(crate) struct BotRateLimit(Mutex<BTreeMap<ChatAddress, VecDeque<Duration>>>);

impl BotRateLimit {
    /// Returns `true` if one more bot message is within the limit.
    pub(crate) fn fits_limit(&self, chat: &ChatAddress, now: Duration) -> bool {
        let mut chats = self.0.lock();
        chats.retain(|_, taken| {
            taken.retain(|at| now.saturating_sub(*at) < MINUTE);
            !taken.is_empty()
        });
        chats.get(chat).is_none_or(|taken| taken.len() < BOT_MESSAGES_A_MINUTE)
    }

    /// Counts a logged bot message.
    pub(crate) fn count_message(&self, chat: &ChatAddress, now: Duration) {
        let mut chats = self.0.lock();
        chats.entry(chat.clone()).or_default().push_back(now);
    }
}
