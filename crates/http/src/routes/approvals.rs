//! Calls that wait for an approval.

use std::sync::Arc;

use avocet_gateway::{Decide, ListApprovals};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::caller::HttpCaller;
use crate::input::{JsonBody, PathPart, QueryPart};
use crate::problem::Problem;
use crate::state::HttpState;

/// A page of a list that continues after a row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub(crate) struct PageAfter {
    /// The most rows, from 1 to 500. Default: 50.
    #[cfg_attr(test, param(minimum = 1, maximum = 500))]
    limit: u32,
    /// The id of the last row of the page before.
    after: Option<String>,
}

impl Default for PageAfter {
    fn default() -> Self {
        Self { limit: 50, after: None }
    }
}

impl PageAfter {
    pub(crate) fn params(self) -> Value {
        json!({ "limit": self.limit, "after": self.after })
    }
}

/// A decision about a call.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct NewDecision {
    /// `once`, `for_session` or `denied`.
    #[cfg_attr(test, schema(example = "once", pattern = "^(once|for_session|denied)$"))]
    decision: String,
    /// The reason of a denial, for the model.
    why: Option<String>,
}

/// List the calls that wait for an approval.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/approvals", tag = "approvals", params(PageAfter),
    responses((status = 200, description = "A page; one with fewer rows than `limit` is the last"), Problem),
))]
pub(crate) async fn list(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    QueryPart(page): QueryPart<PageAfter>,
) -> Result<Json<Value>, Problem> {
    state.call::<ListApprovals>(&caller, page.params()).await.map(Json)
}

/// Approve or deny a call.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/approvals/{id}", tag = "approvals", request_body = NewDecision,
    params(("id" = String, Path, pattern = "^w[0-9]+$", description = "The id of the approval, such as `w7`")),
    responses((status = 204, description = "The decision is in the log"), Problem),
))]
pub(crate) async fn decide(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
    JsonBody(NewDecision { decision, why }): JsonBody<NewDecision>,
) -> Result<StatusCode, Problem> {
    let mut params = json!({ "id": id, "decision": decision });
    if let Some(why) = why {
        params["why"] = why.into();
    }
    state.call::<Decide>(&caller, params).await?;
    Ok(StatusCode::NO_CONTENT)
}
