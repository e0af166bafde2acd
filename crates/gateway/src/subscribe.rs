//! Follows the event log for a client: batches of events, each confirmed before the next. The
//! position of a named subscriber is in the log, so that it misses no event after a restart of
//! either side.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use avocet_protocol::{ClientRole, EventFilter, EventSeq, LogEvent, SessionId, SubscriberName};
use avocet_supervise::Group;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::attached::ClientRequest;
use crate::caller::Caller;
use crate::connection::Connection;
use crate::events::{filter, presentable_events};
use crate::methods;
use crate::scope::ChatScope;
use crate::values::{or_empty, read, unavailable};
use crate::wire::RpcError;

/// The most events of a batch.
const BATCH: u32 = 256;
/// Events without a match after which the position of a named subscriber is recorded.
const RECORD_AFTER: i64 = 1000;
/// The pause after a failed read or write of the log.
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// `subscribe`: follows the events. The result is [`Subscribed`]. Afterwards the daemon sends
/// requests `events` with an [`EventBatch`], and waits for the answer to each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Subscribe {
    /// The name under which the daemon keeps the position. A second connection with the same name
    /// replaces the first one. `None` if the client keeps its position itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<SubscriberName>,
    /// The last event that the client has. Without effect for a name that the daemon knows.
    /// Default: the newest event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<EventSeq>,
    /// Only of this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Only of these kinds, as in [`ListEvents`](crate::ListEvents).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
}

/// The result of [`Subscribe`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscribed {
    /// The identity of the log. Another identity means that the log was rolled back or replaced.
    pub log: String,
    /// The position from which the events continue.
    pub from: EventSeq,
    /// The number of events behind it that were removed because of their age, at most.
    pub removed: i64,
}

/// `events`: a request to the client. Any result confirms the batch; an error ends the subscription.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    if caller.role == ClientRole::Operator && caller.chats.are_all() {
        return Ok(name.clone());
    }
    let own = format!("{name}@{}", caller.sender.as_str().replace(':', "."));
    SubscriberName::parse(&own).map_err(|error| refused(&error.to_string()))
}

/// The open subscriptions of all connections, by name. A new one replaces the one before.
#[derive(Debug, Default)]
pub(crate) struct NamedSubscriptions {
    open: Mutex<HashMap<SubscriberName, CancellationToken>>,
}

impl NamedSubscriptions {
    /// Ends the earlier subscription with this name.
    fn replace(&self, name: &SubscriberName, ended: CancellationToken) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, ended| !ended.is_cancelled());
        if let Some(earlier) = open.insert(name.clone(), ended) {
            earlier.cancel();
        }
    }
}

/// A subscription of a connection.
struct Subscription {
    connection: Connection,
    caller: Caller,
    name: Option<SubscriberName>,
    filter: EventFilter,
    /// The last event that was sent and confirmed.
    at: EventSeq,
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
        methods::permitted(&self.parts, caller, "subscribe", &params).await?;
        let Subscribe { name, from, session, kinds } = read("subscribe", or_empty(params))?;
        let filter = filter("subscribe", session, &kinds)?;
        let name = name.map(|name| own_name(&name, caller)).transpose()?;
        self.place.attach().map_err(|why| RpcError::new(RpcError::UNAVAILABLE, why))?;
        let (log, ended) = (&self.parts.event_log, self.ended.child_token());
        let range = log.event_range().await.map_err(unavailable)?;
        let at = match &name {
            Some(name) => {
                // First, so that the earlier subscription confirms nothing after this one has read.
                self.subscriptions.replace(name, ended.clone());
                log.subscribe(name, from).await.map_err(unavailable)?
            }
            None => from.unwrap_or(range.newest),
        };
        let removed = range.removed_after(at);
        let subscribed = Subscribed { log: range.log, from: at, removed };
        let (connection, caller) = (self.clone(), caller.clone());
        let subscription =
            Subscription { connection, caller, name, filter, at, recorded: at, ended };
        Ok((subscription, subscribed))
    }
}

impl Subscription {
    /// Sends batches until the subscription ends.
    async fn follow(mut self) {
        let ended = self.ended.clone();
        tokio::select! {
            () = ended.cancelled() => {}
            () = self.send_batches() => ended.cancel(),
        }
    }

    /// Sends batches until the client refuses one, or its connection ends.
    async fn send_batches(&mut self) {
        let parts = self.connection.parts.clone();
        let mut newest = parts.event_log.newest_event();
        loop {
            let mut page = match parts.event_log.events(self.at, &self.filter, BATCH).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(%error, "cannot read the events for a subscriber; retrying in 1 s");
                    parts.clock.sleep(AFTER_ERROR).await;
                    continue;
                }
            };
            let scope = ChatScope { parts: &parts, caller: &self.caller };
            page.events.retain(|event| scope.owns_event(event));
            if page.events.is_empty() {
                let at_end = page.next == self.at;
                self.at = page.next;
                if self.at.0 - self.recorded.0 >= RECORD_AFTER {
                    self.record().await;
                }
                // The log keeps the sender for as long as it is open.
                if at_end && newest.wait_for(|newest| *newest > self.at).await.is_err() {
                    return;
                }
                continue;
            }
            let (events, next) = presentable_events(page.events, page.next, &parts.redactor);
            if !self.send(json!({ "events": events, "next": next })).await {
                return;
            }
            self.at = next;
            self.record().await;
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
        match self.connection.parts.event_log.confirm_events(name, self.at).await {
            Ok(()) => self.recorded = self.at,
            Err(error) => {
                tracing::warn!(%error, %name, "cannot record the position of a subscriber; it gets these events again if it reconnects before the next ones");
            }
        }
    }
}
