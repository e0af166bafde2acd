//! Repeated deliveries after an unknown outcome: at most one message appears (F5).

use std::time::Duration;

use avocet_protocol::channel::{Channel, OnUnknown, SendError};
use avocet_protocol::chat::{Content, Delivery};
use avocet_protocol::ids::PlatformId;
use avocet_testkit::START;
use avocet_testkit::discord::{ApiError, InjectedFault, On, Route};

use crate::{ANN, World, delivery};

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test]
async fn f5_deliver_does_not_repeat_where_the_history_is_closed() {
    let world = World::new().await;
    world.platform.close_history(world.channel);
    world.platform.inject(On::route(Route::CreateMessage), 1, InjectedFault::ResetAfter);
    let hello = delivery(world.channel, Content::text("hello"));
    world.discord.deliver(&hello).await.unwrap_err();
    world.pass(10 * MINUTE);
    let again = Delivery { first_sent_at: Some(START), ..hello };
    let sent = world.discord.deliver(&again).await;
    assert!(matches!(sent, Err(SendError::Unknown(_))), "{sent:?}");
    assert_eq!(world.sent_texts(), ["hello"]);
}

#[tokio::test]
async fn f5_deliver_repeated_after_a_lost_answer_makes_no_copy() {
    for fault in [InjectedFault::ResetAfter, InjectedFault::CutAnswer] {
        let world = World::new().await;
        let _running = world.connected().await;
        let read = world.platform.calls(Route::History);
        world.platform.inject(On::route(Route::CreateMessage), 1, fault);
        let hello = delivery(world.dm, Content::text("hello"));
        let sent = world.discord.deliver(&hello).await;
        assert!(matches!(sent, Err(SendError::Unknown(_))), "{sent:?}");
        assert_eq!(world.discord.capabilities().on_unknown, OnUnknown::RepeatSafe);
        world.pass(3 * MINUTE);
        let again = Delivery { first_sent_at: Some(START), ..hello };
        let sent = world.discord.deliver(&again).await.unwrap();
        assert_eq!(world.sent_texts(), ["hello"]);
        let id = world.platform.sent()[0].id.to_string();
        assert_eq!(sent.platform_id, Some(PlatformId::parse(&id).unwrap()));
        assert_eq!(world.platform.calls(Route::History), read);
    }
}

#[tokio::test]
async fn f5_deliver_reads_the_history_once_the_nonce_has_expired() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.inject(On::route(Route::CreateMessage), 1, InjectedFault::ResetAfter);
    let hello = delivery(world.dm, Content::text("**hello**"));
    world.discord.deliver(&hello).await.unwrap_err();
    // More than a page of messages from others, one with the same text.
    world.platform.say(world.dm, ANN, "**hello**");
    for number in 0..150 {
        world.platform.say(world.dm, ANN, &number.to_string());
    }
    world.pass(10 * MINUTE);
    let again = Delivery { first_sent_at: Some(START), ..hello };
    let sent = world.discord.deliver(&again).await.unwrap();
    assert_eq!(world.platform.created().len(), 1);
    let id = world.platform.created()[0].id.to_string();
    assert_eq!(sent.platform_id, Some(PlatformId::parse(&id).unwrap()));
}

#[tokio::test]
async fn f5_deliver_sends_late_a_message_that_never_arrived() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.inject(On::route(Route::CreateMessage), 1, InjectedFault::ResetBefore);
    let hello = delivery(world.dm, Content::text("hello"));
    world.discord.deliver(&hello).await.unwrap_err();
    for number in 0..150 {
        world.platform.say(world.dm, ANN, &number.to_string());
    }
    world.pass(10 * MINUTE);
    let again = Delivery { first_sent_at: Some(START), ..hello };
    world.discord.deliver(&again).await.unwrap();
    assert_eq!(world.sent_texts(), ["hello"]);
}

#[tokio::test]
async fn f5_deliver_before_connecting_looks_for_the_message_in_the_history() {
    let world = World::new().await;
    world.platform.inject(On::route(Route::CreateMessage), 1, InjectedFault::ResetAfter);
    let hello = delivery(world.dm, Content::text("hello"));
    world.discord.deliver(&hello).await.unwrap_err();
    world.pass(10 * MINUTE);
    let world = world.restarted();
    let again = Delivery { first_sent_at: Some(START), ..hello };
    world.discord.deliver(&again).await.unwrap();
    assert_eq!(world.platform.created().len(), 1);
}

#[tokio::test]
async fn f5_deliver_does_not_repeat_if_the_history_cannot_be_read() {
    let world = World::new().await;
    let refusal = InjectedFault::Refuse(ApiError::missing_access());
    world.platform.inject(On::route(Route::History), 1, refusal);
    world.pass(10 * MINUTE);
    let hello = delivery(world.dm, Content::text("hello"));
    let again = Delivery { first_sent_at: Some(START), ..hello };
    let sent = world.discord.deliver(&again).await;
    assert!(matches!(sent, Err(SendError::Unknown(_))), "{sent:?}");
    assert_eq!(world.platform.calls(Route::CreateMessage), 0);
}

#[tokio::test]
async fn f5_deliver_after_the_clock_was_set_back_distrusts_an_old_nonce() {
    let world = World::new().await;
    world.platform.inject(On::route(Route::CreateMessage), 1, InjectedFault::ResetAfter);
    let hello = delivery(world.dm, Content::text("hello"));
    world.discord.deliver(&hello).await.unwrap_err();
    world.pass(10 * MINUTE);
    world.clock.set_back(20 * MINUTE);
    let again = Delivery { first_sent_at: Some(START), ..hello };
    world.discord.deliver(&again).await.unwrap();
    assert_eq!(world.sent_texts(), ["hello"], "the platform has forgotten the nonce");
}
