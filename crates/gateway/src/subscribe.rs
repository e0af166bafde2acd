//! Follows the event log for a client: batches of events, each confirmed before the next. The
//! position of a named subscriber is in the log, so that it misses no event after a restart of
//! either side.

use avocet_methods::{Subscribe, Subscribed};
use avocet_protocol::access::ClientRole;
use avocet_protocol::ids::SubscriberName;
use avocet_protocol::store::{EventSeq, LogEvent};
use avocet_supervise::Group;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::client_request::ClientRequest;
use crate::connection::Connection;
use crate::event_feed::{EventFeed, FeedPage};
use crate::methods::permitted_params;
use crate::values::unavailable;
use crate::wire::RpcError;

/// Events without a match after which the position of a named subscriber is recorded.
const RECORD_AFTER: i64 = 1000;

/// `events`: a request to the client. Any result confirms the batch; an error ends the subscription.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventBatch {
    /// The events, oldest first. After a lost connection, the batch that was not confirmed comes
    /// again.
    pub events: Vec<LogEvent>,
    /// The position behind them.
    pub next: EventSeq,
}

/// Returns the name under which the position is recorded. Each client has names of its own, which
/// end with the client: `backup@client.web`. Those of operators of all chats have no such end.
fn own_name(name: &SubscriberName, caller: &Caller) -> Result<SubscriberName, RpcError> {
    let refused = |why: &str| RpcError::new(RpcError::PARAMS, format!("subscribe: {why}"));
    if name.as_str().contains('@') {
        return Err(refused(&format!("the name {name:?} contains `@`; choose another")));
    }
    if *name == SubscriberName::telemetry() {
        return Err(refused("the name \"telemetry\" is that of the exporter; choose another"));
    }
    if caller.role == ClientRole::Operator && caller.chats.are_all() {
        return Ok(name.clone());
    }
    let own = format!("{name}@{}", caller.sender.as_str().replace(':', "."));
    SubscriberName::parse(&own).map_err(|error| refused(&error.to_string()))
}

/// A subscription of a connection.
struct Subscription {
    connection: Connection,
    name: Option<SubscriberName>,
    feed: EventFeed,
    /// The position in the log.
    recorded: EventSeq,
    /// Fires at the end of the connection, or when another one takes over the name.
    ended: CancellationToken,
}

impl Connection {
    /// Answers `subscribe`, and then follows the events.
    pub(crate) async fn subscribe(&self, caller: &Caller, id: Value, params: Value, group: &Group) {
        match self.subscription(caller, params).await {
            Err(refusal) => self.respond(id, Err(refusal)).await,
            Ok((subscription, subscribed)) => {
                // First, so that the client gets the answer before a batch.
                self.respond(id, Ok(json!(subscribed))).await;
                group.spawn("subscription", subscription.follow());
            }
        }
    }

    async fn subscription(
        &self,
        caller: &Caller,
        params: Value,
    ) -> Result<(Subscription, Subscribed), RpcError> {
        let subscribe = permitted_params::<Subscribe>(&self.parts, caller, params).await?;
        let Subscribe { name, from, .. } = &subscribe;
        let name = name.as_ref().map(|name| own_name(name, caller)).transpose()?;
        self.place.mark_attached().map_err(|why| RpcError::new(RpcError::UNAVAILABLE, why))?;
        let (log, ended) = (&self.parts.event_log, self.ended.child_token());
        let range = log.event_range().await.map_err(unavailable)?;
        let at = match &name {
            Some(name) => {
                // First, so that the earlier subscription confirms nothing after this one has read.
                self.subscriptions.replace(name, ended.clone());
                log.subscribe(name, *from).await.map_err(unavailable)?
            }
            None => from.unwrap_or(range.newest),
        };
        let removed = range.removed_after(at);
        let subscribed = Subscribed { log: range.log, from: at, removed };
        let feed = EventFeed::open(&self.parts, caller, &subscribe, at)?;
        let connection = self.clone();
        let subscription = Subscription { connection, name, feed, recorded: at, ended };
        Ok((subscription, subscribed))
    }
}

impl Subscription {
    /// Sends batches until the subscription ends. If another connection takes over its name, this
    /// connection is closed with the reason.
    async fn follow(mut self) {
        let ended = self.ended.clone();
        tokio::select! {
            () = self.send_batches() => ended.cancel(),
            () = ended.cancelled() => {
                // Otherwise the connection itself has ended.
                if !self.connection.ended.is_cancelled() {
                    let reason = "another connection follows the events under this name now; give \
                        each program a name of its own";
                    self.connection.close(RpcError::new(RpcError::CONFLICT, reason));
                }
            }
        }
    }

    /// Sends batches until the client refuses one, or its connection ends.
    async fn send_batches(&mut self) {
        while let Some(FeedPage { events, next }) = self.feed.next().await {
            let is_empty = events.is_empty();
            if !is_empty && !self.send(json!({ "events": events, "next": next })).await {
                return;
            }
            self.feed.move_to(next);
            if !is_empty || next.0 - self.recorded.0 >= RECORD_AFTER {
                self.record().await;
            }
        }
    }

    /// Sends a batch. Returns `true` once the client has confirmed it.
    async fn send(&self, batch: Value) -> bool {
        let id = format!("events-{}", uuid::Uuid::new_v4());
        let (answer, answered) = oneshot::channel();
        self.connection.request(id, "events", batch, ClientRequest::Events(answer)).await;
        answered.await.unwrap_or(false)
    }

    /// Records the position of a named subscriber. After a failure the next position is recorded,
    /// or events come again.
    async fn record(&mut self) {
        let Some(name) = &self.name else { return };
        let position = self.feed.position();
        match self.connection.parts.event_log.confirm_events(name, position).await {
            Ok(()) => self.recorded = position,
            Err(error) => {
                tracing::warn!(%error, %name, "cannot record the position of a subscriber; it gets these events again if it reconnects before the next ones");
            }
        }
    }
}
