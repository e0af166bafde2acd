//! Tests of the cached turns: a log that has cached turns returns the same past as one without.

use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::TurnLog;
use avocet_store::{OldRows, SqliteStore};
use avocet_supervise::Group;
use proptest::prelude::*;
use proptest::sample::select;

use crate::retaining::{add_turn, opened, remove};

/// A change of the log, or a read of the past, which may fill the cache.
#[derive(Debug, Clone)]
enum PastChange {
    AddTurn,
    OpenTurn,
    EndTurns,
    Forget { to: i64 },
    LeaveOut { to: i64 },
    Shorten { to: i64 },
    RemoveResults { before: i64 },
    RemoveTurns { before: i64 },
    Read { before: i64, budget: usize },
}

fn any_change() -> impl Strategy<Value = PastChange> {
    use PastChange::*;
    let turn = || 1..30_i64;
    let before = prop_oneof![turn(), Just(i64::MAX)];
    let budget = select(vec![0, 500, 1500, 4000, usize::MAX]);
    prop_oneof![
        4 => Just(AddTurn),
        1 => Just(OpenTurn),
        1 => Just(EndTurns),
        1 => turn().prop_map(|to| Forget { to }),
        1 => turn().prop_map(|to| LeaveOut { to }),
        1 => turn().prop_map(|to| Shorten { to }),
        1 => turn().prop_map(|before| RemoveResults { before }),
        1 => turn().prop_map(|before| RemoveTurns { before }),
        8 => (before, budget).prop_map(|(before, budget)| Read { before, budget }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn history_is_the_same_with_and_without_cached_turns(
        changes in prop::collection::vec(any_change(), 1..40),
    ) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(compare(&changes));
    }
}

#[tokio::test]
async fn history_gains_a_turn_that_ends_after_a_later_one() {
    use PastChange::*;
    let read = || Read { before: i64::MAX, budget: usize::MAX };
    compare(&[OpenTurn, AddTurn, read(), EndTurns, read()]).await;
}

async fn compare(changes: &[PastChange]) {
    let (directory, store, log) = opened(1..4).await;
    let session: SessionId = "terminal:local:s".parse().unwrap();
    let mut next = 4;
    for change in changes {
        let mark = |column: &str, to: i64| {
            log.execute(&format!("UPDATE sessions SET {column} = ?1"), [to]).unwrap();
        };
        let end_turns = || {
            log.execute("UPDATE turns SET state = 'done' WHERE state = 'running'", ()).unwrap();
        };
        match *change {
            PastChange::AddTurn => {
                add_turn(&log, next);
                next += 1;
            }
            PastChange::OpenTurn => {
                // A session has at most one open turn.
                end_turns();
                add_turn(&log, next);
                log.execute("UPDATE turns SET state = 'running' WHERE id = ?1", [next]).unwrap();
                next += 1;
            }
            PastChange::EndTurns => end_turns(),
            PastChange::Forget { to } => mark("fresh_from", to),
            PastChange::LeaveOut { to } => mark("summary_to", to),
            PastChange::Shorten { to } => mark("shortened_to", to),
            PastChange::RemoveResults { before } => {
                remove(&store, OldRows::Results, before).await;
            }
            PastChange::RemoveTurns { before } => {
                remove(&store, OldRows::Turns, before).await;
            }
            PastChange::Read { before, budget } => {
                let group = Group::new("fresh");
                let fresh = SqliteStore::open_read_only(directory.path(), &group).unwrap().unwrap();
                let read = async |store: &SqliteStore| {
                    store.history(&session, TurnId(before), budget).await.unwrap()
                };
                assert_eq!(read(&store).await, read(&fresh).await, "{changes:?}");
            }
        }
    }
}
