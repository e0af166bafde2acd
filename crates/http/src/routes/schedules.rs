//! Schedules: reminders and tasks at regular times.

use std::sync::Arc;

use avocet_gateway::{AddSchedule, ChangeSchedule, ListSchedules, ShowSchedule};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::messages::add_key;
use crate::caller::HttpCaller;
use crate::input::{IdempotencyKey, JsonBody, PathPart, QueryPart};
use crate::problem::Problem;
use crate::state::HttpState;

/// The choice of schedules in a list.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub(crate) struct SchedulesQuery {
    /// `true` to list schedules whose times have all passed, too. Default: `false`.
    ended: bool,
}

/// List schedules with their next times.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/schedules", tag = "schedules", params(SchedulesQuery),
    responses((status = 200, description = "The schedules"), Problem),
))]
pub(crate) async fn list(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    QueryPart(SchedulesQuery { ended }): QueryPart<SchedulesQuery>,
) -> Result<Json<Value>, Problem> {
    state.call::<ListSchedules>(&caller, json!({ "ended": ended })).await.map(Json)
}

/// Add a schedule: the parameters of the socket's method `schedule.add`.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/schedules", tag = "schedules",
    params(("Idempotency-Key" = Option<String>, Header, description = "Identifies repetitions of the same schedule")),
    responses((status = 201, description = "The schedule with its next times"), Problem),
))]
pub(crate) async fn add(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    IdempotencyKey(key): IdempotencyKey,
    JsonBody(schedule): JsonBody<Map<String, Value>>,
) -> Result<Response, Problem> {
    let mut params = Value::Object(schedule);
    add_key(&mut params, key);
    let added = state.call::<AddSchedule>(&caller, params).await?;
    Ok((StatusCode::CREATED, Json(added)).into_response())
}

/// Show a schedule with its last runs.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/schedules/{id}", tag = "schedules",
    params(("id" = String, Path, pattern = "^s[0-9]+$", description = "The schedule, such as `s2`")),
    responses((status = 200, description = "The schedule"), Problem),
))]
pub(crate) async fn show(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<Json<Value>, Problem> {
    state.call::<ShowSchedule>(&caller, json!({ "id": id })).await.map(Json)
}

/// Run a schedule once now.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/schedules/{id}/run", tag = "schedules",
    params(("id" = String, Path, pattern = "^s[0-9]+$", description = "The schedule, such as `s2`")),
    responses((status = 204, description = "It runs"), Problem),
))]
pub(crate) async fn run(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<StatusCode, Problem> {
    change(&state, &caller, &id, "run").await
}

/// Pause a schedule.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/schedules/{id}/pause", tag = "schedules",
    params(("id" = String, Path, pattern = "^s[0-9]+$", description = "The schedule, such as `s2`")),
    responses((status = 204, description = "It is paused"), Problem),
))]
pub(crate) async fn pause(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<StatusCode, Problem> {
    change(&state, &caller, &id, "pause").await
}

/// Continue a paused schedule.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/schedules/{id}/resume", tag = "schedules",
    params(("id" = String, Path, pattern = "^s[0-9]+$", description = "The schedule, such as `s2`")),
    responses((status = 204, description = "It continues"), Problem),
))]
pub(crate) async fn resume(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<StatusCode, Problem> {
    change(&state, &caller, &id, "resume").await
}

/// Delete a schedule.
#[cfg_attr(test, utoipa::path(
    delete, path = "/v1/schedules/{id}", tag = "schedules",
    params(("id" = String, Path, pattern = "^s[0-9]+$", description = "The schedule, such as `s2`")),
    responses((status = 204, description = "It is deleted"), Problem),
))]
pub(crate) async fn remove(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<StatusCode, Problem> {
    change(&state, &caller, &id, "remove").await
}

async fn change(
    state: &Arc<HttpState>,
    caller: &HttpCaller,
    id: &str,
    command: &str,
) -> Result<StatusCode, Problem> {
    state.call::<ChangeSchedule>(caller, json!({ "id": id, "command": command })).await?;
    Ok(StatusCode::NO_CONTENT)
}
