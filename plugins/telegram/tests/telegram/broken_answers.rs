//! Pages of a proxy instead of answers, and dropped connections. Requests that do no harm if they are
//! carried out twice are repeated at once. The outcome of a send stays unknown.

use std::time::Duration;

use avocet_protocol::channel::{Channel, SendError};
use avocet_protocol::chat::{Choice, Content};
use avocet_testkit::telegram::{ApiError, InjectedFault, On};

use crate::{ANN, World, chat, delivery};

/// A moment: the longest first pause before a repeat.
const MOMENT: Duration = Duration::from_millis(200);

fn lost_answers() -> [InjectedFault; 4] {
    [
        InjectedFault::Page(502),
        InjectedFault::PageAfter(504),
        InjectedFault::ResetBefore,
        InjectedFault::ResetAfter,
    ]
}

impl World {
    /// Lets a moment pass, in which a lost request is repeated.
    async fn pass_a_moment(&self) {
        self.clock.sleeper_within(..=MOMENT).await;
        self.clock.advance(MOMENT);
    }
}

#[tokio::test]
async fn poll_that_loses_its_answer_is_repeated_after_a_moment() {
    for fault in lost_answers() {
        let world = World::new().await;
        world.platform.inject(On::method("getUpdates"), 1, fault.clone());
        world.platform.private_text(ANN, "are you there?");
        let _running = world.run();
        world.platform.wait_for_calls("getUpdates", 1).await;
        world.pass_a_moment().await;
        assert_eq!(world.bus.taken(1).await[0].content.text, "are you there?", "{fault:?}");
    }
}

#[tokio::test]
async fn poll_behind_a_page_may_conflict_with_the_one_that_the_proxy_has_lost() {
    let world = World::new().await;
    let on = || On::method("getUpdates");
    world.platform.inject(on(), 1, InjectedFault::Page(504));
    world.platform.inject(on(), 1, InjectedFault::Refuse(ApiError::conflict()));
    world.platform.private_text(ANN, "are you there?");
    let _running = world.run();
    world.platform.wait_for_calls("getUpdates", 1).await;
    world.pass_a_moment().await;
    let second = Duration::from_secs(1);
    world.clock.sleeper_within(second..=second).await;
    world.clock.advance(second);
    assert_eq!(world.bus.taken(1).await[0].content.text, "are you there?");
}

#[tokio::test]
async fn send_and_edit_that_lose_their_answer_have_an_unknown_outcome() {
    for fault in lost_answers() {
        for is_edit in [false, true] {
            let world = World::new().await;
            let mut chunk = delivery(ANN, Content::text("hello"));
            if is_edit {
                let receipt = world.telegram.deliver(&chunk).await.unwrap();
                chunk.shown_as = receipt.platform_id;
                chunk.content = Content::text("hello, Ann");
                world.clock.advance(Duration::from_secs(1));
            }
            world.platform.inject(On::any(), 1, fault.clone());
            let lost = world.telegram.deliver(&chunk).await;
            assert!(matches!(lost, Err(SendError::Unknown(_))), "{fault:?}: {lost:?}");
        }
    }
}

#[tokio::test]
async fn answer_to_a_press_and_typing_are_repeated_after_a_moment() {
    for fault in lost_answers() {
        let world = World::new().await;
        let _running = world.run();
        world.platform.wait_for_poll().await;
        let question = Content { choices: vec![Choice::new("Tea", "Tea")], ..Content::text("?") };
        world.telegram.deliver(&delivery(ANN, question)).await.unwrap();
        world.platform.inject(On::method("answerCallbackQuery"), 1, fault.clone());
        world.platform.press(ANN, &world.platform.sent()[0], "Tea");
        world.platform.wait_for_calls("answerCallbackQuery", 1).await;
        world.pass_a_moment().await;
        world.platform.wait_for_calls("answerCallbackQuery", 2).await;
        world.clock.advance(Duration::from_secs(60));
        world.platform.inject(On::method("sendChatAction"), 1, fault.clone());
        let private = chat(ANN);
        tokio::join!(world.telegram.typing(&private), world.pass_a_moment());
        assert_eq!(world.platform.calls("sendChatAction"), 2, "{fault:?}");
    }
}

#[tokio::test]
async fn commands_are_registered_although_a_proxy_has_lost_a_request() {
    for (method, calls) in [("getMyCommands", 1), ("setMyCommands", 2)] {
        let world = World::new().await.with_commands(&[("help", "show what I understand")]);
        world.platform.inject(On::method(method), 1, InjectedFault::Page(502));
        let _running = world.run();
        world.platform.wait_for_calls(method, 1).await;
        world.pass_a_moment().await;
        world.platform.wait_for_calls("setMyCommands", calls).await;
        assert_eq!(world.platform.commands()[0]["command"], "help", "{method}");
    }
}
