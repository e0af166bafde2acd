//! What went wrong with a request, in words that may be logged (F15).

use std::fmt;
use std::time::Duration;

use serenity::http::DiscordJsonError;

/// Why a request was not answered as it should.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    /// Too many requests (429): not before this.
    Wait(Duration),
    /// The platform does not do it.
    Refused(Refusal),
    /// The platform has trouble of its own (5xx): it may have done it.
    Server(u16),
    /// Nothing was sent: there is no connection, or it cannot be put into words.
    NotSent(&'static str),
    /// It was sent, and what became of it is not known.
    Broken(&'static str),
}

/// What the platform says when it does not do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The HTTP status, 4xx.
    pub(crate) status: u16,
    /// Discord's own code, 0 if there is none.
    pub(crate) code: isize,
    /// Discord's own words.
    pub(crate) words: String,
}

impl Fault {
    /// What reqwest says, without the URL.
    pub(crate) fn of(error: &reqwest::Error) -> Self {
        match error {
            error if error.is_connect() => Self::NotSent("no connection"),
            error if error.is_builder() => Self::NotSent("no request can be made of it"),
            error if error.is_timeout() => Self::Broken("no answer in time"),
            _ => Self::Broken("the connection broke"),
        }
    }

    /// What the platform answered with a status that is no success.
    pub(crate) fn answered(status: u16, retry_after: Option<f64>, body: &[u8]) -> Self {
        match status {
            429 => Self::Wait(wait(retry_after, body)),
            500.. => Self::Server(status),
            _ => Self::Refused(Refusal::read(status, body)),
        }
    }

    pub(crate) fn is_refused_with(&self, wanted: isize) -> bool {
        matches!(self, Self::Refused(Refusal { code, .. }) if *code == wanted)
    }

    /// The token is not known, or not any more.
    pub(crate) fn is_about_token(&self) -> bool {
        matches!(self, Self::Refused(Refusal { status: 401, .. }))
    }
}

/// How long a 429 asks to wait: its body says it, or, where it comes from before the API, its header.
fn wait(header: Option<f64>, body: &[u8]) -> Duration {
    #[derive(serde::Deserialize)]
    struct Limited {
        retry_after: f64,
    }
    let said = serde_json::from_slice(body).ok().map(|Limited { retry_after }| retry_after);
    let seconds = said.or(header).filter(|seconds| seconds.is_finite()).unwrap_or(1.0);
    Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0))
}

impl Refusal {
    fn read(status: u16, body: &[u8]) -> Self {
        let Ok(error) = serde_json::from_slice::<DiscordJsonError>(body) else {
            return Self { status, code: 0, words: format!("HTTP {status}") };
        };
        let mut words = error.message;
        for part in error.errors {
            words.push_str(&format!("; {}: {}", part.path, part.message));
        }
        Self { status, code: error.code, words }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wait(wait) => write!(f, "to wait for {wait:?}"),
            Self::Refused(Refusal { code: 0, words, .. }) => f.write_str(words),
            Self::Refused(Refusal { code, words, .. }) => write!(f, "{words} ({code})"),
            Self::Server(status) => write!(f, "Discord has trouble of its own (HTTP {status})"),
            Self::NotSent(words) | Self::Broken(words) => f.write_str(words),
        }
    }
}

#[cfg(test)]
#[path = "fault_tests.rs"]
mod tests;
