//! Failed messages.

use std::sync::Arc;

use avocet_gateway::{DropDeadLetter, ListDeadLetters, RetryDeadLetter, ShowDeadLetter};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::approvals::PageAfter;
use crate::caller::HttpCaller;
use crate::input::{PathPart, QueryPart};
use crate::problem::Problem;
use crate::state::HttpState;

/// List failed messages, the newest first.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/dead-letters", tag = "dead letters", params(PageAfter),
    responses((status = 200, description = "A page; one with fewer rows than `limit` is the last"), Problem),
))]
pub(crate) async fn list(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    QueryPart(page): QueryPart<PageAfter>,
) -> Result<Json<Value>, Problem> {
    state.call::<ListDeadLetters>(&caller, page.params()).await.map(Json)
}

/// Show a failed message.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/dead-letters/{id}", tag = "dead letters",
    params(("id" = String, Path, pattern = "^[mo][0-9]+$", description = "The id, such as `m12` or `o7`")),
    responses((status = 200, description = "The message"), Problem),
))]
pub(crate) async fn show(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<Json<Value>, Problem> {
    state.call::<ShowDeadLetter>(&caller, json!({ "id": id })).await.map(Json)
}

/// Queue a failed message again.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/dead-letters/{id}/retry", tag = "dead letters",
    params(("id" = String, Path, pattern = "^[mo][0-9]+$", description = "The id, such as `m12` or `o7`")),
    responses((status = 204, description = "The message is queued again"), Problem),
))]
pub(crate) async fn retry(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<StatusCode, Problem> {
    state.call::<RetryDeadLetter>(&caller, json!({ "id": id })).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Drop a failed message from the list.
#[cfg_attr(test, utoipa::path(
    delete, path = "/v1/dead-letters/{id}", tag = "dead letters",
    params(("id" = String, Path, pattern = "^[mo][0-9]+$", description = "The id, such as `m12` or `o7`")),
    responses((status = 204, description = "The message is no longer listed"), Problem),
))]
pub(crate) async fn discard(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<StatusCode, Problem> {
    state.call::<DropDeadLetter>(&caller, json!({ "id": id })).await?;
    Ok(StatusCode::NO_CONTENT)
}
