//! Distinguishes refusals of single chats from a limit of the whole account.
//!
//! A platform answers both with the same error. A chat that is refused alone has sent too much
//! itself. If different chats are refused shortly after one another, until about the same time,
//! the limit is that of the account. Two chats that each had sent too much would be admitted again
//! at different times.

use std::time::Duration;

use avocet_protocol::ids::ChatId;

/// Refusals within this time of each other may share one reason.
const TOGETHER: Duration = Duration::from_secs(5);
/// Waits whose ends differ by at most this much end together: platforms round waits up to whole
/// seconds.
const SAME_END: Duration = Duration::from_secs(2);

/// The refusals of the last seconds.
#[derive(Debug, Default)]
pub(super) struct RecentRefusals(Vec<ChatRefusal>);

#[derive(Debug)]
struct ChatRefusal {
    chat: ChatId,
    at: Duration,
    until: Duration,
}

impl RecentRefusals {
    /// Records that a chat is refused until a given time. Returns the end of the account's limit;
    /// `None` if the refusal may concern this chat alone.
    pub(super) fn note_refusal(
        &mut self,
        chat: &ChatId,
        at: Duration,
        until: Duration,
    ) -> Option<Duration> {
        self.0.retain(|other| other.at.saturating_add(TOGETHER) >= at && other.chat != *chat);
        let same = self.0.iter().map(|other| other.until);
        let same = same.filter(|other| other.abs_diff(until) <= SAME_END).max();
        self.0.push(ChatRefusal { chat: chat.clone(), at, until });
        same.map(|other| other.max(until))
    }
}
