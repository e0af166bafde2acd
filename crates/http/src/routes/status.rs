//! The state of the daemon, and the cost of models.

use std::sync::Arc;

use avocet_gateway::{ListUsage, ShowStatus};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::caller::HttpCaller;
use crate::input::QueryPart;
use crate::problem::Problem;
use crate::state::HttpState;

/// The grouping and the page of costs. Missing parameters have the socket's defaults.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub(crate) struct UsageQuery {
    /// `model`, `session`, `day`, `purpose` or `schedule`. Default: `model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, param(pattern = "^(model|session|day|purpose|schedule)$"))]
    by: Option<String>,
    /// The start of the period, in milliseconds since 1970. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<i64>,
    /// The most rows, from 1 to 500. Default: 500.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, param(minimum = 1, maximum = 500))]
    limit: Option<u32>,
    /// The number of rows to skip. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, param(value_type = Option<i64>, minimum = 0, maximum = 4_294_967_295_u32))]
    skip: Option<u32>,
}

/// Show the state of the daemon, its channels and its queues.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/status", tag = "operation",
    responses((status = 200, description = "The state"), Problem),
))]
pub(crate) async fn status(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
) -> Result<Json<Value>, Problem> {
    state.call::<ShowStatus>(&caller, Value::Null).await.map(Json)
}

/// Show the cost of models. Costs are in billionths of a US dollar.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/usage", tag = "operation", params(UsageQuery),
    responses((status = 200, description = "The rows"), Problem),
))]
pub(crate) async fn usage(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    QueryPart(query): QueryPart<UsageQuery>,
) -> Result<Json<Value>, Problem> {
    state.call::<ListUsage>(&caller, json!(query)).await.map(Json)
}
