//! Which pictures of a conversation a model is shown, and their bytes: read for a request, and gone
//! with it.

use std::collections::BTreeMap;

use avocet_protocol::{
    Attachment, AttachmentKind, AttachmentSource, Content, Files, Image, ImageRef, Message,
};

/// Pictures of a conversation that are shown at most: the newest.
const MOST_SHOWN: usize = 4;
/// How many go when one too many has come: with each that goes, the requests of a session lose the
/// beginning that they have in common, and the provider its cache.
const GO_TOGETHER: usize = 2;
/// The largest picture that is shown, in bytes.
const MAX_BYTES: u64 = 5 * 1024 * 1024;

/// The pictures of a message that are in the workspace.
pub(crate) fn of(content: &Content) -> Vec<ImageRef> {
    let of = |attachment: &Attachment| match &attachment.source {
        AttachmentSource::Workspace(path) if shows_something(attachment) => {
            Some(ImageRef { path: path.clone() })
        }
        _ => None,
    };
    content.attachments.iter().filter_map(of).collect()
}

/// The bytes of the newest pictures. One that is gone, too large or no picture is left out: its line
/// of text is there all the same.
pub(crate) async fn load(files: &dyn Files, messages: &[Message]) -> BTreeMap<ImageRef, Image> {
    let mut images = BTreeMap::new();
    for image in newest(messages) {
        match files.read(&image.path, MAX_BYTES).await {
            Ok(bytes) => match media_type(&bytes) {
                Some(media_type) => {
                    images.insert(image.clone(), Image { media_type, bytes: bytes.into() });
                }
                None => tracing::debug!(path = image.path, "no picture that models take"),
            },
            Err(error) => tracing::debug!(%error, "a picture is not shown"),
        }
    }
    images
}

/// How many pictures of these messages a model with eyes is shown.
pub(crate) fn shown(messages: &[Message]) -> usize {
    newest(messages).count()
}

fn newest(messages: &[Message]) -> impl Iterator<Item = &ImageRef> {
    let all: Vec<&ImageRef> = messages.iter().flat_map(images_of).collect();
    let gone = all.len().saturating_sub(MOST_SHOWN).next_multiple_of(GO_TOGETHER);
    all.into_iter().skip(gone)
}

fn images_of(message: &Message) -> &[ImageRef] {
    match message {
        Message::User { images, .. } => images,
        Message::System { .. } | Message::Assistant { .. } | Message::ToolResult { .. } => &[],
    }
}

fn shows_something(attachment: &Attachment) -> bool {
    match attachment.kind {
        AttachmentKind::Image => true,
        // Those that do not move.
        AttachmentKind::Sticker => attachment.media_type.as_deref() == Some("image/webp"),
        AttachmentKind::Audio
        | AttachmentKind::Voice
        | AttachmentKind::Video
        | AttachmentKind::Document => false,
    }
}

/// What a file says it is in its first bytes; none if it is no picture that models take.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some("image/png"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
#[path = "images_tests.rs"]
mod tests;
