//! How fast it speaks: no faster than the platform lets it, and no chat waits for another.

use std::time::Duration;

use avocet_protocol::{Channel, Clock, Content, SendError};
use avocet_testkit::telegram::{Fault, On};

use crate::{ANN, World, delivery};

const GROUP: i64 = -20;
const SECOND: Duration = Duration::from_secs(1);

impl World {
    /// Delivers as the outbox does it: what is to wait waits, and is sent again.
    async fn say_in_time(&self, chat: i64, text: &str) {
        let delivery = delivery(chat, Content::text(text));
        loop {
            let sent = tokio::select! {
                biased;
                sent = self.telegram.deliver(&delivery) => sent,
                never = self.time_passes() => never,
            };
            match sent {
                Ok(_) => return,
                Err(SendError::RetryAfter(wait)) => self.pass(wait),
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Time passes for whoever waits, and only then.
    async fn time_passes(&self) -> Result<avocet_protocol::Receipt, SendError> {
        loop {
            self.clock.sleeper(Duration::from_millis(1)).await;
            self.pass(SECOND / 10);
            tokio::task::yield_now().await;
        }
    }

    fn pass(&self, time: Duration) {
        self.platform.advance(time);
        self.clock.advance(time);
    }
}

#[tokio::test]
async fn f6_a_burst_to_a_group_never_meets_flood_control_and_arrives_in_order() {
    let world = World::new().await;
    world.platform.open_chat(GROUP);
    world.platform.enforce_limits();
    let texts: Vec<String> = (0..40).map(|number| number.to_string()).collect();
    for text in &texts {
        world.say_in_time(GROUP, text).await;
    }
    let sent: Vec<String> = world.platform.sent().into_iter().map(|sent| sent.text).collect();
    assert_eq!((sent, world.platform.refusals()), (texts, vec![]));
    // 20 in the first minute, 20 in the second: it does not dawdle either.
    assert!(world.clock.elapsed() < 80 * SECOND, "{:?}", world.clock.elapsed());
}

#[tokio::test]
async fn f6_what_would_wait_for_long_waits_in_the_outbox_and_other_chats_go_on() {
    let world = World::new().await;
    world.platform.open_chat(GROUP);
    world.platform.enforce_limits();
    for text in ["a"; 20] {
        world.say_in_time(GROUP, text).await;
    }
    world.pass(SECOND);
    let full = world.telegram.deliver(&delivery(GROUP, Content::text("b"))).await;
    assert!(matches!(full, Err(SendError::RetryAfter(wait)) if wait > 30 * SECOND), "{full:?}");
    world.telegram.deliver(&delivery(ANN, Content::text("hello"))).await.unwrap();
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn f6_a_chat_that_the_platform_wants_left_alone_is_left_alone() {
    let world = World::new().await;
    world.platform.open_chat(GROUP);
    world.platform.inject(On::method("sendMessage"), 1, Fault::flood(17));
    let hello = Content::text("hello");
    for _ in 0..2 {
        let sent = world.telegram.deliver(&delivery(ANN, hello.clone())).await;
        assert_eq!(sent.map(|_| ()), Err(SendError::RetryAfter(17 * SECOND)));
    }
    assert_eq!(world.platform.calls("sendMessage"), 1, "the second was not even tried");
    world.telegram.deliver(&delivery(GROUP, hello.clone())).await.unwrap();
    world.pass(17 * SECOND);
    world.telegram.deliver(&delivery(ANN, hello)).await.unwrap();
}
