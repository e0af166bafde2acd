//! Files of messages that a client publishes. The client keeps the bytes until the daemon reads them
//! with `file.read`.

use avocet_methods::PublishedFile;
use avocet_protocol::channel::ClientFile;
use avocet_protocol::chat::{Attachment, AttachmentSource, ChatAddress};

use crate::wire::RpcError;

/// Bytes of the longest reference of a file.
const MOST_REFERENCE: usize = 1024;

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
