use serde_json::json;

use super::*;

fn update(id: i64, message: &Value) -> Value {
    json!({ "update_id": id, "message": message })
}

fn message(user: u64, name: &str, chat: &Value, text: &str) -> Value {
    json!({
        "message_id": 5, "date": 1_700_000_000, "chat": chat, "text": text,
        "from": { "id": user, "is_bot": user == 1, "first_name": name },
    })
}

#[test]
fn sender_is_the_first_person_who_wrote_in_private_and_is_not_refused() {
    let private = json!({ "id": 7, "type": "private", "first_name": "Ann" });
    let group = json!({ "id": -7, "type": "group", "title": "birds" });
    let updates = [
        json!({ "update_id": 1, "my_chat_member": {} }),
        update(2, &message(6, "Eve", &group, "in a group")),
        update(3, &message(1, "Bot", &private, "by a bot")),
        update(4, &message(7, "Ann", &private, "hello\n  there")),
        update(5, &message(8, "Bob", &private, &"x".repeat(100))),
    ];
    let batch = Batch::read(updates.to_vec());
    let ann = sender(&batch, &[]).unwrap();
    assert_eq!((ann.id, ann.name.as_str()), (7, "Ann"));
    assert_eq!(ann.reason, "wrote \"hello there\"");
    let bob = sender(&batch, &[7]).unwrap();
    assert_eq!((bob.id, bob.reason.len()), (8, "wrote \"\"".len() + SHOWN));
    assert_eq!(sender(&batch, &[7, 8]), None);
}

#[test]
fn polled_part_narrows_to_the_unreadable_update_and_skips_only_that() {
    let mut part = PolledPart::default();
    for (offset, limit) in
        [(None, Some(FEW)), (None, Some(1)), (Some(8), None), (Some(8), Some(FEW))]
    {
        part.narrow(Some(7));
        assert_eq!(part, PolledPart { offset, limit });
    }
    // Without an id, nothing is confirmed.
    let mut part = PolledPart { offset: None, limit: Some(1) };
    part.narrow(None);
    assert_eq!(part, PolledPart::default());
}
