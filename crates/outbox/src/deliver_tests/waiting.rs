//! Chunks that wait: for a platform's limit, for their turn, or until a chat is reachable.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::bus::Deliveries;
use avocet_protocol::channel::{OnUnknown, SendError};
use avocet_protocol::store::Query;
use avocet_testkit::{FakeChannel, OnSend};

use super::world::{DeliveryHarness, SECOND, chat_address};

#[tokio::test]
async fn f6_retry_after_delays_only_its_chat() {
    let harness = DeliveryHarness::new().await;
    let hour = Duration::from_hours(1);
    harness.channel.script([OnSend::Say(SendError::RetryAfter(hour))]);
    harness.send("a", "1").await;
    harness.clock.sleeper(hour).await;
    harness.send("a", "2").await;
    harness.send("b", "other").await;
    assert_eq!(harness.channel.texts(1).await, ["other"]);
    harness.clock.advance(hour);
    assert_eq!(harness.channel.texts(3).await, ["other", "1", "2"]);
}

#[tokio::test]
async fn f6_retry_after_survives_a_restart() {
    let harness = DeliveryHarness::new().await;
    let hour = Duration::from_hours(1);
    harness.channel.script([OnSend::Say(SendError::RetryAfter(hour))]);
    harness.send("a", "1").await;
    harness.clock.sleeper(hour).await;
    let harness = harness.kill_and_restart().await;
    harness.deliverer.start().await.unwrap();
    harness.pass_time(hour).await;
    assert_eq!(harness.channel.texts(1).await, ["1"]);
}

#[tokio::test]
async fn deliverer_waits_for_wake_if_a_chat_is_unreachable() {
    let harness = DeliveryHarness::new().await;
    let chat = chat_address("a");
    harness.channel.script([OnSend::Say(SendError::Unreachable)]);
    harness.send("a", "1").await;
    harness.wait_until_idle().await;
    harness.channel.set_reachable(&chat, false);
    harness.deliverer.wake(&chat);
    harness.send("b", "other").await;
    assert_eq!(harness.channel.texts(1).await, ["other"]);
    harness.channel.set_reachable(&chat, true);
    harness.deliverer.wake(&chat);
    let taken = harness.channel.taken(2).await;
    assert_eq!((taken[1].content.text.as_str(), taken[1].repeat), ("1", false));
}

#[tokio::test]
async fn chunk_sent_in_part_to_an_unreachable_chat_is_marked_when_it_is_sent_again() {
    let harness = DeliveryHarness::new().await;
    let chat = chat_address("a");
    let in_part = SendError::Partly(Box::new(SendError::Unreachable));
    harness.channel.script([OnSend::Say(in_part)]);
    harness.send("a", "1").await;
    harness.wait_until_idle().await;
    harness.deliverer.wake(&chat);
    let taken = harness.channel.taken(1).await;
    assert_eq!((taken[0].content.text.as_str(), taken[0].repeat), ("1", true));
}

#[tokio::test]
async fn deliverer_stop_leaves_a_delayed_chunk_pending() {
    let harness = DeliveryHarness::new().await;
    let hour = Duration::from_hours(1);
    harness.channel.script([OnSend::Take, OnSend::Say(SendError::RetryAfter(hour))]);
    harness.send("a", "1|2").await;
    harness.clock.sleeper(hour).await;
    harness.stop().await;
    assert_eq!(harness.channel.texts(1).await, ["1"]);
    assert_eq!(harness.store.log_status().await.unwrap().pending, 1);
}

#[tokio::test]
async fn deliverer_does_not_prolong_a_wait_if_the_clock_is_set_back() {
    let minutes = Duration::from_mins;
    for restarts in [false, true] {
        let mut harness = DeliveryHarness::new().await;
        harness.channel.script([OnSend::Say(SendError::RetryAfter(minutes(30)))]);
        harness.send("a", "1").await;
        harness.clock.sleeper(minutes(30)).await;
        harness.clock.advance(minutes(10));
        harness.clock.set_back(Duration::from_hours(3));
        let left = if restarts { minutes(30) } else { minutes(20) };
        if restarts {
            harness = harness.kill_and_restart().await;
            harness.clock.set_back(Duration::from_hours(3));
            harness.deliverer.start().await.unwrap();
        }
        harness.clock.sleeper_within(left..=left).await;
        harness.clock.advance(left);
        assert_eq!(harness.channel.texts(1).await, ["1"], "restarts: {restarts}");
    }
}

#[tokio::test]
async fn deliverer_sends_a_chunk_queued_for_its_turn_unmarked_after_a_crash() {
    let harness = DeliveryHarness::new().await;
    harness.channel.give_turns(false);
    harness.send("a", "hello").await;
    harness.channel.in_line(1).await;
    let harness = harness.kill_and_restart().await;
    harness.deliverer.start().await.unwrap();
    harness.channel.in_line(2).await;
    harness.channel.give_turns(true);
    let taken = harness.channel.taken(1).await;
    assert!(!taken[0].repeat, "{taken:?}");
    harness.wait_until_idle().await;
    assert_eq!(harness.channel.texts(1).await, ["hello"]);
}

#[tokio::test]
async fn deliverer_stop_leaves_a_chunk_queued_for_its_turn_pending() {
    let harness = DeliveryHarness::new().await;
    harness.channel.give_turns(false);
    harness.send("a", "hello").await;
    harness.channel.in_line(1).await;
    harness.stop().await;
    assert_eq!(harness.store.log_status().await.unwrap().pending, 1);
}

#[tokio::test]
async fn deliverer_begins_no_send_during_a_platform_pause_and_sends_unmarked_later() {
    let harness = DeliveryHarness::new().await;
    harness.channel.set_pause(SECOND);
    harness.send("a", "hello").await;
    harness.clock.sleeper(SECOND).await;
    let harness = harness.kill_and_restart().await;
    harness.deliverer.start().await.unwrap();
    harness.clock.sleeper(SECOND).await;
    harness.channel.set_pause(Duration::ZERO);
    harness.clock.advance(SECOND);
    let taken = harness.channel.taken(1).await;
    assert!(!taken[0].repeat, "{taken:?}");
    harness.wait_until_idle().await;
    assert_eq!(harness.channel.texts(1).await, ["hello"]);
}

#[tokio::test]
async fn wait_ends_when_the_channel_of_the_account_is_replaced() {
    let harness = DeliveryHarness::new().await;
    let long = SECOND * 300;
    harness.channel.set_pause(long);
    harness.send("a", "hello").await;
    harness.clock.sleeper(long).await;
    let newer = Arc::new(FakeChannel::with_rule(OnUnknown::RepeatMarked));
    harness.deliverer.worker.channels.add_channel(newer.clone());
    assert_eq!(newer.texts(1).await, ["hello"]);
    harness.wait_until_idle().await;

    newer.give_turns(false);
    harness.send("a", "again").await;
    newer.in_line(1).await;
    let newest = Arc::new(FakeChannel::with_rule(OnUnknown::RepeatMarked));
    harness.deliverer.worker.channels.add_channel(newest.clone());
    newer.give_turns(true);
    assert_eq!(newest.texts(1).await, ["again"], "a channel that was replaced sends nothing");
}

#[tokio::test]
async fn wake_account_sends_the_waiting_chunks_of_all_its_chats() {
    let harness = DeliveryHarness::new().await;
    for chat in ["a", "b"] {
        harness.channel.set_reachable(&chat_address(chat), false);
        harness.send(chat, chat).await;
    }
    let harness = harness.kill_and_restart().await;
    for chat in ["a", "b"] {
        harness.channel.set_reachable(&chat_address(chat), true);
    }
    let chat = chat_address("a");
    harness.deliverer.wake_account(&chat.channel, &"other".parse().unwrap());
    harness.deliverer.wake_account(&chat.channel, &chat.account);
    let mut texts = harness.channel.texts(2).await;
    texts.sort();
    assert_eq!(texts, ["a", "b"]);
}
