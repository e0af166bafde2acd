use std::collections::BTreeSet;

use avocet_protocol::channel::CommandHelp;
use avocet_protocol::chat::{AttachmentKind, AttachmentSource, Inbound};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::DedupeKey;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;
use serde_json::json;
use teloxide::types::UpdateKind;

use super::*;
use crate::moved::Moves;
use crate::update::Update;

const IN_A_WAY: &str = "that Telegram describes in an unknown way";

/// A private message with these fields.
fn message(more: &Value) -> Value {
    let mut message = json!({ "message_id": 5, "date": 1_700_000_000,
        "chat": { "id": 7, "type": "private", "first_name": "Ann" },
        "from": { "id": 7, "is_bot": false, "first_name": "Ann" } });
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    message
}

/// Converts a message with these fields.
fn read(more: &Value) -> Converted {
    convert(json!({ "update_id": 1, "message": message(more) }))
}

/// Converts an update that teloxide fails to parse.
fn convert(update: Value) -> Converted {
    let update = Update::read(update).unwrap();
    assert!(matches!(update.kind, UpdateKind::Error(_)), "the client can read it: {update:?}");
    convert_any(update)
}

/// Converts an update.
pub(crate) fn convert_any(update: Update) -> Converted {
    let me = json!({ "id": 42, "is_bot": true, "first_name": "Avocet", "username": "avocet_bot",
        "can_join_groups": true, "can_read_all_group_messages": false,
        "supports_inline_queries": false, "can_connect_to_business": false,
        "has_main_web_app": false });
    let me = serde_json::from_value(me).unwrap();
    let (channel, account) = ("telegram".parse().unwrap(), "main".parse().unwrap());
    let unmentioned = &BTreeSet::default();
    let moves = &Moves::default();
    let commands = &["stop"].map(|name| CommandHelp::new(name, "", ""));
    let bot = BotIdentity {
        me: &me,
        channel: &channel,
        account: &account,
        unmentioned,
        moves,
        albums: &Default::default(),
        commands,
        direct_topic: None,
        fields: None,
    };
    crate::convert::convert(&bot, &[update])
}

#[track_caller]
fn inbound_of(more: &Value) -> Inbound {
    match read(more) {
        Converted::Inbound(inbound) => *inbound,
        other => panic!("{more}: {other:?}"),
    }
}

fn unreadable(inbound: Inbound, kind: String) -> Converted {
    let inbound = Inbound { from_platform: true, ..inbound };
    Converted::Unreadable(Box::new(Unreadable::new(inbound, kind).unwrap()))
}

#[test]
fn raw_update_takes_a_file_from_a_malformed_message() {
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
        let inbound = inbound_of(&more);
        assert_eq!(inbound.key.as_str(), "m5");
        let [file] = &inbound.content.attachments[..] else { panic!("{more}") };
        assert_eq!((file.kind, file.media_type.as_deref()), (kind, media_type), "{more}");
        assert_eq!(file.source, AttachmentSource::Platform("f".to_owned()), "{more}");
    }
    let voice = inbound_of(&json!({ "voice": { "file_id": "f", "duration": 3, "file_size": 9 } }));
    let file = &voice.content.attachments[0];
    assert_eq!((file.seconds, file.bytes), (Some(3), Some(9)));
}

#[test]
fn raw_update_keeps_the_text_beside_malformed_fields() {
    let replied = json!({ "message_id": 4, "date": 1, "text": "how are you?",
        "chat": { "id": 7, "type": "private", "first_name": "Ann" } });
    let unknown = json!({ "type": "unheard_of", "date": 1 });
    let table = [
        (json!({ "text": "hi", "forward_origin": unknown }), "[forwarded from somebody]\nhi"),
        (json!({ "text": "hi", "entities": [{ "type": 5 }] }), "hi"),
        // A private chat has the id of its person.
        (json!({ "text": "hi", "from": 5 }), "hi"),
        (
            json!({ "text": "fine", "entities": 5, "reply_to_message": replied }),
            "[in reply to another message]\n> how are you?\nfine",
        ),
        (json!({ "caption": "look", "video": {} }), &format!("look\n[a video {IN_A_WAY}]")),
        (
            json!({ "caption": "look", "hologram": {} }),
            "look\n[something that Telegram calls “hologram”, which I do not know]",
        ),
    ];
    for (more, text) in table {
        assert_eq!(inbound_of(&more).content.as_text(), text, "{more}");
    }
}

#[test]
fn raw_update_names_unreadable_content_to_its_sender() {
    let table = [
        (json!({ "voice": {} }), format!("a voice message {IN_A_WAY}")),
        (json!({ "voice": { "file_id": "" } }), format!("a voice message {IN_A_WAY}")),
        (json!({ "photo": [{}] }), format!("a photo {IN_A_WAY}")),
        (json!({ "story": {} }), format!("a story {IN_A_WAY}")),
        (json!({ "checklist": 5 }), format!("a checklist {IN_A_WAY}")),
        (json!({ "gift": { "gift": {} } }), format!("a gift {IN_A_WAY}")),
        (
            json!({ "hologram": {} }),
            "something that Telegram calls “hologram”, which I do not know".to_owned(),
        ),
        (json!({ "<b>\u{202e}": 1 }), "something that I do not know".to_owned()),
    ];
    let key: DedupeKey = "m5".parse().unwrap();
    for (more, kind) in table {
        let address = "telegram:main:7".parse().unwrap();
        let name = Some("Ann".to_owned());
        let sender = Sender { name, ..Sender::new("7".parse().unwrap()) };
        let inbound = Inbound::new(address, sender, key.clone(), Content::default());
        assert_eq!(read(&more), unreadable(inbound, kind), "{more}");
    }
}

#[test]
fn raw_update_ignores_messages_without_content_or_a_known_chat() {
    let table = [
        (json!({}), "without text"),
        (json!({ "text": null, "voice": null }), "without text"),
        (json!({ "pinned_message": 5 }), "without text"),
        (json!({ "chat": group(), "voice": {} }), "not mentioned"),
        (json!({ "chat": { "id": -20, "type": "mailbox" }, "voice": {} }), "of another kind"),
        (json!({ "chat": {}, "voice": {} }), "of another kind"),
        (json!({ "chat": 5, "voice": {} }), "of another kind"),
        (json!({ "message_id": null, "voice": {} }), "of another kind"),
    ];
    for (more, reason) in table {
        assert_eq!(read(&more), Converted::Ignored(reason), "{more}");
    }
}

fn group() -> Value {
    json!({ "id": -20, "type": "supergroup", "title": "Birds", "is_forum": true })
}

/// A group message that teloxide fails to parse because of its `forward_origin`.
fn in_group(more: &Value) -> Value {
    let mut fields = json!({ "chat": group(), "forward_origin": { "type": "unheard_of" } });
    fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fields
}

/// A message of the bot or of another author.
fn replied_to(author: u64) -> Value {
    json!({ "message_id": 4, "date": 1, "chat": group(), "text": "hi",
        "from": { "id": author, "is_bot": true, "first_name": "Avocet" } })
}

fn mark(kind: &str, length: usize) -> Value {
    json!({ "type": kind, "offset": 0, "length": length })
}

#[test]
fn raw_update_accepts_group_messages_addressed_to_the_bot() {
    let name = "@avocet_bot look";
    let table = [
        (json!({ "text": "fine", "reply_to_message": replied_to(42) }), "fine"),
        (json!({ "text": "fine", "reply_to_message": { "from": { "id": 42 } } }), "fine"),
        (json!({ "text": name, "entities": [{ "type": 5 }, mark("mention", 11)] }), name),
        (json!({ "text": name, "entities": [mark("mention", 11)], "from": { "id": 7 } }), name),
        (
            json!({ "caption": name, "caption_entities": [mark("mention", 11)], "video": {} }),
            &format!("{name}\n[a video {IN_A_WAY}]"),
        ),
        (json!({ "text": "/stop", "entities": [mark("bot_command", 5)] }), "/stop"),
    ];
    for (more, text) in table {
        let inbound = inbound_of(&in_group(&more));
        assert_eq!(inbound.content.text, text, "{more}");
        let of = (inbound.address.to_string(), inbound.chat, inbound.sender.id.to_string());
        assert_eq!(of, ("telegram:main:-20".to_owned(), ChatKind::Group, "7".to_owned()));
    }
    let voice = json!({ "voice": { "file_id": "f" }, "reply_to_message": replied_to(42) });
    assert_eq!(inbound_of(&in_group(&voice)).content.attachments[0].kind, AttachmentKind::Voice);
}

#[test]
fn raw_update_ignores_group_messages_not_addressed_to_the_bot() {
    let table = [
        (json!({ "text": "fine" }), "not mentioned"),
        (json!({ "text": "fine", "reply_to_message": replied_to(43) }), "not mentioned"),
        (json!({ "text": "@another", "entities": [mark("mention", 8)] }), "not mentioned"),
        (json!({ "text": "/weather", "entities": [mark("bot_command", 8)] }), "not mentioned"),
        (json!({ "voice": {}, "from": 5, "reply_to_message": replied_to(42) }), "without a sender"),
        (json!({ "video_chat_started": 5, "reply_to_message": replied_to(42) }), "without text"),
    ];
    for (more, reason) in table {
        assert_eq!(read(&in_group(&more)), Converted::Ignored(reason), "{more}");
    }
}

#[test]
fn raw_update_names_unreadable_group_content_in_its_topic() {
    let table = [
        (json!({}), "telegram:main:-20"),
        (json!({ "is_topic_message": true, "message_thread_id": 9 }), "telegram:main:-20:9"),
    ];
    for (more, address) in table {
        let mut fields = in_group(&json!({ "voice": {}, "reply_to_message": replied_to(42) }));
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let sender = Sender { name: Some("Ann".to_owned()), ..Sender::new("7".parse().unwrap()) };
        let (address, key) = (address.parse().unwrap(), "m5".parse().unwrap());
        let inbound = Inbound::new(address, sender, key, Content::default());
        let inbound = Inbound { chat: ChatKind::Group, ..inbound };
        let kind = format!("a voice message {IN_A_WAY}");
        assert_eq!(read(&fields), unreadable(inbound, kind), "{more}");
    }
}

#[test]
fn raw_update_marks_an_edit_with_readable_text_as_a_correction() {
    let edited = |mut more: Value| {
        more["forward_origin"] = json!({ "type": "unheard_of" });
        convert(json!({ "update_id": 1, "edited_message": message(&more) }))
    };
    let at = 1_700_000_001;
    let Converted::Inbound(inbound) = edited(json!({ "text": "hallo", "edit_date": at })) else {
        panic!("ignored")
    };
    assert_eq!(inbound.key.as_str(), "m5e1700000001");
    assert_eq!(inbound.corrects.unwrap().as_str(), "m5");
    assert_eq!(inbound.written_at, Some(Timestamp(at * 1000)));
    assert_eq!(inbound.content.text, "hallo");
    let table = [
        (json!({ "voice": {}, "edit_date": at }), "an edit of the unreadable"),
        (json!({ "text": "hallo" }), "edited without a time"),
        (json!({ "text": "hallo", "edit_date": -1 }), "edited without a time"),
        (json!({ "location": {}, "edit_date": at }), "a live location that moved"),
        (json!({ "caption": "x", "media_group_id": "a", "edit_date": at }), "an edit of an album"),
        (json!({ "text": "hallo", "chat": group(), "edit_date": at }), "not mentioned"),
    ];
    for (more, reason) in table {
        assert_eq!(edited(more.clone()), Converted::Ignored(reason), "{more}");
    }
}

#[test]
fn raw_update_reads_a_button_press_below_any_message() {
    let pressed = |more: Value| {
        let mut query = json!({ "id": "q1", "from": { "id": 7 }, "data": "/skip w3",
            "message": { "chat": { "id": 7, "type": "private" } } });
        query.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        convert(json!({ "update_id": 1, "callback_query": query }))
    };
    let below = |chat: Value| json!({ "message": { "chat": chat, "is_topic_message": true, "message_thread_id": 9 } });
    let cases = [
        (json!({}), "telegram:main:7", ChatKind::Private),
        (below(group()), "telegram:main:-20:9", ChatKind::Group),
    ];
    for (more, address, chat) in cases {
        let Converted::Inbound(inbound) = pressed(more) else { panic!("ignored") };
        assert_eq!((inbound.key.as_str(), inbound.content.text.as_str()), ("cq1", "/skip w3"));
        assert_eq!((inbound.address.to_string().as_str(), inbound.chat), (address, chat));
        assert!(inbound.from_platform && inbound.sender.id.as_str() == "7");
    }
    let counted = [
        (json!({ "data": 5 }), "a button without text"),
        (json!({ "id": 5 }), "a button without text"),
        (json!({ "from": {} }), "of another kind"),
        (json!({ "message": {} }), "of another kind"),
    ];
    for (more, reason) in counted {
        assert_eq!(pressed(more.clone()), Converted::Ignored(reason), "{more}");
    }
}

/// The pointers of all fields of a message, except those that no text can do without.
fn optional_fields(value: &Value, at: &str, found: &mut Vec<(String, String)>) {
    const NEEDED: [&str; 6] =
        ["/message_id", "/chat", "/chat/id", "/chat/type", "/text", "/from/is_bot"];
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let place = format!("{at}/{key}");
                optional_fields(value, &place, found);
                if !NEEDED.contains(&place.as_str()) {
                    found.push((at.to_owned(), key.clone()));
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                optional_fields(item, &format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// A value that no field of Telegram has, or its absence.
fn odd_value() -> impl Strategy<Value = Option<Value>> {
    let values =
        [json!(null), json!(""), json!("x"), json!(-1), json!(0.5), json!(true), json!([null])];
    let values = values.into_iter().chain([json!([]), json!({}), json!({ "id": [] })]).map(Some);
    select(values.chain([None]).collect::<Vec<_>>())
}

proptest! {
    // A fixed seed, so that a failure is the fault of a change.
    #![proptest_config(ProptestConfig {
        cases: 300,
        rng_seed: RngSeed::Fixed(35),
        ..ProptestConfig::default()
    })]

    #[test]
    fn update_keeps_its_text_whatever_other_fields_are(
        changes in prop::collection::vec((any::<Index>(), odd_value()), 1..8),
    ) {
        let ann = json!({ "id": 7, "is_bot": false, "first_name": "Ann", "username": "ann",
            "language_code": "en" });
        let replied = message(&json!({ "message_id": 4, "text": "earlier", "from": ann }));
        let mut odd = message(&json!({ "text": "hello *you*", "from": ann,
            "entities": [{ "type": "bold", "offset": 6, "length": 5 }],
            "reply_to_message": replied, "quote": { "text": "earl", "position": 0 },
            "forward_origin": { "type": "hidden_user", "sender_user_name": "Bo", "date": 1 },
            "link_preview_options": { "is_disabled": true }, "is_topic_message": false }));
        for (field, value) in &changes {
            let mut places = Vec::new();
            optional_fields(&odd, "", &mut places);
            let (object, key) = &places[field.index(places.len())];
            let fields = odd.pointer_mut(object).unwrap().as_object_mut().unwrap();
            match value {
                Some(value) => drop(fields.insert(key.clone(), value.clone())),
                None => drop(fields.remove(key)),
            }
        }
        let update = Update::read(json!({ "update_id": 1, "message": odd })).unwrap();
        let converted = convert_any(update);
        let Converted::Inbound(inbound) = &converted else { panic!("{converted:?}: {odd}") };
        let text = inbound.content.as_text();
        prop_assert!(text.contains("hello") && text.contains("you"), "{text:?}: {odd}");
    }
}
