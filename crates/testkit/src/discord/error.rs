//! The platform's refusals: status, code and text (Opcodes and Status Codes, API reference).

use std::time::Duration;

use serde_json::{Value, json};

/// A refusal of the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// HTTP status.
    pub status: u16,
    /// The JSON error code.
    pub code: Option<i64>,
    /// The text, for example `Unknown Channel`.
    pub message: String,
    /// The errors of a form, by the path of the field.
    pub errors: Option<Box<Value>>,
    /// 429: the time to wait.
    pub retry_after: Option<Duration>,
    /// 429: the limit is that of the whole bot.
    pub global: bool,
    /// The answer comes from a proxy in front of the API and is plain text.
    pub is_plain: bool,
}

impl ApiError {
    /// Returns an error with status, code and text.
    #[must_use]
    pub fn new(status: u16, code: i64, message: &str) -> Self {
        let message = message.to_owned();
        let (errors, retry_after) = (None, None);
        let (global, is_plain) = (false, false);
        Self { status, code: Some(code), message, errors, retry_after, global, is_plain }
    }

    /// 401: the token is wrong or was reset.
    #[must_use]
    pub fn unauthorized() -> Self {
        Self::new(401, 0, "401: Unauthorized")
    }

    /// 403: the channel is hidden from the bot, or the bot has left the guild.
    #[must_use]
    pub fn missing_access() -> Self {
        Self::new(403, 50001, "Missing Access")
    }

    /// 403: the bot lacks the permission for this in the channel.
    #[must_use]
    pub fn missing_permissions() -> Self {
        Self::new(403, 50013, "Missing Permissions")
    }

    /// 403: a reply in a channel whose history is closed to the bot.
    #[must_use]
    pub fn no_reply_without_history() -> Self {
        Self::new(403, 160_002, "Cannot reply without permission to read message history")
    }

    /// 403: the user has blocked the bot, or accepts no direct messages.
    #[must_use]
    pub fn cannot_send_to_user() -> Self {
        Self::new(403, 50007, "Cannot send messages to this user")
    }

    /// 404: the channel does not exist.
    #[must_use]
    pub fn unknown_channel() -> Self {
        Self::new(404, 10003, "Unknown Channel")
    }

    /// 404: the message does not exist.
    #[must_use]
    pub fn unknown_message() -> Self {
        Self::new(404, 10008, "Unknown Message")
    }

    /// 404: the interaction is too old, or does not exist.
    #[must_use]
    pub fn unknown_interaction() -> Self {
        Self::new(404, 10062, "Unknown interaction")
    }

    /// 413: a file is larger than the limit.
    #[must_use]
    pub fn too_large() -> Self {
        Self::new(413, 40005, "Request entity too large")
    }

    /// 400: `errors` has the reasons.
    #[must_use]
    pub fn invalid_form(errors: Value) -> Self {
        Self { errors: Some(Box::new(errors)), ..Self::new(400, 50035, "Invalid Form Body") }
    }

    /// 429 of a channel, with the time to wait.
    #[must_use]
    pub fn rate_limited(retry_after: Duration) -> Self {
        let message = "You are being rate limited.";
        Self { code: None, retry_after: Some(retry_after), ..Self::new(429, 0, message) }
    }

    /// 429 of the whole bot, with the time to wait.
    #[must_use]
    pub fn globally_limited(retry_after: Duration) -> Self {
        Self { global: true, ..Self::rate_limited(retry_after) }
    }

    /// 429 of all requests from this address, in the words of Cloudflare.
    #[must_use]
    pub fn shut_out(retry_after: Duration) -> Self {
        let retry_after = Some(retry_after);
        Self { is_plain: true, retry_after, ..Self::new(429, 0, "error code: 1015") }
    }

    /// 500, in the words of the platform.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(500, 0, "500: Internal Server Error")
    }

    /// 502 in plain text, as from a proxy of the platform.
    #[must_use]
    pub fn bad_gateway() -> Self {
        Self { is_plain: true, ..Self::new(502, 0, "error code: 502") }
    }

    pub(super) fn body(&self) -> String {
        if self.is_plain {
            return self.message.clone();
        }
        let mut body = json!({ "message": self.message });
        if let Some(code) = self.code {
            body["code"] = json!(code);
        }
        if let Some(errors) = &self.errors {
            body["errors"] = Value::clone(errors);
        }
        if let Some(after) = self.retry_after {
            body["retry_after"] = json!(after.as_secs_f64());
            body["global"] = json!(self.global);
        }
        body.to_string()
    }

    pub(super) fn media_type(&self) -> &'static str {
        if self.is_plain {
            return "text/plain; charset=UTF-8";
        }
        "application/json"
    }

    /// Returns the additional headers of a 429. `Retry-After` is in whole seconds, rounded up.
    pub(super) fn headers(&self) -> Vec<(&'static str, String)> {
        let Some(after) = self.retry_after else { return Vec::new() };
        let mut headers = vec![("retry-after", after.as_millis().div_ceil(1000).to_string())];
        if self.is_plain {
            return headers;
        }
        let scope = if self.global { "global" } else { "user" };
        headers.push(("x-ratelimit-scope", scope.to_owned()));
        if self.global {
            headers.push(("x-ratelimit-global", "true".to_owned()));
        }
        headers
    }
}
