//! The configuration file. Its text may contain secrets, so no answer is stored.

use std::sync::Arc;

use avocet_gateway::{CheckConfig, FormConfig, SaveConfig, ShowConfig};
use axum::Json;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::caller::HttpCaller;
use crate::input::JsonBody;
use crate::problem::Problem;
use crate::state::HttpState;

/// A text to check.
#[derive(Deserialize, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckedText {
    /// The text of a configuration.
    text: String,
}

/// A text to show as a form, with changes.
#[derive(Deserialize, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfigEdits {
    /// The text of a configuration.
    text: String,
    /// The changes, in their order.
    #[serde(default)]
    edits: Vec<TextEdit>,
}

/// A change of one key.
#[derive(Deserialize, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct TextEdit {
    /// The key, as TOML writes it: `models."local/*".context`.
    key: String,
    /// The new value; an empty object adds a table. `null` removes the key or the table.
    #[serde(default)]
    value: Value,
    /// The new last name of a table. Its keys and comments stay, and `value` does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rename: Option<String>,
}

/// A text to save.
#[derive(Deserialize, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedText {
    /// The text of a configuration.
    text: String,
    /// The digest of the text that was edited.
    digest: String,
}

/// Show the configuration file.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/config", tag = "configuration",
    responses((status = 200, description = "`path`, `text`, `digest` and `is_writable`"), Problem),
))]
pub(crate) async fn show(State(state): State<Arc<HttpState>>, caller: HttpCaller) -> Response {
    unstored(state.call::<ShowConfig>(&caller, Value::Null).await)
}

/// Check a text of a configuration. The file stays as it is.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/config/check", tag = "configuration", request_body = CheckedText,
    responses((status = 200, description = "`faults` and `warnings`, each with `line`, `key` and `message`"), Problem),
))]
pub(crate) async fn check(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    JsonBody(text): JsonBody<CheckedText>,
) -> Response {
    unstored(state.call::<CheckConfig>(&caller, json!(text)).await)
}

/// Apply changes to a text of a configuration, and describe it as a form. The file stays as it is.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/config/form", tag = "configuration", request_body = ConfigEdits,
    responses((status = 200, description = "The `text` with the changes, its `check`, its `tables` with their fields, and the `additions`"), Problem),
))]
pub(crate) async fn form(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    JsonBody(text): JsonBody<ConfigEdits>,
) -> Response {
    unstored(state.call::<FormConfig>(&caller, json!(text)).await)
}

/// Replace the configuration file. The daemon notices the change within a few seconds.
#[cfg_attr(test, utoipa::path(
    put, path = "/v1/config", tag = "configuration", request_body = SavedText,
    responses(
        (status = 200, description = "The `digest` of the new text"),
        (status = 400, description = "No daemon would start with the text; `detail` has the faults", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The file has changed since `digest`", body = Problem, content_type = "application/problem+json"),
        Problem,
    ),
))]
pub(crate) async fn save(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    JsonBody(text): JsonBody<SavedText>,
) -> Response {
    unstored(state.call::<SaveConfig>(&caller, json!(text)).await)
}

fn unstored(answer: Result<Value, Problem>) -> Response {
    let mut response = answer.map(Json).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
