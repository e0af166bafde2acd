//! Reads the event log for one client: page by page, and then as new events are committed.

use std::time::Duration;

use avocet_methods::{SocketMethod, Subscribe};
use avocet_protocol::store::{EventFilter, EventSeq};
use serde_json::Value;
use tokio::sync::watch;

use crate::caller::Caller;
use crate::events::{filter, presentable_events};
use crate::parts::GatewayParts;
use crate::scope::ChatScope;
use crate::wire::RpcError;

/// The most events of a page.
const PAGE: u32 = 256;
/// The pause after a failed read of the log.
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// The events that a caller may see, from a position on.
#[derive(Debug)]
pub struct EventFeed {
    parts: GatewayParts,
    caller: Caller,
    filter: EventFilter,
    /// The last event that the client has.
    at: EventSeq,
    newest: watch::Receiver<EventSeq>,
}

/// The next events of an [`EventFeed`].
#[derive(Debug, Clone, PartialEq)]
pub struct FeedPage {
    /// The events as JSON, without secrets. Empty if the feed has skipped events without a match.
    pub events: Vec<Value>,
    /// The position behind them.
    pub next: EventSeq,
}

impl EventFeed {
    /// Begins behind the event `at`, with the conditions of `subscribe`.
    ///
    /// # Errors
    /// [`RpcError`] if a kind is unknown.
    pub fn open(
        parts: &GatewayParts,
        caller: &Caller,
        subscribe: &Subscribe,
        at: EventSeq,
    ) -> Result<Self, RpcError> {
        let filter = filter(Subscribe::NAME, subscribe.session.clone(), &subscribe.kinds)?;
        let newest = parts.event_log.newest_event();
        Ok(Self { parts: parts.clone(), caller: caller.clone(), filter, at, newest })
    }

    /// Waits for the next events behind the position, which stays until [`Self::move_to`]. `None`
    /// once the log is closed. May be dropped and called again.
    pub async fn next(&mut self) -> Option<FeedPage> {
        loop {
            let mut page = match self.parts.event_log.events(self.at, &self.filter, PAGE).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(%error, "cannot read the events for a subscriber; retrying in 1 s");
                    self.parts.clock.sleep(AFTER_ERROR).await;
                    continue;
                }
            };
            if page.next > self.at {
                let scope = ChatScope { parts: &self.parts, caller: &self.caller };
                page.events.retain(|event| scope.owns_event(event));
                let redactor = &self.parts.redactor;
                let (events, next) = presentable_events(page.events, page.next, redactor);
                return Some(FeedPage { events, next });
            }
            // The log keeps the sender for as long as it is open.
            self.newest.wait_for(|newest| *newest > self.at).await.ok()?;
        }
    }

    /// Moves the position, behind events that the client has.
    pub fn move_to(&mut self, position: EventSeq) {
        self.at = position;
    }

    /// The client has every event up to this one.
    #[must_use]
    pub fn position(&self) -> EventSeq {
        self.at
    }
}
