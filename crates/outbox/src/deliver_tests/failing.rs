//! Chunks that fail for a long time, alone or with the whole account.

use avocet_protocol::channel::{OnUnknown, SendError};
use avocet_protocol::clock::Clock;
use avocet_protocol::store::Query;

use super::world::{DeliveryHarness, SECOND};
use crate::rules;

/// The other chats of the account while a chunk fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OtherChats {
    /// After each failure, another chat gets a message.
    Succeed,
    Idle,
}

/// Advances the clock until a chat has tried this number of sends.
async fn fail_until_tried(harness: &DeliveryHarness, times: usize, others: OtherChats) {
    let mut sent = 0;
    for attempt in 1..=times {
        harness.channel.tried(attempt + sent).await;
        let wait = rules::wait_after(u32::try_from(attempt).unwrap());
        harness.clock.sleeper(wait).await;
        if others == OtherChats::Succeed {
            sent += 1;
            harness.send("b", &format!("b{sent}")).await;
            harness.channel.tried(attempt + sent).await;
            harness.channel.taken(sent).await;
        }
        harness.clock.advance(wait);
    }
}

fn server_error() -> SendError {
    SendError::Unknown("HTTP 500".to_owned())
}

#[tokio::test]
async fn deliverer_abandons_a_chunk_that_fails_alone_and_sends_the_next() {
    let harness = DeliveryHarness::with_rule(OnUnknown::RepeatSafe).await;
    harness.channel.set_failing("cursed", Some(server_error()));
    harness.send("a", "cursed").await;
    harness.send("a", "behind it").await;
    fail_until_tried(&harness, 10, OtherChats::Succeed).await;
    let texts = harness.channel.texts(10 + 2).await;
    let notice = "I could not confirm that this message arrived: “cursed” /resend sends it again.";
    assert_eq!(texts[10..], ["behind it", notice]);
    assert_eq!(harness.clock.elapsed(), 1023 * SECOND / 4);
    harness.wait_until_idle().await;
    let status = harness.store.log_status().await.unwrap();
    assert_eq!((status.unconfirmed, status.pending, status.dead), (1, 0, 0));
}

#[tokio::test]
async fn deliverer_keeps_retrying_a_chunk_while_no_chat_of_the_account_succeeds() {
    let harness = DeliveryHarness::with_rule(OnUnknown::RepeatSafe).await;
    let no_route = SendError::Failed("no route".to_owned());
    harness.channel.set_failing("of the evening", Some(no_route));
    harness.send("a", "of the evening").await;
    fail_until_tried(&harness, 100, OtherChats::Idle).await;
    // The other chat is the first to succeed in the morning, and the next attempt still fails.
    harness.send("b", "good morning").await;
    harness.channel.taken(1).await;
    harness.channel.tried(102).await;
    harness.clock.sleeper(rules::wait_after(99)).await;
    harness.channel.set_failing("of the evening", None);
    harness.clock.advance(rules::wait_after(99));
    assert_eq!(harness.channel.texts(2).await, ["good morning", "of the evening"]);
}
