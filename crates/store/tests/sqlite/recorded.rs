//! Tests of a turn that is read for a replay.

use avocet_protocol::ids::TurnId;
use avocet_protocol::model::{Money, Spent, Usage};
use avocet_protocol::store::{CompactedPast, TurnLog};
use avocet_store::{OldRows, RecordedTurn};

use crate::retaining::{opened, remove};

#[tokio::test]
async fn recorded_turn_has_its_own_usage_and_knows_of_removed_results() {
    let (_directory, store, log) = opened(1..4).await;
    log.execute_batch(
        "UPDATE turns SET prompt = 'look', session = 'terminal:local:s' WHERE parent IS NOT NULL;
         INSERT INTO usage (at, session, turn, purpose, model, input, cached, cache_written, output, \
             cost) VALUES (1, 'terminal:local:s', 2, 'answer', 'a/c', 10, 4, 0, 5, 7)",
    )
    .unwrap();
    let own = Usage { cached: 4, ..Usage::new(10, 5) };
    let own = Spent { model: "a/c".to_owned(), usage: own, cost: Some(Money(7)) };
    let of_child = Spent { model: "a/b".to_owned(), usage: Usage::new(1, 1), cost: None };
    let read = async |id| store.recorded_turn(TurnId(id)).await.unwrap();
    let RecordedTurn { turn, spent, has_removed_results, is_forgotten } = read(2).await.unwrap();
    assert_eq!((turn.id, turn.steps.len(), spent), (TurnId(2), 1, vec![own]));
    assert!(!has_removed_results && !is_forgotten);
    assert_eq!(read(1002).await.unwrap().spent, [of_child]);
    assert_eq!(read(99).await, None);

    assert_eq!(remove(&store, OldRows::Results, 3).await, 2);
    for (id, is_removed) in [(1, true), (2, true), (3, false)] {
        assert_eq!(read(id).await.unwrap().has_removed_results, is_removed, "{id}");
    }
    log.execute("UPDATE sessions SET fresh_from = 2 WHERE id = 'terminal:local:s'", ()).unwrap();
    for (id, is_forgotten) in [(1, true), (2, true), (3, false), (1001, false)] {
        assert_eq!(read(id).await.unwrap().is_forgotten, is_forgotten, "{id}");
    }
}

#[tokio::test]
async fn history_before_a_compacted_turn_has_the_turns_before_it() {
    let (_directory, store, _log) = opened(1..5).await;
    let session = "terminal:local:s".parse().unwrap();
    let (summary, summary_to) = (Some("they counted".to_owned()), Some(TurnId(3)));
    let compacted = CompactedPast { summary, summary_to, ..CompactedPast::default() };
    store.record_compaction(&session, &compacted).await.unwrap();
    let past = async |before| {
        let past = store.history(&session, TurnId(before), usize::MAX).await.unwrap();
        let turns = past.turns.iter().map(|turn| turn.id.0).collect::<Vec<_>>();
        (past.compacted.summary.is_some(), turns)
    };
    assert_eq!(past(5).await, (true, vec![4]));
    assert_eq!(past(4).await, (true, vec![]));
    assert_eq!(past(3).await, (false, vec![1, 2]));
    assert_eq!(past(5).await, (true, vec![4]));
}
