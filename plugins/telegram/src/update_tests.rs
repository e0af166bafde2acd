use serde_json::json;
use teloxide::types::PollAnswer;

use super::*;

#[test]
fn a_type_that_panics_reads_nothing() {
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
fn an_update_is_known_by_a_number_from_0_however_large() {
    let cases = [
        (json!(0), Some(0)),
        (json!(5_000_000_000_i64), Some(5_000_000_000)),
        (json!(i64::MAX), None),
        (json!(-1), None),
        (json!(u64::MAX), None),
        (json!(1.5), None),
        (json!("7"), None),
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
fn what_cannot_be_read_leaves_its_neighbours_alone() {
    let good = json!({ "update_id": 2, "message": { "message_id": 5, "date": 1, "text": "hi",
        "chat": { "id": 7, "type": "private", "first_name": "A" } } });
    let odd = |id: i64| json!({ "update_id": id, "message": { "voice": {} } });
    let batch = Batch::read(vec![odd(1), good, json!({ "message": 5 }), odd(3)]);
    assert_eq!((batch.nameless, batch.len()), (1, 4));
    let kinds: Vec<_> = batch
        .updates
        .iter()
        .map(|update| (update.id, matches!(update.kind, UpdateKind::Message(_))))
        .collect();
    assert_eq!(kinds, [(1, false), (2, true), (3, false)]);
    assert!(matches!(&batch.updates[0].kind, UpdateKind::Error(raw) if *raw == odd(1)));
}
