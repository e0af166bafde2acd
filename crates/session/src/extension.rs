//! Chooses the file extension of an attachment from its name or media type, so that tools and
//! people recognise its type. Only letters and digits are allowed, because senders choose names.

use avocet_protocol::chat::{Attachment, AttachmentKind};
use avocet_protocol::model::PictureFormat;

/// Maximum length of an extension taken from a name.
const LONGEST: usize = 8;

/// Extensions for media types of nameless files, as platforms send them.
const OF_MEDIA_TYPES: [(&str, &str); 18] = [
    ("application/pdf", "pdf"),
    ("application/x-tgsticker", "tgs"),
    ("application/zip", "zip"),
    ("audio/flac", "flac"),
    ("audio/mp4", "m4a"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("audio/opus", "ogg"),
    ("audio/wav", "wav"),
    ("audio/x-m4a", "m4a"),
    ("audio/x-wav", "wav"),
    ("image/gif", "gif"),
    ("image/jpeg", "jpg"),
    ("image/png", "png"),
    ("image/webp", "webp"),
    ("text/plain", "txt"),
    ("video/mp4", "mp4"),
    ("video/webm", "webm"),
];

/// Returns the extension without dot: lower-case ASCII letters and digits, at most eight. That of a
/// picture fits its first bytes.
pub(crate) fn extension(attachment: &Attachment, picture: Option<&PictureFormat>) -> String {
    let of_name = attachment.name.as_deref().and_then(of_name);
    if let Some(picture) = picture {
        let of_name = of_name.filter(|name| picture.endings.contains(&name.as_str()));
        return of_name.unwrap_or_else(|| picture.endings[0].to_owned());
    }
    let of_media_type = || {
        let media_type = attachment.media_type.as_deref()?.split(';').next()?.trim();
        let found = OF_MEDIA_TYPES.iter().find(|(name, _)| name.eq_ignore_ascii_case(media_type));
        found.map(|(_, extension)| (*extension).to_owned())
    };
    of_name.or_else(of_media_type).unwrap_or_else(|| of_kind(attachment.kind).to_owned())
}

fn of_name(name: &str) -> Option<String> {
    let (stem, extension) = name.rsplit_once('.')?;
    let is_one = (1..=LONGEST).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_one && !stem.is_empty()).then(|| extension.to_ascii_lowercase())
}

/// Returns the usual extension for platforms that omit the media type.
fn of_kind(kind: AttachmentKind) -> &'static str {
    match kind {
        AttachmentKind::Image => "jpg",
        AttachmentKind::Audio => "mp3",
        AttachmentKind::Voice => "ogg",
        AttachmentKind::Video => "mp4",
        AttachmentKind::Sticker => "webp",
        AttachmentKind::Document => "bin",
    }
}

#[cfg(test)]
mod tests {
    use avocet_protocol::chat::AttachmentSource;

    use super::*;

    #[track_caller]
    fn check(kind: AttachmentKind, name: &str, media_type: &str, expected: &str) {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let (name, media_type) = (some(name), some(media_type));
        let source = AttachmentSource::Platform("f".to_owned());
        let attachment = Attachment { name, media_type, ..Attachment::new(kind, source) };
        assert_eq!(extension(&attachment, None), expected);
    }

    #[test]
    fn extension_of_a_picture_fits_its_bytes() {
        let jpeg = PictureFormat::recognise(b"\xff\xd8\xff");
        for (name, expected) in [("a.JPEG", "jpeg"), ("a.png", "jpg"), ("a", "jpg")] {
            let source = AttachmentSource::Platform("f".to_owned());
            let attachment = Attachment::new(AttachmentKind::Document, source);
            let attachment = Attachment { name: Some(name.to_owned()), ..attachment };
            assert_eq!(extension(&attachment, jpeg), expected, "{name}");
        }
    }

    #[test]
    fn extension_follows_the_name_or_the_media_type() {
        check(AttachmentKind::Document, "notes.TXT", "application/pdf", "txt");
        check(AttachmentKind::Document, "backup.tar.gz", "", "gz");
        check(AttachmentKind::Document, "", "application/pdf", "pdf");
        check(AttachmentKind::Voice, "", "Audio/OGG; codecs=opus", "ogg");
        check(AttachmentKind::Image, "", "", "jpg");
        check(AttachmentKind::Document, "", "application/x-unheard-of", "bin");
    }

    #[test]
    fn extension_ignores_an_unsafe_name() {
        for name in
            ["a.../../etc/passwd", "a.b/c", "a.sh\n", "a.", ".bashrc", "a.ext ension", "a.ä"]
        {
            check(AttachmentKind::Document, name, "", "bin");
        }
        check(AttachmentKind::Document, "a.averylongone", "text/plain", "txt");
    }
}
