//! Updates of every kind, well-formed and not: each is taken, declined or counted, and none stops
//! those behind it.

use std::time::Duration;

use avocet_protocol::{AttachmentKind, AttachmentSource};
use serde_json::{Value, json};

use crate::{ANN, World};

fn person(id: i64) -> Value {
    json!({ "id": id, "is_bot": false, "first_name": "Ann" })
}

fn private() -> Value {
    json!({ "id": ANN, "type": "private", "first_name": "Ann" })
}

fn group() -> Value {
    json!({ "id": -1_000_000_000_020_i64, "type": "supergroup", "title": "Birds" })
}

/// A message with these fields, in place of what a message has.
fn message(id: usize, more: &Value) -> Value {
    let mut message =
        json!({ "message_id": id, "date": 1_700_000_000, "chat": private(), "from": person(ANN) });
    match more {
        Value::Object(fields) => message.as_object_mut().unwrap().extend(fields.clone()),
        other => return other.clone(),
    }
    message
}

/// What a message may be, or be said to be.
fn messages() -> Vec<Value> {
    let entity = |kind: &str, offset: i64, length: i64| json!([{ "type": kind, "offset": offset, "length": length }]);
    let mention = |text: &str, offset, length| json!({ "chat": group(), "text": text, "entities": entity("mention", offset, length) });
    vec![
        json!(null),
        json!(5),
        json!("text"),
        json!([]),
        json!({ "message_id": null, "text": "hi" }),
        json!({ "message_id": -1, "text": "hi" }),
        json!({ "message_id": 9_000_000_000_i64, "text": "hi" }),
        json!({ "date": "yesterday", "text": "hi" }),
        json!({ "date": i64::MAX, "text": "hi" }),
        json!({ "chat": {}, "text": "hi" }),
        json!({ "chat": { "id": 1, "type": "mailbox" }, "text": "hi" }),
        json!({ "chat": { "id": i64::MIN, "type": "group", "title": "" }, "text": "hi" }),
        json!({ "from": null, "text": "hi" }),
        json!({ "from": { "id": -7, "is_bot": false, "first_name": "" }, "text": "hi" }),
        json!({ "from": { "id": 8, "is_bot": true, "first_name": "B" }, "text": "hi" }),
        json!({ "sender_chat": group(), "text": "hi" }),
        json!({}),
        json!({ "text": null }),
        json!({ "text": "" }),
        json!({ "text": "e\u{301}".repeat(2048) }),
        json!({ "text": "\u{202e}\u{e0041}\0" }),
        json!({ "text": "hi", "entities": entity("bot_command", 0, 99) }),
        json!({ "text": "hi", "entities": entity("bot_command", -1, 1) }),
        json!({ "text": "hi", "entities": entity("unheard_of", 0, 1) }),
        mention("hi", 0, 99),
        mention("hi", 99, 1),
        mention("🐦🐦", 1, 2),
        mention("", 0, 1),
        json!({ "chat": group(), "caption": "x", "caption_entities": entity("mention", 0, 9),
            "photo": [] }),
        json!({ "photo": [{}] }),
        json!({ "photo": "nice" }),
        json!({ "voice": {} }),
        json!({ "voice": { "file_id": "f", "file_unique_id": "u", "duration": -1 } }),
        json!({ "voice": { "file_id": "f", "file_unique_id": "u", "duration": 1,
            "mime_type": "no type" } }),
        json!({ "voice": { "file_id": "f", "duration": 1 } }),
        json!({ "document": { "file_id": "", "file_unique_id": "" } }),
        json!({ "document": { "file_id": "f", "file_unique_id": "u",
            "file_size": 5_000_000_000_i64 } }),
        json!({ "document": { "file_id": "f", "file_unique_id": "u",
            "file_name": "\u{202e}../\0\n".repeat(99) } }),
        json!({ "sticker": { "emoji": "👍" } }),
        json!({ "location": { "latitude": "north", "longitude": 0 } }),
        json!({ "location": { "latitude": -91.5, "longitude": 1e300 } }),
        json!({ "contact": { "first_name": "x", "phone_number": "" } }),
        json!({ "dice": { "emoji": "🥄", "value": 1 } }),
        json!({ "dice": { "emoji": "🎲", "value": 300 } }),
        json!({ "poll": { "id": "1", "question": "?" } }),
        json!({ "game": {} }),
        json!({ "story": {} }),
        json!({ "paid_media": {} }),
        json!({ "giveaway": {} }),
        json!({ "passport_data": { "data": [] } }),
        json!({ "left_chat_member": person(9) }),
        json!({ "pinned_message": { "message_id": 1, "date": 0, "chat": private() } }),
        json!({ "reply_to_message": { "message_id": 1, "date": 1, "chat": private() },
            "text": "hi" }),
        json!({ "reply_to_message": {}, "text": "hi" }),
        json!({ "forward_origin": { "type": "unheard_of", "date": 1 }, "text": "hi" }),
        json!({ "is_topic_message": true, "message_thread_id": -5, "text": "hi" }),
        json!({ "a_kind_of_next_year": { "with": ["anything"] } }),
    ]
}

/// Updates that are no messages.
fn others() -> Vec<(&'static str, Value)> {
    let query = |more: Value| {
        let mut query = json!({ "id": "q", "from": person(ANN), "chat_instance": "c" });
        query.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        query
    };
    let text = json!({ "message_id": 1, "date": 1, "chat": private(), "from": person(ANN),
        "text": "hi" });
    vec![
        ("callback_query", json!({})),
        ("callback_query", query(json!({}))),
        ("callback_query", query(json!({ "data": "", "message": text.clone() }))),
        ("callback_query", query(json!({ "data": "/skip", "inline_message_id": "i" }))),
        ("callback_query", query(json!({ "game_short_name": "g", "message": text.clone() }))),
        ("edited_message", text.clone()),
        ("channel_post", text.clone()),
        ("edited_channel_post", json!({})),
        ("business_message", text),
        ("inline_query", query(json!({ "query": "x", "offset": "" }))),
        ("chosen_inline_result", json!(null)),
        ("shipping_query", json!({ "id": 5 })),
        ("poll_answer", json!({ "poll_id": "1", "option_ids": [], "user": person(ANN) })),
        ("poll_answer", json!({ "poll_id": "1", "option_ids": [] })),
        ("my_chat_member", json!({ "chat": private() })),
        ("chat_join_request", json!([])),
        ("an_update_of_next_year", json!({ "x": 1 })),
    ]
}

#[tokio::test]
async fn every_odd_update_is_settled_and_stops_none_behind_it() {
    let world = World::new().await;
    let mut count = 0;
    for (number, more) in messages().iter().enumerate() {
        world.platform.push("message", message(100 + number, more));
        count += 1;
    }
    for (kind, body) in others() {
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
async fn of_everything_odd_in_private_its_sender_is_told_or_it_is_heard() {
    // No messages, those of nobody, of no chat or of groups, empty ones, and what happens in a chat.
    const SILENT: usize = 18;
    let world = World::new().await;
    let all = messages();
    for (number, more) in all.iter().enumerate() {
        world.platform.push("message", message(100 + number, more));
    }
    let _running = world.run();
    world.platform.wait_for_confirmed().await;
    let (taken, said) = (world.bus.taken(1).await, world.bus.said());
    let heard: Vec<&str> = taken.iter().map(|one| one.content.text.as_str()).collect();
    let told: Vec<&str> = said.iter().map(|(line, _)| line.content.text.as_str()).collect();
    assert_eq!(taken.len() + said.len() + SILENT, all.len(), "{heard:#?} {told:#?}");
}

#[tokio::test]
async fn a_voice_message_without_a_type_is_heard_all_the_same() {
    let world = World::new().await;
    world.platform.push(
        "message",
        message(
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
async fn between_two_that_cannot_be_read_a_message_is_heard_and_both_are_declined() {
    let world = World::new().await;
    let odd = |id| message(id, &json!({ "voice": {} }));
    world.platform.push("message", odd(5));
    world.platform.private_text(ANN, "hello");
    world.platform.push("message", odd(6));
    let _running = world.run();
    assert_eq!(world.bus.taken(1).await[0].content.text, "hello");
    world.platform.wait_for_confirmed().await;
    assert_eq!(world.bus.ignored(2).await, ["of a kind that cannot be read"; 2]);
    let said = world.bus.said();
    let keys: Vec<&str> = said.iter().map(|(_, key)| key.as_str()).collect();
    assert_eq!(keys, ["unreadable m5", "unreadable m6"]);
    let line = &said[0].0.content.text;
    let named = "a voice message that Telegram describes in a way I do not know.";
    assert!(line.contains(named), "{line}");
}

#[tokio::test]
async fn what_panics_in_the_client_is_counted_and_confirmed() {
    let world = World::new().await;
    world.platform.push("poll_answer", json!({ "poll_id": "1", "option_ids": [] }));
    world.platform.private_text(ANN, "hello");
    let _running = world.run();
    assert_eq!(world.bus.taken(1).await[0].content.text, "hello");
    assert_eq!(world.bus.ignored(1).await, ["of another kind"]);
    world.platform.wait_for_confirmed().await;
}

#[tokio::test]
async fn an_id_beyond_the_usual_is_confirmed_like_others() {
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
async fn an_update_without_an_id_is_counted_once_asked_for_seldom_and_holds_nobody_back() {
    let world = World::new().await;
    world.platform.push_whole(json!({ "message": message(5, &json!({ "text": "lost" })) }));
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
