//! The form of a message that a client delivers.

use avocet_protocol::chat::{AttachmentKind, ChatAddress, Choice, StyleRange};
use avocet_protocol::ids::{DedupeKey, DeliveryId, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `deliver`: a message for the chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryChunk {
    /// The row of the outbox.
    pub id: DeliveryId,
    /// The same for each delivery of this chunk, and for no other chunk. At most 20 ASCII letters
    /// and digits.
    #[serde(default)]
    pub nonce: String,
    /// The turn that wrote the message; `None` if another process sent it.
    pub turn: Option<TurnId>,
    /// The chat.
    pub chat: ChatAddress,
    /// The text: plain on a channel that a program serves, otherwise Markdown.
    pub text: String,
    /// The styles of plain text. Offsets are bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub styles: Vec<StyleRange>,
    /// In a group, the key of the message that this one replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<DedupeKey>,
    /// Files, on a channel that a program serves. The program reads their bytes with `file.get`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<SentFile>,
    /// Buttons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// `true` if the chunk may have arrived before.
    pub repeat: bool,
}

/// A file of a [`DeliveryChunk`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentFile {
    /// The way in which a platform would show it.
    pub kind: AttachmentKind,
    /// Its name, without directories.
    pub name: String,
    /// The media type (RFC 6838), if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The size in bytes.
    pub bytes: u64,
}
