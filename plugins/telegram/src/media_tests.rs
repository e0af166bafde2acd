use serde_json::{Value, json};

use super::*;

/// A message with content of this kind.
fn message(kind: &str, thing: Value) -> Message {
    let mut message = json!({
        "message_id": 5, "date": 1_700_000_000,
        "chat": { "id": 7, "type": "private", "first_name": "Ann" },
        "from": { "id": 7, "is_bot": false, "first_name": "Ann" },
    });
    message[kind] = thing;
    serde_json::from_value(message).unwrap()
}

fn file(more: &Value) -> Value {
    let mut file = json!({ "file_id": "f", "file_unique_id": "u", "file_size": 1234 });
    file.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    file
}

fn size(id: &str, side: u32) -> Value {
    json!({ "file_id": id, "file_unique_id": id, "width": side, "height": side, "file_size": side })
}

/// The text that the model reads of a message before any download.
fn reads(kind: &str, thing: Value) -> String {
    let (text, attachments) = carried(&message(kind, thing)).into_parts();
    let text = text.unwrap_or_default();
    avocet_protocol::chat::Content { text, attachments, ..Default::default() }.as_text()
}

#[test]
fn carried_returns_an_attachment_for_each_kind_of_file() {
    let mp4 = || {
        file(&json!({ "width": 1, "height": 1, "length": 1, "duration": 3,
        "file_name": "a.mp4", "mime_type": "video/mp4" }))
    };
    let sticker = |more: Value| {
        let mut sticker = file(&json!({ "width": 1, "height": 1, "type": "regular",
            "is_animated": false, "is_video": false, "emoji": "👍" }));
        sticker.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        sticker
    };
    let cases = [
        ("photo", json!([size("s", 90), size("l", 1280), size("m", 320)]), "[image: 1280 bytes]"),
        (
            "document",
            file(&json!({ "file_name": "report.pdf", "mime_type": "application/pdf" })),
            "[document: report.pdf, 1234 bytes]",
        ),
        (
            "document",
            file(&json!({ "file_name": "beach.png", "mime_type": "image/png" })),
            "[image: beach.png, 1234 bytes]",
        ),
        ("document", json!({ "file_id": "f", "file_unique_id": "u" }), "[document]"),
        (
            "voice",
            file(&json!({ "duration": 12, "mime_type": "audio/ogg" })),
            "[voice, 12 s: 1234 bytes]",
        ),
        (
            "audio",
            file(&json!({ "duration": 12, "title": "Song", "mime_type": "audio/mpeg" })),
            "[audio, 12 s: Song, 1234 bytes]",
        ),
        ("video", mp4(), "[video, 3 s: a.mp4, 1234 bytes]"),
        ("animation", mp4(), "[video, 3 s: a.mp4, 1234 bytes]"),
        ("video_note", mp4(), "[video, 3 s: 1234 bytes]"),
        ("sticker", sticker(json!({})), "👍\n[sticker: 1234 bytes]"),
        ("sticker", sticker(json!({ "is_animated": true })), "👍\n[sticker: 1234 bytes]"),
        ("sticker", sticker(json!({ "emoji": null })), "[sticker: 1234 bytes]"),
    ];
    for (kind, thing, expected) in cases {
        assert_eq!(reads(kind, thing), expected, "{kind}");
    }
}

#[test]
fn carried_returns_the_file_reference_and_media_type() {
    let of = |kind: &str, thing: Value| {
        let (_, attachments) = carried(&message(kind, thing)).into_parts();
        let Attachment { source, media_type, .. } = attachments[0].clone();
        let AttachmentSource::Platform(reference) = source else { panic!("{source:?}") };
        (reference, media_type.unwrap())
    };
    let photo = json!([size("s", 90), size("l", 1280)]);
    assert_eq!(of("photo", photo), ("l".to_owned(), "image/jpeg".to_owned()));
    let sticker = |animated, video| {
        file(&json!({ "width": 1, "height": 1, "type": "regular", "is_animated": animated,
            "is_video": video }))
    };
    let kinds = [
        (false, false, "image/webp"),
        (true, false, "application/x-tgsticker"),
        (false, true, "video/webm"),
    ];
    for (animated, video, media_type) in kinds {
        assert_eq!(of("sticker", sticker(animated, video)).1, media_type);
    }
}

#[test]
fn carried_describes_locations_polls_and_contacts_in_a_line() {
    let place = || json!({ "latitude": 48.2, "longitude": 16.37 });
    let mut live = place();
    live["live_period"] = json!(60);
    let option = |text: &str| json!({ "text": text, "voter_count": 0 });
    let poll = json!({ "id": "1", "question": "Tea?", "options": [option("yes"), option("no")],
        "total_voter_count": 0, "is_closed": false, "is_anonymous": true, "type": "regular",
        "allows_multiple_answers": false });
    let venue = json!({ "location": place(), "title": "Café", "address": "Ring 1" });
    let contact = json!({ "phone_number": "+43 1", "first_name": "Bo", "last_name": "Ek" });
    let checklist = json!({ "title": "Trip", "tasks": [{ "id": 1, "text": "pack",
        "completion_date": 1 }, { "id": 2, "text": "go" }] });
    let cases = [
        ("location", place(), "[location: 48.2, 16.37]"),
        ("location", live, "[live location: 48.2, 16.37]"),
        ("venue", venue, "[venue: Café, Ring 1, 48.2, 16.37]"),
        ("contact", contact, "[contact: Bo Ek, +43 1]"),
        ("poll", poll, "[poll: Tea? (yes / no)]"),
        ("dice", json!({ "emoji": "🎯", "value": 6 }), "[dice 🎯: 6]"),
        ("checklist", checklist, "[checklist: Trip]\n[x] pack\n[ ] go"),
    ];
    for (kind, thing, expected) in cases {
        assert_eq!(reads(kind, thing), expected, "{kind}");
    }
}

#[test]
fn carried_names_the_kind_of_unreadable_content() {
    let chat = json!({ "id": 9, "type": "private", "first_name": "Bo" });
    let cases = [
        ("game", json!({ "title": "g", "description": "d", "photo": [] }), "a game"),
        ("story", json!({ "chat": chat, "id": 1 }), "a story"),
        (
            "invoice",
            json!({ "title": "t", "description": "d", "start_parameter": "s", "currency": "EUR",
                "total_amount": 1 }),
            "an invoice",
        ),
        ("paid_media", json!({ "star_count": 1, "paid_media": [] }), "paid media"),
        ("web_app_data", json!({ "data": "d", "button_text": "b" }), "data of a web app"),
        ("users_shared", json!({ "request_id": 1, "users": [] }), "a shared contact list"),
        (
            "giveaway",
            json!({ "chats": [], "winners_selection_date": 1, "winner_count": 1 }),
            "a giveaway",
        ),
    ];
    for (kind, thing, expected) in cases {
        assert_eq!(carried(&message(kind, thing)), Carried::Unreadable(expected), "{kind}");
    }
}

#[test]
fn carried_ignores_service_messages() {
    let user = json!({ "id": 9, "is_bot": false, "first_name": "Bo" });
    let cases = [
        ("text", json!("hi")),
        ("new_chat_members", json!([user])),
        ("left_chat_member", user),
        ("new_chat_title", json!("Birds")),
        ("new_chat_photo", json!([size("s", 90)])),
        ("delete_chat_photo", json!(true)),
        ("group_chat_created", json!(true)),
        ("migrate_to_chat_id", json!(-100_123)),
        ("forum_topic_created", json!({ "name": "n", "icon_color": 7_322_096 })),
        ("forum_topic_closed", json!({})),
        ("general_forum_topic_hidden", json!({})),
        ("video_chat_started", json!({})),
        ("video_chat_ended", json!({ "duration": 1 })),
        ("message_auto_delete_timer_changed", json!({ "message_auto_delete_time": 1 })),
        ("photo", json!([])),
    ];
    for (kind, thing) in cases {
        assert_eq!(carried(&message(kind, thing)), Carried::Nothing, "{kind}");
    }
}
