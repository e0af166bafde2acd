//! Updates of every kind, valid and malformed, to test that a bot survives them.

use serde_json::{Value, json};

fn person(id: i64) -> Value {
    json!({ "id": id, "is_bot": false, "first_name": "Ann" })
}

fn private(id: i64) -> Value {
    json!({ "id": id, "type": "private", "first_name": "Ann" })
}

fn group() -> Value {
    json!({ "id": -1_000_000_000_020_i64, "type": "supergroup", "title": "Birds" })
}

/// Returns a private message of a user. `more` replaces or adds fields.
#[must_use]
pub fn odd_message(user: i64, id: usize, more: &Value) -> Value {
    let (chat, from) = (private(user), person(user));
    let mut message =
        json!({ "message_id": id, "date": 1_700_000_000, "chat": chat, "from": from });
    match more {
        Value::Object(fields) => message.as_object_mut().unwrap().extend(fields.clone()),
        other => return other.clone(),
    }
    message
}

/// Returns messages of a user, valid and malformed, with every kind of content.
#[must_use]
pub fn odd_messages(user: i64) -> Vec<Value> {
    let messages = bodies(user);
    messages.iter().enumerate().map(|(id, more)| odd_message(user, 100 + id, more)).collect()
}

fn bodies(user: i64) -> Vec<Value> {
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
        // A longer one would be joined with the next text.
        json!({ "text": "e\u{301}".repeat(1900) }),
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
        json!({ "pinned_message": { "message_id": 1, "date": 0, "chat": private(user) } }),
        json!({ "reply_to_message": { "message_id": 1, "date": 1, "chat": private(user) },
            "text": "hi" }),
        json!({ "reply_to_message": {}, "text": "hi" }),
        json!({ "forward_origin": { "type": "unheard_of", "date": 1 }, "text": "hi" }),
        json!({ "is_topic_message": true, "message_thread_id": -5, "text": "hi" }),
        json!({ "a_kind_of_next_year": { "with": ["anything"] } }),
    ]
}

/// Returns updates of a user other than messages, with their kinds.
#[must_use]
pub fn odd_updates(user: i64) -> Vec<(&'static str, Value)> {
    let query = |more: Value| {
        let mut query = json!({ "id": "q", "from": person(user), "chat_instance": "c" });
        query.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        query
    };
    let text = json!({ "message_id": 1, "date": 1, "chat": private(user), "from": person(user),
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
        ("poll_answer", json!({ "poll_id": "1", "option_ids": [], "user": person(user) })),
        ("poll_answer", json!({ "poll_id": "1", "option_ids": [] })),
        ("my_chat_member", json!({ "chat": private(user) })),
        ("chat_join_request", json!([])),
        ("an_update_of_next_year", json!({ "x": 1 })),
    ]
}
