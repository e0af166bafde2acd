//! Responses that are in the log.

use std::sync::Arc;

use avocet_gateway::DeleteSession;
use avocet_protocol::store::MessageStatus;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::{Value, json};

use super::answer::TurnAnswer;
use super::conversation::status_of_response;
use super::error::OpenAiError;
use super::models::AGENT;
use super::response_object::ResponseObject;
use crate::caller::HttpCaller;
use crate::input::PathPart;
use crate::problem::Problem;
use crate::state::HttpState;

/// A response that was deleted.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct DeletedResponse {
    id: String,
    object: &'static str,
    deleted: bool,
}

// The body stays a plain object: its fields are those of OpenAI's specification, and differ with the
// state of the response.
/// Show a response as far as it is known.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/responses/{id}", tag = "openai",
    params(("id" = String, Path, description = "The id, such as `resp_m1`")),
    responses((status = 200, description = "The response", body = Object), OpenAiError),
))]
pub(crate) async fn show_response(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<Json<Value>, OpenAiError> {
    let status = status_of_response(&state, &caller, &id, "id").await?;
    let created = status.received_at.map_or(0, |at| at.0 / 1000);
    let response = ResponseObject::new(status.id, created, AGENT.to_owned(), None);
    let Some(outcome) = status.outcome else { return Ok(Json(response.open())) };
    Ok(Json(match TurnAnswer::new(status, outcome) {
        Ok(answer) => response.whole_answer(&answer),
        Err(error) => response.without_answer(&error),
    }))
}

/// Delete a response, with the conversation of one request to which it belongs.
#[cfg_attr(test, utoipa::path(
    delete, path = "/v1/responses/{id}", tag = "openai",
    params(("id" = String, Path, description = "The id, such as `resp_m1`")),
    responses((status = 200, description = "The response is deleted", body = DeletedResponse), OpenAiError),
))]
pub(crate) async fn remove_response(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<Json<DeletedResponse>, OpenAiError> {
    let MessageStatus { session, .. } = status_of_response(&state, &caller, &id, "id").await?;
    if !session.is_one_off() {
        return Err(Problem::bad_request(format!(
            "{id} belongs to the conversation {session}; delete it with DELETE \
             /v1/sessions/{session}"
        ))
        .into());
    }
    state.call::<DeleteSession>(&caller, json!({ "session": session })).await?;
    Ok(Json(DeletedResponse { id, object: "response", deleted: true }))
}
