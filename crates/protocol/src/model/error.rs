//! The reasons why a model gives no answer.

use std::fmt;
use std::time::Duration;

/// The reason why a model gave no answer. The text says how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The key is missing or wrong. The operator can fix it.
    #[error("{model} refused the key ({detail}); check api_key in the configuration")]
    Unauthorized {
        /// `provider/model`.
        model: String,
        /// The provider's message.
        detail: ModelErrorDetail,
    },
    /// The model does not exist, its use is unpaid, or the request is unsuitable. The operator can
    /// fix it.
    #[error("{model} refused the request: {detail}")]
    Refused {
        /// `provider/model`.
        model: String,
        /// The provider's message.
        detail: ModelErrorDetail,
        /// `true` in the first two cases: any other request would be refused too.
        lasting: bool,
    },
    /// The conversation is too long for the model. The user can begin a new one.
    #[error("the conversation is too long for {model} ({detail}); start a new one with /new")]
    TooLong {
        /// `provider/model`.
        model: String,
        /// The provider's message.
        detail: ModelErrorDetail,
        /// The model's window ([`context`](crate::model::ModelFacts::context)), if it is known or the refusal names it.
        window: Option<u64>,
    },
    /// Too many requests, or the provider is overloaded. A later retry can help.
    #[error("{model} {} ({detail}); try again {}", trouble(detail.status), when(*retry_after))]
    Busy {
        /// `provider/model`.
        model: String,
        /// The provider's message.
        detail: ModelErrorDetail,
        /// The time for which the provider asks clients to wait.
        retry_after: Option<Duration>,
    },
    /// The server cannot be reached. The operator can fix it.
    #[error("{model} cannot be reached ({detail})")]
    Unreachable {
        /// `provider/model`.
        model: String,
        /// The error of the connection.
        detail: ModelErrorDetail,
    },
    /// A timeout: connect, first token, gap between tokens, or total.
    #[error("{model} did not answer in time: {detail}")]
    TimedOut {
        /// `provider/model`.
        model: String,
        /// The exceeded limit and its length.
        detail: ModelErrorDetail,
    },
    /// The answer broke off or is malformed. The provider can fix it.
    #[error("{model} sent an answer that cannot be read: {detail}")]
    BadAnswer {
        /// `provider/model`.
        model: String,
        /// The fault in the answer.
        detail: ModelErrorDetail,
    },
}

impl ModelError {
    /// Returns `true` if the model may have read the request, which then has to be paid.
    #[must_use]
    pub fn may_have_cost(&self) -> bool {
        match self {
            Self::TimedOut { .. } | Self::BadAnswer { .. } => true,
            Self::Unauthorized { .. }
            | Self::Refused { .. }
            | Self::TooLong { .. }
            | Self::Busy { .. }
            | Self::Unreachable { .. } => false,
        }
    }

    /// Returns `true` if a retry can help.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unauthorized { .. } | Self::Refused { .. } | Self::TooLong { .. } => false,
            Self::Busy { .. }
            | Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::BadAnswer { .. } => true,
        }
    }
}

/// What a [`ModelError`] adds to its kind. Shown as `429: slow down`, or without the missing part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelErrorDetail {
    /// The HTTP status of the answer; `None` if the error has no answer with a status.
    pub status: Option<u16>,
    /// The provider's message or the fault, without secrets. May be empty if there is a status.
    pub text: String,
}

impl ModelErrorDetail {
    /// The detail of an answer with this HTTP status.
    #[must_use]
    pub fn with_status(status: u16, text: impl Into<String>) -> Self {
        Self { status: Some(status), text: text.into() }
    }
}

/// The detail of an error without a status.
impl<T: Into<String>> From<T> for ModelErrorDetail {
    fn from(text: T) -> Self {
        Self { status: None, text: text.into() }
    }
}

impl fmt::Display for ModelErrorDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status, self.text.as_str()) {
            (None, text) => f.write_str(text),
            (Some(status), "") => write!(f, "{status}"),
            (Some(status), text) => write!(f, "{status}: {text}"),
        }
    }
}

/// Describes a temporary fault by its status.
fn trouble(status: Option<u16>) -> &'static str {
    match status {
        Some(500 | 501 | 502 | 504) => "has an internal error",
        _ => "is busy",
    }
}

/// Describes a delay in words: "in about an hour". `None` is "later".
fn when(delay: Option<Duration>) -> String {
    let rounded = |unit: u64, seconds: u64| seconds.saturating_add(unit / 2) / unit;
    let about = |count: u64, one: &str, many: &str| match count {
        1 => format!("in about {one}"),
        _ => format!("in about {count} {many}"),
    };
    match delay.map(|delay| delay.as_secs()) {
        None => "later".to_owned(),
        Some(..=1) => "in a moment".to_owned(),
        Some(seconds @ ..45) => format!("in {seconds} seconds"),
        Some(seconds @ ..2700) => about(rounded(60, seconds), "a minute", "minutes"),
        Some(seconds @ ..79_200) => about(rounded(3600, seconds), "an hour", "hours"),
        Some(seconds) => about(rounded(86_400, seconds), "a day", "days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_error_names_the_time_to_try_again() {
        let table = [
            (None, "later"),
            (Some(0), "in a moment"),
            (Some(20), "in 20 seconds"),
            (Some(60), "in about a minute"),
            (Some(400), "in about 7 minutes"),
            (Some(3600), "in about an hour"),
            (Some(9000), "in about 3 hours"),
            (Some(86_400), "in about a day"),
            (Some(u64::MAX), "in about 213503982334601 days"),
        ];
        for (seconds, expected) in table {
            let retry_after = seconds.map(Duration::from_secs);
            let (model, detail) =
                ("a/b".to_owned(), ModelErrorDetail::with_status(429, "slow down"));
            let error = ModelError::Busy { model, detail, retry_after }.to_string();
            assert_eq!(error, format!("a/b is busy (429: slow down); try again {expected}"));
        }
    }

    #[test]
    fn busy_error_tells_an_internal_error_from_too_many_requests() {
        for (status, expected) in [(500, "has an internal error"), (503, "is busy")] {
            let (model, detail) = ("a/b".to_owned(), ModelErrorDetail::with_status(status, "oops"));
            let error = ModelError::Busy { model, detail, retry_after: None }.to_string();
            assert!(error.starts_with(&format!("a/b {expected} (")), "{error}");
        }
    }
}
