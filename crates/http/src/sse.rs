//! Turn events and the event log as server-sent events (HTML Living Standard, "Server-sent events").

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use avocet_gateway::{EventFeed, FeedPage};
use avocet_protocol::turn::TurnEvent;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use crate::state::HttpState;

/// The time after which a comment shows the client, and the servers between, that the stream lives.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A stream of events to one client.
struct EventStream {
    state: Arc<HttpState>,
    events: flume::Receiver<TurnEvent>,
    /// `true` once the first comment was sent.
    is_open: bool,
    /// The place among the long requests.
    _place: OwnedSemaphorePermit,
}

/// Returns `true` if a response is a stream of events.
pub(crate) fn is_stream(response: &Response) -> bool {
    let media = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    media.is_some_and(|media| media.starts_with(b"text/event-stream"))
}

/// Streams the events until the client disconnects or the daemon stops. The first line is a comment,
/// which tells the client that it misses no event from now on.
pub(crate) fn stream_events(
    state: Arc<HttpState>,
    events: flume::Receiver<TurnEvent>,
    place: OwnedSemaphorePermit,
) -> Response {
    let start = EventStream { state, events, is_open: false, _place: place };
    let stream = stream::unfold(start, |mut stream| async move {
        let event = stream.next().await?;
        Some((Ok::<_, Infallible>(event), stream))
    });
    ([("cache-control", "no-store")], Sse::new(stream)).into_response()
}

impl EventStream {
    async fn next(&mut self) -> Option<Event> {
        if !self.is_open {
            self.is_open = true;
            return Some(Event::default().comment("open"));
        }
        tokio::select! {
            biased;
            () = self.state.stop.cancelled() => None,
            event = self.events.recv_async() => {
                // Turn events can always be serialised, in one line.
                Some(Event::default().data(serde_json::to_string(&event.ok()?).unwrap_or_default()))
            }
            () = self.state.parts.clock.sleep(KEEP_ALIVE) => {
                Some(Event::default().comment("alive"))
            }
        }
    }
}

/// A stream of the event log to one client.
struct LogStream {
    state: Arc<HttpState>,
    feed: EventFeed,
    /// Events that were read and not sent yet.
    ready: VecDeque<Value>,
    is_open: bool,
    /// The place among the long requests.
    _place: OwnedSemaphorePermit,
}

/// Streams the event log until the client disconnects or the daemon stops.
pub(crate) fn stream_log(
    state: Arc<HttpState>,
    feed: EventFeed,
    place: OwnedSemaphorePermit,
) -> Response {
    let ready = VecDeque::new();
    let start = LogStream { state, feed, ready, is_open: false, _place: place };
    let stream = stream::unfold(start, |mut stream| async move {
        let event = stream.next().await?;
        Some((Ok::<_, Infallible>(event), stream))
    });
    ([("cache-control", "no-store")], Sse::new(stream)).into_response()
}

impl LogStream {
    async fn next(&mut self) -> Option<Event> {
        if !self.is_open {
            self.is_open = true;
            return Some(Event::default().comment("open"));
        }
        loop {
            if let Some(event) = self.ready.pop_front() {
                let kind = event["kind"].as_str().unwrap_or_default();
                let named = Event::default().id(event["seq"].to_string()).event(kind);
                return Some(named.data(event.to_string()));
            }
            tokio::select! {
                biased;
                () = self.state.stop.cancelled() => return None,
                page = self.feed.next() => {
                    let FeedPage { events, next } = page?;
                    self.feed.move_to(next);
                    self.ready = events.into();
                }
                () = self.state.parts.clock.sleep(KEEP_ALIVE) => {
                    return Some(Event::default().comment("alive"));
                }
            }
        }
    }
}
