//! Programs that write to the agent. Only those that the configuration names may, and two that face each
//! other answer each other no more than so often (F38).

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use avocet_protocol::ChatAddress;

/// Messages of programs that are taken from one chat in a minute.
pub(crate) const BOT_MESSAGES_A_MINUTE: usize = 6;
const MINUTE: Duration = Duration::from_mins(1);

/// When messages of programs were taken, by chat, as far as it still matters.
#[derive(Debug, Default)]
pub(crate) struct Bots(Mutex<BTreeMap<ChatAddress, VecDeque<Duration>>>);

impl Bots {
    /// Whether one more is taken from a chat now.
    pub(crate) fn fits(&self, chat: &ChatAddress, now: Duration) -> bool {
        let mut chats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        chats.retain(|_, taken| {
            taken.retain(|at| now.saturating_sub(*at) < MINUTE);
            !taken.is_empty()
        });
        chats.get(chat).is_none_or(|taken| taken.len() < BOT_MESSAGES_A_MINUTE)
    }

    /// One is in the log.
    pub(crate) fn note(&self, chat: &ChatAddress, now: Duration) {
        let mut chats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        chats.entry(chat.clone()).or_default().push_back(now);
    }
}
