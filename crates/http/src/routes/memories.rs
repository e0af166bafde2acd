//! The long-term memory.

use std::sync::Arc;

use avocet_gateway::{
    AddMemory, ForgetMemory, ListMemories, ListMemoryChanges, ShowMemory, UndoMemoryChange,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::caller::HttpCaller;
use crate::input::{JsonBody, PathPart, QueryPart};
use crate::problem::Problem;
use crate::state::HttpState;

/// The choice of memories in a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub(crate) struct MemoriesQuery {
    /// Words; memories with any of them are listed, the best match first.
    words: String,
    /// Only memories of this scope: `everyone`, `person CHANNEL:ACCOUNT:SENDER` or `chat SESSION`.
    scope: Option<String>,
    /// The most rows, from 1 to 500. Default: 50.
    #[cfg_attr(test, param(minimum = 1, maximum = 500))]
    limit: u32,
}

impl Default for MemoriesQuery {
    fn default() -> Self {
        Self { words: String::new(), scope: None, limit: 50 }
    }
}

/// The choice of changes in a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub(crate) struct ChangesQuery {
    /// Only changes of this memory, such as `m12`.
    memory: Option<String>,
    /// Only changes of memories of this scope.
    scope: Option<String>,
    /// The most rows, from 1 to 500. Default: 50.
    #[cfg_attr(test, param(minimum = 1, maximum = 500))]
    limit: u32,
}

impl Default for ChangesQuery {
    fn default() -> Self {
        Self { memory: None, scope: None, limit: 50 }
    }
}

/// A text to remember.
#[derive(Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct NewMemory {
    /// The text.
    text: String,
    /// The readers: `everyone`, `person CHANNEL:ACCOUNT:SENDER` or `chat SESSION`.
    scope: String,
}

/// List memories, the newest first, or the best match first.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/memories", tag = "memories", params(MemoriesQuery),
    responses((status = 200, description = "The memories"), Problem),
))]
pub(crate) async fn list(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    QueryPart(MemoriesQuery { words, scope, limit }): QueryPart<MemoriesQuery>,
) -> Result<Json<Value>, Problem> {
    let params = json!({ "words": words, "scope": scope, "limit": limit });
    state.call::<ListMemories>(&caller, params).await.map(Json)
}

/// Remember a text. A text that is known in its scope is not stored again.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/memories", tag = "memories", request_body = NewMemory,
    responses(
        (status = 201, description = "The new memory, with `is_new`"),
        (status = 200, description = "The known memory, with `is_new`"),
        Problem,
    ),
))]
pub(crate) async fn add(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    JsonBody(memory): JsonBody<NewMemory>,
) -> Result<Response, Problem> {
    let added = state.call::<AddMemory>(&caller, json!(memory)).await?;
    let status = if added["is_new"] == true { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(added)).into_response())
}

/// Show a memory with its changes.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/memories/{id}", tag = "memories",
    params(("id" = String, Path, description = "The memory, such as `m12`")),
    responses((status = 200, description = "The memory with `changes`"), Problem),
))]
pub(crate) async fn show(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<Json<Value>, Problem> {
    state.call::<ShowMemory>(&caller, json!({ "memory": id })).await.map(Json)
}

/// Forget a memory. To undo this, undo its last change.
#[cfg_attr(test, utoipa::path(
    delete, path = "/v1/memories/{id}", tag = "memories",
    params(("id" = String, Path, description = "The memory, such as `m12`")),
    responses((status = 204, description = "It is forgotten"), Problem),
))]
pub(crate) async fn forget(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<StatusCode, Problem> {
    state.call::<ForgetMemory>(&caller, json!({ "memory": id })).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List changes of memories, the newest first.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/memory-changes", tag = "memories", params(ChangesQuery),
    responses((status = 200, description = "The changes with the texts before and after"), Problem),
))]
pub(crate) async fn changes(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    QueryPart(ChangesQuery { memory, scope, limit }): QueryPart<ChangesQuery>,
) -> Result<Json<Value>, Problem> {
    let params = json!({ "memory": memory, "scope": scope, "limit": limit });
    state.call::<ListMemoryChanges>(&caller, params).await.map(Json)
}

/// Undo the last change of a memory.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/memory-changes/{id}/undo", tag = "memories",
    params(("id" = String, Path, description = "The change, such as `c31`")),
    responses((status = 200, description = "The memory as before the change"), Problem),
))]
pub(crate) async fn undo(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<Json<Value>, Problem> {
    state.call::<UndoMemoryChange>(&caller, json!({ "change": id })).await.map(Json)
}
