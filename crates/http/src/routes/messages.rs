//! Messages to the agent and texts to chats.

use std::sync::Arc;

use avocet_gateway::{Ask, Send};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::caller::HttpCaller;
use crate::input::{IdempotencyKey, JsonBody, PathPart, QueryPart};
use crate::problem::Problem;
use crate::state::{HttpState, LONGEST_WAIT};

/// A message to the agent.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct NewMessage {
    /// The conversation, such as `terminal:local:me`. The reply goes to its chat.
    #[cfg_attr(test, schema(example = "terminal:local:me"))]
    session: String,
    /// The text.
    #[cfg_attr(test, schema(example = "count to 3"))]
    text: String,
    /// Files, in a chat of the web console: uploads of `/v1/files`. Then the text may be empty.
    #[serde(default)]
    attachments: Vec<MessageFile>,
}

/// A file of a message.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct MessageFile {
    /// The reference of the upload.
    reference: String,
    /// The way in which a platform would show it: `image`, `video`, `document` and others. Default:
    /// `document`.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// The file's name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The media type (RFC 6838).
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    /// The size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

/// A message that is in the log.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct AcceptedMessage {
    /// The number of the message.
    #[cfg_attr(test, schema(value_type = String, example = "m1"))]
    id: Value,
    /// `true` if the message is a repetition.
    #[cfg_attr(test, schema(value_type = bool))]
    duplicate: Value,
}

/// The progress of a message.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct MessageProgress {
    /// The number of the message.
    #[cfg_attr(test, schema(example = "m1"))]
    pub(crate) id: String,
    /// The conversation.
    pub(crate) session: String,
    /// The turn that answers it; null before a turn began.
    pub(crate) turn: Option<String>,
    /// `replied`, `error`, `dropped`, `merged` or `stopped`; null before the end.
    pub(crate) outcome: Option<String>,
    /// The text of the reply, the error or the notice; null before the end.
    pub(crate) reply: Option<String>,
}

/// A text for a chat.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSend {
    /// The chat, such as `telegram:main:123456789`.
    #[cfg_attr(test, schema(example = "terminal:local:me"))]
    chat: String,
    /// The text, in Markdown.
    text: String,
}

/// A text that is in the outbox.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct AcceptedSend {
    /// The number of the text's first delivery.
    #[cfg_attr(test, schema(value_type = String, example = "o1"))]
    delivery: Value,
    /// `true` if the text is a repetition.
    #[cfg_attr(test, schema(value_type = bool))]
    duplicate: Value,
}

/// The query of a message's progress.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub(crate) struct WaitQuery {
    /// Seconds to wait for the outcome, at most 600. Default: 0.
    #[cfg_attr(test, param(maximum = 600))]
    wait: u64,
}

/// Send a message to the agent. The response comes after the commit.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/messages", tag = "messages", request_body = NewMessage,
    params(("Idempotency-Key" = Option<String>, Header, description = "Identifies repetitions of the same message")),
    responses(
        (status = 202, description = "The message is in the log", body = AcceptedMessage),
        (status = 200, description = "A repetition: the message was accepted before", body = AcceptedMessage),
        (status = 409, description = "The key was used for another text", body = Problem, content_type = "application/problem+json"),
        Problem,
    ),
))]
pub(crate) async fn publish(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    IdempotencyKey(key): IdempotencyKey,
    JsonBody(NewMessage { session, text, attachments }): JsonBody<NewMessage>,
) -> Result<Response, Problem> {
    let mut params = json!({ "session": session, "text": text, "attachments": attachments });
    add_key(&mut params, key);
    let mut accepted = state.call::<Ask>(&caller, params).await?;
    let (id, duplicate) = (accepted["message"].take(), accepted["duplicate"].take());
    let location = format!("/v1/messages/{}", id.as_str().unwrap_or_default());
    let status = accepted_or_repeated(&duplicate);
    Ok((status, [(LOCATION, location)], Json(AcceptedMessage { id, duplicate })).into_response())
}

/// Show the progress of a message, and wait for its outcome.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/messages/{id}", tag = "messages",
    params(("id" = String, Path, pattern = "^m[0-9]+$", description = "The number of the message, such as `m1`"), WaitQuery),
    responses((status = 200, description = "The progress", body = MessageProgress), Problem),
))]
pub(crate) async fn show(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
    QueryPart(WaitQuery { wait }): QueryPart<WaitQuery>,
) -> Result<Json<MessageProgress>, Problem> {
    if wait > LONGEST_WAIT {
        let detail = format!("wait is {wait}; it must be from 0 to {LONGEST_WAIT} seconds");
        return Err(Problem::bad_request(detail));
    }
    let _place = if wait > 0 { Some(state.long_request()?) } else { None };
    let status = state.wait(&caller, &id, wait).await?;
    let progress = serde_json::from_value(status);
    progress.map(Json).map_err(|error| Problem::unavailable(error.to_string()))
}

/// Deliver a text to a chat as it is. The response comes after the commit.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/sends", tag = "messages", request_body = NewSend,
    params(("Idempotency-Key" = Option<String>, Header, description = "Identifies repetitions of the same text")),
    responses(
        (status = 202, description = "The text is in the outbox", body = AcceptedSend),
        (status = 200, description = "A repetition: the text was accepted before", body = AcceptedSend),
        (status = 409, description = "The key was used for another text", body = Problem, content_type = "application/problem+json"),
        Problem,
    ),
))]
pub(crate) async fn send(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    IdempotencyKey(key): IdempotencyKey,
    JsonBody(NewSend { chat, text }): JsonBody<NewSend>,
) -> Result<Response, Problem> {
    let mut params = json!({ "chat": chat, "text": text });
    add_key(&mut params, key);
    let mut sent = state.call::<Send>(&caller, params).await?;
    let (delivery, duplicate) = (sent["delivery"].take(), sent["duplicate"].take());
    let status = accepted_or_repeated(&duplicate);
    Ok((status, Json(AcceptedSend { delivery, duplicate })).into_response())
}

/// Adds the idempotency key of a request to the parameters of its method.
pub(crate) fn add_key(params: &mut Value, key: Option<String>) {
    if let Some(key) = key {
        params["key"] = key.into();
    }
}

/// Returns 202 for new work and 200 for a repetition.
pub(crate) fn accepted_or_repeated(duplicate: &Value) -> StatusCode {
    if *duplicate == Value::Bool(true) { StatusCode::OK } else { StatusCode::ACCEPTED }
}
