//! Reads bodies, query strings and the header Idempotency-Key. Every fault is a problem with the
//! reason.

use std::sync::Arc;
use std::time::Duration;

use avocet_gateway::MAX_LINE_BYTES;
use avocet_protocol::clock::within;
use avocet_protocol::model::decode_json;
use avocet_text::plain_json;
use axum::body::to_bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use serde::de::DeserializeOwned;

use crate::problem::Problem;
use crate::state::HttpState;

/// The longest body, in bytes: the length of a line on the socket.
pub(crate) const MAX_BODY_BYTES: usize = MAX_LINE_BYTES;
/// The time in which a client has to send its body.
const BODY_TIME: Duration = Duration::from_secs(30);

/// The whole body of a request, at most [`MAX_BODY_BYTES`] long.
#[derive(Debug)]
pub(crate) struct WholeBody(pub(crate) Bytes);

impl FromRequest<Arc<HttpState>> for WholeBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &Arc<HttpState>) -> Result<Self, Problem> {
        read_body(request, state, MAX_BODY_BYTES).await.map(Self)
    }
}

/// Reads the whole body of a request.
///
/// # Errors
/// It is longer than `limit` bytes, or does not arrive in time.
pub(crate) async fn read_body(
    request: Request,
    state: &HttpState,
    limit: usize,
) -> Result<Bytes, Problem> {
    let reading = to_bytes(request.into_body(), limit);
    match within(state.parts.clock.as_ref(), BODY_TIME, reading).await {
        Ok(Ok(body)) => Ok(body),
        // The only other error is a client that disconnects, which reads no response.
        Ok(Err(_)) => {
            let detail = format!("the body is longer than {limit} bytes");
            Err(Problem::too_large(detail))
        }
        Err(_) => {
            let detail = format!("the body did not arrive within {} seconds", BODY_TIME.as_secs());
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "urn:avocet:problem:slow", detail))
        }
    }
}

#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<HttpState>> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &Arc<HttpState>) -> Result<Self, Problem> {
        check_is_json(request.headers())?;
        let WholeBody(body) = WholeBody::from_request(request, state).await?;
        // A list would be read as the fields of the type in their order.
        if body.trim_ascii_start().starts_with(b"[") {
            return Err(Problem::bad_request("send a JSON object, not a list"));
        }
        let read = decode_json(&body);
        read.map(Self).map_err(|error| Problem::bad_request(plain_json(&error)))
    }
}

/// Refuses a body that is not labelled as JSON.
///
/// # Errors
/// The problem names the header.
pub(crate) fn check_is_json(headers: &HeaderMap) -> Result<(), Problem> {
    if is_json(headers) {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "urn:avocet:problem:media-type",
        "send the body as JSON, with the header `Content-Type: application/json`",
    ))
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = value.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
    media.eq_ignore_ascii_case("application/json")
        || (media.len() > 5 && media.to_ascii_lowercase().ends_with("+json"))
}

/// The parameters of a query string. An unknown one is an error if the type says so.
#[derive(Debug)]
pub(crate) struct QueryPart<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryPart<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = Query::<T>::from_request_parts(parts, state).await;
        read.map(|Query(query)| Self(query))
            .map_err(|error| Problem::bad_request(error.body_text()))
    }
}

#[derive(Debug)]
pub(crate) struct PathPart<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathPart<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = Path::<T>::from_request_parts(parts, state).await;
        read.map(|Path(path)| Self(path)).map_err(|error: PathRejection| {
            Problem::bad_request(format!("the path cannot be read: {}", error.body_text()))
        })
    }
}

/// The value of the header Idempotency-Key; `None` if the request has none.
#[derive(Debug)]
pub(crate) struct IdempotencyKey(pub(crate) Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut values = parts.headers.get_all("idempotency-key").iter();
        let Some(value) = values.next() else { return Ok(Self(None)) };
        let key = value.to_str().ok().filter(|_| values.next().is_none());
        let key = key.ok_or_else(|| {
            Problem::bad_request("send the header Idempotency-Key once, in ASCII characters")
        })?;
        // The key may stand in quotation marks (structured fields, RFC 9651).
        let inner = key.strip_prefix('"').and_then(|key| key.strip_suffix('"'));
        Ok(Self(Some(inner.unwrap_or(key).to_owned())))
    }
}
