//! Jobs: long tasks in sessions of their own.

use std::sync::Arc;

use avocet_gateway::{CancelJob, ListJobs, ShowJob, SubmitJob};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::messages::{accepted_or_repeated, add_key};
use crate::caller::HttpCaller;
use crate::input::{IdempotencyKey, JsonBody, PathPart, QueryPart};
use crate::problem::Problem;
use crate::state::HttpState;

/// The page of the list of jobs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub(crate) struct JobsQuery {
    /// The most rows, from 1 to 500. Default: 50.
    #[cfg_attr(test, param(minimum = 1, maximum = 500))]
    limit: u32,
    /// The last job of the page before, such as `j3`.
    before: Option<String>,
}

impl Default for JobsQuery {
    fn default() -> Self {
        Self { limit: 50, before: None }
    }
}

/// Submit a job: the parameters of the socket's method `job.submit`.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/jobs", tag = "jobs",
    params(("Idempotency-Key" = Option<String>, Header, description = "Identifies repetitions of the same job")),
    responses(
        (status = 202, description = "The job is in the log"),
        (status = 200, description = "A repetition: the job was accepted before"),
        Problem,
    ),
))]
pub(crate) async fn submit(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    IdempotencyKey(key): IdempotencyKey,
    JsonBody(job): JsonBody<Map<String, Value>>,
) -> Result<Response, Problem> {
    let mut params = Value::Object(job);
    add_key(&mut params, key);
    let submitted = state.call::<SubmitJob>(&caller, params).await?;
    Ok((accepted_or_repeated(&submitted["is_duplicate"]), Json(submitted)).into_response())
}

/// List jobs, the newest first.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/jobs", tag = "jobs", params(JobsQuery),
    responses((status = 200, description = "A page; one with fewer rows than `limit` is the last"), Problem),
))]
pub(crate) async fn list(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    QueryPart(JobsQuery { limit, before }): QueryPart<JobsQuery>,
) -> Result<Json<Value>, Problem> {
    state.call::<ListJobs>(&caller, json!({ "limit": limit, "before": before })).await.map(Json)
}

/// Show a job.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/jobs/{id}", tag = "jobs",
    params(("id" = String, Path, pattern = "^j[0-9]+$", description = "The job, such as `j3`")),
    responses((status = 200, description = "The job"), Problem),
))]
pub(crate) async fn show(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<Json<Value>, Problem> {
    state.call::<ShowJob>(&caller, json!({ "id": id })).await.map(Json)
}

/// Cancel a job.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/jobs/{id}/cancel", tag = "jobs",
    params(("id" = String, Path, pattern = "^j[0-9]+$", description = "The job, such as `j3`")),
    responses(
        (status = 204, description = "The job is cancelled"),
        (status = 409, description = "The job has ended", body = Problem, content_type = "application/problem+json"),
        Problem,
    ),
))]
pub(crate) async fn cancel(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<StatusCode, Problem> {
    state.call::<CancelJob>(&caller, json!({ "id": id })).await?;
    Ok(StatusCode::NO_CONTENT)
}
