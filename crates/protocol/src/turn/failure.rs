//! The reason why a turn has no answer, for programs. People read the notice of the turn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::model::ModelError;

/// The reason why a turn ended without an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnFailure {
    /// The kind of reason.
    pub code: FailureCode,
    /// The model that failed, as `provider/model`; `None` if no model did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The HTTP status of the provider, from 100 to 599; `None` if it sent none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The seconds for which the provider asks its clients to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
}

/// A request to a model that failed and was made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRequest {
    /// The start.
    pub began: Timestamp,
    /// The time of the failure.
    pub ended: Timestamp,
    /// The model and the reason.
    pub failure: TurnFailure,
}

/// The kind of reason why a turn ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// The provider got too many requests.
    RateLimited,
    /// The credit or the quota at the provider is used up.
    Quota,
    /// The provider refused the API key.
    KeyRefused,
    /// The conversation is too long for the model.
    ContextTooLong,
    /// The provider is overloaded, has an internal error, or cannot be reached.
    Unavailable,
    /// The model did not answer in time.
    TimedOut,
    /// The answer broke off or is malformed.
    BadAnswer,
    /// A filter of the provider refused the request or the answer.
    RefusedByFilter,
    /// The provider refused the request for another reason.
    Refused,
    /// A limit or a budget of the configuration was reached.
    LimitReached,
    /// The program itself failed.
    Internal,
}

impl FailureCode {
    /// The word in JSON, such as `rate_limited`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Quota => "quota",
            Self::KeyRefused => "key_refused",
            Self::ContextTooLong => "context_too_long",
            Self::Unavailable => "unavailable",
            Self::TimedOut => "timed_out",
            Self::BadAnswer => "bad_answer",
            Self::RefusedByFilter => "refused_by_filter",
            Self::Refused => "refused",
            Self::LimitReached => "limit_reached",
            Self::Internal => "internal",
        }
    }
}

impl From<FailureCode> for TurnFailure {
    /// A failure without a model.
    fn from(code: FailureCode) -> Self {
        Self { code, model: None, status: None, retry_after_seconds: None }
    }
}

impl From<&ModelError> for TurnFailure {
    fn from(error: &ModelError) -> Self {
        let (model, detail) = match error {
            ModelError::Unauthorized { model, detail }
            | ModelError::Refused { model, detail, .. }
            | ModelError::TooLong { model, detail, .. }
            | ModelError::Busy { model, detail, .. }
            | ModelError::Unreachable { model, detail }
            | ModelError::TimedOut { model, detail }
            | ModelError::BadAnswer { model, detail } => (model, detail),
        };
        let status = detail.status;
        let code = match (error, status) {
            (ModelError::Unauthorized { .. }, _) => FailureCode::KeyRefused,
            (ModelError::TooLong { .. }, _) => FailureCode::ContextTooLong,
            (ModelError::Busy { .. }, Some(429)) => FailureCode::RateLimited,
            (ModelError::Busy { .. } | ModelError::Unreachable { .. }, _) => {
                FailureCode::Unavailable
            }
            (ModelError::TimedOut { .. }, _) => FailureCode::TimedOut,
            (ModelError::BadAnswer { .. }, _) => FailureCode::BadAnswer,
            (ModelError::Refused { .. }, Some(402 | 429)) => FailureCode::Quota,
            // A model that declines in a begun answer has no status.
            (ModelError::Refused { lasting: false, .. }, None) => FailureCode::RefusedByFilter,
            (ModelError::Refused { .. }, _) if is_filtered(&detail.text) => {
                FailureCode::RefusedByFilter
            }
            (ModelError::Refused { .. }, _) => FailureCode::Refused,
        };
        let retry_after_seconds = match error {
            ModelError::Busy { retry_after, .. } => retry_after.map(|delay| delay.as_secs().max(1)),
            _ => None,
        };
        Self { code, model: Some(model.clone()), status, retry_after_seconds }
    }
}

fn is_filtered(detail: &str) -> bool {
    ["content_filter", "content filter", "content management policy"]
        .iter()
        .any(|words| detail.contains(words))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::ModelErrorDetail;

    #[test]
    fn turn_failure_has_the_code_and_the_status_of_its_model_error() {
        use FailureCode::{
            BadAnswer, ContextTooLong, KeyRefused, Quota, RateLimited, Refused, RefusedByFilter,
            TimedOut, Unavailable,
        };
        let model = || "a/b".to_owned();
        // `429: slow down`, `429`, or a text without a status.
        let text = |detail: &str| {
            let (status, text) = detail.split_once(": ").unwrap_or((detail, ""));
            status.parse().map_or_else(
                |_| detail.into(),
                |status| ModelErrorDetail::with_status(status, text),
            )
        };
        let busy = |detail: &str, seconds: Option<u64>| ModelError::Busy {
            model: model(),
            detail: text(detail),
            retry_after: seconds.map(Duration::from_secs),
        };
        let refused = |detail: &str, lasting| ModelError::Refused {
            model: model(),
            detail: text(detail),
            lasting,
        };
        let unauthorized = ModelError::Unauthorized { model: model(), detail: text("401: no") };
        let long = ModelError::TooLong { model: model(), detail: text("413"), window: None };
        let unreachable = ModelError::Unreachable { model: model(), detail: text("no route: x") };
        let late = ModelError::TimedOut { model: model(), detail: text("no answer began") };
        let broken = ModelError::BadAnswer { model: model(), detail: text("it broke off") };
        let table = [
            (busy("429: slow down", Some(7)), RateLimited, Some(429), Some(7)),
            (busy("429", Some(0)), RateLimited, Some(429), Some(1)),
            (busy("503: loading", None), Unavailable, Some(503), None),
            (unreachable, Unavailable, None, None),
            (unauthorized, KeyRefused, Some(401), None),
            (long, ContextTooLong, Some(413), None),
            (late, TimedOut, None, None),
            (broken, BadAnswer, None, None),
            (refused("402: pay first", true), Quota, Some(402), None),
            (refused("429: no credit", true), Quota, Some(429), None),
            (refused("the model refuses to answer this", false), RefusedByFilter, None, None),
            (refused("400: content_filter", false), RefusedByFilter, Some(400), None),
            (refused("404: no such model", true), Refused, Some(404), None),
            (refused("there is no list of models", true), Refused, None, None),
        ];
        for (error, code, status, retry_after_seconds) in table {
            let expected = TurnFailure { code, model: Some(model()), status, retry_after_seconds };
            assert_eq!(TurnFailure::from(&error), expected, "{error}");
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }
}
