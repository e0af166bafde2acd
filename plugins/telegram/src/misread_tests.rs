use std::collections::BTreeSet;

use avocet_protocol::{CommandHelp, DedupeKey, Inbound};
use serde_json::json;

use super::*;
use crate::moved::Moves;
use crate::update::Update;

const IN_A_WAY: &str = "that Telegram describes in a way I do not know";

/// What is made of a message in private with these fields.
fn read(more: &Value) -> Converted {
    let mut message = json!({ "message_id": 5, "date": 1_700_000_000,
        "chat": { "id": 7, "type": "private", "first_name": "Ann" },
        "from": { "id": 7, "is_bot": false, "first_name": "Ann" } });
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let me = json!({ "id": 42, "is_bot": true, "first_name": "Avocet", "username": "avocet_bot",
        "can_join_groups": true, "can_read_all_group_messages": false,
        "supports_inline_queries": false, "can_connect_to_business": false,
        "has_main_web_app": false });
    let me = serde_json::from_value(me).unwrap();
    let (channel, account) = ("telegram".parse().unwrap(), "main".parse().unwrap());
    let unmentioned = &BTreeSet::default();
    let moves = &Moves::default();
    let commands = &["stop"].map(|name| CommandHelp { name, argument: "", help: "" });
    let bot = Bot { me: &me, channel: &channel, account: &account, unmentioned, moves, commands };
    bot.convert(&[Update::read(json!({ "update_id": 1, "message": message })).unwrap()])
}

#[track_caller]
fn heard(more: &Value) -> Inbound {
    match read(more) {
        Converted::Inbound(inbound) => *inbound,
        other => panic!("{more}: {other:?}"),
    }
}

#[test]
fn a_file_is_taken_wherever_the_platform_says_where_it_is() {
    use AttachmentKind::{Document, Image, Video, Voice};
    let table = [
        (json!({ "voice": { "file_id": "f", "duration": 3 } }), Voice, Some("audio/ogg")),
        (json!({ "voice": { "file_id": "f", "mime_type": "no type" } }), Voice, Some("audio/ogg")),
        (json!({ "video_note": { "file_id": "f" } }), Video, Some("video/mp4")),
        (json!({ "document": { "file_id": "f" }, "animation": { "file_id": "f" } }), Video, None),
        (
            json!({ "document": { "file_id": "f", "file_size": 5_000_000_000_i64,
                "mime_type": "text/plain" } }),
            Document,
            Some("text/plain"),
        ),
        (
            json!({ "photo": [{ "file_id": "s" }, { "file_id": "f" }, {}] }),
            Image,
            Some("image/jpeg"),
        ),
    ];
    for (more, kind, media_type) in table {
        let inbound = heard(&more);
        assert_eq!(inbound.key.as_str(), "m5");
        let [file] = &inbound.content.attachments[..] else { panic!("{more}") };
        assert_eq!((file.kind, file.media_type.as_deref()), (kind, media_type), "{more}");
        assert_eq!(file.source, AttachmentSource::Platform("f".to_owned()), "{more}");
    }
    let voice = heard(&json!({ "voice": { "file_id": "f", "duration": 3, "file_size": 9 } }));
    let file = &voice.content.attachments[0];
    assert_eq!((file.seconds, file.bytes), (Some(3), Some(9)));
}

#[test]
fn what_was_said_is_heard_beside_what_cannot_be_read() {
    let replied = json!({ "message_id": 4, "date": 1, "text": "how are you?",
        "chat": { "id": 7, "type": "private", "first_name": "Ann" } });
    let odd = json!({ "type": "unheard_of", "date": 1 });
    let table = [
        (json!({ "text": "hi", "forward_origin": odd }), "[forwarded from somebody]\nhi"),
        (json!({ "text": "hi", "entities": [{ "type": 5 }] }), "hi"),
        (
            json!({ "text": "fine", "entities": 5, "reply_to_message": replied }),
            "[in reply to you]\n> how are you?\nfine",
        ),
        (json!({ "caption": "look", "video": {} }), &format!("look\n[a video {IN_A_WAY}]")),
        (
            json!({ "caption": "look", "hologram": {} }),
            "look\n[something that Telegram calls “hologram”, which is new to me]",
        ),
    ];
    for (more, text) in table {
        assert_eq!(heard(&more).content.as_text(), text, "{more}");
    }
}

#[test]
fn what_cannot_be_read_is_named_to_its_sender() {
    let table = [
        (json!({ "voice": {} }), format!("a voice message {IN_A_WAY}")),
        (json!({ "voice": { "file_id": "" } }), format!("a voice message {IN_A_WAY}")),
        (json!({ "photo": [{}] }), format!("a photo {IN_A_WAY}")),
        (json!({ "story": {} }), format!("a story {IN_A_WAY}")),
        (json!({ "checklist": 5 }), format!("a checklist {IN_A_WAY}")),
        (json!({ "gift": { "gift": {} } }), format!("a gift {IN_A_WAY}")),
        (
            json!({ "hologram": {} }),
            "something that Telegram calls “hologram”, which is new to me".to_owned(),
        ),
        (json!({ "<b>\u{202e}": 1 }), "something that is new to me".to_owned()),
        // Nobody said it: there is nobody to take it from.
        (json!({ "from": 5, "voice": { "file_id": "f" } }), format!("a voice message {IN_A_WAY}")),
        (json!({ "from": 5, "text": "hi" }), format!("a text {IN_A_WAY}")),
    ];
    let key: DedupeKey = "m5".parse().unwrap();
    for (more, kind) in table {
        let address = "telegram:main:7".parse().unwrap();
        let name = (more["from"] != 5).then(|| "Ann".to_owned());
        let sender = Sender { name, ..Sender::new("7".parse().unwrap()) };
        let unreadable =
            Unreadable::new((address, ChatKind::Private), key.clone(), sender, kind).unwrap();
        assert_eq!(read(&more), Converted::Unreadable(Box::new(unreadable)), "{more}");
    }
}

#[test]
fn what_nobody_said_or_what_was_said_elsewhere_is_counted() {
    let group = json!({ "id": -20, "type": "supergroup", "title": "Birds" });
    let table = [
        (json!({}), "without text"),
        (json!({ "text": null, "voice": null }), "without text"),
        (json!({ "pinned_message": 5 }), "without text"),
        (json!({ "chat": group, "voice": {} }), "of another kind"),
        (json!({ "chat": {}, "voice": {} }), "of another kind"),
        (json!({ "chat": 5, "voice": {} }), "of another kind"),
        (json!({ "message_id": null, "voice": {} }), "of another kind"),
    ];
    for (more, reason) in table {
        assert_eq!(read(&more), Converted::Ignored(reason), "{more}");
    }
}
