//! Errors in the form that OpenAI's clients read.

use avocet_protocol::turn::{FailureCode, TurnFailure};
use axum::Json;
use axum::http::StatusCode;
use axum::http::header::{HeaderValue, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::problem::Problem;

/// An error of these paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenAiError {
    problem: Box<Problem>,
    /// The code of OpenAI's own errors, if there is one for the fault.
    code: Option<&'static str>,
    /// The parameter at fault.
    param: Option<String>,
    /// `true` if the message is in the log: a repetition would ask the agent again.
    is_accepted: bool,
    /// Seconds after which the provider of the model may answer again.
    retry_after: Option<u64>,
}

impl From<Problem> for OpenAiError {
    fn from(problem: Problem) -> Self {
        let problem = Box::new(problem);
        Self { problem, code: None, param: None, is_accepted: false, retry_after: None }
    }
}

impl OpenAiError {
    /// The parameter is wrong, for this reason.
    pub(crate) fn invalid(param: &str, reason: impl std::fmt::Display) -> Self {
        let param = param.to_owned();
        Self::from(Problem::bad_request(format!("`{param}`: {reason}"))).with_param(param)
    }

    /// The parameter or its value is not supported; `code` says which of both.
    pub(crate) fn unsupported(param: &str, code: &'static str, detail: String) -> Self {
        let error = Self::from(Problem::bad_request(detail)).with_param(param.to_owned());
        Self { code: Some(code), ..error }
    }

    /// There is no such model.
    pub(crate) fn no_model(detail: String) -> Self {
        let error = Self::from(Problem::not_found(detail)).with_param("model".to_owned());
        Self { code: Some("model_not_found"), ..error }
    }

    /// The turn ended without an answer, for the reason in `detail`.
    pub(crate) fn no_answer(status: StatusCode, code: &'static str, detail: String) -> Self {
        let problem = Problem::new(status, "urn:avocet:problem:no-answer", detail);
        let problem = Box::new(problem);
        Self { problem, code: Some(code), param: None, is_accepted: true, retry_after: None }
    }

    /// The turn failed for this reason, in the words of its notice. An error of the provider that
    /// the caller can act on keeps its status. The others are errors behind this server.
    pub(crate) fn of_failure(failure: Option<&TurnFailure>, notice: String) -> Self {
        let (status, code) = failure.map_or(TURN_FAILED, status_of);
        let retry_after = failure.and_then(|failure| failure.retry_after_seconds);
        Self { retry_after, ..Self::no_answer(status, code, notice) }
    }

    fn with_param(self, param: String) -> Self {
        Self { param: Some(param), ..self }
    }

    /// The same error after the message was accepted.
    pub(crate) fn after_acceptance(self) -> Self {
        Self { is_accepted: true, ..self }
    }

    /// The fault in words.
    pub(crate) fn detail(&self) -> &str {
        &self.problem.detail
    }

    /// Returns the body of the error.
    pub(crate) fn to_json(&self) -> Value {
        let mut error = self.problem.to_openai_error();
        if let Some(code) = self.code {
            error["code"] = code.into();
        }
        if let Some(param) = &self.param {
            error["param"] = param.as_str().into();
        }
        json!({ "error": error })
    }
}

const TURN_FAILED: (StatusCode, &str) = (StatusCode::BAD_GATEWAY, "turn_failed");

/// Returns the status and the code of OpenAI's errors for a failed turn.
fn status_of(failure: &TurnFailure) -> (StatusCode, &'static str) {
    match failure.code {
        FailureCode::RateLimited => (StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded"),
        FailureCode::Quota if failure.status == Some(429) => {
            (StatusCode::TOO_MANY_REQUESTS, "insufficient_quota")
        }
        FailureCode::Quota => (StatusCode::PAYMENT_REQUIRED, "insufficient_quota"),
        FailureCode::ContextTooLong => (StatusCode::BAD_REQUEST, "context_length_exceeded"),
        FailureCode::RefusedByFilter => (StatusCode::BAD_REQUEST, "content_filter"),
        FailureCode::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        FailureCode::TimedOut => (StatusCode::GATEWAY_TIMEOUT, "timed_out"),
        // The key of the caller is good; the one of the configuration is not.
        FailureCode::KeyRefused
        | FailureCode::BadAnswer
        | FailureCode::Refused
        | FailureCode::LimitReached
        | FailureCode::Internal => TURN_FAILED,
    }
}

impl IntoResponse for OpenAiError {
    fn into_response(self) -> Response {
        let status = self.problem.status();
        // The official clients repeat most failed requests unless this header forbids it.
        let retry = if self.is_accepted { "false" } else { "true" };
        let mut response = (status, Json(self.to_json())).into_response();
        if status.is_server_error() || self.is_accepted {
            response.headers_mut().insert("x-should-retry", HeaderValue::from_static(retry));
        }
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
