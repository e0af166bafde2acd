use std::collections::BTreeSet;

use avocet_protocol::channel::CommandHelp;
use avocet_protocol::chat::Content;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::PlatformId;
use serde_json::{Value, json};
use teloxide::types::Me;

use super::*;
use crate::moved::Moves;

fn me() -> Me {
    serde_json::from_value(json!({
        "id": 42, "is_bot": true, "first_name": "Avocet", "username": "avocet_bot",
        "can_join_groups": true, "can_read_all_group_messages": false,
        "supports_inline_queries": false, "can_connect_to_business": false,
        "has_main_web_app": false,
    }))
    .unwrap()
}

fn private() -> Value {
    json!({ "id": 7, "type": "private", "first_name": "Ann" })
}

fn group() -> Value {
    json!({ "id": -1001, "type": "supergroup", "title": "Birds", "is_forum": true })
}

fn message(chat: &Value, more: &Value) -> Value {
    let mut message = json!({
        "message_id": 5, "date": 1_700_000_000, "chat": chat,
        "from": { "id": 7, "is_bot": false, "first_name": "Ann", "last_name": "Lee" },
    });
    let fields = message.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    json!({ "update_id": 100, "message": message })
}

fn entity(kind: &str, offset: usize, length: usize) -> Value {
    json!([{ "type": kind, "offset": offset, "length": length }])
}

fn convert(update: Value) -> Converted {
    let (me, update) = (me(), Update::read(update).unwrap());
    let (channel, account) = ("telegram".parse().unwrap(), "main".parse().unwrap());
    let unmentioned = &BTreeSet::from([-1002]);
    let moves = &Moves::default();
    let commands = &["id", "stop"].map(|name| CommandHelp::new(name, "", ""));
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
    super::convert(&bot, &[update])
}

#[track_caller]
fn check_text(update: Value, address: &str, text: &str) {
    let Converted::Inbound(inbound) = convert(update) else { panic!("ignored") };
    assert_eq!(
        (inbound.address.to_string(), inbound.content.text),
        (address.to_owned(), text.to_owned())
    );
    assert_eq!(inbound.sender.id.as_str(), "7");
}

#[test]
fn convert_accepts_every_private_message() {
    let update = message(&private(), &json!({ "text": "hello" }));
    let Converted::Inbound(inbound) = convert(update.clone()) else { panic!("ignored") };
    assert_eq!(inbound.key.as_str(), "m5");
    assert_eq!(inbound.sender.name.as_deref(), Some("Ann Lee"));
    check_text(update, "telegram:main:7", "hello");
    let caption = json!({ "caption": "look", "photo": [
        { "file_id": "f", "file_unique_id": "u", "width": 1, "height": 1 }
    ] });
    check_text(message(&private(), &caption), "telegram:main:7", "look");
}

#[test]
fn convert_accepts_group_messages_only_if_addressed_to_the_bot() {
    let in_group = |more: Value| message(&group(), &more);
    let ours = json!({ "message_id": 4, "date": 1, "chat": group(), "text": "hi",
        "from": { "id": 42, "is_bot": true, "first_name": "Avocet" } });
    let cases = [
        (
            json!({ "text": "@Avocet_Bot hi", "entities": entity("mention", 0, 11) }),
            "@Avocet_Bot hi",
        ),
        (json!({ "text": "hi", "reply_to_message": ours }), "hi"),
        (json!({ "text": "/stop", "entities": entity("bot_command", 0, 5) }), "/stop"),
        (
            json!({ "text": "/stop@avocet_bot now", "entities": entity("bot_command", 0, 16) }),
            "/stop now",
        ),
        (json!({ "text": "/Stop", "entities": entity("bot_command", 0, 5) }), "/Stop"),
        (
            json!({ "text": "/weather@avocet_bot", "entities": entity("bot_command", 0, 19) }),
            "/weather",
        ),
    ];
    for (more, text) in cases {
        check_text(in_group(more), "telegram:main:-1001", text);
    }
    let topic = json!({ "text": "/id", "entities": entity("bot_command", 0, 3),
        "message_thread_id": 9, "is_topic_message": true });
    check_text(in_group(topic), "telegram:main:-1001:9", "/id");
    let not_said = [
        json!({ "text": "hi all" }),
        json!({ "text": "@other_bot hi", "entities": entity("mention", 0, 10) }),
        json!({ "text": "/stop@other_bot", "entities": entity("bot_command", 0, 15) }),
        json!({ "text": "/weather", "entities": entity("bot_command", 0, 8) }),
        json!({ "text": "/stopp", "entities": entity("bot_command", 0, 6) }),
    ];
    for more in not_said {
        assert_eq!(convert(in_group(more)), Converted::Ignored("not mentioned"));
    }
    let open = json!({ "id": -1002, "type": "supergroup", "title": "Bees" });
    check_text(message(&open, &json!({ "text": "hi all" })), "telegram:main:-1002", "hi all");
}

#[test]
fn convert_reads_a_button_press_as_its_text() {
    let from = json!({ "id": 7, "is_bot": false, "first_name": "Ann" });
    let shown = json!({ "message_id": 8, "date": 1, "chat": private(), "text": "?" });
    let pressed = json!({ "id": "q1", "from": from, "message": shown, "chat_instance": "i",
        "data": "/skip w3" });
    let update = json!({ "update_id": 101, "callback_query": pressed });
    let Converted::Inbound(inbound) = convert(update.clone()) else { panic!("ignored") };
    assert_eq!(inbound.key.as_str(), "cq1");
    let Content { by_button, pressed, .. } = inbound.content;
    assert_eq!((by_button, pressed.unwrap().as_str()), (true, "8"), "nobody has typed it");
    check_text(update, "telegram:main:7", "/skip w3");
}

#[test]
fn convert_ignores_other_updates_with_a_reason() {
    let sticker = json!({ "left_chat_member": { "id": 9, "is_bot": false, "first_name": "B" } });
    let cases = [
        (message(&private(), &sticker), "without text"),
        (json!({ "update_id": 2, "tea_leaves": { "read": true } }), "of another kind"),
        (json!({ "update_id": 3, "message": { "unreadable": true } }), "of another kind"),
    ];
    for (update, reason) in cases {
        assert_eq!(convert(update.clone()), Converted::Ignored(reason), "{update}");
    }
}

#[test]
fn convert_marks_an_edit_as_a_correction() {
    let edited = |more: Value| {
        json!({ "update_id": 1, "edited_message":
        message(&private(), &more)["message"] })
    };
    let update = edited(json!({ "text": "hallo", "edit_date": 1_700_000_001 }));
    let Converted::Inbound(inbound) = convert(update) else { panic!("ignored") };
    assert_eq!(inbound.key.as_str(), "m5e1700000001");
    assert_eq!(inbound.corrects.unwrap().as_str(), "m5");
    assert_eq!(inbound.written_at, Some(Timestamp(1_700_000_001_000)));
    assert_eq!(inbound.content.text, "hallo");
}

#[test]
fn convert_quotes_the_replied_message_and_names_the_author_of_a_forward() {
    let reply_to = |from: Value| {
        json!({ "message_id": 4, "date": 1, "chat": private(),
        "from": from, "text": "how are you?" })
    };
    let ours = json!({ "id": 42, "is_bot": true, "first_name": "Avocet" });
    let bob = json!({ "id": 9, "is_bot": false, "first_name": "Bob" });
    let forwarded = json!({ "type": "hidden_user", "date": 1, "sender_user_name": "Bob" });
    let table = [
        (
            json!({ "text": "fine", "reply_to_message": reply_to(ours) }),
            "[in reply to you]\n> how are you?\nfine",
        ),
        (
            json!({ "text": "fine", "reply_to_message": reply_to(bob.clone()) }),
            "[in reply to Bob]\n> how are you?\nfine",
        ),
        (
            json!({ "text": "fine", "reply_to_message": reply_to(bob),
                "quote": { "text": "how", "position": 0 } }),
            "[in reply to Bob]\n> how\nfine",
        ),
        (json!({ "text": "fine", "forward_origin": forwarded }), "[forwarded from Bob]\nfine"),
    ];
    for (more, text) in table {
        let Converted::Inbound(inbound) = convert(message(&private(), &more)) else {
            panic!("ignored: {more}")
        };
        assert_eq!(inbound.content.as_text(), text);
        let quoted = inbound.content.quoted.as_ref().map(PlatformId::as_str);
        assert_eq!(quoted, text.starts_with("[in reply to you]").then_some("4"), "{text}");
    }
    let first = json!({ "message_id": 9, "date": 1, "chat": group(), "text": "the topic",
        "from": { "id": 7, "is_bot": false, "first_name": "Ann" } });
    let in_topic = json!({ "text": "/id", "entities": entity("bot_command", 0, 3),
        "message_thread_id": 9, "is_topic_message": true, "reply_to_message": first });
    check_text(message(&group(), &in_topic), "telegram:main:-1001:9", "/id");
    let Converted::Inbound(inbound) = convert(message(&group(), &in_topic)) else { panic!() };
    assert_eq!(inbound.content.quote, None, "every message of a topic replies to its first");
}

#[test]
fn f38_convert_marks_a_bot_as_sender() {
    let of_bot = json!({ "text": "hi", "from": { "id": 9, "is_bot": true, "first_name": "B" } });
    let Converted::Inbound(inbound) = convert(message(&private(), &of_bot)) else { panic!() };
    assert!(inbound.sender.is_bot);
}

#[test]
fn convert_ignores_edits_of_live_locations_and_albums() {
    let edited = |mut more: Value| {
        more["edit_date"] = json!(1_700_000_001);
        json!({ "update_id": 1, "edited_message": message(&private(), &more)["message"] })
    };
    let moved = json!({ "location": { "latitude": 48.2, "longitude": 16.4, "live_period": 60 } });
    let caption = json!({ "caption": "the beach!", "media_group_id": "a", "photo": [
        { "file_id": "f", "file_unique_id": "u", "width": 1, "height": 1 }
    ] });
    let cases = [(moved, "a live location that moved"), (caption, "an edit of an album")];
    for (more, reason) in cases {
        assert_eq!(convert(edited(more)), Converted::Ignored(reason));
    }
}

#[test]
fn convert_sets_words_apart_that_the_sender_need_not_have_written() {
    let bot = json!({ "id": 3, "is_bot": true, "first_name": "Gif", "username": "gif_bot" });
    let contact = json!({ "phone_number": "+43 1", "first_name": "Bo" });
    let venue = json!({ "location": { "latitude": 48.2, "longitude": 16.37 }, "title": "Café",
        "address": "Ring 1" });
    let keyboard = json!({ "inline_keyboard": [[{ "text": "Go", "url": "https://a.dev" }]] });
    let origin = json!({ "type": "hidden_user", "date": 1, "sender_user_name": "Eve" });
    let table = [
        (json!({ "text": "hi" }), "hi", None),
        (json!({ "text": "/stop", "via_bot": bot }), "", Some(("the bot gif_bot", "/stop"))),
        (
            json!({ "contact": contact }),
            "",
            Some(("a card in this message", "[contact: Bo, +43 1]")),
        ),
        (
            json!({ "venue": venue }),
            "",
            Some(("a card in this message", "[venue: Café, Ring 1, 48.2, 16.37]")),
        ),
        (
            json!({ "text": "hi", "reply_markup": keyboard }),
            "hi",
            Some(("the buttons of this message", "[button: Go (https://a.dev)]")),
        ),
        // All of a forwarded message is untrusted.
        (json!({ "contact": contact, "forward_origin": origin }), "[contact: Bo, +43 1]", None),
    ];
    for (more, text, part) in table {
        let Converted::Inbound(inbound) = convert(message(&private(), &more)) else {
            panic!("{more}")
        };
        let content = inbound.content;
        let parts: Vec<(&str, &str)> = content
            .untrusted
            .iter()
            .map(|part| (part.from.as_deref().unwrap(), part.text.as_str()))
            .collect();
        assert_eq!((content.text.as_str(), parts), (text, Vec::from_iter(part)), "{more}");
    }
}
