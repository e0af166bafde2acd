//! The methods that send messages and ask for their outcome, and those about the daemon as a whole.

use avocet_protocol::chat::{ChatAddress, SessionId};
use avocet_protocol::daemon::{Checkup, DaemonStatus};
use avocet_protocol::ids::{DedupeKey, DeliveryId, MessageId};
use avocet_protocol::model::{JsonAnswer, JsonQuestion};
use avocet_protocol::store::MessageStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CallTarget, NamesTarget, PublishedFile, Touches, UntrustedPart, named_target};

/// `ask`: sends a message to the agent. The result comes after the commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The conversation; the reply goes to its chat.
    pub session: SessionId,
    /// The text of the message.
    pub text: String,
    /// Identifies repetitions of the same message. Default: a random key. A key that was used for
    /// another text, or another topic of the chat, is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<DedupeKey>,
    /// Files. A client that is attached to the chat keeps them until the daemon reads them with
    /// `file.read`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<PublishedFile>,
    /// Text of the message that the person did not type, such as a file that their editor added. It
    /// is untrusted. At most 100 parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untrusted: Vec<UntrustedPart>,
}

impl Ask {
    /// Makes a message of text alone, with a random key.
    #[must_use]
    pub fn new(session: SessionId, text: String) -> Self {
        Self { session, text, key: None, attachments: Vec::new(), untrusted: Vec::new() }
    }
}

/// The result of [`Ask`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskResult {
    /// The number of the message.
    pub message: MessageId,
    /// `true` if the message is a repetition.
    pub duplicate: bool,
}

/// `send`: delivers a text to a chat. The result comes after the commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// The chat.
    pub chat: ChatAddress,
    /// The text.
    pub text: String,
    /// The key, as in [`Ask`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<DedupeKey>,
}

/// The result of [`Send`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendResult {
    /// The number of the text's first chunk.
    pub delivery: DeliveryId,
    /// `true` if the text is a repetition.
    pub duplicate: bool,
}

/// `wait`: waits until the message has its outcome. The result is a
/// [`MessageStatus`](avocet_protocol::store::MessageStatus).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// The message.
    pub message: MessageId,
    /// The most seconds to wait; the result then has no outcome. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

/// `status`: a [`DaemonStatus`](avocet_protocol::daemon::DaemonStatus).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ShowStatus {
    /// The session whose model to report; `None` for the model of the default agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
}

/// `doctor`: the daemon checks what it depends on. The result is a
/// [`Checkup`](avocet_protocol::daemon::Checkup).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Doctor {
    /// `true` to skip requests to providers and platforms.
    pub offline: bool,
}

impl NamesTarget for Ask {
    fn call_target(&self) -> CallTarget {
        CallTarget::Chat(self.session.address())
    }
}

impl NamesTarget for JsonQuestion {
    fn call_target(&self) -> CallTarget {
        CallTarget::Chat(self.session.address())
    }
}

impl NamesTarget for Send {
    fn call_target(&self) -> CallTarget {
        CallTarget::Chat(self.chat.clone())
    }
}

impl NamesTarget for Wait {
    fn call_target(&self) -> CallTarget {
        CallTarget::Message(self.message)
    }
}

method!(Ask = "ask": Self => AskResult, Sender, named_target::<Self>(), enters_message);
method!(JsonQuestion = "ask.json": Self => JsonAnswer, Sender, named_target::<Self>());
method!(Doctor = "doctor": Self => Checkup, Operator, Touches::Everything, optional_params, outside_libraries);
method!(Send = "send": Self => SendResult, Sender, named_target::<Self>(), enters_message);
method!(ShowStatus = "status": Self => DaemonStatus, Observer, Touches::Everything, optional_params);
method!(Wait = "wait": Self => MessageStatus, Observer, named_target::<Self>());
