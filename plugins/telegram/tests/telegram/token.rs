//! A platform that refuses the token: for some seconds, or permanently.

use std::time::Duration;

use avocet_protocol::channel::{Channel, Health, SendError};
use avocet_protocol::chat::Content;
use avocet_protocol::clock::Clock;
use avocet_testkit::telegram::{ApiError, InjectedFault, On};

use crate::{ANN, TOKEN, World, delivery};

const SECOND: Duration = Duration::from_secs(1);

impl World {
    /// Waits until health is down with this text.
    async fn is_down(&self, text: &str) -> String {
        loop {
            match self.telegram.health() {
                Health::Down(fault) if fault.contains(text) => return fault,
                _ => tokio::task::yield_now().await,
            }
        }
    }

    async fn is_up(&self) {
        while self.telegram.health() != Health::Up {
            tokio::task::yield_now().await;
        }
    }

    /// Lets the wait after the latest refusal pass. It is the only sleeper then.
    async fn pass_wait(&self) {
        self.clock.sleeper(Duration::from_millis(1)).await;
        assert!(self.clock.advance_to_next());
    }
}

#[tokio::test]
async fn token_refused_for_seconds_is_retried_and_receiving_goes_on() {
    let world = World::new().await;
    let running = world.run();
    world.platform.wait_for_poll().await;
    world.platform.revoke();
    let fault = world.is_down("(refused once)").await;
    let says = "Telegram does not know the token of [channels.telegram] (main): Unauthorized";
    assert!(fault.contains(says) && fault.contains("@BotFather"), "{fault}");
    assert!(!fault.contains(TOKEN), "{fault}");
    for refusals in 2..=3 {
        world.pass_wait().await;
        world.is_down(&format!("(refused {refusals} times in a row)")).await;
    }
    assert!(world.clock.elapsed() <= 6 * SECOND, "{:?}", world.clock.elapsed());
    world.platform.reinstate();
    world.platform.private_text(ANN, "are you there?");
    world.pass_wait().await;
    assert_eq!(world.bus.taken(1).await[0].content.text, "are you there?");
    world.is_up().await;
    assert!(!running.is_finished());
}

#[tokio::test]
async fn token_that_stays_refused_is_retried_with_growing_waits() {
    for error in [ApiError::unauthorized(), ApiError::new(404, "Not Found")] {
        let world = World::new().await;
        world.platform.inject(On::any(), usize::MAX, InjectedFault::Refuse(error));
        let _running = world.run();
        world.is_down("(refused once)").await;
        let mut waits = Vec::new();
        for refusals in 2..=12 {
            let asked_at = world.clock.elapsed();
            world.pass_wait().await;
            waits.push(world.clock.elapsed() - asked_at);
            world.is_down(&format!("(refused {refusals} times in a row)")).await;
        }
        let base = |step: u32| (SECOND * 2_u32.pow(step)).min(120 * SECOND);
        for (step, wait) in (0..).zip(&waits) {
            assert!((base(step)..=2 * base(step)).contains(wait), "{waits:?}");
        }
    }
}

#[tokio::test]
async fn token_refused_during_a_send_holds_every_chat_and_the_send_is_retried() {
    let world = World::new().await;
    world.platform.open_chat(8);
    world.platform.revoke();
    let [to_ann, to_bob] = [ANN, 8].map(|chat| delivery(chat, Content::text("hello")));
    let refused = world.telegram.deliver(&to_ann).await;
    assert_eq!(refused, Err(SendError::Failed("Unauthorized".to_owned())), "and not given up");
    world.is_down("does not know the token").await;
    // A send to another chat waits before it begins, so the platform gets no second request.
    let held = world.telegram.deliver(&to_bob).await;
    assert!(matches!(held, Err(SendError::RetryAfter(wait)) if wait <= 2 * SECOND), "{held:?}");
    assert_eq!(world.platform.refusals().len(), 1);
    let waits = world.telegram.turn(&to_bob);
    tokio::select! {
        biased;
        _ = waits => panic!("the account is held"),
        () = world.clock.sleeper(Duration::from_millis(1)) => {}
    }
    world.platform.reinstate();
    world.clock.advance(2 * SECOND);
    for delivery in [to_bob, to_ann] {
        world.telegram.turn(&delivery).await.unwrap();
        world.telegram.deliver(&delivery).await.unwrap();
        world.clock.advance(SECOND);
    }
    assert_eq!((world.platform.sent().len(), world.telegram.health()), (2, Health::Up));
}
