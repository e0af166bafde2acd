//! The list of models: one, the agent.

use axum::Json;
use serde_json::{Value, json};

use super::error::OpenAiError;
use crate::input::PathPart;
use crate::problem::Problem;

/// The name of the agent as a model.
pub(crate) const AGENT: &str = "avocet";

fn agent() -> Value {
    json!({ "id": AGENT, "object": "model", "created": 0, "owned_by": AGENT })
}

/// List the models: one, the agent.
#[utoipa::path(
    get, path = "/v1/models", tag = "openai",
    responses((status = 200, description = "The list", body = Object), OpenAiError),
)]
pub(crate) async fn list() -> Json<Value> {
    Json(json!({ "object": "list", "data": [agent()] }))
}

/// Show a model.
#[utoipa::path(
    get, path = "/v1/models/{model}", tag = "openai",
    params(("model" = String, Path, description = "`avocet`")),
    responses((status = 200, description = "The model", body = Object), OpenAiError),
)]
pub(crate) async fn show(PathPart(model): PathPart<String>) -> Result<Json<Value>, OpenAiError> {
    if model == AGENT {
        return Ok(Json(agent()));
    }
    Err(Problem::not_found(format!("there is no model {model:?}; the agent is {AGENT:?}")).into())
}
