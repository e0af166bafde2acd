//! The protocol of programs that are channels: its version, the abilities of a program, and the
//! state that it reports.

use std::time::Duration;

use avocet_methods::{Capability, PROTOCOL};
use avocet_protocol::channel::{Health, SendError};
use avocet_protocol::chat::{Choice, Content};
use avocet_protocol::ids::{AccountName, ChannelName};
use avocet_text::append_text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::values::read;
use crate::wire::RpcError;

/// The longest pause that a platform may ask for, in seconds.
const LONGEST_PAUSE: f64 = 86_400.0;

/// Characters of an error of a client that are kept.
const MOST_ERROR: usize = 500;

/// `health`: a notification of the program about its platform, for `avocet status`. It concerns all
/// accounts that the connection serves, and counts until the next report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HealthReport {
    /// `true` if the platform can be reached.
    pub up: bool,
    /// The reason why it cannot be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl HealthReport {
    /// Reads a notification; `None` if it is another one, or malformed.
    pub(crate) fn parse(method: &str, params: Value) -> Option<Self> {
        if method != "health" {
            return None;
        }
        let read: Result<Self, _> = read(method, params);
        read.inspect_err(|error| {
            tracing::warn!(%error, "a program sent a malformed `health`; it is ignored");
        })
        .ok()
    }

    pub(crate) fn log(&self, channel: &ChannelName, account: &AccountName) {
        match self.health() {
            Health::Up => tracing::info!(%channel, %account, "the program reports that it is up"),
            Health::Down(reason) => {
                tracing::warn!(%channel, %account, reason, "the program reports that it is down");
            }
        }
    }

    /// Returns the state of the channel. The reason is one line of at most 500 characters.
    #[must_use]
    pub fn health(&self) -> Health {
        if self.up {
            return Health::Up;
        }
        let reason = self.reason.as_deref().unwrap_or("the program gives no reason");
        Health::Down(cut_error(&reason.split_whitespace().collect::<Vec<_>>().join(" ")))
    }
}

/// Refuses a program that speaks another version of the protocol.
pub(crate) fn check_protocol(version: Option<u32>) -> Result<(), RpcError> {
    match version {
        None | Some(PROTOCOL) => Ok(()),
        Some(version) => Err(RpcError::new(
            RpcError::PARAMS,
            format!(
                "hello: the program speaks version {version} of the protocol, and the daemon \
                 version {PROTOCOL}; update the older one"
            ),
        )),
    }
}

/// Returns the message with only those parts that the program can show.
pub(crate) fn as_plain_text(content: &Content, can: impl Fn(Capability) -> bool) -> Content {
    let mut content = content.clone();
    let mut lines = String::new();
    if !can(Capability::Files) {
        for attachment in std::mem::take(&mut content.attachments) {
            lines.push_str(&format!("\n{}", attachment.describe()));
        }
    }
    if !can(Capability::Choices) {
        for (number, Choice { label, says }) in (1..).zip(std::mem::take(&mut content.choices)) {
            append_text(&mut lines, format_args!("\n{number}. {label}: {says}"));
        }
    }
    if content.text.is_empty() {
        lines = lines.trim_start().to_owned();
    }
    content.text.push_str(&lines);
    content
}

/// Returns the outcome of a delivery whose answer is this error; `None` if the outcome is unknown.
pub(crate) fn error_outcome(error: RpcError) -> Option<SendError> {
    let RpcError { code, message, data } = error;
    match code {
        RpcError::UNAVAILABLE => {
            let seconds = data.and_then(|data| data.get("retry_after")?.as_f64());
            let pause = seconds.filter(|seconds| (0.0..=LONGEST_PAUSE).contains(seconds));
            Some(match pause {
                Some(seconds) => SendError::RetryAfter(Duration::from_secs_f64(seconds)),
                None => SendError::Failed(cut_error(&message)),
            })
        }
        RpcError::NOT_ALLOWED => Some(SendError::Refused(cut_error(&message))),
        _ => None,
    }
}

/// Cuts an error of a client.
pub(crate) fn cut_error(message: &str) -> String {
    message.chars().take(MOST_ERROR).collect()
}

#[cfg(test)]
mod tests {
    use avocet_protocol::chat::{Attachment, AttachmentKind, AttachmentSource};
    use serde_json::json;

    use super::*;

    #[test]
    fn as_plain_text_turns_buttons_and_files_into_lines() {
        let source = AttachmentSource::Platform("f".to_owned());
        let file = Attachment::new(AttachmentKind::Document, source);
        let content = Content {
            choices: vec![Choice::new("Yes", "/approve 7f3a"), Choice::new("No", "/deny 7f3a")],
            attachments: vec![file.clone()],
            ..Content::text("May I?")
        };
        assert_eq!(as_plain_text(&content, |_| true), content);
        let plain = as_plain_text(&content, |_| false);
        let lines =
            format!("May I?\n{}\n1. Yes: /approve 7f3a\n2. No: /deny 7f3a", file.describe());
        assert_eq!(plain, Content::text(lines));
        let alone = Content { attachments: vec![file.clone()], ..Content::text("") };
        assert_eq!(as_plain_text(&alone, |_| false), Content::text(file.describe()));
    }

    #[test]
    fn error_outcome_knows_pauses_and_refusals() {
        let failed = || Some(SendError::Failed("busy".to_owned()));
        for (code, data, expected) in [
            (RpcError::UNAVAILABLE, None, failed()),
            (RpcError::UNAVAILABLE, Some(json!({"retry_after": -1})), failed()),
            (RpcError::UNAVAILABLE, Some(json!({"retry_after": "3"})), failed()),
            (
                RpcError::UNAVAILABLE,
                Some(json!({"retry_after": 1.5})),
                Some(SendError::RetryAfter(Duration::from_millis(1500))),
            ),
            (RpcError::NOT_ALLOWED, None, Some(SendError::Refused("busy".to_owned()))),
            (-32000, None, None),
        ] {
            let error = RpcError { data: data.clone(), ..RpcError::new(code, "busy") };
            assert_eq!(error_outcome(error), expected, "{code} {data:?}");
        }
    }

    #[test]
    fn health_report_is_one_short_line() {
        let parse = |params| HealthReport::parse("health", params);
        assert_eq!(parse(json!({"up": true})).unwrap().health(), Health::Up);
        let long = format!("a\n b{}", "c".repeat(1000));
        let Health::Down(why) = parse(json!({"up": false, "reason": long})).unwrap().health()
        else {
            panic!()
        };
        assert!(why.starts_with("a bc") && why.len() == 500, "{why}");
        assert_eq!(parse(json!({"up": "no"})), None);
        assert_eq!(HealthReport::parse("other", json!({"up": true})), None);
    }

    #[test]
    fn check_protocol_refuses_other_versions() {
        assert!(check_protocol(None).is_ok() && check_protocol(Some(PROTOCOL)).is_ok());
        let refused = check_protocol(Some(2)).unwrap_err();
        assert!(refused.message.contains("version 2"), "{refused}");
    }
}
