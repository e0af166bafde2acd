//! Sends of unknown outcome: repeated once and marked, then reported.

use avocet_protocol::bus::Deliveries;
use avocet_protocol::channel::{OnUnknown, SendError};
use avocet_protocol::store::Query;
use avocet_testkit::OnSend;

use super::world::{DeliveryHarness, chat_address};
use crate::rules::{self, AFTER_UNKNOWN};
use crate::worker::SEND_LIMIT;

#[tokio::test]
async fn f5_deliverer_repeats_a_send_of_unknown_outcome_once_and_marked() {
    let harness = DeliveryHarness::new().await;
    harness.channel.script([OnSend::TakeAndReset]);
    harness.send("a", "1").await;
    harness.pass_time(AFTER_UNKNOWN).await;
    let taken = harness.channel.taken(2).await;
    let repeats: Vec<_> = taken.iter().map(|one| (one.content.text.as_str(), one.repeat)).collect();
    assert_eq!(repeats, [("1", false), ("1", true)]);
    harness.send("a", "2").await;
    assert_eq!(harness.channel.texts(3).await, ["1", "1", "2"]);
}

#[tokio::test]
async fn deliverer_reports_an_outcome_that_stays_unknown_as_unconfirmed() {
    let harness = DeliveryHarness::new().await;
    harness.channel.script([OnSend::TakeAndReset, OnSend::TakeAndReset]);
    harness.send("a", "1").await;
    harness.send("a", "2").await;
    harness.pass_time(AFTER_UNKNOWN).await;
    harness.pass_time(AFTER_UNKNOWN).await;
    let notice = "I could not confirm that this message arrived: “1” /resend sends it again.";
    assert_eq!(harness.channel.texts(4).await, ["1", "1", "2", notice]);
    assert_eq!(harness.store.log_status().await.unwrap().unconfirmed, 1);
}

#[tokio::test]
async fn unconfirmed_notice_is_retried_during_the_outage_that_it_reports() {
    let harness = DeliveryHarness::new().await;
    harness.channel.script([OnSend::TakeAndReset, OnSend::TakeAndReset]);
    harness.channel.script([OnSend::Say(SendError::Unknown("reset".to_owned()))]);
    harness.send("a", "1").await;
    for _ in 0..3 {
        harness.pass_time(AFTER_UNKNOWN).await;
    }
    let taken = harness.channel.taken(3).await;
    assert!(taken[2].repeat && taken[2].content.text.starts_with("I could not confirm"));
}

#[tokio::test]
async fn wake_repeats_an_unconfirmed_chunk_at_once_when_the_chat_is_reachable() {
    let harness = DeliveryHarness::new().await;
    let chat = chat_address("a");
    harness.channel.script([OnSend::Hang]);
    harness.send("a", "1").await;
    harness.clock.sleeper(SEND_LIMIT).await;
    harness.channel.set_reachable(&chat, false);
    harness.clock.advance(SEND_LIMIT);
    harness.wait_until_idle().await;
    harness.channel.set_reachable(&chat, true);
    harness.deliverer.wake(&chat);
    assert!(harness.channel.taken(1).await[0].repeat);
}

#[tokio::test]
async fn deliverer_repeats_unmarked_if_the_platform_recognises_repetitions() {
    let harness = DeliveryHarness::with_rule(OnUnknown::RepeatSafe).await;
    let unknown = || OnSend::Say(SendError::Unknown("reset".to_owned()));
    harness.channel.script([unknown(), unknown(), unknown()]);
    harness.send("a", "1").await;
    // The waits grow, so that the retries may outlast the failure.
    for attempts in 1..=3 {
        harness.pass_time(rules::wait_after(attempts)).await;
    }
    assert!(!harness.channel.taken(1).await[0].repeat);
}

#[tokio::test]
async fn deliverer_treats_a_crash_during_a_send_as_an_unknown_outcome() {
    let harness = DeliveryHarness::new().await;
    harness.channel.script([OnSend::Hang]);
    harness.send("a", "1").await;
    harness.clock.sleeper(SEND_LIMIT).await;
    let harness = harness.kill_and_restart().await;
    harness.deliverer.start().await.unwrap();
    assert!(harness.channel.taken(1).await[0].repeat);

    harness.channel.script([OnSend::Hang]);
    harness.send("a", "2").await;
    harness.clock.sleeper(SEND_LIMIT).await;
    let harness = harness.kill_and_restart().await;
    harness.channel.script([OnSend::Hang]);
    harness.deliverer.start().await.unwrap();
    harness.clock.sleeper(SEND_LIMIT).await;
    let harness = harness.kill_and_restart().await;
    harness.deliverer.start().await.unwrap();
    let texts = harness.channel.texts(2).await;
    assert!(texts[1].starts_with("I could not confirm"), "at most two copies: {texts:?}");
}

#[tokio::test]
async fn deliverer_treats_a_channel_timeout_or_panic_as_an_unknown_outcome() {
    let harness = DeliveryHarness::new().await;
    harness.channel.script([OnSend::Hang]);
    harness.send("a", "1").await;
    harness.pass_time(SEND_LIMIT).await;
    harness.pass_time(AFTER_UNKNOWN).await;
    assert!(harness.channel.taken(1).await[0].repeat);
    harness.channel.script([OnSend::Panic]);
    harness.send("a", "2").await;
    harness.pass_time(AFTER_UNKNOWN).await;
    assert!(harness.channel.taken(2).await[1].repeat);
}
