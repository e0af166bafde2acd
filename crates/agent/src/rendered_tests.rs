use std::cell::Cell;

use avocet_protocol::ids::TurnId;
use avocet_protocol::store::CompactedPast;
use avocet_testkit::Scripted;

use super::*;
use crate::harness::AgentHarness;

/// Copies of a record, each with an id of its own.
async fn records(count: i64) -> Vec<Arc<TurnRecord>> {
    let harness = AgentHarness::new(vec![Scripted::says("ok")]).await;
    harness.turn("question").await;
    let record = harness.record().await;
    let copy = |id| Arc::new(TurnRecord { id: TurnId(id), ..record.clone() });
    (1..=count).map(copy).collect()
}

/// A past of these turns. Those up to `shortened_to` are shortened.
fn past(turns: &[Arc<TurnRecord>], shortened_to: i64) -> Past {
    let shortened_to = (shortened_to > 0).then_some(TurnId(shortened_to));
    let compacted = CompactedPast { shortened_to, ..CompactedPast::default() };
    Past { turns: turns.to_vec(), compacted, ..Past::default() }
}

/// Renders a past with a question and an answer of each turn. Returns the number of turns that were
/// rendered for it. Its messages must be the same as without anything kept.
fn rendered(kept: &RenderedTurns, past: &Past, bytes: usize) -> usize {
    let calls = Cell::new(0);
    let render = |turn: &TurnRecord| {
        calls.set(calls.get() + 1);
        let is_shortened = Some(turn.id) <= past.compacted.shortened_to;
        let text = format!("{} {is_shortened} {}", turn.id, "x".repeat(bytes));
        // Some turns end without an answer, so that the next question is joined with theirs.
        match turn.id.0 % 8 {
            0 => vec![Message::user(text)],
            _ => vec![Message::user(text), Message::assistant("ok", Vec::new())],
        }
    };
    let PastMessages { messages, tokens } = kept.past_messages(past, render);
    let calls = calls.take();
    let anew: Messages = past.turns.iter().flat_map(|turn| render(turn)).collect();
    assert_eq!(tokens, anew.estimated_tokens());
    assert_eq!(make_valid(messages), make_valid(anew));
    calls
}

#[test]
fn system_message_is_kept_until_its_text_changes() {
    let kept = RenderedTurns::default();
    let first = kept.system_message("be kind");
    assert!(Arc::ptr_eq(&first, &kept.system_message("be kind")));
    let other = kept.system_message("be short");
    assert_eq!(*other.message(), Message::System { text: "be short".to_owned() });
    assert!(Arc::ptr_eq(&other, &kept.system_message("be short")));
    let valid = make_valid([other.clone()].into_iter().collect());
    assert!(Arc::ptr_eq(&other, valid.shared().next().unwrap()), "its JSON stays known");
}

#[tokio::test]
async fn past_messages_renders_a_turn_once_until_the_past_changes() {
    let turns = records(100).await;
    let kept = RenderedTurns::default();
    assert_eq!(rendered(&kept, &past(&turns[..2], 0), 9), 2);
    assert_eq!(rendered(&kept, &past(&turns[..2], 0), 9), 2, "a short past is not kept");
    for last in 3..=100 {
        let expected = if last == 3 { 3 } else { 1 };
        assert_eq!(rendered(&kept, &past(&turns[..last], 0), 9), expected, "{last}");
    }
    assert_eq!(rendered(&kept, &past(&turns, 0), 9), 0);
    assert_eq!(kept.kept_blocks(&past(&turns, 0)).len(), 3);
    let shown = kept.past_messages(&past(&turns, 0), |_| unreachable!("all turns are kept"));
    assert_eq!(shown.messages.parts().len(), 3 + 4, "three blocks, and the last four turns");

    let mut changed = turns.clone();
    changed[40] = Arc::new(TurnRecord::clone(&turns[40]));
    assert_eq!(kept.kept_blocks(&past(&changed, 0)).len(), 1);
    assert_eq!(rendered(&kept, &past(&changed, 0), 9), 100 - BLOCK_TURNS, "another record");
    changed[99] = Arc::new(TurnRecord::clone(&turns[99]));
    assert_eq!(rendered(&kept, &past(&changed, 0), 9), 1);

    assert_eq!(rendered(&kept, &past(&changed, 70), 9), 100, "the first block has another form");
    assert_eq!(rendered(&kept, &past(&changed, 80), 9), 100 - 2 * BLOCK_TURNS);
    assert_eq!(rendered(&kept, &past(&changed[1..], 80), 9), 99, "the first turn is gone");
    let earlier = past(&changed[1..50], 80);
    assert_eq!(rendered(&kept, &earlier, 9), 49 - BLOCK_TURNS, "its second block is not full");
}

#[tokio::test]
async fn past_messages_makes_room_by_the_sessions_that_were_used_least_recently() {
    let turns = records(3).await;
    let of = |name: &str| {
        let session = SessionId::parse(&format!("terminal:local:{name}")).unwrap();
        let turns = turns.iter().map(|turn| {
            Arc::new(TurnRecord { session: session.clone(), ..TurnRecord::clone(turn) })
        });
        past(&turns.collect::<Vec<_>>(), 0)
    };
    let (kept, a, b, c) = (RenderedTurns::default(), of("a"), of("b"), of("c"));
    let third = MOST_BYTES / 2 / 3 / 3;
    for (past, expected) in [(&a, 3), (&b, 3), (&a, 0), (&c, 3), (&a, 0), (&b, 3)] {
        assert_eq!(rendered(&kept, past, third), expected);
    }
    let large = of("d");
    assert_eq!(rendered(&kept, &large, MOST_BYTES), 3);
    assert_eq!(rendered(&kept, &large, MOST_BYTES), 3, "it has no room");
    assert_eq!(rendered(&kept, &b, third), 0, "it has taken the room of nothing");
}
