//! The files of messages, which a program keeps or delivers.

use avocet_protocol::chat::AttachmentKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Touches;

/// A file of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishedFile {
    /// The client's own name of the file, for `file.read`. At most 1,024 bytes.
    pub reference: String,
    /// The way in which a platform would show it. Default: `document`.
    #[serde(default = "document")]
    pub kind: AttachmentKind,
    /// The file's name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The media type (RFC 6838).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

fn document() -> AttachmentKind {
    AttachmentKind::Document
}

/// `file.get`: a piece of a file of a chunk that this connection has to deliver. The result is
/// [`FilePiece`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetFile {
    /// The id of the request `deliver`.
    pub delivery: String,
    /// The place of the file in its attachments, from 0.
    pub file: usize,
    /// The number of bytes before the piece.
    pub offset: usize,
}

/// A piece of a file: the result of [`GetFile`], and the answer to `file.read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilePiece {
    /// The bytes in base64 (RFC 4648, section 4). At the end of the file it is empty.
    pub data: String,
}

method!(GetFile = "file.get": Self => FilePiece, Sender, Touches::Nothing);
