//! The rate limits of the platform: the outbox waits, and skips requests that would be refused
//! (F6).

use std::time::Duration;

use avocet_protocol::channel::{Channel, SendError};
use avocet_protocol::chat::{Content, Delivery};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::PlatformId;
use avocet_testkit::discord::{ApiError, InjectedFault, On, Route};
use serde_json::json;

use crate::interactions::reply_to;
use crate::{ANN, World, chat, delivery, nth};

#[tokio::test]
async fn f6_deliver_returns_retry_after_for_each_form_of_rate_limit() {
    let wait = Duration::from_millis(1700);
    for error in [ApiError::rate_limited(wait), ApiError::globally_limited(wait)] {
        let world = World::new().await;
        world.platform.inject(On::route(Route::CreateMessage), 1, InjectedFault::Refuse(error));
        let sent = world.say(world.dm, Content::text("hello")).await;
        assert_eq!(sent, [Err(SendError::RetryAfter(wait))]);
        assert!(world.sent_texts().is_empty());
    }
}

/// Makes every request that a chat can lead to, except answers to interactions.
async fn make_every_request(world: &World) {
    for chat_id in [world.dm, world.channel] {
        let hello = delivery(chat_id, Content::text("hello"));
        let edit = Delivery { shown_as: PlatformId::parse("1").ok(), ..hello.clone() };
        let late = Delivery { first_sent_at: Some(Timestamp(0)), ..hello.clone() };
        for delivery in [hello, edit, late] {
            let sent = world.discord.deliver(&delivery).await;
            let Err(SendError::RetryAfter(wait)) = sent else { panic!("{sent:?}") };
            assert_eq!(
                world.discord.pause_before(&delivery),
                wait,
                "the outbox can wait without a request"
            );
        }
        world.discord.typing(&chat(chat_id)).await;
        world.discord.fetch(&format!("{chat_id}/1/2"), 10).await.unwrap_err();
    }
    world.discord.deliver(&delivery(ANN, Content::text("hello"))).await.unwrap_err();
}

#[tokio::test]
async fn f6_global_rate_limit_holds_every_chat_and_every_request() {
    const ROUTES: [Route; 7] = [
        Route::CreateMessage,
        Route::EditMessage,
        Route::History,
        Route::Typing,
        Route::GetMessage,
        Route::OpenDm,
        Route::Respond,
    ];
    let wait = Duration::from_secs(20);
    for (error, answers) in [(ApiError::globally_limited(wait), 1), (ApiError::shut_out(wait), 0)] {
        let world = World::new().await;
        let _running = world.connected().await;
        let refusal = InjectedFault::Refuse(error);
        world.platform.inject(On::route(Route::CreateMessage), 1, refusal);
        let hello = delivery(world.dm, Content::text("hello"));
        let sent = world.discord.deliver(&hello).await;
        assert_eq!(sent, Err(SendError::RetryAfter(wait)));
        let calls = || ROUTES.map(|route| world.platform.calls(route));
        let before = calls();
        make_every_request(&world).await;
        world.pass(wait - Duration::from_millis(1));
        make_every_request(&world).await;
        assert_eq!(calls(), before, "there is no request meanwhile");
        // A command is answered, unless this address is blocked.
        world.platform.slash(ANN, world.dm, "stop", &json!([]));
        let command = world.bus.taken(1).await.remove(0);
        let stopped = reply_to(&command, 9, "Stopped.");
        assert_eq!(world.discord.deliver(&stopped).await.is_ok(), answers == 1);
        assert_eq!(world.platform.calls(Route::Respond), answers);

        world.pass(Duration::from_millis(1));
        assert_eq!(world.discord.pause_before(&hello), Duration::ZERO);
        world.discord.deliver(&hello).await.unwrap();
        let hellos = world.sent_texts().iter().filter(|text| *text == "hello").count();
        assert_eq!(hellos, 1);
    }
}

#[tokio::test]
async fn f6_deliver_sends_no_request_that_would_exceed_the_rate_limit() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.limit_rates(true);
    let mut waits = Vec::new();
    for number in 1..=12 {
        let content = Content::text(number.to_string());
        let delivery = nth(number, world.dm, content);
        while let Err(error) = world.discord.deliver(&delivery).await {
            let SendError::RetryAfter(wait) = error else { panic!("{error}") };
            assert_eq!(
                world.discord.pause_before(&delivery),
                wait,
                "the outbox can wait without a request"
            );
            waits.push(wait);
            world.pass(wait);
        }
    }
    assert_eq!(waits.len(), 2, "{waits:?}");
    assert_eq!(world.sent_texts().len(), 12);
    assert_eq!(world.platform.refusals(), [], "none was too much");
}
