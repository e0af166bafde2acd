//! Selects the pictures of a conversation that a model is shown, and loads their bytes for one
//! request.

use std::collections::BTreeMap;

use avocet_protocol::chat::{Attachment, AttachmentKind, AttachmentSource, Content};
use avocet_protocol::ids::CallId;
use avocet_protocol::model::{Image, ImageRef, Messages};
use avocet_protocol::tool::Files;
use avocet_protocol::turn::{CallResult, TurnRecord};
use serde_json::Value;

/// The most pictures of a conversation that are shown: the newest.
const MOST_SHOWN: usize = 4;
/// The number of pictures that are dropped together once there is one too many. Each drop changes
/// the common beginning of a session's requests, and with it the provider's cache is lost.
const GO_TOGETHER: usize = 2;
/// The key of a kept file's path in a result, and the endings of pictures.
const SAVED: &str = "saved_as";
const ENDINGS: [&str; 4] = [".jpg", ".png", ".gif", ".webp"];
/// The most levels of a result that are searched for kept files.
const MOST_NESTED: u32 = 3;
/// The largest picture that is shown, in bytes.
const MAX_BYTES: u64 = 5 * 1024 * 1024;

/// Returns the pictures of a message that are in the workspace.
pub(crate) fn stored_images(content: &Content) -> Vec<ImageRef> {
    let of = |attachment: &Attachment| match &attachment.source {
        AttachmentSource::Workspace(path) if shows_something(attachment) => {
            Some(ImageRef { path: path.clone() })
        }
        _ => None,
    };
    content.attachments.iter().filter_map(of).collect()
}

/// Returns the pictures among the files that the program has kept of a call's result. A result cannot
/// name other files: the path begins with the id of its call.
pub(crate) fn of_result(call: CallId, result: &CallResult) -> Vec<ImageRef> {
    let mut images = Vec::new();
    if result.ok {
        add_saved(&result.value, &call.files_prefix(), MOST_NESTED, &mut images);
    }
    images
}

fn add_saved(value: &Value, prefix: &str, nested: u32, images: &mut Vec<ImageRef>) {
    let mut add = |value: &Value| {
        if let Some(nested) = nested.checked_sub(1) {
            add_saved(value, prefix, nested, images);
        }
    };
    match value {
        Value::Array(values) => values.iter().for_each(add),
        Value::Object(object) => match object.get(SAVED).and_then(Value::as_str) {
            Some(path) => {
                let name = path.strip_prefix(prefix);
                let is_picture = |name: &str| ENDINGS.iter().any(|end| name.ends_with(end));
                if name.is_some_and(|name| !name.contains('/') && is_picture(name)) {
                    images.push(ImageRef { path: path.to_owned() });
                }
            }
            None => object.values().for_each(&mut add),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Loads the newest pictures. A picture that is missing, too large or invalid is left out; its line
/// of text stays.
pub(crate) async fn load(files: &dyn Files, messages: &Messages) -> BTreeMap<ImageRef, Image> {
    let mut images = BTreeMap::new();
    for image in newest_images(messages) {
        match files.read(&image.path, MAX_BYTES).await {
            Ok(bytes) => match Image::media_type_of(&bytes) {
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

/// Returns a line for the senders of pictures that no model is shown, because of their formats.
pub(crate) fn describe_unseen(turn: &TurnRecord) -> Option<String> {
    explain_unseen(turn).map(|reason| format!("[{reason}]"))
}

/// Returns the reason why no model is shown a picture of the turn; `None` if all are shown.
pub(crate) fn explain_unseen(turn: &TurnRecord) -> Option<String> {
    let steered = turn.steps.iter().flat_map(|step| &step.steered);
    let messages = turn.origin.messages().iter().chain(steered);
    let files = messages.flat_map(|message| &message.message.inbound.content.attachments);
    let mut formats: Vec<&str> =
        files.filter_map(Attachment::unsupported_picture).map(|format| format.name).collect();
    formats.sort_unstable();
    formats.dedup();
    let formats = formats.join(" and ");
    (!formats.is_empty()).then(|| {
        format!(
            "I cannot see pictures in the format {formats}. Please send them as JPEG, PNG, GIF or \
             WebP. With ImageMagick, libheif or FFmpeg on its machine, Avocet converts them."
        )
    })
}

/// Returns the number of pictures in these messages that a model with vision is shown.
pub(crate) fn count_images(messages: &Messages) -> usize {
    newest_images(messages).count()
}

fn newest_images(messages: &Messages) -> impl Iterator<Item = &ImageRef> {
    let all: Vec<&ImageRef> = messages.images().collect();
    let gone = all.len().saturating_sub(MOST_SHOWN).next_multiple_of(GO_TOGETHER);
    all.into_iter().skip(gone)
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

#[cfg(test)]
#[path = "images_tests.rs"]
mod tests;
