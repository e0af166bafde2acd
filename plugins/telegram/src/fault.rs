//! Why a request failed, and what that says of its outcome. In words that may be logged: an HTTP error
//! contains the URL, and the URL the token (F15).

use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use teloxide::types::ChatId;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No byte of it has left: there is no connection, or it cannot be written.
    NotSent(&'static str),
    /// Too many requests (429): not before this.
    Wait(Duration),
    /// The group is now this supergroup.
    Moved(ChatId),
    /// It was answered, and not with success.
    Refused(Refusal),
    /// It was sent, and there is no answer that can be read.
    Broken(&'static str),
}

/// An answer that is no success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The Bot API's `error_code`, or the HTTP status.
    pub(crate) code: u16,
    /// The Bot API's `description`. `None` if something in front of it wrote the answer, such as a
    /// proxy.
    pub(crate) words: Option<String>,
    /// `Retry-After` of the answer.
    retry_after: Option<Duration>,
}

/// `parameters` of an answer (Bot API, `ResponseParameters`).
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Parameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<i64>,
}

/// How long a 429 waits that does not say it.
const DEFAULT_WAIT: Duration = Duration::from_secs(1);

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

    /// A request that was given up because no answer came.
    pub(crate) fn timed_out() -> Self {
        Self::Broken("no answer in time")
    }

    /// What the answer says.
    pub(crate) fn answered(
        code: u16,
        words: Option<String>,
        parameters: Option<Parameters>,
        retry_after: Option<Duration>,
    ) -> Self {
        let asked = parameters.and_then(|asked| asked.retry_after).map(Duration::from_secs);
        if code == 429 {
            return Self::Wait(asked.or(retry_after).unwrap_or(DEFAULT_WAIT));
        }
        match parameters.and_then(|moved| moved.migrate_to_chat_id) {
            Some(chat) => Self::Moved(ChatId(chat)),
            None => Self::Refused(Refusal { code, words, retry_after: asked.or(retry_after) }),
        }
    }

    /// Whether the Bot API refused it in these words, among others.
    pub(crate) fn says(&self, words: &str) -> bool {
        let Self::Refused(Refusal { words: Some(said), .. }) = self else { return false };
        said.contains(words)
    }

    /// Whether it was refused with this code.
    pub(crate) fn is(&self, wanted: u16) -> bool {
        matches!(self, Self::Refused(Refusal { code, .. }) if *code == wanted)
    }
}

impl Refusal {
    /// For how long an overloaded server, or one under maintenance, turns requests away. It says so in
    /// the header; a proxy that lost the server in the middle of a request does not (RFC 9110, 10.2.3).
    pub(crate) fn turned_away_for(&self) -> Option<Duration> {
        self.retry_after.filter(|_| self.code == 503)
    }

    /// Whether a 5xx proves that the request was not carried out.
    ///
    /// A 500 does where the Bot API says that the method failed: "Internal Server Error" alone, or
    /// followed by the name of an error, in capitals, which is the answer of Telegram's own server to the
    /// call. Other words do not. "restart" and "Request aborted" are what a Bot API server that stops
    /// says to everything that is under way, and that includes messages that it has passed on already.
    ///
    /// 502, 503 and 504 do not. A proxy answers so where it could not reach the server, and also where the
    /// server had the request and then broke off or took too long.
    pub(crate) fn is_certain_failure(&self) -> bool {
        let Some(words) = self.words.as_deref().filter(|_| self.code == 500) else { return false };
        let Some(cause) = words.strip_prefix("Internal Server Error") else { return false };
        let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        cause.is_empty() || cause.strip_prefix(": ").is_some_and(|name| name.chars().all(is_name))
    }

    /// The platform's words, and what a person can do about them.
    pub(crate) fn with_advice(&self) -> String {
        let words = self.to_string();
        match ADVICE.iter().find(|(known, _)| words.contains(known)) {
            Some((_, advice)) => format!("{advice} ({words})"),
            None => words,
        }
    }
}

/// What can be done about a refusal, by the platform's words.
const ADVICE: [(&str, &str); 7] = [
    ("blocked by the user", "the person has blocked the bot and can unblock it"),
    ("bot was kicked", "the bot is no longer in this chat: add it again"),
    ("bot is not a member", "the bot is not in this chat: add it"),
    ("chat not found", "there is no such chat, or nobody there has ever written to the bot"),
    ("not enough rights", "the bot may not write in this chat: let it"),
    ("user is deactivated", "the person has deleted the account"),
    (DELETED_AT_ONCE, "another bot or a rule of the chat deletes what the bot writes"),
];

/// What the platform says where a message was sent and is gone already.
pub(crate) const DELETED_AT_ONCE: &str = "immediately deleted";

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wait(wait) => write!(f, "Too Many Requests: retry after {wait:?}"),
            Self::Moved(chat) => write!(f, "the group is now the supergroup {chat}"),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::NotSent(words) | Self::Broken(words) => f.write_str(words),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.words {
            Some(words) => f.write_str(words),
            None => write!(f, "HTTP {}", self.code),
        }
    }
}

#[cfg(test)]
#[path = "fault_tests.rs"]
mod tests;
