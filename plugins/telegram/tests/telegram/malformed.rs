//! Updates of every kind, valid and invalid: each is accepted, declined or counted, and none blocks
//! later ones.

use std::time::Duration;

use avocet_protocol::chat::{AttachmentKind, AttachmentSource};
use avocet_testkit::telegram::{UserMessage, odd_message, odd_messages, odd_updates};
use serde_json::{Value, json};

use crate::{ANN, World};

#[tokio::test]
async fn malformed_updates_are_confirmed_and_block_no_later_update() {
    let world = World::new().await;
    let mut count = 0;
    for message in odd_messages(ANN) {
        world.platform.push("message", message);
        count += 1;
    }
    for (kind, body) in odd_updates(ANN) {
        world.platform.push(kind, body);
        count += 1;
    }
    assert!(count >= 60, "{count}");
    let running = world.run();
    world.platform.private_text(ANN, "still there?");
    world.platform.wait_for_confirmed().await;
    let (taken, ignored) = (world.bus.taken(1).await, world.bus.ignored(1).await);
    assert_eq!(taken.last().unwrap().content.text, "still there?");
    assert_eq!(taken.len() + ignored.len(), count + 1);
    world.stop.cancel();
    assert_eq!(running.await.unwrap(), Ok(()));
}

#[tokio::test]
async fn malformed_private_messages_are_received_or_declined() {
    // Non-messages, those without a sender or a chat, group messages, empty ones, and service
    // messages.
    const SILENT: usize = 18;
    let world = World::new().await;
    let all = odd_messages(ANN);
    for message in &all {
        world.platform.push("message", message.clone());
    }
    let _running = world.run();
    world.platform.wait_for_confirmed().await;
    let (taken, said) = (world.bus.taken(1).await, world.bus.said());
    let heard: Vec<&str> = taken.iter().map(|one| one.content.text.as_str()).collect();
    let told: Vec<&str> = said.iter().map(|(line, _)| line.content.text.as_str()).collect();
    assert_eq!(taken.len() + said.len() + SILENT, all.len(), "{heard:#?} {told:#?}");
}

#[tokio::test]
async fn malformed_voice_message_without_a_type_is_received() {
    let world = World::new().await;
    world.platform.push(
        "message",
        odd_message(
            ANN,
            5,
            &json!({ "voice": { "file_id": "hello",
        "file_unique_id": "u", "duration": 3 }, "caption": "listen" }),
        ),
    );
    let _running = world.run();
    let heard = world.bus.taken(1).await.remove(0).content;
    let file = &heard.attachments[0];
    assert_eq!((heard.text.as_str(), file.kind), ("listen", AttachmentKind::Voice));
    assert_eq!(file.source, AttachmentSource::Platform("hello".to_owned()));
    world.platform.wait_for_confirmed().await;
}

#[tokio::test]
async fn malformed_messages_are_declined_and_the_message_between_them_is_received() {
    let world = World::new().await;
    let odd = |id| odd_message(ANN, id, &json!({ "voice": {} }));
    world.platform.push("message", odd(5));
    world.platform.private_text(ANN, "hello");
    world.platform.push("message", odd(6));
    let _running = world.run();
    assert_eq!(world.bus.taken(1).await[0].content.text, "hello");
    world.platform.wait_for_confirmed().await;
    assert_eq!(world.bus.ignored(2).await, ["of an unsupported kind"; 2]);
    let said = world.bus.said();
    let keys: Vec<&str> = said.iter().map(|(_, key)| key.as_str()).collect();
    assert_eq!(keys, ["unreadable m5", "unreadable m6"]);
    let line = &said[0].0.content.text;
    let named = "a voice message that Telegram describes in an unknown way.";
    assert!(line.contains(named), "{line}");
}

#[tokio::test]
async fn malformed_message_that_panics_the_client_is_received() {
    let world = World::new().await;
    let sticker = json!({ "file_id": "f", "file_unique_id": "u", "type": "regular", "width": 512,
        "height": 512, "is_animated": true, "is_video": true });
    world.platform.say(UserMessage::thing(ANN, ANN, "sticker", sticker));
    world.platform.private_text(ANN, "hello");
    let _running = world.run();
    let taken = world.bus.taken(2).await;
    assert_eq!(taken[0].content.attachments[0].kind, AttachmentKind::Sticker);
    assert_eq!(taken[1].content.text, "hello");
    world.platform.wait_for_confirmed().await;
}

#[tokio::test]
async fn update_with_an_id_over_32_bits_is_confirmed() {
    let world = World::new().await;
    let id = i64::from(u32::MAX) + 5;
    world.platform.restart_update_ids(id);
    let _running = world.run();
    for number in 0..2 {
        world.platform.private_text(ANN, "hello");
        world.bus.taken(1 + number).await;
        world.platform.wait_for_confirmed().await;
    }
    let moves: Vec<String> = world.bus.moves().into_iter().map(|one| one.position).collect();
    assert_eq!(moves, [id.to_string(), (id + 1).to_string()]);
}

#[tokio::test]
async fn update_without_an_id_is_counted_once_and_blocks_no_other() {
    let world = World::new().await;
    world
        .platform
        .push_whole(json!({ "message": odd_message(ANN, 5, &json!({ "text": "lost" })) }));
    let _running = world.run();
    let pause = Duration::from_secs(5);
    for polls in 1..=3 {
        world.clock.sleeper_within(pause..=pause).await;
        assert_eq!(world.platform.calls("getUpdates"), polls, "once in a pause");
        if polls == 3 {
            world.platform.private_text(ANN, "hello");
        }
        world.clock.advance(pause);
    }
    assert_eq!(world.bus.taken(1).await[0].content.text, "hello");
    world.platform.wait_for_confirmed().await;
    assert_eq!(world.bus.ignored(1).await, ["without an id"]);
    assert_eq!(world.bus.moves().len(), 1, "only what has an id moves the cursor");
}

#[tokio::test]
async fn button_press_below_a_malformed_message_is_received_and_always_answered() {
    let world = World::new().await;
    let _running = world.run();
    world.platform.wait_for_poll().await;
    let below = json!({ "chat": { "id": ANN, "type": "private" } });
    let press = |id: &str, below: &Value| {
        let query = json!({ "id": id, "from": { "id": ANN }, "data": "/stop", "message": below });
        world.platform.push("callback_query", query);
    };
    press("1", &below);
    press("2", &json!({}));
    assert_eq!(world.bus.taken(1).await[0].content.text, "/stop");
    assert_eq!(world.bus.ignored(1).await, ["of another kind"]);
    world.platform.wait_for_calls("answerCallbackQuery", 1).await;
    world.clock.advance(Duration::from_secs(10));
    world.platform.wait_for_calls("answerCallbackQuery", 2).await;
    let answered = world.platform.requests("answerCallbackQuery");
    let ids: Vec<&Value> = answered.iter().map(|call| &call.args["callback_query_id"]).collect();
    assert_eq!(ids, ["2", "1"]);
}

/// Bytes in place of the text of a message, and the number of updates that are skipped because of
/// them.
const ODD_TEXTS: [(&[u8], usize); 7] = [
    (br"\ud83d", 0),
    (br"\ude00\ud83d", 0),
    (b"\xff\xfe", 0),
    (b"\x00\x1f", 0),
    (br#"x","text":"BAD"#, 0),
    (br#"","x":1e999,"text":""#, 1),
    (br#"","x":"#, 1),
];

#[tokio::test]
async fn poll_with_an_undecodable_update_reads_its_neighbours() {
    for (bytes, skipped) in ODD_TEXTS {
        let world = World::new().await;
        world.platform.write_odd_bytes("BAD", bytes);
        for text in ["one", "two", "BAD", "four", "five"] {
            world.platform.private_text(ANN, text);
        }
        let running = world.run();
        let taken = world.bus.taken(5 - skipped).await;
        let texts: Vec<&str> = taken.iter().map(|one| one.content.text.as_str()).collect();
        let (before, after) = (&texts[..2], &texts[3 - skipped..]);
        let shown = String::from_utf8_lossy(bytes);
        assert_eq!((before, after), (&["one", "two"][..], &["four", "five"][..]), "{shown}");
        world.platform.wait_for_confirmed().await;
        assert_eq!(world.bus.ignored(skipped).await, vec!["unreadable"; skipped], "{shown}");
        world.stop.cancel();
        assert_eq!(running.await.unwrap(), Ok(()));
    }
}

#[tokio::test]
async fn poll_skips_undecodable_updates_without_an_id() {
    let world = World::new().await;
    let _running = world.run();
    world.platform.private_text(ANN, "one");
    world.bus.taken(1).await;
    world.platform.wait_for_confirmed().await;
    world.platform.write_odd_bytes("\"BAD\"", b"1e999");
    for _ in 0..2 {
        world.platform.push_whole(json!({ "message": "BAD" }));
    }
    world.platform.private_text(ANN, "two");
    assert_eq!(world.bus.taken(2).await[1].content.text, "two");
    world.platform.wait_for_confirmed().await;
    assert_eq!(world.bus.ignored(2).await, ["unreadable"; 2]);
}

#[tokio::test]
async fn updates_with_odd_types_of_ids_and_times_are_read() {
    let table = [
        json!({ "update_id": "1000" }),
        json!({ "update_id": 1000.0 }),
        json!({ "message_id": "5" }),
        json!({ "message_id": 5.0 }),
        json!({ "date": "yesterday" }),
        json!({ "date": null }),
        json!({ "chat": { "id": ANN.to_string(), "type": "private" } }),
        json!({ "chat": { "id": ANN, "type": "private", "photo": 5, "first_name": [] } }),
        json!({ "from": { "id": ANN.to_string(), "is_bot": "no" } }),
        json!({ "entities": { "0": 5 }, "link_preview_options": 5, "via_bot": [] }),
    ];
    for more in table {
        let world = World::new().await;
        let mut update = json!({ "update_id": 1000,
            "message": odd_message(ANN, 5, &json!({ "text": "hello" })) });
        for (field, value) in more.as_object().unwrap() {
            let target = if field == "update_id" { &mut update } else { &mut update["message"] };
            target[field] = value.clone();
        }
        world.platform.push_whole(update);
        let _running = world.run();
        let taken = world.bus.taken(1).await;
        assert_eq!(taken[0].content.text, "hello", "{more}");
        assert_eq!((taken[0].key.as_str(), taken[0].sender.id.as_str()), ("m5", "7"), "{more}");
        let has_time = more.get("date").is_none();
        assert_eq!(taken[0].written_at.is_some(), has_time, "{more}");
        world.platform.wait_for_confirmed().await;
    }
}

#[tokio::test]
async fn odd_account_of_the_bot_does_not_keep_it_from_receiving() {
    for bytes in [&br#""is_bot":"\ud83d""#[..], br#""is_bot":5,"first_name":null"#] {
        let world = World::new().await;
        world.platform.write_odd_bytes("\"is_bot\":true", bytes);
        world.platform.private_text(ANN, "hello");
        let _running = world.run();
        assert_eq!(world.bus.taken(1).await[0].content.text, "hello");
    }
}
