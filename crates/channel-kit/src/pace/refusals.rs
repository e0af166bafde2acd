//! Refusals of single chats, and what tells them from a limit of the whole account.
//!
//! A platform answers both in the same words. A chat that is refused alone has had too much itself.
//! Different chats that are refused shortly after one another, until about the same time, share the
//! limit: two chats that each had too much would be let in again at times of their own.

use std::time::Duration;

use avocet_protocol::ChatId;

/// Refusals this far apart may have one reason.
const TOGETHER: Duration = Duration::from_secs(5);
/// The ends of two waits this far apart are the same: platforms round the wait up to whole seconds.
const SAME_END: Duration = Duration::from_secs(2);

/// The refusals of the last seconds.
#[derive(Debug, Default)]
pub(super) struct Refusals(Vec<Refusal>);

#[derive(Debug)]
struct Refusal {
    chat: ChatId,
    at: Duration,
    until: Duration,
}

impl Refusals {
    /// Notes that a chat is refused until some time. Returns until when the account is limited; `None`
    /// if only this chat is known to be.
    pub(super) fn note(
        &mut self,
        chat: &ChatId,
        at: Duration,
        until: Duration,
    ) -> Option<Duration> {
        self.0.retain(|other| other.at.saturating_add(TOGETHER) >= at && other.chat != *chat);
        let same = self.0.iter().map(|other| other.until);
        let same = same.filter(|other| other.abs_diff(until) <= SAME_END).max();
        self.0.push(Refusal { chat: chat.clone(), at, until });
        same.map(|other| other.max(until))
    }
}
