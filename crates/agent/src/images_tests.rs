use avocet_protocol::model::Message;
use avocet_testkit::FakeFiles;
use serde_json::json;

use super::*;

const JPEG: &[u8] = &[0xFF, 0xD8, 0xFF, 0xE0, 0];

fn image(number: usize) -> ImageRef {
    ImageRef { path: format!("inbox/m{number}-0.jpg") }
}

fn said(text: &str, images: impl IntoIterator<Item = usize>) -> Message {
    Message::User { text: text.to_owned(), images: images.into_iter().map(image).collect() }
}

fn attachment(kind: AttachmentKind, source: AttachmentSource) -> Content {
    Content { attachments: vec![Attachment::new(kind, source)], ..Content::default() }
}

#[test]
fn of_returns_image_attachments_in_the_workspace() {
    let here = || AttachmentSource::Workspace("inbox/m1-0.jpg".to_owned());
    let mut still = attachment(AttachmentKind::Sticker, here());
    still.attachments[0].media_type = Some("image/webp".to_owned());
    for content in [attachment(AttachmentKind::Image, here()), still] {
        assert_eq!(stored_images(&content), [image(1)]);
    }
    let others = [
        attachment(AttachmentKind::Image, AttachmentSource::Platform("f".to_owned())),
        attachment(AttachmentKind::Image, AttachmentSource::Lost("gone".to_owned())),
        attachment(AttachmentKind::Sticker, here()),
        attachment(AttachmentKind::Voice, here()),
        attachment(AttachmentKind::Document, here()),
        Content::text("hi"),
    ];
    for content in others {
        assert_eq!(stored_images(&content), [], "{content:?}");
    }
}

#[tokio::test]
async fn load_keeps_the_newest_images_and_drops_older_ones_in_pairs() {
    let files = FakeFiles::default();
    (0..20).for_each(|number| files.put(&image(number).path, JPEG));
    // The number of pictures, and the range that is shown.
    let cases = [(0, 0..0), (1, 0..1), (4, 0..4), (5, 2..5), (6, 2..6), (7, 4..7), (20, 16..20)];
    for (count, shown) in cases {
        let messages = vec![said("old", 0..count / 2), said("new", count / 2..count)].into();
        let found: Vec<ImageRef> = load(&files, &messages).await.into_keys().collect();
        let mut expected: Vec<ImageRef> = shown.map(image).collect();
        expected.sort();
        assert_eq!(found, expected, "{count}");
    }
}

#[tokio::test]
async fn load_omits_images_that_are_missing_too_large_or_invalid() {
    let files = FakeFiles::default();
    let large = [JPEG, &vec![0; MAX_BYTES as usize]].concat();
    files.put(&image(0).path, &large);
    files.put(&image(1).path, b"<html>");
    files.put(&image(2).path, JPEG);
    let images = load(&files, &vec![said("look", 0..4)].into()).await;
    let shown: Vec<(&ImageRef, &str)> =
        images.iter().map(|(image, found)| (image, found.media_type)).collect();
    assert_eq!(shown, [(&image(2), "image/jpeg")]);
    assert_eq!(format!("{images:?}").matches("of 5 bytes").count(), 1, "no bytes are shown");
}

#[test]
fn media_type_is_found_by_the_first_bytes() {
    let cases: [(&[u8], Option<&str>); 7] = [
        (JPEG, Some("image/jpeg")),
        (b"\x89PNG\r\n\x1a\n...", Some("image/png")),
        (b"GIF89a", Some("image/gif")),
        (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
        (b"RIFF\0\0\0\0WAVE", None),
        (b"%PDF-1.7", None),
        (b"", None),
    ];
    for (bytes, expected) in cases {
        assert_eq!(Image::media_type_of(bytes), expected);
    }
}

#[test]
fn of_result_takes_pictures_that_were_kept_of_the_same_call() {
    let call = CallId { turn: avocet_protocol::ids::TurnId(5), step: 1, ordinal: 0 };
    let saved = |path: &str| json!({"image": "image/png", "saved_as": path});
    let paths = |value: Value| -> Vec<String> {
        of_result(call, &CallResult::ok(value)).into_iter().map(|image| image.path).collect()
    };
    assert_eq!(paths(saved("inbox/t5s1c0-0.png")), ["inbox/t5s1c0-0.png"]);
    let several =
        json!({"content": ["x", saved("inbox/t5s1c0-1.jpg"), saved("inbox/t5s1c0-2.wav")]});
    assert_eq!(paths(several), ["inbox/t5s1c0-1.jpg"]);
    for other in ["secret.png", "inbox/t5s1c1-0.png", "inbox/t5s1c0-/../../a.png", ""] {
        assert_eq!(paths(saved(other)), [""; 0], "{other}");
    }
    assert_eq!(paths(json!([[[[saved("inbox/t5s1c0-0.png")]]]])), [""; 0]);
    let failed = CallResult { ok: false, ..CallResult::ok(saved("inbox/t5s1c0-0.png")) };
    assert!(of_result(call, &failed).is_empty());
}
