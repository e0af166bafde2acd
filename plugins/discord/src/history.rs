//! The history of channels: Discord keeps only that for a bot that is away (F32).

use std::time::Duration;

use avocet_protocol::clock::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serenity::model::id::{ChannelId, MessageId};

use crate::Discord;
use crate::fault::RestError;
use crate::routes::Route;

/// Messages in a page: the platform's maximum (Discord API, "Get Channel Messages").
pub(crate) const MAX_PAGE: usize = 100;
/// Time that the platform's clock may be behind ours.
const MAX_CLOCK_SKEW: Duration = Duration::from_mins(1);
/// Time at which the platform's ids begin, in milliseconds since 1970 (Discord API, "Snowflakes").
const SNOWFLAKES_BEGIN: i64 = 1_420_070_400_000;

/// Returns the id of a message. A message without an id gets the largest possible one, so that it
/// comes last.
pub(crate) fn message_id(message: &Value) -> MessageId {
    readable_id(message).unwrap_or(MessageId::new(u64::MAX - 1))
}

/// Returns the id of a message; `None` if it is missing or unreadable.
pub(crate) fn readable_id(message: &Value) -> Option<MessageId> {
    MessageId::deserialize(&message["id"]).ok()
}

/// Returns the smallest id of messages after a moment, less the possible clock skew.
pub(crate) fn first_id_after(moment: Timestamp) -> MessageId {
    let skew = i64::try_from(MAX_CLOCK_SKEW.as_millis()).unwrap_or_default();
    let millis = u64::try_from(moment.0 - skew - SNOWFLAKES_BEGIN).unwrap_or_default();
    MessageId::new((millis << 22).max(1))
}

/// A page of a channel's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HistoryPage {
    /// The messages that follow this one.
    After(MessageId),
    /// The messages up to this one.
    UpTo(MessageId),
}

impl Discord {
    /// Returns a page of messages, the oldest first.
    ///
    /// # Errors
    /// [`RestError`] if the request fails.
    pub(crate) async fn messages(
        &self,
        channel_id: ChannelId,
        page: HistoryPage,
    ) -> Result<Vec<Value>, RestError> {
        self.page_of_messages(channel_id, page, MAX_PAGE).await
    }

    /// Returns a page with at most `limit` messages, the oldest first.
    ///
    /// # Errors
    /// [`RestError`] if the request fails.
    pub(crate) async fn page_of_messages(
        &self,
        channel_id: ChannelId,
        page: HistoryPage,
        limit: usize,
    ) -> Result<Vec<Value>, RestError> {
        let (side, id) = match page {
            HistoryPage::After(id) => ("after", id.get()),
            HistoryPage::UpTo(id) => ("before", id.get().saturating_add(1)),
        };
        let route = Route::ChannelMessages { channel_id };
        let parameters = [(side, id.to_string()), ("limit", limit.to_string())];
        let mut page: Vec<Value> = self.rest.get_with(route, &parameters).await?;
        for message in page.iter_mut().filter(|message| message.is_object()) {
            if ChannelId::deserialize(&message["channel_id"]).is_err() {
                message["channel_id"] = channel_id.to_string().into();
            }
        }
        page.sort_by_key(message_id);
        Ok(page)
    }
}
