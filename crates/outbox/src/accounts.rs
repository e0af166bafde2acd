//! Last successes of each account, which tell whether a failing chunk is a single case or the whole
//! account is down.

use std::collections::HashMap;
use std::time::Duration;

use avocet_protocol::chat::ChatAddress;
use avocet_protocol::ids::{AccountName, ChannelName, ChatId};
use parking_lot::Mutex;

type AccountKey = (ChannelName, AccountName);

/// The last successes of every account. In memory only: they are collected anew after a restart.
#[derive(Debug, Default)]
pub(crate) struct AccountSuccesses(Mutex<HashMap<AccountKey, LastSuccesses>>);

/// Times are the clock's `elapsed`.
#[derive(Debug)]
struct LastSuccesses {
    chat: ChatId,
    at: Duration,
    /// The last success of a chat other than `chat`.
    of_another: Option<Duration>,
}

impl AccountSuccesses {
    /// Records a successful delivery to this chat.
    pub(crate) fn record_success(&self, chat: &ChatAddress, now: Duration) {
        let mut accounts = self.0.lock();
        let new = LastSuccesses { chat: chat.chat.clone(), at: now, of_another: None };
        let known = accounts.entry(account_of(chat)).or_insert(new);
        if known.chat != chat.chat {
            known.of_another = Some(known.at);
            known.chat = chat.chat.clone();
        }
        known.at = now;
    }

    /// Returns the time of the last success in another chat of the account.
    pub(crate) fn last_success_elsewhere(&self, chat: &ChatAddress) -> Option<Duration> {
        let accounts = self.0.lock();
        let known = accounts.get(&account_of(chat))?;
        if known.chat == chat.chat { known.of_another } else { Some(known.at) }
    }
}

fn account_of(chat: &ChatAddress) -> AccountKey {
    (chat.channel.clone(), chat.account.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_gives_the_last_success_of_any_other_chat_of_the_account() {
        let accounts = AccountSuccesses::default();
        let [a, b, c, elsewhere] = ["discord:x:a", "discord:x:b", "discord:x:c", "discord:y:d"]
            .map(|chat| chat.parse().unwrap());
        let seconds = |chats: [&ChatAddress; 3]| {
            chats.map(|chat| accounts.last_success_elsewhere(chat).map(|at| at.as_secs()))
        };
        assert_eq!(seconds([&a, &b, &c]), [None; 3]);
        for (chat, at, expected) in [
            (&a, 1, [None, Some(1), Some(1)]),
            (&elsewhere, 2, [None, Some(1), Some(1)]),
            (&a, 3, [None, Some(3), Some(3)]),
            (&b, 4, [Some(4), Some(3), Some(4)]),
            (&b, 5, [Some(5), Some(3), Some(5)]),
            (&c, 6, [Some(6), Some(6), Some(5)]),
        ] {
            accounts.record_success(chat, Duration::from_secs(at));
            assert_eq!(seconds([&a, &b, &c]), expected, "after {chat} at {at}");
        }
    }
}
