//! The faults of requests. Their texts may be logged: they do not contain the token (F15).

use std::fmt;
use std::time::Duration;

use avocet_protocol::model::decode_json;
use reqwest::header::HeaderMap;
use serde_json::Value;

/// The reason why a request failed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RestError {
    /// Too many requests (429); retry after this time.
    Wait(Duration),
    /// The platform refused the request.
    Refused(RestRefusal),
    /// The platform has an internal error (5xx), and may have carried out the request.
    Server(u16),
    /// The request was never sent: the connection failed, or the content is invalid.
    NotSent(&'static str),
    /// The request was sent, and its outcome is unknown.
    Broken(&'static str),
}

/// The details of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RestRefusal {
    /// The HTTP status, 4xx.
    pub(crate) status: u16,
    /// Discord's own code; 0 if it is missing.
    pub(crate) code: isize,
    /// Discord's own text.
    pub(crate) text: String,
}

impl RestError {
    /// Converts an error of reqwest, without the URL.
    pub(crate) fn from_reqwest(error: &reqwest::Error) -> Self {
        match error {
            error if error.is_connect() => Self::NotSent("no connection"),
            error if error.is_builder() => Self::NotSent("it cannot be sent as a request"),
            error if error.is_timeout() => Self::Broken("no answer in time"),
            _ => Self::Broken("the connection broke"),
        }
    }

    /// Converts an answer with an error status.
    pub(crate) fn answered(status: u16, headers: &HeaderMap, body: &[u8]) -> Self {
        match status {
            429 => Self::Wait(Limited::read(headers, body).wait),
            500.. => Self::Server(status),
            _ => Self::Refused(RestRefusal::read(status, body)),
        }
    }

    pub(crate) fn is_refused_with(&self, wanted: isize) -> bool {
        matches!(self, Self::Refused(RestRefusal { code, .. }) if *code == wanted)
    }

    /// Returns `true` if the token is unknown, or was reset.
    pub(crate) fn is_about_token(&self) -> bool {
        matches!(self, Self::Refused(RestRefusal { status: 401, .. }))
    }
}

/// The content of a 429 (Discord API, "Rate Limits").
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Limited {
    pub(crate) wait: Duration,
    pub(crate) scope: Scope,
}

/// The scope of a 429.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Requests of one kind in one channel.
    Channel,
    /// Every request of the bot. "Interaction endpoints are not bound to the bot's Global Rate
    /// Limit."
    Bot,
    /// Every request from this address: a server in front of the API blocks it. Its answer is not
    /// JSON.
    Address,
}

impl Limited {
    pub(crate) fn read(headers: &HeaderMap, body: &[u8]) -> Self {
        let header = |name| headers.get(name)?.to_str().ok();
        let limit = decode_json(body).ok().filter(Value::is_object);
        let is_global = limit.as_ref().is_some_and(|limit| limit["global"] == true)
            || header("x-ratelimit-global").is_some()
            || header("x-ratelimit-scope") == Some("global");
        let (scope, default) = match &limit {
            _ if is_global => (Scope::Bot, 1.0),
            Some(_) => (Scope::Channel, 1.0),
            None => (Scope::Address, 60.0),
        };
        let seconds = limit.and_then(|limit| {
            let seconds = &limit["retry_after"];
            seconds.as_f64().or_else(|| seconds.as_str()?.parse().ok())
        });
        let seconds = seconds.or_else(|| header("retry-after")?.parse().ok());
        let seconds = seconds.filter(|seconds| seconds.is_finite()).unwrap_or(default);
        Self { wait: Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0)), scope }
    }
}

impl RestRefusal {
    fn read(status: u16, body: &[u8]) -> Self {
        // Discord API, "Error Messages".
        let error: Value = decode_json(body).unwrap_or_default();
        let code = &error["code"];
        let code = code.as_i64().or_else(|| code.as_str()?.parse().ok());
        let code = code.and_then(|code| isize::try_from(code).ok()).unwrap_or_default();
        let mut text = match error["message"].as_str() {
            Some(message) => message.to_owned(),
            None => format!("HTTP {status}"),
        };
        add_errors(&error["errors"], "", &mut text);
        Self { status, code, text }
    }
}

/// Adds each error of a field, behind the field's path. Errors are nested like the request; those of
/// a field itself are in its `_errors`.
fn add_errors(errors: &Value, path: &str, text: &mut String) {
    for (name, value) in errors.as_object().into_iter().flatten() {
        if name != "_errors" {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            add_errors(value, &path, text);
            continue;
        }
        let messages = value.as_array().into_iter().flatten();
        for message in messages.filter_map(|error| error["message"].as_str()) {
            text.push_str(&format!("; {path}: {message}"));
        }
    }
}

impl fmt::Display for RestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wait(wait) => write!(f, "to wait for {wait:?}"),
            Self::Refused(RestRefusal { code: 0, text, .. }) => f.write_str(text),
            Self::Refused(RestRefusal { code, text, .. }) => write!(f, "{text} ({code})"),
            Self::Server(status) => write!(f, "Discord has an internal error (HTTP {status})"),
            Self::NotSent(text) | Self::Broken(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
#[path = "fault_tests.rs"]
mod tests;
