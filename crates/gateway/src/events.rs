//! The methods about the event log. If no daemon runs, the program's own commands call them
//! directly. `subscribe` follows new events: see `subscribe.rs`.

use avocet_protocol::{
    EventFilter, EventLog, EventSeq, LogEvent, MessageId, Redactor, SessionId, SubscriberName,
    event_kinds, trace as trace_of,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::values::{check_limit, fits, or_empty, presentable, read, unavailable};
use crate::wire::RpcError;

/// `events.list`: events, oldest first, without secrets. The result is an [`EventList`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListEvents {
    /// The last event that the client has; 0 for all events.
    pub after: EventSeq,
    /// The most events, from 1 to [`MOST_ROWS`](crate::MOST_ROWS).
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

/// `trace`: the timeline of a message, without secrets: a list of `TraceSpan`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The message.
    pub message: MessageId,
}

/// `subscriber.remove`: forgets the position of a subscriber. The result is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoveSubscriber {
    /// Its name.
    pub name: SubscriberName,
}

/// Answers one of these methods; `None` if the method is not in the list.
///
/// # Errors
/// [`RpcError`] names the fault and its correction.
pub async fn answer_about_events(
    log: &dyn EventLog,
    redactor: &Redactor,
    method: &str,
    params: Value,
) -> Option<Result<Value, RpcError>> {
    answer_for(log, redactor, &|_| true, method, params).await
}

/// Answers like [`answer_about_events`], for a caller that sees only some events.
pub(crate) async fn answer_for(
    log: &dyn EventLog,
    redactor: &Redactor,
    sees: &(dyn Fn(&LogEvent) -> bool + Sync),
    method: &str,
    params: Value,
) -> Option<Result<Value, RpcError>> {
    Some(match method {
        "events.list" => list(log, redactor, sees, method, params).await,
        "trace" => trace(log, redactor, method, params).await,
        "subscriber.list" => log.subscribers().await.map(|found| json!(found)).map_err(unavailable),
        "subscriber.remove" => remove(log, method, params).await,
        _ => return None,
    })
}

async fn list(
    log: &dyn EventLog,
    redactor: &Redactor,
    sees: &(dyn Fn(&LogEvent) -> bool + Sync),
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    let ListEvents { after, limit, session, kinds } = read(method, or_empty(params))?;
    check_limit(method, "limit", limit)?;
    let filter = filter(method, session, &kinds)?;
    let range = log.event_range().await.map_err(unavailable)?;
    let mut page = log.events(after, &filter, limit).await.map_err(unavailable)?;
    page.events.retain(sees);
    let (events, next) = presentable_events(page.events, page.next, redactor);
    Ok(json!({
        "log": range.log,
        "events": events,
        "next": next,
        "newest": range.newest.max(next),
        "removed": range.removed_after(after),
    }))
}

async fn trace(
    log: &dyn EventLog,
    redactor: &Redactor,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    let Trace { message } = read(method, params)?;
    let events = log.message_events(message).await.map_err(unavailable)?;
    if events.is_empty() {
        let message = format!(
            "there are no events of {message}; the message is unknown, or its events were removed \
             ([retention] events)"
        );
        return Err(RpcError::new(RpcError::NOT_FOUND, message));
    }
    Ok(presentable(json!(trace_of(events)), redactor))
}

async fn remove(log: &dyn EventLog, method: &str, params: Value) -> Result<Value, RpcError> {
    let RemoveSubscriber { name } = read(method, params)?;
    if log.remove_subscriber(&name).await.map_err(unavailable)? {
        return Ok(Value::Null);
    }
    Err(RpcError::new(RpcError::NOT_FOUND, format!("there is no subscriber {name:?}")))
}

/// Reads the conditions of a request.
pub(crate) fn filter(
    method: &str,
    session: Option<SessionId>,
    kinds: &[String],
) -> Result<EventFilter, RpcError> {
    let of = |pattern: &String| {
        event_kinds(pattern)
            .map_err(|error| RpcError::new(RpcError::PARAMS, format!("{method}: {error}")))
    };
    let kinds: Vec<_> = kinds.iter().map(of).collect::<Result<_, _>>()?;
    Ok(EventFilter { session, kinds: kinds.concat() })
}

/// Removes secrets from events, and drops the last ones if a line has no room for them. Returns the
/// position behind the others.
pub(crate) fn presentable_events(
    events: Vec<LogEvent>,
    next: EventSeq,
    redactor: &Redactor,
) -> (Vec<Value>, EventSeq) {
    let (mut shown, mut bytes, mut last) = (Vec::new(), 0, next);
    for event in events {
        let seq = event.seq;
        let event = presentable(json!(event), redactor);
        bytes += event.to_string().len() + 1;
        if !fits(bytes) && !shown.is_empty() {
            return (shown, last);
        }
        shown.push(event);
        last = seq;
    }
    (shown, next)
}
