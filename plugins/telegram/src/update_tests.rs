use serde_json::json;
use teloxide::types::PollAnswer;

use super::*;

#[test]
fn read_returns_none_if_the_client_type_panics() {
    let voter = json!({ "id": 7, "is_bot": false, "first_name": "Ann" });
    let answer = |more: Value| {
        let mut answer = json!({ "poll_id": "1", "option_ids": [] });
        answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        read::<PollAnswer>(&answer)
    };
    assert!(answer(json!({ "user": voter })).is_some());
    assert!(answer(json!({})).is_none(), "the client panics at this");
}

#[test]
fn update_read_accepts_large_ids_and_rejects_invalid_ones() {
    let cases = [
        (json!(0), Some(0)),
        (json!(5_000_000_000_i64), Some(5_000_000_000)),
        (json!(i64::MAX), None),
        (json!(-1), None),
        (json!(u64::MAX), None),
        (json!(1.5), None),
        (json!("7"), Some(7)),
        (json!(7.0), Some(7)),
        (json!("seven"), None),
        (json!(null), None),
    ];
    for (id, expected) in cases {
        let update = Update::read(json!({ "update_id": id, "message": {} }));
        assert_eq!(update.map(|update| update.id), expected, "{id}");
    }
    for raw in [json!({ "message": {} }), json!([]), json!("update"), json!(null)] {
        assert!(Update::read(raw.clone()).is_none(), "{raw}");
    }
}

#[test]
fn batch_read_keeps_valid_updates_beside_malformed_ones() {
    let good = json!({ "update_id": 2, "message": { "message_id": 5, "date": 1, "text": "hi",
        "chat": { "id": 7, "type": "private", "first_name": "A" } } });
    let malformed = |id: i64| json!({ "update_id": id, "message": { "voice": {} } });
    let batch = Batch::read(vec![malformed(1), good, json!({ "message": 5 }), malformed(3)]);
    assert_eq!((batch.without_id, batch.len()), (1, 4));
    let kinds: Vec<_> = batch
        .updates
        .iter()
        .map(|update| (update.id, matches!(update.kind, UpdateKind::Message(_))))
        .collect();
    assert_eq!(kinds, [(1, false), (2, true), (3, false)]);
    assert!(matches!(&batch.updates[0].kind, UpdateKind::Error(raw) if *raw == malformed(1)));
}
