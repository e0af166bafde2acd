//! Files of messages that a client publishes. The client keeps the bytes until the daemon reads them
//! with `file.read`.

use avocet_protocol::{Attachment, AttachmentKind, AttachmentSource, ChatAddress, ClientFile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::RpcError;

/// Bytes of the longest reference of a file.
const MOST_REFERENCE: usize = 1024;

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

/// The attachments of a message in this chat.
pub(crate) fn attachments(
    method: &str,
    chat: &ChatAddress,
    files: Vec<PublishedFile>,
) -> Result<Vec<Attachment>, RpcError> {
    let attachment = |file: PublishedFile| {
        let PublishedFile { reference: name, kind, name: shown, media_type, bytes } = file;
        if name.len() > MOST_REFERENCE {
            let length = name.len();
            let message = format!(
                "{method}: a reference of a file is {length} bytes long; at most {MOST_REFERENCE} \
                 are possible"
            );
            return Err(RpcError::new(RpcError::PARAMS, message));
        }
        let file = ClientFile { chat: chat.clone(), name };
        let source = AttachmentSource::Platform(file.to_reference());
        Ok(Attachment { name: shown, media_type, bytes, ..Attachment::new(kind, source) })
    };
    files.into_iter().map(attachment).collect()
}
