//! Errors of requests, and their meaning for the outcome. All texts are safe to log: an HTTP error
//! contains the URL, and the URL contains the token (F15).

use std::fmt;
use std::time::Duration;

use serde_json::Value;
use teloxide::types::ChatId;

use crate::numbers::read_integer;

/// The reason why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BotApiError {
    /// The request was never sent: the connection or the serialisation failed.
    NotSent(&'static str),
    /// Too many requests (429): retry after this time.
    Wait(Duration),
    /// The group has become this supergroup.
    Moved(ChatId),
    /// The answer is an error.
    Refused(BotApiRefusal),
    /// The request was sent, but its answer is missing or unreadable.
    Broken(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BotApiRefusal {
    /// The Bot API's `error_code`, or the HTTP status.
    pub(crate) code: u16,
    /// The Bot API's `description`. `None` if another server, such as a proxy, wrote the answer.
    pub(crate) description: Option<String>,
    /// The `Retry-After` of the answer.
    retry_after: Option<Duration>,
}

/// The `parameters` of an answer (Bot API, `ResponseParameters`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parameters {
    /// Seconds.
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<i64>,
}

impl Parameters {
    /// Reads the readable fields.
    pub(crate) fn read(parameters: &Value) -> Self {
        let wait = &parameters["retry_after"];
        // A fraction of a second counts as a whole one.
        let seconds = read_integer(wait).or_else(|| Some(wait.as_f64()?.ceil() as i64));
        Self {
            retry_after: seconds.and_then(|seconds| seconds.try_into().ok()),
            migrate_to_chat_id: read_integer(&parameters["migrate_to_chat_id"]),
        }
    }
}

/// The default wait after a 429.
const DEFAULT_WAIT: Duration = Duration::from_secs(1);

impl BotApiError {
    /// The fault for an error of reqwest, without the URL.
    pub(crate) fn from_reqwest(error: &reqwest::Error) -> Self {
        match error {
            error if error.is_connect() => Self::NotSent("no connection"),
            error if error.is_builder() => Self::NotSent("it cannot be sent as a request"),
            error if error.is_timeout() => Self::Broken("no answer in time"),
            _ => Self::Broken("the connection broke"),
        }
    }

    /// A request without an answer in time.
    pub(crate) fn timed_out() -> Self {
        Self::Broken("no answer in time")
    }

    /// The fault for an error response.
    pub(crate) fn answered(
        code: u16,
        description: Option<String>,
        parameters: Option<Parameters>,
        retry_after: Option<Duration>,
    ) -> Self {
        let asked = parameters.and_then(|asked| asked.retry_after).map(Duration::from_secs);
        if code == 429 {
            return Self::Wait(asked.or(retry_after).unwrap_or(DEFAULT_WAIT));
        }
        match parameters.and_then(|moved| moved.migrate_to_chat_id) {
            Some(chat) => Self::Moved(ChatId(chat)),
            None => Self::Refused(BotApiRefusal {
                code,
                description,
                retry_after: asked.or(retry_after),
            }),
        }
    }

    /// Returns `true` if the description of a refusal contains this text.
    pub(crate) fn contains(&self, text: &str) -> bool {
        let Self::Refused(BotApiRefusal { description: Some(description), .. }) = self else {
            return false;
        };
        description.contains(text)
    }

    /// Returns `true` if the server may have carried the request out, or may still do so: the answer is
    /// missing, or a proxy wrote it.
    pub(crate) fn has_unknown_outcome(&self) -> bool {
        match self {
            Self::Broken(_) => true,
            Self::Refused(refusal) => refusal.code >= 500 && !refusal.is_certain_failure(),
            Self::NotSent(_) | Self::Wait(_) | Self::Moved(_) => false,
        }
    }

    /// Returns `true` if the same request may succeed at once: a connection or a proxy failed.
    pub(crate) fn may_pass_soon(&self) -> bool {
        matches!(self, Self::NotSent(_)) || self.has_unknown_outcome()
    }

    /// Returns `true` if the server does not know the method, or forbids it to bots, in all chats.
    pub(crate) fn is_unsupported(&self) -> bool {
        self.has_code(404) || UNSUPPORTED.iter().any(|text| self.contains(text))
    }

    /// Returns `true` if the request was refused with this code.
    pub(crate) fn has_code(&self, wanted: u16) -> bool {
        matches!(self, Self::Refused(BotApiRefusal { code, .. }) if *code == wanted)
    }
}

impl BotApiRefusal {
    /// The wait that an overloaded server, or one under maintenance, asks for in its header. A
    /// proxy that lost the server during a request sends no such header (RFC 9110, 10.2.3).
    pub(crate) fn turned_away_for(&self) -> Option<Duration> {
        self.retry_after.filter(|_| self.code == 503)
    }

    /// Returns `true` if a 5xx proves that the request was not carried out.
    ///
    /// A 500 is proof if its description says that the method failed: "Internal Server Error"
    /// alone, or followed by the name of an error in capitals. That is the answer of Telegram's own
    /// server to the call. Other descriptions prove nothing: a Bot API server that stops sends
    /// "restart" and "Request aborted" for all pending requests, even for messages that it has
    /// passed on already.
    ///
    /// 502, 503 and 504 prove nothing. A proxy sends them if it could not reach the server, but
    /// also if the server had the request and then disconnected or took too long.
    pub(crate) fn is_certain_failure(&self) -> bool {
        let Some(description) = self.description.as_deref().filter(|_| self.code == 500) else {
            return false;
        };
        let Some(cause) = description.strip_prefix("Internal Server Error") else { return false };
        let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        cause.is_empty() || cause.strip_prefix(": ").is_some_and(|name| name.chars().all(is_name))
    }

    /// The text of the refusal, with advice for a person.
    pub(crate) fn with_advice(&self) -> String {
        let text = self.to_string();
        match ADVICE.iter().find(|(known, _)| text.contains(known)) {
            Some((_, advice)) => format!("{advice} ({text})"),
            None => text,
        }
    }
}

/// Advice for refusals, by a part of their text.
const ADVICE: [(&str, &str); 7] = [
    ("blocked by the user", "the person has blocked the bot and can unblock it"),
    ("bot was kicked", "the bot is no longer in this chat: add it again"),
    ("bot is not a member", "the bot is not in this chat: add it"),
    ("chat not found", "there is no such chat, or it has never written to the bot"),
    ("not enough rights", "the bot may not write in this chat: let it"),
    ("user is deactivated", "the person has deleted the account"),
    (DELETED_AT_ONCE, "another bot or a rule of the chat deletes what the bot writes"),
];

/// Parts of a refusal of a method in all chats. An older Bot API server answers with a 404, "method
/// not found". The platform behind the server refuses its own method with these errors, which TDLib
/// (NetQuery.cpp) tells apart from those about the arguments.
const UNSUPPORTED: [&str; 2] = ["BOT_METHOD_INVALID", "INPUT_METHOD_INVALID"];

/// The description if a sent message was deleted at once.
pub(crate) const DELETED_AT_ONCE: &str = "immediately deleted";

impl fmt::Display for BotApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wait(wait) => write!(f, "Too Many Requests: retry after {wait:?}"),
            Self::Moved(chat) => write!(f, "the group is now the supergroup {chat}"),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::NotSent(cause) | Self::Broken(cause) => f.write_str(cause),
        }
    }
}

impl fmt::Display for BotApiRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.description {
            Some(description) => f.write_str(description),
            None => write!(f, "HTTP {}", self.code),
        }
    }
}

#[cfg(test)]
#[path = "fault_tests.rs"]
mod tests;
