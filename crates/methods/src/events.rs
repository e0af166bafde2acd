//! The methods about the event log.

use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::SubscriberName;
use avocet_protocol::store::{EventSeq, LogEvent, Subscriber};
use avocet_protocol::turn::{TraceSpan, TraceSubject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{NoParams, Touches};

/// `events.list`: events, oldest first, without secrets. The result is an [`EventList`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListEvents {
    /// The last event that the client has; 0 for all events.
    pub after: EventSeq,
    /// The most events, from 1 to 500.
    #[schemars(range(min = 1, max = 500))]
    pub limit: u32,
    /// Only of this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Only of these kinds: `message.queued`, or `message` for all kinds of messages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
}

impl Default for ListEvents {
    fn default() -> Self {
        Self { after: EventSeq(0), limit: 100, session: None, kinds: Vec::new() }
    }
}

/// The result of [`ListEvents`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventList {
    /// The identity of the log. Another identity means that the log was rolled back or replaced.
    pub log: String,
    /// The events.
    pub events: Vec<LogEvent>,
    /// The position behind them, for the next page. The list ends where it equals `newest`.
    pub next: EventSeq,
    /// The newest event of the log.
    pub newest: EventSeq,
    /// The number of events behind `after` that were removed because of their age, at most.
    pub removed: i64,
}

/// `trace`: the timeline of a message, a turn or a delivery, without secrets: a list of `TraceSpan`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The message (`m12`), or the turn (`t4`) or the delivery (`o9`).
    pub message: TraceSubject,
}

/// `subscriber.remove`: forgets the position of a subscriber. The result is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveSubscriber {
    /// Its name.
    pub name: SubscriberName,
}

/// `subscribe`: follows the events. The result is [`Subscribed`]. Afterwards the daemon sends
/// requests `events` with an `EventBatch`, and waits for the answer to each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Subscribe {
    /// The name under which the daemon keeps the position. A second connection with the same name
    /// replaces the first one, which is closed with the reason. `None` if the client keeps its position itself.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subscribed {
    /// The identity of the log. Another identity means that the log was rolled back or replaced.
    pub log: String,
    /// The position from which the events continue.
    pub from: EventSeq,
    /// The number of events behind it that were removed because of their age, at most.
    pub removed: i64,
}

/// `subscriber.list`: the programs that follow the events under a name.
#[derive(Debug)]
pub enum ListSubscribers {}

method!(ListEvents = "events.list": Self => EventList, Observer, Touches::Events, optional_params);
method!(Subscribe = "subscribe": Self => Subscribed, Observer, Touches::Events, optional_params);
method!(ListSubscribers = "subscriber.list": NoParams => Vec<Subscriber>, Operator, Touches::Everything);
method!(RemoveSubscriber = "subscriber.remove": Self => (), Operator, Touches::Everything);
method!(Trace = "trace": Self => Vec<TraceSpan>, Observer, Touches::Events);
