//! Sends of unknown outcome: repeated once and marked, then reported.

use avocet_protocol::{Deliveries, OnUnknown, Query, SendError};
use avocet_testkit::OnSend;

use super::world::{World, chat_address};
use crate::rules::{self, AFTER_UNKNOWN};
use crate::worker::SEND_LIMIT;

#[tokio::test]
async fn f5_deliverer_repeats_a_send_of_unknown_outcome_once_and_marked() {
    let world = World::new().await;
    world.channel.script([OnSend::TakeAndReset]);
    world.send("a", "1").await;
    world.pass(AFTER_UNKNOWN).await;
    let taken = world.channel.taken(2).await;
    let repeats: Vec<_> = taken.iter().map(|one| (one.content.text.as_str(), one.repeat)).collect();
    assert_eq!(repeats, [("1", false), ("1", true)]);
    world.send("a", "2").await;
    assert_eq!(world.channel.texts(3).await, ["1", "1", "2"]);
}

#[tokio::test]
async fn deliverer_reports_an_outcome_that_stays_unknown_as_unconfirmed() {
    let world = World::new().await;
    world.channel.script([OnSend::TakeAndReset, OnSend::TakeAndReset]);
    world.send("a", "1").await;
    world.send("a", "2").await;
    world.pass(AFTER_UNKNOWN).await;
    world.pass(AFTER_UNKNOWN).await;
    let notice = "I could not confirm that this message arrived: “1” /resend sends it again.";
    assert_eq!(world.channel.texts(4).await, ["1", "1", "2", notice]);
    assert_eq!(world.store.log_status().await.unwrap().unconfirmed, 1);
}

#[tokio::test]
async fn unconfirmed_notice_is_retried_during_the_outage_that_it_reports() {
    let world = World::new().await;
    world.channel.script([OnSend::TakeAndReset, OnSend::TakeAndReset]);
    world.channel.script([OnSend::Say(SendError::Unknown("reset".to_owned()))]);
    world.send("a", "1").await;
    for _ in 0..3 {
        world.pass(AFTER_UNKNOWN).await;
    }
    let taken = world.channel.taken(3).await;
    assert!(taken[2].repeat && taken[2].content.text.starts_with("I could not confirm"));
}

#[tokio::test]
async fn wake_repeats_an_unconfirmed_chunk_at_once_when_the_chat_is_reachable() {
    let world = World::new().await;
    let chat = chat_address("a");
    world.channel.script([OnSend::Hang]);
    world.send("a", "1").await;
    world.clock.sleeper(SEND_LIMIT).await;
    world.channel.set_reachable(&chat, false);
    world.clock.advance(SEND_LIMIT);
    world.idle().await;
    world.channel.set_reachable(&chat, true);
    world.deliverer.wake(&chat);
    assert!(world.channel.taken(1).await[0].repeat);
}

#[tokio::test]
async fn deliverer_repeats_unmarked_if_the_platform_recognises_repetitions() {
    let world = World::with_rule(OnUnknown::RepeatSafe).await;
    let unknown = || OnSend::Say(SendError::Unknown("reset".to_owned()));
    world.channel.script([unknown(), unknown(), unknown()]);
    world.send("a", "1").await;
    // The waits grow, so that the retries may outlast the failure.
    for attempts in 1..=3 {
        world.pass(rules::wait_after(attempts)).await;
    }
    assert!(!world.channel.taken(1).await[0].repeat);
}

#[tokio::test]
async fn deliverer_treats_a_crash_during_a_send_as_an_unknown_outcome() {
    let world = World::new().await;
    world.channel.script([OnSend::Hang]);
    world.send("a", "1").await;
    world.clock.sleeper(SEND_LIMIT).await;
    let world = world.restart().await;
    world.deliverer.start().await.unwrap();
    assert!(world.channel.taken(1).await[0].repeat);

    world.channel.script([OnSend::Hang]);
    world.send("a", "2").await;
    world.clock.sleeper(SEND_LIMIT).await;
    let world = world.restart().await;
    world.channel.script([OnSend::Hang]);
    world.deliverer.start().await.unwrap();
    world.clock.sleeper(SEND_LIMIT).await;
    let world = world.restart().await;
    world.deliverer.start().await.unwrap();
    let texts = world.channel.texts(2).await;
    assert!(texts[1].starts_with("I could not confirm"), "at most two copies: {texts:?}");
}

#[tokio::test]
async fn deliverer_treats_a_channel_timeout_or_panic_as_an_unknown_outcome() {
    let world = World::new().await;
    world.channel.script([OnSend::Hang]);
    world.send("a", "1").await;
    world.pass(SEND_LIMIT).await;
    world.pass(AFTER_UNKNOWN).await;
    assert!(world.channel.taken(1).await[0].repeat);
    world.channel.script([OnSend::Panic]);
    world.send("a", "2").await;
    world.pass(AFTER_UNKNOWN).await;
    assert!(world.channel.taken(2).await[1].repeat);
}
