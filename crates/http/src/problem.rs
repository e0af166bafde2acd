//! Errors as `application/problem+json` (RFC 9457).

use avocet_gateway::RpcError;
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};

/// An error (RFC 9457).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Problem {
    /// The kind of error, as a stable name.
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    /// The kind of error in words.
    pub(crate) title: &'static str,
    /// The status code of the response.
    pub(crate) status: u16,
    /// The fault of this request, and its correction.
    pub(crate) detail: String,
    /// The same error for clients of OpenAI's APIs, in answers of the checks in front of all paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(value_type = Option<Object>, nullable = false))]
    pub(crate) error: Option<Box<Value>>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Error");
        Self { kind, title, status: status.as_u16(), detail: detail.into(), error: None }
    }

    /// Adds the form that OpenAI's clients read: they ignore the other members (RFC 9457 allows more).
    pub(crate) fn for_all_clients(self) -> Self {
        Self { error: Some(Box::new(self.to_openai_error())), ..self }
    }

    /// Returns the object under the key `error` of OpenAI's errors.
    pub(crate) fn to_openai_error(&self) -> Value {
        let kind = match self.status {
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            400..500 => "invalid_request_error",
            _ => "server_error",
        };
        json!({ "message": self.detail, "type": kind, "param": null, "code": self.kind })
    }

    /// The request has an invalid part.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "urn:avocet:problem:invalid-request", detail)
    }

    /// The request is for another host, or from a page of another origin.
    pub(crate) fn foreign(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "urn:avocet:problem:foreign-request", detail)
    }

    /// The token is missing or unknown.
    pub(crate) fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "urn:avocet:problem:unauthorized", detail)
    }

    /// The path or the resource does not exist.
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "urn:avocet:problem:not-found", detail)
    }

    /// The body or a part of it is larger than its limit.
    pub(crate) fn too_large(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "urn:avocet:problem:too-large", detail)
    }

    /// The request may succeed later.
    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "urn:avocet:problem:unavailable", detail)
    }

    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl From<RpcError> for Problem {
    /// Translates the code of a method's error into a status.
    fn from(RpcError { code, message, .. }: RpcError) -> Self {
        match code {
            RpcError::PARSE | RpcError::REQUEST | RpcError::PARAMS => Self::bad_request(message),
            RpcError::NOT_ALLOWED => {
                Self::new(StatusCode::FORBIDDEN, "urn:avocet:problem:not-allowed", message)
            }
            RpcError::NOT_FOUND => Self::not_found(message),
            RpcError::UNAVAILABLE => Self::unavailable(message),
            RpcError::CONFLICT => {
                Self::new(StatusCode::CONFLICT, "urn:avocet:problem:conflict", message)
            }
            _ => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "urn:avocet:problem:internal",
                format!("unexpected error {code}: {message}"),
            ),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut headers = HeaderMap::new();
        let mut add = |name: HeaderName, value: &'static str| {
            headers.insert(name, HeaderValue::from_static(value));
        };
        add(CONTENT_TYPE, "application/problem+json");
        match self.status() {
            StatusCode::UNAUTHORIZED => add(WWW_AUTHENTICATE, "Bearer"),
            StatusCode::SERVICE_UNAVAILABLE => add(RETRY_AFTER, "1"),
            _ => {}
        }
        // Texts and numbers can always be serialised.
        let body = serde_json::to_vec(&self).unwrap_or_default();
        (self.status(), headers, body).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_status_follows_the_code_of_the_method() {
        let table = [
            (RpcError::PARSE, 400),
            (RpcError::REQUEST, 400),
            (RpcError::PARAMS, 400),
            (RpcError::NOT_ALLOWED, 403),
            (RpcError::NOT_FOUND, 404),
            (RpcError::CONFLICT, 409),
            (RpcError::UNAVAILABLE, 503),
            (RpcError::METHOD, 500),
            (-1, 500),
        ];
        for (code, status) in table {
            let problem = Problem::from(RpcError { code, message: "why".to_owned(), data: None });
            assert_eq!(problem.status, status, "{code}");
            assert!(problem.detail.contains("why"));
        }
    }
}
