//! Follows the event log for a client: batches of events, each confirmed before the next. The
//! position of a named subscriber is in the log, so that it misses no event after a restart of
//! either side.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use avocet_protocol::{ClientRole, EventFilter, EventSeq, LogEvent, SessionId, SubscriberName};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::events::{filter, presentable_events};
use crate::parts::GatewayParts;
use crate::scope::ChatScope;
use crate::values::{or_empty, read, unavailable};
use crate::wire::{RpcError, RpcMessage};

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

/// The batches that a client has not confirmed, by the id of the request.
#[derive(Debug, Default)]
pub(crate) struct OpenBatches(Mutex<HashMap<String, oneshot::Sender<bool>>>);

impl OpenBatches {
    fn open(&self, id: &str) -> oneshot::Receiver<bool> {
        let (answer, answered) = oneshot::channel();
        self.lock().insert(id.to_owned(), answer);
        answered
    }

    /// Passes on the client's answer. Returns `false` if no batch has this id.
    pub(crate) fn answer(&self, id: &str, is_confirmed: bool) -> bool {
        let Some(open) = self.lock().remove(id) else { return false };
        // An error means that the subscription has ended.
        open.send(is_confirmed).unwrap_or_default();
        true
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<bool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A subscription that is ready to be followed.
pub(crate) struct Subscription {
    parts: Arc<GatewayParts>,
    lines: flume::Sender<Vec<u8>>,
    batches: Arc<OpenBatches>,
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

/// The parts of a connection that a subscription needs.
pub(crate) struct SubscribingConnection {
    pub(crate) parts: Arc<GatewayParts>,
    pub(crate) lines: flume::Sender<Vec<u8>>,
    pub(crate) batches: Arc<OpenBatches>,
    pub(crate) subscriptions: Arc<NamedSubscriptions>,
    pub(crate) caller: Caller,
    pub(crate) ended: CancellationToken,
}

impl Subscription {
    /// Begins a subscription. Returns the answer to the request as well.
    pub(crate) async fn begin(
        params: Value,
        connection: SubscribingConnection,
    ) -> Result<(Self, Value), RpcError> {
        let Subscribe { name, from, session, kinds } = read("subscribe", or_empty(params))?;
        let filter = filter("subscribe", session, &kinds)?;
        let SubscribingConnection { parts, lines, batches, subscriptions, caller, ended } =
            connection;
        let name = name.map(|name| own_name(&name, &caller)).transpose()?;
        let ended = ended.child_token();
        let log = &parts.event_log;
        let range = log.event_range().await.map_err(unavailable)?;
        let at = match &name {
            Some(name) => {
                // First, so that the earlier subscription confirms nothing after this one has read.
                subscriptions.replace(name, ended.clone());
                log.subscribe(name, from).await.map_err(unavailable)?
            }
            None => from.unwrap_or(range.newest),
        };
        let removed = range.removed_after(at);
        let answer = json!(Subscribed { log: range.log, from: at, removed });
        let subscription =
            Self { parts, lines, batches, caller, name, filter, at, recorded: at, ended };
        Ok((subscription, answer))
    }

    /// Sends batches until the subscription ends.
    pub(crate) async fn follow(mut self) {
        let ended = self.ended.clone();
        tokio::select! {
            () = ended.cancelled() => {}
            () = self.send_batches() => ended.cancel(),
        }
    }

    /// Sends batches until the client refuses one, or its connection ends.
    async fn send_batches(&mut self) {
        let mut newest = self.parts.event_log.newest_event();
        loop {
            let mut page = match self.parts.event_log.events(self.at, &self.filter, BATCH).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(%error, "cannot read the events for a subscriber; retrying in 1 s");
                    self.parts.clock.sleep(AFTER_ERROR).await;
                    continue;
                }
            };
            let scope = ChatScope { parts: &self.parts, caller: &self.caller };
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
            let (events, next) = presentable_events(page.events, page.next, &self.parts.redactor);
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
        let answered = self.batches.open(&id);
        let (id, method) = (Value::String(id), "events".to_owned());
        let line = RpcMessage::Request { id, method, params: batch }.to_line();
        self.lines.send_async(line).await.is_ok() && answered.await.unwrap_or(false)
    }

    /// Records the position of a named subscriber. After a failure the next position is recorded,
    /// or events come again.
    async fn record(&mut self) {
        let Some(name) = &self.name else { return };
        match self.parts.event_log.confirm_events(name, self.at).await {
            Ok(()) => self.recorded = self.at,
            Err(error) => {
                tracing::warn!(%error, %name, "cannot record the position of a subscriber; it gets these events again if it reconnects before the next ones");
            }
        }
    }
}
