//! Errors in the form that OpenAI's clients read.

use std::collections::BTreeMap;

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use utoipa::openapi::{ContentBuilder, RefOr, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

use crate::problem::Problem;

/// An error of these paths.
#[derive(Debug)]
pub(crate) struct OpenAiError {
    problem: Problem,
    /// `true` if the message is in the log: a repetition would ask the agent again.
    is_accepted: bool,
}

impl From<Problem> for OpenAiError {
    fn from(problem: Problem) -> Self {
        Self { problem, is_accepted: false }
    }
}

impl OpenAiError {
    /// An error after the message was accepted.
    pub(crate) fn after_acceptance(problem: Problem) -> Self {
        Self { problem, is_accepted: true }
    }
}

/// Returns the body of an error.
pub(crate) fn error_body(problem: &Problem) -> Value {
    json!({ "error": error_object(problem) })
}

/// Returns the object under the key `error`.
pub(crate) fn error_object(problem: &Problem) -> Value {
    let kind = match problem.status {
        401 => "authentication_error",
        403 => "permission_error",
        400..500 => "invalid_request_error",
        _ => "server_error",
    };
    json!({ "message": problem.detail, "type": kind, "param": null, "code": problem.kind })
}

impl IntoResponses for OpenAiError {
    /// Any other status is an error. The checks in front of all paths answer with a [`Problem`].
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        let problem = utoipa::openapi::Ref::from_schema_name(Problem::name());
        let problem = ContentBuilder::new().schema(Some(problem)).build();
        let response = ResponseBuilder::new()
            .description("An object with the key `error`, or a problem (RFC 9457)")
            .content("application/json", ContentBuilder::new().build())
            .content("application/problem+json", problem)
            .build();
        [("default".to_owned(), response.into())].into()
    }
}

impl IntoResponse for OpenAiError {
    fn into_response(self) -> Response {
        let body = error_body(&self.problem);
        // The official clients repeat most failed requests unless this header forbids it.
        let retry = if self.is_accepted { "false" } else { "true" };
        let retry = (self.problem.status >= 500).then_some([("x-should-retry", retry)]);
        match retry {
            Some(retry) => (self.problem.status(), retry, Json(body)).into_response(),
            None => (self.problem.status(), Json(body)).into_response(),
        }
    }
}
