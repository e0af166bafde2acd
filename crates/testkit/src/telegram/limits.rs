//! The rate limits of a bot, as strict as the platform's FAQ. The bursts that the real platform
//! sometimes accepts are refused. A limit of the whole bot can be combined with a ban.

use std::collections::BTreeMap;
use std::time::Duration;

use avocet_protocol::clock::Timestamp;

use super::wire::ApiError;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

/// The times of the bot's messages, to enforce its limits.
#[derive(Debug, Default)]
pub(super) struct EnforcedLimits {
    enforced: bool,
    /// Messages to any chat.
    all: Vec<Timestamp>,
    chats: BTreeMap<i64, Vec<Timestamp>>,
    ban: Option<Ban>,
}

/// A ban after too many messages in a second.
#[derive(Debug)]
struct Ban {
    messages: usize,
    lasts: Duration,
    until: Timestamp,
    sent: Vec<Timestamp>,
}

impl EnforcedLimits {
    pub(super) fn enforce(&mut self) {
        self.enforced = true;
    }

    /// Refuses all messages for a while if there are more than this number in a second.
    pub(super) fn ban_above(&mut self, messages: usize, lasts: Duration) {
        self.ban = Some(Ban { messages, lasts, until: Timestamp(0), sent: Vec::new() });
    }

    /// Counts a message to a chat: at most 1 per second there, 20 per minute in a group, 30 per
    /// second in all.
    pub(super) fn take(&mut self, chat: i64, now: Timestamp) -> Result<(), ApiError> {
        if let Some(ban) = &mut self.ban {
            if now >= ban.until && !wait(&ban.sent, ban.messages, SECOND, now).is_zero() {
                ban.until = now.after(ban.lasts);
            }
            flood(now.until(ban.until))?;
            ban.sent.push(now);
        }
        if !self.enforced {
            return Ok(());
        }
        let own = self.chats.entry(chat).or_default();
        let in_group = if chat < 0 { wait(own, 20, MINUTE, now) } else { Duration::ZERO };
        let wait = wait(own, 1, SECOND, now).max(in_group).max(wait(&self.all, 30, SECOND, now));
        flood(wait)?;
        own.push(now);
        self.all.push(now);
        Ok(())
    }
}

/// Returns a 429 with the time in whole seconds, unless the time is zero.
fn flood(wait: Duration) -> Result<(), ApiError> {
    match u32::try_from(wait.as_millis().div_ceil(1000)).unwrap() {
        0 => Ok(()),
        seconds => Err(ApiError::flood(seconds)),
    }
}

/// Returns the time until fewer than `count` of the messages are in the period.
fn wait(taken: &[Timestamp], count: usize, per: Duration, now: Timestamp) -> Duration {
    let first = taken.len().checked_sub(count).map(|place| taken[place]);
    first.map_or(Duration::ZERO, |first| now.until(first.after(per)))
}

/// Returns `true` if a method counts as a message.
pub(super) fn counts(method: &str) -> bool {
    matches!(
        method,
        "sendmessage"
            | "sendaudio"
            | "senddocument"
            | "sendphoto"
            | "sendvideo"
            | "sendvoice"
            | "sendmediagroup"
            | "sendrichmessage"
            | "editmessagetext"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::client::{GROUP, USER, call, fake, text};
    use super::*;

    #[tokio::test]
    async fn limits_refuse_fast_sends_with_retry_after() {
        let fake = fake().await;
        call(&fake, "sendMessage", &text("1")).await.result();
        call(&fake, "sendMessage", &text("2")).await.result();
        fake.enforce_limits();
        call(&fake, "sendMessage", &text("3")).await.result();
        let refused = call(&fake, "sendMessage", &text("4")).await;
        assert_eq!(refused.refusal(), (429, "Too Many Requests: retry after 1".to_owned()));
        assert_eq!(refused.json()["parameters"]["retry_after"], 1);
        let edit = json!({ "chat_id": USER, "message_id": 2, "text": "x" });
        assert_eq!(call(&fake, "editMessageText", &edit).await.refusal().0, 429);
        call(&fake, "sendChatAction", &json!({ "chat_id": USER, "action": "typing" }))
            .await
            .result();
        call(&fake, "sendMessage", &json!({ "chat_id": GROUP, "text": "x" })).await.result();
        fake.advance(SECOND);
        call(&fake, "sendMessage", &text("4")).await.result();
    }

    #[tokio::test]
    async fn ban_above_bans_a_fast_bot_from_every_chat() {
        let fake = fake().await;
        fake.ban_above(2, 3 * SECOND);
        let to_group = json!({ "chat_id": GROUP, "text": "x" });
        call(&fake, "sendMessage", &text("1")).await.result();
        call(&fake, "sendMessage", &to_group).await.result();
        let refused = (429, "Too Many Requests: retry after 3".to_owned());
        assert_eq!(call(&fake, "sendMessage", &text("2")).await.refusal(), refused);
        fake.advance(2 * SECOND);
        let refused = (429, "Too Many Requests: retry after 1".to_owned());
        assert_eq!(call(&fake, "sendMessage", &to_group).await.refusal(), refused);
        fake.advance(SECOND);
        call(&fake, "sendMessage", &to_group).await.result();
    }

    #[test]
    fn take_limits_a_group_per_minute_and_all_chats_per_second() {
        let at = |millis: i64| Timestamp(millis);
        let seconds = |error: Result<(), ApiError>| error.err().and_then(|error| error.retry_after);
        let mut limits = EnforcedLimits { enforced: true, ..EnforcedLimits::default() };
        for second in 0..20 {
            assert_eq!(limits.take(-1, at(second * 1000)), Ok(()));
        }
        assert_eq!(seconds(limits.take(-1, at(20_500))), Some(40), "a group, in a minute");
        assert_eq!(limits.take(-1, at(60_000)), Ok(()));
        for chat in 0..29 {
            assert_eq!(limits.take(chat, at(60_000)), Ok(()));
        }
        assert_eq!(seconds(limits.take(30, at(60_999))), Some(1), "all chats, in a second");
        assert_eq!(limits.take(30, at(61_000)), Ok(()));
    }
}
