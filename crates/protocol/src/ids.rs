//! Ids are parsed once, where they enter the program, into types that hold valid values only.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest id in bytes.
pub const MAX_ID_BYTES: usize = 256;

/// A text that is not an id: the expected kind, the text, and its fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {value:?} {fault}")]
pub struct IdError {
    /// The expected kind, for example `session id`.
    pub kind: &'static str,
    /// The text, cut to 64 characters.
    pub value: String,
    /// The first rule that the text breaks.
    pub fault: IdFault,
}

/// The complete list of reasons to reject an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdFault {
    /// The text is empty.
    #[error("is empty")]
    Empty,
    /// Longer than [`MAX_ID_BYTES`].
    #[error("is {0} bytes long; at most {MAX_ID_BYTES} are allowed")]
    TooLong(usize),
    /// Contains `..`.
    #[error("contains `..`, which is not allowed in an id")]
    ParentDirectory,
    /// Contains `/` or `\`.
    #[error("contains `{0}`, which is not allowed in an id")]
    Separator(char),
    /// Contains NUL or another control character.
    #[error("contains the control character U+{0:04X}")]
    Control(u32),
    /// A part of a session id contains `:`, which separates the parts.
    #[error("contains `:`, which separates the parts of a session id")]
    Colon,
    /// A session id with too few or too many parts.
    #[error("has {0} parts; a session id is channel:account:chat or channel:account:chat:topic")]
    Parts(usize),
    /// The id of a person with too few parts.
    #[error("is not of the form channel:account:sender")]
    Person,
    /// Malformed pairing code.
    #[error("is not of the form K7QX-M2PA: 8 characters, without 0, O, 1 and I")]
    Code,
    /// Malformed numeric id, or one with another prefix.
    #[error("is not a number with the prefix `{0}`")]
    Number(&'static str),
}

impl IdError {
    pub(crate) fn new(kind: &'static str, value: &str, fault: IdFault) -> Self {
        Self { kind, value: value.chars().take(64).collect(), fault }
    }
}

/// Checks the rules for all textual ids.
pub(crate) fn check_id(kind: &'static str, text: &str) -> Result<(), IdError> {
    let reject = |fault| Err(IdError::new(kind, text, fault));
    if text.is_empty() {
        return reject(IdFault::Empty);
    }
    if text.len() > MAX_ID_BYTES {
        return reject(IdFault::TooLong(text.len()));
    }
    if is_plain(text) {
        return Ok(());
    }
    for c in text.chars() {
        match c {
            '/' | '\\' => return reject(IdFault::Separator(c)),
            c if c.is_control() => return reject(IdFault::Control(c.into())),
            _ => {}
        }
    }
    if text.contains("..") {
        return reject(IdFault::ParentDirectory);
    }
    Ok(())
}

/// Returns `true` if a text has only printable ASCII that the rules allow, as most ids have.
fn is_plain(text: &str) -> bool {
    let mut before = 0;
    text.bytes().all(|byte| {
        let is_double_dot = before == b'.' && byte == b'.';
        before = byte;
        matches!(byte, b' '..=b'~') && byte != b'/' && byte != b'\\' && !is_double_dot
    })
}

/// Like [`check_id`], for ids that become a part of a session id.
pub(crate) fn check_part(kind: &'static str, text: &str) -> Result<(), IdError> {
    check_id(kind, text)?;
    if text.contains(':') {
        return Err(IdError::new(kind, text, IdFault::Colon));
    }
    Ok(())
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $check:path) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Parses the id.
            ///
            /// # Errors
            /// [`IdError`] names the value and the rule it breaks.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                $check($kind, text)?;
                Ok(Self(text.into()))
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        text_id_traits!($name);
    };
}

macro_rules! text_id_traits {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.as_str().to_owned()
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                self.as_str()
            }
        }
    };
}

pub(crate) use text_id_traits;

text_id! {
    /// A platform adapter: `telegram`, `discord`, `terminal`.
    ChannelName, "channel name", check_part
}
text_id! {
    /// One bot login on a channel.
    AccountName, "account name", check_part
}
text_id! {
    /// A conversation on a platform: a private chat, a group, a terminal.
    ChatId, "chat id", check_part
}
text_id! {
    /// A topic or thread inside a chat.
    TopicId, "topic id", check_part
}
text_id! {
    /// The author of a message, by the platform's own id.
    SenderId, "sender id", check_id
}
impl SenderId {
    /// Returns `true` for the id of a group or a channel as which a person writes. On Telegram, those
    /// ids are negative; ids of people never are.
    #[must_use]
    pub fn is_chat(&self) -> bool {
        self.as_str().strip_prefix('-').is_some_and(|id| id.parse::<u64>().is_ok())
    }
}

text_id! {
    /// Identifies a message when it arrives again; unique within a chat.
    DedupeKey, "idempotency key", check_id
}
text_id! {
    /// The platform's name for a message that it accepted.
    PlatformId, "platform message id", check_id
}
text_id! {
    /// A program that follows the events of the log.
    SubscriberName, "subscriber name", check_part
}
text_id! {
    /// The name of a tool.
    ToolName, "tool name", check_id
}

impl SubscriberName {
    /// The name of the daemon's own exporter of traces. Programs cannot use it.
    #[must_use]
    pub fn telemetry() -> Self {
        Self("telemetry".into())
    }
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $prefix:literal) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(try_from = "String", into = "String")]
        #[schemars(extend("pattern" = concat!("^", $prefix, "[0-9]+$")))]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                text.strip_prefix($prefix)
                    .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
                    .and_then(|digits| digits.parse().ok())
                    .map(Self)
                    .ok_or_else(|| IdError::new($kind, text, IdFault::Number($prefix)))
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }
    };
}

number_id! {
    /// An accepted inbound message, numbered by the log in the order of acceptance (`m17`).
    MessageId, "message id", "m"
}
number_id! {
    /// A memory, numbered by the log (`m12`).
    MemoryId, "memory id", "m"
}
number_id! {
    /// A change of a memory, numbered by the log (`c31`).
    MemoryChangeId, "change id", "c"
}
number_id! {
    /// A consolidation of memories, numbered by the log (`n3`).
    ConsolidationId, "consolidation id", "n"
}
number_id! {
    /// A turn, numbered by the log (`t4`).
    TurnId, "turn id", "t"
}
number_id! {
    /// A row of the outbox, numbered by the log (`o9`).
    DeliveryId, "delivery id", "o"
}
number_id! {
    /// A job, numbered by the log (`j5`).
    JobId, "job id", "j"
}
number_id! {
    /// A schedule, numbered by the log (`s2`).
    ScheduleId, "schedule id", "s"
}
number_id! {
    /// A rule of an owner, numbered by the log (`r3`).
    RuleId, "rule id", "r"
}
number_id! {
    /// A wait of a turn for an approval, an answer, a child or a choice (`w3`).
    WaitId, "wait id", "w"
}

/// A tool call, by its turn, the step of the turn, and its place in the step (`t4s1c0`). The
/// model's own ids are not used, because models repeat them and leave them out.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(extend("pattern" = "^t[0-9]+s[0-9]+c[0-9]+$"))]
pub struct CallId {
    /// The turn that the call belongs to.
    pub turn: TurnId,
    /// The step of the turn, from 0.
    pub step: u32,
    /// The place among the calls of the step, from 0.
    pub ordinal: u32,
}

impl CallId {
    /// The beginning of the paths in the workspace of files from the result of the call.
    #[must_use]
    pub fn files_prefix(self) -> String {
        format!("inbox/{self}-")
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s{}c{}", self.turn, self.step, self.ordinal)
    }
}

impl FromStr for CallId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let parse = || {
            let (turn, rest) = text.split_once('s')?;
            let (step, ordinal) = rest.split_once('c')?;
            let turn = turn.parse().ok()?;
            Some(Self { turn, step: step.parse().ok()?, ordinal: ordinal.parse().ok()? })
        };
        parse().ok_or_else(|| IdError::new("call id", text, IdFault::Number("t")))
    }
}

impl TryFrom<String> for CallId {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<CallId> for String {
    fn from(id: CallId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
#[path = "ids_tests.rs"]
mod tests;
