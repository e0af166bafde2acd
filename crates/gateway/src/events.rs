//! The methods about the event log. If no daemon runs, the program's own commands call them
//! directly. `subscribe` follows new events: see `subscribe.rs`.

use avocet_methods::{
    ListEvents, ListSubscribers, NoParams, RemoveSubscriber, SocketMethod, Trace,
};
use avocet_protocol::chat::SessionId;
use avocet_protocol::store::{EventFilter, EventLog, EventSeq, LogEvent, event_kinds};
use avocet_protocol::turn::trace as trace_of;
use avocet_text::Redactor;
use serde_json::{Value, json};

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::scope::ChatScope;
use crate::values::{check_limit, fits_line, make_presentable, unavailable};
use crate::wire::RpcError;

/// The ports of these methods.
#[derive(Debug, Clone, Copy)]
pub struct EventPorts<'a> {
    log: &'a dyn EventLog,
    redactor: &'a Redactor,
    /// The events that the caller may see; `None` for all.
    scope: Option<ChatScope<'a>>,
}

impl<'a> EventPorts<'a> {
    /// Opens all events of a log.
    #[must_use]
    pub fn new(log: &'a dyn EventLog, redactor: &'a Redactor) -> Self {
        Self { log, redactor, scope: None }
    }
}

impl<'a> From<MethodCall<'a>> for EventPorts<'a> {
    fn from(MethodCall { parts, caller, .. }: MethodCall<'a>) -> Self {
        let scope = Some(ChatScope { parts, caller });
        Self { log: parts.event_log.as_ref(), redactor: &parts.redactor, scope }
    }
}

impl RunMethod for ListEvents {
    type Ports<'a> = EventPorts<'a>;

    async fn run(ports: Self::Ports<'_>, list: Self) -> Answered<Self> {
        let EventPorts { log, redactor, scope } = ports;
        let Self { after, limit, session, kinds } = list;
        check_limit(Self::NAME, "limit", limit)?;
        let filter = filter(Self::NAME, session, &kinds)?;
        let range = log.event_range().await.map_err(unavailable)?;
        let mut page = log.events(after, &filter, limit).await.map_err(unavailable)?;
        page.events.retain(|event| scope.is_none_or(|scope| scope.owns_event(event)));
        let (events, next) = presentable_events(page.events, page.next, redactor);
        // An `EventList`, whose events are without secrets.
        Ok(Reply::from_value(json!({
            "log": range.log,
            "events": events,
            "next": next,
            "newest": range.newest.max(next),
            "removed": range.removed_after(after),
        })))
    }
}

impl RunMethod for Trace {
    type Ports<'a> = EventPorts<'a>;

    async fn run(ports: Self::Ports<'_>, Self { message }: Self) -> Answered<Self> {
        let events = ports.log.traced_events(message).await.map_err(unavailable)?;
        if let Some(scope) = &ports.scope {
            // The first event is one of the conversation; a later one may be a delivery to another
            // chat.
            scope
                .check_row(message, events.first().is_some_and(|first| scope.owns_event(first)))?;
        }
        if events.is_empty() {
            let message = format!(
                "there are no events of {message}; the id is unknown, or its events were removed \
                 ([retention] events)"
            );
            return Err(RpcError::new(RpcError::NOT_FOUND, message));
        }
        Reply::without_secrets(&trace_of(events), ports.redactor)
    }
}

impl RunMethod for ListSubscribers {
    type Ports<'a> = EventPorts<'a>;

    async fn run(ports: Self::Ports<'_>, _: NoParams) -> Answered<Self> {
        Reply::with_whole(&ports.log.subscribers().await.map_err(unavailable)?)
    }
}

impl RunMethod for RemoveSubscriber {
    type Ports<'a> = EventPorts<'a>;

    async fn run(ports: Self::Ports<'_>, Self { name }: Self) -> Answered<Self> {
        if ports.log.remove_subscriber(&name).await.map_err(unavailable)? {
            return Reply::with_whole(&());
        }
        Err(RpcError::new(RpcError::NOT_FOUND, format!("there is no subscriber {name:?}")))
    }
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
        let event = make_presentable(json!(event), redactor);
        bytes += event.to_string().len() + 1;
        if !fits_line(bytes) && !shown.is_empty() {
            return (shown, last);
        }
        shown.push(event);
        last = seq;
    }
    (shown, next)
}
