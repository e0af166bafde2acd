//! The models: the agent of a conversation, and each profile by its name.

use std::sync::Arc;

use avocet_protocol::access::ClientRole;
use axum::Json;
use axum::extract::State;
use serde::Serialize;

use super::error::OpenAiError;
use crate::caller::HttpCaller;
use crate::input::PathPart;
use crate::state::HttpState;

/// The model that stands for the conversation's own profile.
pub(crate) const AGENT: &str = "avocet";

/// A model of OpenAI's API.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct ModelObject {
    /// `avocet`, or the name of a profile.
    id: String,
    object: &'static str,
    /// Always 0.
    created: i64,
    owned_by: &'static str,
}

/// All models.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct ModelList {
    object: &'static str,
    data: Vec<ModelObject>,
}

fn model(id: &str) -> ModelObject {
    ModelObject { id: id.to_owned(), object: "model", created: 0, owned_by: AGENT }
}

/// Returns the names of the models that a client may name. Only an operator chooses profiles.
fn names(state: &HttpState, caller: &HttpCaller) -> Vec<String> {
    let profiles = state.parts.agents.now();
    let is_operator = caller.0.role >= ClientRole::Operator;
    let profiles = profiles.iter().filter(|_| is_operator).map(|profile| profile.name.clone());
    std::iter::once(AGENT.to_owned()).chain(profiles.filter(|name| name != AGENT)).collect()
}

/// Returns the profile that a model names; `None` for the conversation's own.
///
/// # Errors
/// There is no such model.
pub(crate) fn profile_of_model(
    state: &HttpState,
    caller: &HttpCaller,
    model: &str,
) -> Result<Option<String>, OpenAiError> {
    if model == AGENT {
        return Ok(None);
    }
    let names = names(state, caller);
    match names.iter().find(|name| *name == model) {
        Some(name) => Ok(Some(name.clone())),
        None => Err(OpenAiError::no_model(format!(
            "there is no model {model:?}; the models are {}",
            names.join(", ")
        ))),
    }
}

/// List the models: `avocet` for the conversation's own profile, and each profile by its name.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/models", tag = "openai",
    responses((status = 200, description = "The list", body = ModelList), OpenAiError),
))]
pub(crate) async fn list(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
) -> Json<ModelList> {
    let data = names(&state, &caller).iter().map(|name| model(name)).collect();
    Json(ModelList { object: "list", data })
}

/// Show a model.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/models/{model}", tag = "openai",
    params(("model" = String, Path, description = "`avocet`, or the name of a profile")),
    responses((status = 200, description = "The model", body = ModelObject), OpenAiError),
))]
pub(crate) async fn show(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(name): PathPart<String>,
) -> Result<Json<ModelObject>, OpenAiError> {
    profile_of_model(&state, &caller, &name)?;
    Ok(Json(model(&name)))
}
