//! The event log: pages, a stream, and the timeline of a message.

use std::sync::Arc;

use avocet_gateway::{ListEvents, Subscribe, Trace};
use avocet_protocol::chat::SessionId;
use avocet_protocol::store::EventSeq;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::caller::HttpCaller;
use crate::input::{PathPart, QueryPart};
use crate::problem::Problem;
use crate::sse;
use crate::state::HttpState;

/// The header with the last event that a client has (HTML Living Standard, "Server-sent events").
const LAST_EVENT: &str = "last-event-id";

/// Selects events. Missing parameters have the socket's defaults.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub(crate) struct EventsQuery {
    /// The last event that the client has. Default: 0.
    #[cfg_attr(test, param(value_type = Option<i64>, minimum = 0))]
    after: Option<EventSeq>,
    /// The most events, from 1 to 500. Default: 100.
    #[cfg_attr(test, param(minimum = 1, maximum = 500))]
    limit: Option<u32>,
    /// Only of this session.
    session: Option<String>,
    /// Only of these kinds, with commas: `message.queued,turn`.
    kinds: Option<String>,
}

/// Selects the events of a stream.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub(crate) struct EventStreamQuery {
    /// The last event that the client has. The header `Last-Event-ID` replaces it. Default: the
    /// newest event.
    #[cfg_attr(test, param(value_type = Option<i64>, minimum = 0))]
    from: Option<EventSeq>,
    /// Only of this session.
    session: Option<String>,
    /// Only of these kinds, with commas: `message.queued,turn`.
    kinds: Option<String>,
}

fn kinds(kinds: Option<&str>) -> Vec<&str> {
    kinds.map(|kinds| kinds.split(',').map(str::trim).collect()).unwrap_or_default()
}

/// List events, oldest first.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/events", tag = "events", params(EventsQuery),
    responses((status = 200, description = "A page: `log`, `events`, `next`, `newest`, `removed`"), Problem),
))]
pub(crate) async fn list(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    QueryPart(EventsQuery { after, limit, session, kinds: of }): QueryPart<EventsQuery>,
) -> Result<Json<Value>, Problem> {
    let mut params = json!({ "kinds": kinds(of.as_deref()) });
    for (key, value) in
        [("after", json!(after)), ("limit", json!(limit)), ("session", json!(session))]
    {
        if !value.is_null() {
            params[key] = value;
        }
    }
    state.call::<ListEvents>(&caller, params).await.map(Json)
}

/// Follow the events. A client that reconnects with `Last-Event-ID` misses none.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/events/stream", tag = "events",
    params(EventStreamQuery, ("last-event-id" = Option<i64>, Header, minimum = 0, description = "The last event that the client has")),
    responses(
        (status = 200, description = "Server-sent events, whose ids are the numbers of events", body = String, content_type = "text/event-stream"),
        Problem,
    ),
))]
pub(crate) async fn stream(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    QueryPart(EventStreamQuery { from, session, kinds: of }): QueryPart<EventStreamQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let session = session.as_deref().map(SessionId::parse).transpose();
    let session = session.map_err(|error| Problem::bad_request(error.to_string()))?;
    let kinds = kinds(of.as_deref()).into_iter().map(str::to_owned).collect();
    let from = last_event(&headers)?.or(from);
    let subscribe = Subscribe { name: None, from, session, kinds };
    let place = state.long_request()?;
    let feed = state.open_event_feed(&caller.0, &subscribe).await?;
    Ok(sse::stream_log(state, feed, place))
}

/// Returns the number in the header `Last-Event-ID`.
fn last_event(headers: &HeaderMap) -> Result<Option<EventSeq>, Problem> {
    let Some(value) = headers.get(LAST_EVENT) else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.parse::<EventSeq>().ok());
    number
        .map(Some)
        .ok_or_else(|| Problem::bad_request("Last-Event-ID is not a number of an event"))
}

/// Show the timeline of a message, a turn or a delivery: its waits, models, tools and deliveries.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/messages/{id}/trace", tag = "events",
    params(("id" = String, Path, pattern = "^[mto][0-9]+$", description = "The message, the turn or the delivery: `m12`, `t4`, `o9`")),
    responses((status = 200, description = "The spans, by their begin"), Problem),
))]
pub(crate) async fn trace(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<Json<Value>, Problem> {
    state.call::<Trace>(&caller, json!({ "message": id })).await.map(Json)
}
