//! Rate limits: the channel keeps to them, and a chat never waits for another.

use std::cell::Cell;
use std::time::Duration;

use avocet_protocol::channel::{Channel, SendError};
use avocet_protocol::chat::{Content, Delivery};
use avocet_protocol::clock::Clock;
use avocet_testkit::telegram::{InjectedFault, On};

use crate::{ANN, World, delivery};

const GROUP: i64 = -20;
const SECOND: Duration = Duration::from_secs(1);

impl World {
    /// Delivers as the outbox does: in turn, with a retry if the platform asks to wait.
    async fn say_in_turn(&self, chat: i64, text: &str) {
        let (delivery, sending) = (delivery(chat, Content::text(text)), Cell::new(0));
        let said = async {
            while let Err(wait) = self.try_to_say(&delivery, &sending).await {
                self.clock.sleep(wait).await;
            }
        };
        tokio::select! {
            biased;
            () = said => {}
            never = self.time_passes(&sending) => never,
        }
    }

    /// Waits for a turn and sends; counts the sends in progress.
    async fn try_to_say(&self, delivery: &Delivery, sending: &Cell<usize>) -> Result<(), Duration> {
        self.telegram.turn(delivery).await?;
        sending.set(sending.get() + 1);
        let sent = self.telegram.deliver(delivery).await;
        sending.set(sending.get() - 1);
        match sent {
            Ok(_) => Ok(()),
            Err(SendError::RetryAfter(wait)) => Err(wait),
            Err(error) => panic!("{error}"),
        }
    }

    /// Advances the clock while something sleeps and no send is in progress.
    async fn time_passes(&self, sending: &Cell<usize>) -> ! {
        loop {
            tokio::task::yield_now().await;
            if sending.get() == 0 && self.clock.advance_to_next() {
                self.platform.set_now(self.clock.now());
            }
        }
    }

    fn pass(&self, time: Duration) {
        self.platform.advance(time);
        self.clock.advance(time);
    }
}

#[tokio::test]
async fn f6_turn_paces_a_burst_to_a_group_without_flood_control_and_in_order() {
    let world = World::new().await;
    world.platform.open_chat(GROUP);
    world.platform.enforce_limits();
    let texts: Vec<String> = (0..40).map(|number| number.to_string()).collect();
    for text in &texts {
        world.say_in_turn(GROUP, text).await;
    }
    let sent: Vec<String> = world.platform.sent().into_iter().map(|sent| sent.text).collect();
    assert_eq!((sent, world.platform.refusals()), (texts, vec![]));
    // 20 in the first minute, 20 in the second: it must not be slower either.
    assert!(world.clock.elapsed() < 80 * SECOND, "{:?}", world.clock.elapsed());
}

#[tokio::test]
async fn f6_turn_returns_a_long_wait_to_the_outbox_while_other_chats_go_on() {
    let world = World::new().await;
    world.platform.open_chat(GROUP);
    world.platform.enforce_limits();
    for text in ["a"; 20] {
        world.say_in_turn(GROUP, text).await;
    }
    world.pass(SECOND);
    let full = world.telegram.turn(&delivery(GROUP, Content::text("b"))).await;
    assert!(matches!(full, Err(wait) if wait > 30 * SECOND), "{full:?}");
    world.say_in_turn(ANN, "hello").await;
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn f6_deliver_sends_nothing_to_a_chat_during_retry_after() {
    let world = World::new().await;
    world.platform.open_chat(GROUP);
    world.platform.inject(On::method("sendMessage"), 1, InjectedFault::flood(17));
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

#[tokio::test]
async fn f6_spare_turn_gives_previews_and_typing_only_unused_turns() {
    let world = World::new().await;
    world.platform.enforce_limits();
    world.telegram.spare_turn(&delivery(ANN, Content::text("a"))).unwrap();
    let shown = world.telegram.deliver(&delivery(ANN, Content::text("a"))).await.unwrap();
    let edit = Delivery { shown_as: shown.platform_id, ..delivery(ANN, Content::text("a story")) };
    assert_eq!(world.telegram.spare_turn(&edit), Err(SECOND));
    world.pass(SECOND);
    world.telegram.spare_turn(&edit).unwrap();
    world.telegram.deliver(&edit).await.unwrap();
    // The typing indicator is omitted during the hold that the platform asks for.
    world.platform.inject(On::method("editMessageText"), 1, InjectedFault::flood(17));
    world.telegram.deliver(&edit).await.unwrap_err();
    world.telegram.typing(&crate::chat(ANN)).await;
    assert_eq!((world.platform.calls("sendChatAction"), world.platform.refusals()), (0, vec![]));
}

/// 200 people get three replies each. The platform accepts 30 messages a second and bans a bot that
/// sends more for 3 seconds. The ideal time is 20 seconds.
#[tokio::test]
async fn f6_turn_sends_600_replies_in_23_s_with_at_most_5_refusals() {
    let ban = 3 * SECOND;
    for banned_before in [false, true] {
        let world = World::new().await;
        (1..=200).for_each(|chat| world.platform.open_chat(chat));
        world.platform.ban_above(30, ban);
        if banned_before {
            world.platform.inject(On::method("sendMessage"), 2, InjectedFault::flood(3));
        }
        let sending = Cell::new(0);
        let replies = async |chat| {
            let delivery = delivery(chat, Content::text("hello"));
            for _ in 0..3 {
                while let Err(wait) = world.try_to_say(&delivery, &sending).await {
                    world.clock.sleep(wait).await;
                }
            }
        };
        tokio::select! {
            biased;
            _ = futures_util::future::join_all((1..=200).map(replies)) => {}
            never = world.time_passes(&sending) => never,
        }
        let (calls, took) = (world.platform.calls("sendMessage"), world.clock.elapsed());
        let refusals = calls - world.platform.sent().len();
        println!("{} messages in {took:?}, {refusals} refusals", world.platform.sent().len());
        assert_eq!(world.platform.sent().len(), 600);
        assert!(refusals <= if banned_before { 5 } else { 0 }, "{refusals}");
        let ideal = 20 * SECOND + if banned_before { ban } else { Duration::ZERO };
        assert!(took <= ideal * 115 / 100, "{took:?}");
        let before_the_last = world.platform.sent().iter().take(200).map(|one| one.chat).collect();
        let first: std::collections::BTreeSet<i64> = before_the_last;
        assert_eq!(first.len(), 200, "each had its first before any had its second");
    }
}
