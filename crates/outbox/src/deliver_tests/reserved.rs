//! Sends that are started by the transaction that writes the message.

use avocet_protocol::bus::Deliveries;
use avocet_protocol::store::{Head, Outbox, Query};
use avocet_testkit::OnSend;

use super::world::{DeliveryHarness, SECOND, chat_address, planned_message};
use crate::ReservedSend;

/// Writes a message and starts its send, as the end of a turn does in one transaction.
async fn write_started(harness: &DeliveryHarness, text: &str) -> Head {
    harness.enqueue_text("a", text).await;
    let head = harness.store.head(&chat_address("a")).await.unwrap().unwrap();
    harness.store.start(head.delivery.id, false).await.unwrap();
    head
}

fn reserve_first(harness: &DeliveryHarness) -> Option<ReservedSend> {
    harness.deliverer.reserve_send(&planned_message("a", "1"))
}

#[tokio::test]
async fn reserve_sends_a_started_chunk_once_and_then_the_chunks_behind_it() {
    let harness = DeliveryHarness::new().await;
    let reserved = reserve_first(&harness).unwrap();
    let head = write_started(&harness, "1|2").await;
    harness.send("a", "3").await;
    reserved.send(head);
    let taken = harness.channel.taken(3).await;
    let sent: Vec<_> = taken.iter().map(|one| (one.content.text.as_str(), one.repeat)).collect();
    assert_eq!(sent, [("1", false), ("2", false), ("3", false)]);
    harness.stop().await;
    let status = harness.store.log_status().await.unwrap();
    assert_eq!((status.pending, status.unconfirmed, status.dead), (0, 0, 0));
}

#[tokio::test]
async fn reserve_repeats_a_started_chunk_of_unknown_outcome_marked() {
    let harness = DeliveryHarness::new().await;
    let reserved = reserve_first(&harness).unwrap();
    let head = write_started(&harness, "1").await;
    harness.channel.script([OnSend::TakeAndReset]);
    reserved.send(head);
    harness.pass_time(crate::rules::AFTER_UNKNOWN).await;
    let taken = harness.channel.taken(2).await;
    assert_eq!(taken.iter().map(|one| one.repeat).collect::<Vec<_>>(), [false, true]);
}

#[tokio::test]
async fn reserve_that_is_dropped_delivers_as_after_a_wake_up() {
    let harness = DeliveryHarness::new().await;
    let reserved = reserve_first(&harness).unwrap();
    harness.enqueue_text("a", "1").await;
    drop(reserved);
    assert_eq!(harness.channel.texts(1).await, ["1"]);
    harness.wait_until_idle().await;
    assert!(reserve_first(&harness).is_some(), "the chat is free again");
}

#[tokio::test]
async fn reserve_refuses_a_chat_that_is_busy_away_or_has_to_wait() {
    let harness = DeliveryHarness::new().await;
    let chat = chat_address("a");
    let reserved = reserve_first(&harness);
    assert!(reserved.is_some());
    assert!(reserve_first(&harness).is_none(), "reserved");
    assert!(harness.deliverer.reserve_send(&planned_message("b", "1")).is_some(), "another chat");
    drop(reserved);
    harness.wait_until_idle().await;

    harness.channel.set_reachable(&chat, false);
    assert!(reserve_first(&harness).is_none(), "away");
    harness.channel.set_reachable(&chat, true);
    harness.channel.set_pause(SECOND);
    assert!(reserve_first(&harness).is_none(), "rate limit");
    harness.channel.set_pause(std::time::Duration::ZERO);
    harness.channel.give_turns(false);
    assert!(reserve_first(&harness).is_none(), "another chat is first");
    harness.channel.give_turns(true);
    let elsewhere = avocet_protocol::chat::Planned {
        address: "icq:local:a".parse().unwrap(),
        ..planned_message("a", "1")
    };
    assert!(harness.deliverer.reserve_send(&elsewhere).is_none(), "no channel");

    drop(reserve_first(&harness).expect("the chat is free"));
    harness.deliverer.wake(&chat);
    harness.stop().await;
    assert!(reserve_first(&harness).is_none(), "stopping");
}
