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
