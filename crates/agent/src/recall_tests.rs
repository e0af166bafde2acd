use avocet_protocol::access::Trust;
use avocet_protocol::chat::Outcome;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, MemoryId};
use avocet_protocol::model::{Message, ModelError};
use avocet_protocol::store::{Settlement, Turns};
use avocet_testkit::Scripted;
use serde_json::json;

use super::*;
use crate::harness::AgentHarness;
use crate::{FailedTurn, TurnEnd};

const KEY: &str = "the key is under the mat";

fn memory(id: i64, scope: &str, trust: Trust) -> RecalledMemory {
    let (scope, text) = (scope.parse().unwrap(), KEY.to_owned());
    RecalledMemory { id: MemoryId(id), scope, text, trust, written_at: Timestamp(0) }
}

/// Runs a turn, and logs its end as the daemon does.
async fn turn(harness: &AgentHarness, text: &str) {
    let TurnEnd::Answered(answer) = harness.turn(text).await else { panic!("no answer") };
    let (outcome, answer) = (Outcome::Replied, Some(answer));
    let settlement = Settlement { answer, ..Settlement::new(outcome) };
    harness.store.settle(harness.record().await.id, &settlement).await.unwrap();
}

/// Returns the messages of a request, and all of them as text.
fn request(harness: &AgentHarness, number: usize) -> (Vec<Message>, String) {
    let request = &harness.model.requests()[number];
    let messages: Vec<Message> = request.messages.iter().cloned().collect();
    let text = serde_json::to_string(&messages).unwrap();
    (messages, text)
}

#[tokio::test]
async fn f33_recalled_memories_stay_the_same_in_later_requests() {
    let echo = Scripted::calls(&[("echo", json!({}))]);
    let says = |text| Scripted::says(text);
    let harness = AgentHarness::new(vec![says("one"), echo, says("two"), says("three")]).await;
    harness.recall.add(memory(12, "everyone", Trust::Full));
    turn(&harness, "where is the key ?").await;
    harness.recall.add(memory(13, "everyone", Trust::Full));
    turn(&harness, "and the other key ?").await;
    turn(&harness, "a key").await;
    let (mut before, first) = request(&harness, 0);
    assert!(first.contains("- m12 (everyone, 1970-01-01): the key is under the mat"), "{first}");
    for number in 1..4 {
        let (messages, text) = request(&harness, number);
        assert_eq!(messages[..before.len()], before, "request {number}");
        assert_eq!(text.matches("- m12 ").count(), 1, "a past turn shows it: {text}");
        assert_eq!(text.matches("- m13 ").count(), 1, "{text}");
        before = messages;
    }
    assert_eq!(harness.recall.asked(), 3, "once for each turn");
}

/// The only request of a turn fails.
#[tokio::test]
async fn f33_recalled_memories_of_a_failed_turn_stay_in_later_requests() {
    let (model, detail) = ("test/scripted".to_owned(), "nonsense".to_owned());
    let breaks = Scripted::Error(ModelError::BadAnswer { model, detail: detail.into() });
    let answers = vec![breaks, Scripted::says("two"), Scripted::says("three")];
    let harness = AgentHarness::new(answers).await;
    harness.recall.add(memory(12, "everyone", Trust::Low));
    harness.say("where is the key ?").await;
    let end = harness.run(harness.claim().await).await.unwrap();
    let TurnEnd::Failed(FailedTurn { notice, .. }) = end else { panic!("{end:?}") };
    let settlement = Settlement { notice: Some(notice), ..Settlement::new(Outcome::Error) };
    harness.store.settle(harness.record().await.id, &settlement).await.unwrap();
    turn(&harness, "and now the key ?").await;
    turn(&harness, "a key").await;
    let (mut before, first) = request(&harness, 0);
    assert_eq!(first.matches(KEY).count(), 1, "{first}");
    for number in 1..3 {
        let (messages, text) = request(&harness, number);
        assert_eq!(
            serde_json::to_vec(&messages[..before.len()]).unwrap(),
            serde_json::to_vec(&before).unwrap(),
            "request {number}"
        );
        assert_eq!(text.matches(KEY).count(), 1, "{text}");
        before = messages;
    }
}

#[tokio::test]
async fn f34_50_recalls_leave_the_memory_unchanged_and_the_block_in_one_turn() {
    let harness = AgentHarness::new(vec![Scripted::says("ok"); 50]).await;
    harness.recall.add(memory(12, "everyone", Trust::Full));
    for _ in 0..50 {
        turn(&harness, "key").await;
    }
    let length = |number| request(&harness, number).1.len();
    let added = |number| length(number) - length(number - 1);
    assert_eq!(added(9), added(8), "a turn adds its own text only");
    assert!(added(49) <= added(9) + 4, "apart from longer numbers");
    let (_, last) = request(&harness, 49);
    assert_eq!(last.matches(KEY).count(), 1);
}

#[tokio::test]
async fn recalled_untrusted_memory_is_marked_and_lowers_the_trust_of_the_turn() {
    for (trust, asks) in [(Trust::Full, false), (Trust::Low, true)] {
        let careful = Scripted::calls(&[("careful", json!({}))]);
        let harness = AgentHarness::new(vec![careful, Scripted::says("done")]).await;
        harness.recall.add(memory(12, "everyone", trust));
        let end = harness.turn("key").await;
        assert_eq!(matches!(end, TurnEnd::Waiting(_)), asks, "{end:?}");
        let (_, text) = request(&harness, 0);
        assert_eq!(text.contains("<<<foreign"), asks, "{text}");
        assert!(text.contains(KEY));
        let record = harness.record().await;
        assert_eq!((record.recalled.len(), record.steps[0].trust), (1, trust));
        if let TurnEnd::Waiting(waits) = end {
            assert_eq!(waits[0].call, CallId { turn: record.id, step: 0, ordinal: 0 });
        }
    }
}

#[tokio::test]
async fn recall_reads_the_scopes_of_the_asker_only() {
    let table = [
        ("everyone", true),
        ("person terminal:local:me", true),
        ("chat terminal:local:a", true),
        ("person terminal:local:guest", false),
        ("chat terminal:local:b", false),
    ];
    for (scope, expected) in table {
        let harness = AgentHarness::new(vec![Scripted::says("ok")]).await;
        harness.recall.add(memory(12, scope, Trust::Full));
        turn(&harness, "key").await;
        let (_, text) = request(&harness, 0);
        assert_eq!(text.contains(KEY), expected, "{scope}: {text}");
    }
}

#[tokio::test]
async fn recall_is_off_with_a_budget_of_0() {
    let mut harness = AgentHarness::new(vec![Scripted::says("ok")]).await;
    harness.agent.recall.budget_tokens = 0;
    harness.recall.add(memory(12, "everyone", Trust::Full));
    turn(&harness, "key").await;
    assert_eq!((harness.recall.asked(), request(&harness, 0).1.contains(KEY)), (0, false));
}

/// The bytes that the recalled memories add to the request of a turn.
async fn recalled_bytes(count: i64, text: &str) -> usize {
    let size = async |count: i64| {
        let harness = AgentHarness::new(vec![Scripted::says("ok")]).await;
        for id in 0..count {
            let one = memory(100 + id, "everyone", Trust::Full);
            harness.recall.add(RecalledMemory { text: text.to_owned(), ..one });
        }
        turn(&harness, "key").await;
        let Message::User { text, .. } = request(&harness, 0).0.pop().unwrap() else { panic!() };
        text.len()
    };
    size(count).await - size(0).await
}

/// The remark around the memories costs 66 bytes, and each memory 32 in addition to its text.
#[tokio::test]
async fn recalled_memories_add_few_bytes_to_a_request() {
    let text = "the sister Anna has a key to the garage, number 0199 nowadays";
    let mut bytes = Vec::new();
    for count in [0, 1, 5] {
        bytes.push(recalled_bytes(count, text).await);
    }
    // As many and as long as the default of 600 tokens allows: eight of 54 tokens.
    let long = format!("key {}", "x".repeat(54 * 4 - 4));
    bytes.push(recalled_bytes(8, &long).await);
    let tokens: Vec<usize> = bytes.iter().map(|bytes| bytes.div_ceil(4)).collect();
    println!("bytes of 0, 1, 5 and the most memories: {bytes:?}; tokens: {tokens:?}");
    assert!(tokens[3] <= 600, "{tokens:?}");
    assert_eq!(bytes[0], 0);
    let each = (bytes[2] - bytes[1]) / 4;
    assert!(each <= text.len() + 32 && bytes[1] - each <= 66, "{bytes:?}");
}
