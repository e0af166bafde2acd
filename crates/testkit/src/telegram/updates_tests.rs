use super::*;

use crate::START;

fn ids(updates: &[Value]) -> Vec<i64> {
    updates.iter().map(|update| update["update_id"].as_i64().unwrap()).collect()
}

/// Returns the updates 1000 to 1004.
fn five() -> Updates {
    let mut updates = Updates::default();
    for _ in 0..5 {
        updates.push("message", json!({}), START).unwrap();
    }
    updates
}

#[test]
fn read_confirms_the_updates_below_the_offset() {
    let all = [1000, 1001, 1002, 1003, 1004];
    let cases: [(i64, &[i64]); 10] = [
        (0, &all),
        (1, &all),
        (1000, &all),
        (1001, &all[1..]),
        (1004, &all[4..]),
        (1005, &[]),
        // An offset up to 10 above the next id confirms all updates. A higher one belongs to
        // another sequence.
        (1015, &[]),
        (1016, &all),
        (-1, &all[4..]),
        (-7, &all),
    ];
    for (offset, shown) in cases {
        let mut updates = five();
        assert_eq!(ids(&updates.read(offset, 100, START)), shown, "offset {offset}");
        assert_eq!(updates.waiting(), shown, "kept after offset {offset}");
    }
}

#[test]
fn read_never_returns_a_confirmed_update() {
    let mut updates = five();
    updates.read(1003, 100, START);
    assert_eq!(ids(&updates.read(0, 100, START)), [1003, 1004]);
}

#[test]
fn read_confirms_an_update_without_an_id_like_the_others() {
    let mut updates = Updates::default();
    assert_eq!(updates.push_whole(json!({ "message": {} }), START), 1000);
    updates.push("message", json!({}), START);
    assert_eq!(updates.read(0, 1, START), [json!({ "message": {} })]);
    assert_eq!(ids(&updates.read(1001, 100, START)), [1001]);
}

#[test]
fn read_with_a_limit_confirms_nothing() {
    let mut updates = five();
    assert_eq!(ids(&updates.read(0, 2, START)), [1000, 1001]);
    assert_eq!(updates.waiting().len(), 5);
}

#[test]
fn read_drops_updates_after_a_day_and_presses_after_minutes() {
    for (kind, kept) in [("message", UPDATE_KEPT), ("callback_query", CALLBACK_KEPT)] {
        let mut updates = Updates::default();
        updates.push(kind, json!({}), START).unwrap();
        let last = START.after(kept - Duration::from_millis(1));
        assert_eq!(updates.read(0, 100, last).len(), 1, "{kind}");
        assert_eq!(updates.read(0, 100, START.after(kept)).len(), 0, "{kind}");
        assert_eq!(updates.read(0, 100, START).len(), 0, "{kind} is gone for good");
    }
}

#[test]
fn allow_queues_only_the_requested_kinds() {
    let cases: [(&[&str], &[&str]); 3] = [
        (&[], &["message", "my_chat_member", "brand_new"]),
        (&["message"], &["message"]),
        (&["Message", "chat_member"], &["message", "chat_member"]),
    ];
    for (asked, queued) in cases {
        let mut updates = Updates::default();
        updates.allow(&asked.iter().map(|kind| json!(kind)).collect::<Vec<_>>());
        let kinds = ["message", "my_chat_member", "chat_member", "message_reaction", "brand_new"];
        let taken = kinds.into_iter().filter(|kind| updates.push(kind, json!({}), START).is_some());
        assert_eq!(taken.collect::<Vec<_>>(), queued, "asked for {asked:?}");
    }
}

#[test]
fn allow_keeps_updates_that_are_queued_already() {
    let mut updates = five();
    updates.allow(&[json!("callback_query")]);
    assert_eq!(updates.read(0, 100, START).len(), 5);
}

#[test]
fn poll_clamps_limit_and_timeout() {
    let cases =
        [(None, 100, 0), (Some(-3), 1, 0), (Some(0), 1, 0), (Some(7), 7, 7), (Some(999), 100, 50)];
    for (given, limit, seconds) in cases {
        let poll = Poll::new(None, given, given);
        assert_eq!((poll.limit, poll.timeout.as_secs()), (limit, seconds), "{given:?}");
    }
}

#[test]
fn restart_ids_makes_an_old_offset_confirm_nothing() {
    let mut updates = five();
    updates.read(1005, 100, START);
    updates.restart_ids(7);
    updates.push("message", json!({}), START);
    assert_eq!(ids(&updates.read(1005, 100, START)), [7], "the old offset confirms nothing");
}

#[test]
#[should_panic(expected = "only while nothing waits")]
fn restart_ids_panics_while_updates_wait() {
    five().restart_ids(7);
}
