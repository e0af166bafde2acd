//! Selects the pictures of a conversation that a model is shown, and loads their bytes for one
//! request.

use std::collections::BTreeMap;

use avocet_protocol::{
    Attachment, AttachmentKind, AttachmentSource, Content, Files, Image, ImageRef, Message,
    Messages,
};

/// The most pictures of a conversation that are shown: the newest.
const MOST_SHOWN: usize = 4;
/// The number of pictures that are dropped together once there is one too many. Each drop changes
/// the common beginning of a session's requests, and with it the provider's cache is lost.
const GO_TOGETHER: usize = 2;
/// The largest picture that is shown, in bytes.
const MAX_BYTES: u64 = 5 * 1024 * 1024;

/// Returns the pictures of a message that are in the workspace.
pub(crate) fn of(content: &Content) -> Vec<ImageRef> {
    let of = |attachment: &Attachment| match &attachment.source {
        AttachmentSource::Workspace(path) if shows_something(attachment) => {
            Some(ImageRef { path: path.clone() })
        }
        _ => None,
    };
    content.attachments.iter().filter_map(of).collect()
}

/// Loads the newest pictures. A picture that is missing, too large or invalid is left out; its line
/// of text stays.
pub(crate) async fn load(files: &dyn Files, messages: &Messages) -> BTreeMap<ImageRef, Image> {
    let mut images = BTreeMap::new();
    for image in newest(messages) {
        match files.read(&image.path, MAX_BYTES).await {
            Ok(bytes) => match media_type(&bytes) {
                Some(media_type) => {
                    images.insert(image.clone(), Image { media_type, bytes: bytes.into() });
                }
                None => {
                    tracing::debug!(path = image.path, "not a picture format that models accept");
                }
            },
            Err(error) => tracing::debug!(%error, "a picture is not shown"),
        }
    }
    images
}

/// Returns the number of pictures in these messages that a model with vision is shown.
pub(crate) fn shown(messages: &Messages) -> usize {
    newest(messages).count()
}

fn newest(messages: &Messages) -> impl Iterator<Item = &ImageRef> {
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
        // Only stickers without animation.
        AttachmentKind::Sticker => attachment.media_type.as_deref() == Some("image/webp"),
        AttachmentKind::Audio
        | AttachmentKind::Voice
        | AttachmentKind::Video
        | AttachmentKind::Document => false,
    }
}

/// Detects a media type from the first bytes; `None` if models do not accept the format.
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
