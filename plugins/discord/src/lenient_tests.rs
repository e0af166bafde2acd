use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;

use super::*;

fn raw(more: &Value) -> Value {
    let author = json!({ "id": "7", "username": "ann", "global_name": "Ann Lee", "avatar": 5 });
    let mut raw = json!({ "id": "175928847299117063", "channel_id": "5", "author": author,
        "content": "hello", "type": 0, "flags": "new" });
    raw.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    raw
}

#[test]
fn message_keeps_the_readable_fields_of_a_malformed_message() {
    let file = |id: Value| {
        json!({ "id": id, "filename": "a.txt", "size": 3, "url": "https://x/a",
            "proxy_url": "https://x/a" })
    };
    let odd = json!({ "id": "9", "filename": "b.txt", "size": "large", "url": 5, "width": "wide" });
    let bot = json!({ "id": "42", "username": "avocet" });
    let below = "hello\n[a file that Discord describes in an unknown way]";
    let table = [
        (json!({}), "hello", 0),
        (json!({ "content": null }), "", 0),
        (json!({ "content": 7, "embeds": {}, "mentions": "all" }), "", 0),
        (json!({ "attachments": [file("8".into())] }), "hello", 1),
        (json!({ "attachments": [file("8".into()), file("new".into())] }), below, 1),
        (json!({ "attachments": [file("new".into())], "content": "" }), "", 0),
        (json!({ "attachments": [odd] }), "hello", 1),
        (json!({ "referenced_message": { "id": [] }, "sticker_items": [5] }), "hello", 0),
        (json!({ "mentions": [5, bot] }), "hello", 0),
    ];
    for (more, text, files) in table {
        assert!(Message::deserialize(&raw(&more)).is_err(), "the client reads {more}");
        let read = message(&raw(&more)).unwrap();
        assert_eq!((&*read.content, read.attachments.len()), (text, files), "{more}");
        assert_eq!(
            (read.author.id, read.author.global_name.as_deref()),
            (UserId::new(7), Some("Ann Lee"))
        );
        assert_eq!(read.timestamp.unix_timestamp(), 1_462_015_105);
        let mentioned = more["mentions"].is_array();
        assert_eq!(read.mentions.len(), usize::from(mentioned), "{more}");
    }
}

#[test]
fn message_returns_none_without_valid_ids_author_or_type() {
    let table = [
        json!({ "id": null }),
        json!({ "channel_id": {} }),
        json!({ "author": null }),
        json!({ "author": { "id": "x" } }),
        json!({ "type": 300 }),
    ];
    for more in table {
        assert!(message(&raw(&more)).is_none(), "{more}");
    }
    assert!(message(&json!([])).is_none());
}

#[test]
fn interaction_reads_a_press_below_a_malformed_message() {
    let pressed = json!({ "id": "9", "application_id": "1", "token": "t", "version": 1, "type": 3,
        "attachment_size_limit": 1,
        "channel_id": "5", "locale": "en-US", "entitlements": [], "app_permissions": "0",
        "authorizing_integration_owners": {}, "message": raw(&json!({})),
        "user": { "id": "7", "username": "ann", "discriminator": "0", "avatar": null },
        "data": { "custom_id": "/skip w3", "component_type": 2 } });
    assert!(Interaction::deserialize(&pressed).is_err());
    assert!(interaction(&pressed).is_some());
}

#[test]
fn message_keeps_the_readable_fields_of_an_inner_message() {
    let replied = |more: Value| json!({ "referenced_message": more });
    let table = [
        (replied(json!({ "content": "hi" })), "hi", "somebody"),
        (replied(json!({ "content": "hi", "author": { "id": "8", "username": 5 } })), "hi", "8"),
        (replied(raw(&json!({ "content": "hi", "embeds": [{ "title": 5 }] }))), "hi", "ann"),
    ];
    for (more, text, author) in table {
        let read = message(&raw(&more)).unwrap();
        let replied = read.referenced_message.as_ref().unwrap();
        assert_eq!((&*replied.content, &*replied.author.name), (text, author), "{more}");
    }
    let forwarded = json!({
        "message_reference": { "type": 1, "message_id": "1", "channel_id": "5" },
        "message_snapshots": [{ "message": { "content": "hi", "mentions": 5 } }] });
    let read = message(&raw(&forwarded)).unwrap();
    assert_eq!(read.message_snapshots[0].content, "hi");
}

/// A message as Discord sends it, with a file, a card, a mention and a message that it replies to.
fn full_message() -> Value {
    let ann = json!({ "id": "7", "username": "ann", "global_name": "Ann Lee", "avatar": null,
        "discriminator": "0", "bot": false, "public_flags": 0 });
    let inner = |content: &str| {
        json!({ "id": "9", "channel_id": "5", "author": ann, "content": content, "type": 0,
            "timestamp": "2026-01-05T10:00:00+00:00", "edited_timestamp": null, "tts": false,
            "mention_everyone": false, "mentions": [], "mention_roles": [], "attachments": [],
            "embeds": [], "pinned": false, "flags": 0 })
    };
    let mut message = inner("hello");
    let more = json!({ "id": "175928847299117063", "type": 19, "guild_id": "3", "nonce": "1",
        "mentions": [ann], "mention_roles": ["4"], "member": { "nick": null, "roles": ["4"],
            "joined_at": "2025-01-05T10:00:00+00:00", "deaf": false, "mute": false, "flags": 0 },
        "attachments": [{ "id": "8", "filename": "a.txt", "size": 3, "url": "https://x/a",
            "proxy_url": "https://x/a", "content_type": "text/plain" }],
        "embeds": [{ "type": "rich", "title": "Report", "description": "97 percent",
            "fields": [{ "name": "CPU", "value": "9", "inline": true }] }],
        "message_reference": { "type": 0, "message_id": "9", "channel_id": "5", "guild_id": "3" },
        "referenced_message": inner("earlier"), "components": [], "sticker_items": [],
        "reactions": [{ "count": 1, "count_details": { "burst": 0, "normal": 1 }, "me": false,
            "me_burst": false, "burst_colors": [], "emoji": { "id": null, "name": "x" } }] });
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    message
}

/// The pointers of all fields of a value, except those that no message can do without.
fn optional_fields(value: &Value, at: &str, found: &mut Vec<(String, String)>) {
    const NEEDED: [&str; 5] = ["/id", "/channel_id", "/type", "/content", "/author"];
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let place = format!("{at}/{key}");
                optional_fields(value, &place, found);
                if !NEEDED.contains(&place.as_str()) && place != "/author/id" {
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

/// A value that no field of Discord has, or its absence.
fn odd_value() -> impl Strategy<Value = Option<Value>> {
    let values =
        [json!(null), json!(""), json!("x"), json!(-1), json!(0.5), json!(true), json!([null])];
    let values = values.into_iter().chain([json!([]), json!({}), json!({ "id": [] })]).map(Some);
    select(values.chain([None]).collect::<Vec<_>>())
}

proptest! {
    // A fixed seed, so that a failure is the fault of a change.
    #![proptest_config(ProptestConfig {
        cases: 30,
        rng_seed: RngSeed::Fixed(35),
        ..ProptestConfig::default()
    })]

    #[test]
    fn message_keeps_its_text_and_author_whatever_other_fields_are(
        changes in prop::collection::vec((any::<Index>(), odd_value()), 1..8),
    ) {
        let mut odd = full_message();
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
        let read = message(&odd);
        prop_assert!(read.is_some(), "{odd}");
        let read = read.unwrap();
        prop_assert!(read.content.starts_with("hello"), "{:?}: {odd}", read.content);
        prop_assert_eq!(read.author.id, UserId::new(7));
    }
}
