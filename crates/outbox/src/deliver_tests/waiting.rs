//! Chunks that wait: for a platform's limit, for their turn, or until a chat is reachable.

use std::time::Duration;

use avocet_protocol::{Deliveries, Query, SendError};
use avocet_testkit::OnSend;

use super::world::{SECOND, World, chat_address};

#[tokio::test]
async fn f6_retry_after_delays_only_its_chat() {
    let world = World::new().await;
    let hour = Duration::from_hours(1);
    world.channel.script([OnSend::Say(SendError::RetryAfter(hour))]);
    world.send("a", "1").await;
    world.clock.sleeper(hour).await;
    world.send("a", "2").await;
    world.send("b", "other").await;
    assert_eq!(world.channel.texts(1).await, ["other"]);
    world.clock.advance(hour);
    assert_eq!(world.channel.texts(3).await, ["other", "1", "2"]);
}

#[tokio::test]
async fn f6_retry_after_survives_a_restart() {
    let world = World::new().await;
    let hour = Duration::from_hours(1);
    world.channel.script([OnSend::Say(SendError::RetryAfter(hour))]);
    world.send("a", "1").await;
    world.clock.sleeper(hour).await;
    let world = world.restart().await;
    world.deliverer.start().await.unwrap();
    world.pass(hour).await;
    assert_eq!(world.channel.texts(1).await, ["1"]);
}

#[tokio::test]
async fn deliverer_waits_for_wake_if_a_chat_is_unreachable() {
    let world = World::new().await;
    let chat = chat_address("a");
    world.channel.script([OnSend::Say(SendError::Unreachable)]);
    world.send("a", "1").await;
    world.idle().await;
    world.channel.set_reachable(&chat, false);
    world.deliverer.wake(&chat);
    world.send("b", "other").await;
    assert_eq!(world.channel.texts(1).await, ["other"]);
    world.channel.set_reachable(&chat, true);
    world.deliverer.wake(&chat);
    let taken = world.channel.taken(2).await;
    assert_eq!((taken[1].content.text.as_str(), taken[1].repeat), ("1", false));
}

#[tokio::test]
async fn deliverer_stop_leaves_a_delayed_chunk_pending() {
    let world = World::new().await;
    let hour = Duration::from_hours(1);
    world.channel.script([OnSend::Take, OnSend::Say(SendError::RetryAfter(hour))]);
    world.send("a", "1|2").await;
    world.clock.sleeper(hour).await;
    world.stop().await;
    assert_eq!(world.channel.texts(1).await, ["1"]);
    assert_eq!(world.store.log_status().await.unwrap().pending, 1);
}

#[tokio::test]
async fn deliverer_does_not_prolong_a_wait_if_the_clock_is_set_back() {
    let minutes = Duration::from_mins;
    for restarts in [false, true] {
        let mut world = World::new().await;
        world.channel.script([OnSend::Say(SendError::RetryAfter(minutes(30)))]);
        world.send("a", "1").await;
        world.clock.sleeper(minutes(30)).await;
        world.clock.advance(minutes(10));
        world.clock.set_back(Duration::from_hours(3));
        let left = if restarts { minutes(30) } else { minutes(20) };
        if restarts {
            world = world.restart().await;
            world.clock.set_back(Duration::from_hours(3));
            world.deliverer.start().await.unwrap();
        }
        world.clock.sleeper_within(left..=left).await;
        world.clock.advance(left);
        assert_eq!(world.channel.texts(1).await, ["1"], "restarts: {restarts}");
    }
}

#[tokio::test]
async fn deliverer_sends_a_chunk_queued_for_its_turn_unmarked_after_a_crash() {
    let world = World::new().await;
    world.channel.give_turns(false);
    world.send("a", "hello").await;
    world.channel.in_line(1).await;
    let world = world.restart().await;
    world.deliverer.start().await.unwrap();
    world.channel.in_line(2).await;
    world.channel.give_turns(true);
    let taken = world.channel.taken(1).await;
    assert!(!taken[0].repeat, "{taken:?}");
    world.idle().await;
    assert_eq!(world.channel.texts(1).await, ["hello"]);
}

#[tokio::test]
async fn deliverer_stop_leaves_a_chunk_queued_for_its_turn_pending() {
    let world = World::new().await;
    world.channel.give_turns(false);
    world.send("a", "hello").await;
    world.channel.in_line(1).await;
    world.stop().await;
    assert_eq!(world.store.log_status().await.unwrap().pending, 1);
}

#[tokio::test]
async fn deliverer_begins_no_send_during_a_platform_pause_and_sends_unmarked_later() {
    let world = World::new().await;
    world.channel.set_pause(SECOND);
    world.send("a", "hello").await;
    world.clock.sleeper(SECOND).await;
    let world = world.restart().await;
    world.deliverer.start().await.unwrap();
    world.clock.sleeper(SECOND).await;
    world.channel.set_pause(Duration::ZERO);
    world.clock.advance(SECOND);
    let taken = world.channel.taken(1).await;
    assert!(!taken[0].repeat, "{taken:?}");
    world.idle().await;
    assert_eq!(world.channel.texts(1).await, ["hello"]);
}
