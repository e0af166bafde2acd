//! Presses of buttons with a command: what the command says is for the presser only.

use std::time::Duration;

use avocet_protocol::bus::PublishError;
use avocet_protocol::channel::Channel;
use avocet_protocol::chat::{Choice, Content, Delivery, Inbound};
use avocet_testkit::telegram::{ApiError, CALLBACK_KEPT, InjectedFault, On, SentMessage};
use serde_json::{Value, json};

use crate::{ANN, World, delivery};

const BOB: i64 = 8;
const GROUP: i64 = -50;
const REFUSAL: &str = "/approve is for my owner.";

impl World {
    /// Sends a question with two buttons, and waits until presses are received.
    async fn ask(&self, chat: i64) -> SentMessage {
        self.platform.open_chat(chat);
        let choices = vec![Choice::new("Allow", "/approve w1"), Choice::new("Tea", "Tea, please")];
        let question = Content { choices, ..Content::text("May I?") };
        self.telegram.deliver(&delivery(chat, question)).await.unwrap();
        self.platform.wait_for_poll().await;
        self.platform.sent().pop().unwrap()
    }

    /// Presses "Allow", as the `count`th message for the agent.
    async fn press_allow(&self, user: i64, question: &SentMessage, count: usize) -> Inbound {
        self.platform.press(user, question, "/approve w1");
        self.bus.taken(count).await.pop().unwrap()
    }

    /// Waits until the press has ended without a reply of its command.
    async fn pass_until_answered(&self, count: usize, within: Duration) {
        self.clock.sleeper_within(Duration::ZERO..=within).await;
        self.clock.advance(within);
        self.platform.wait_for_calls("answerCallbackQuery", count).await;
    }

    /// The texts of the answers to presses.
    fn answers(&self) -> Vec<Value> {
        let calls = self.platform.requests("answerCallbackQuery");
        calls.into_iter().map(|call| call.args["text"].clone()).collect()
    }
}

/// The reply to a press, as the outbox has it.
fn reply_to(press: &Inbound, text: &str) -> Delivery {
    let chat = press.address.chat.as_str().parse().unwrap();
    let content = Content { reply_to: press.to_reply_to().cloned(), ..Content::text(text) };
    delivery(chat, content)
}

#[tokio::test]
async fn press_of_a_command_is_answered_to_its_presser_only() {
    for chat in [GROUP, ANN] {
        let world = World::new().await;
        let _running = world.run();
        let question = world.ask(chat).await;
        for count in 1..=15 {
            let press = world.press_allow(ANN, &question, count).await;
            let reply = reply_to(&press, REFUSAL);
            // Neither the limit of the chat nor that of a group delays it.
            assert_eq!(world.telegram.turn(&reply).await, Ok(()));
            world.telegram.deliver(&reply).await.unwrap();
            assert_eq!(world.answers(), vec![json!(REFUSAL); count]);
        }
        assert_eq!(world.platform.sent().len(), 1, "the question alone");
        assert_eq!(world.platform.refusals(), []);
    }
}

#[tokio::test]
async fn press_with_a_long_reply_or_buttons_is_answered_by_a_message() {
    let world = World::new().await;
    let _running = world.run();
    let question = world.ask(GROUP).await;
    let long = "😀".repeat(101);
    let with_buttons = vec![Choice::new("Again", "/approve w2")];
    for (count, (text, choices)) in
        [(long.as_str(), Vec::new()), ("Which?", with_buttons)].into_iter().enumerate()
    {
        let press = world.press_allow(ANN, &question, count + 1).await;
        let mut reply = reply_to(&press, text);
        reply.content.choices = choices;
        world.clock.advance(Duration::from_secs(4));
        world.telegram.deliver(&reply).await.unwrap();
        assert_eq!(world.platform.sent().pop().unwrap().text, text);
        assert_eq!(world.answers(), vec![Value::Null; count + 1]);
    }
    let press = world.press_allow(ANN, &question, 3).await;
    let fits = "😀".repeat(100);
    world.telegram.deliver(&reply_to(&press, &fits)).await.unwrap();
    let answer = world.platform.requests("answerCallbackQuery").pop().unwrap().args;
    assert_eq!((&answer["text"], &answer["show_alert"]), (&json!(fits), &json!(true)));
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn press_that_changes_its_message_ends_soon_and_later_presses_get_their_answer() {
    let world = World::new().await;
    let _running = world.run();
    let question = world.ask(GROUP).await;
    world.press_allow(ANN, &question, 1).await;
    let late = world.press_allow(BOB, &question, 2).await;
    let mut outcome = delivery(GROUP, Content::text("Allowed by Ann at 12:04: ls"));
    outcome.shown_as = Some(question.id.to_string().parse().unwrap());
    world.clock.advance(Duration::from_secs(4));
    world.telegram.deliver(&outcome).await.unwrap();
    let decided = "No call waits for approval here, or it is decided already.";
    world.telegram.deliver(&reply_to(&late, decided)).await.unwrap();
    world.pass_until_answered(2, Duration::from_secs(1)).await;
    assert_eq!(world.answers(), [json!(decided), Value::Null]);
    assert_eq!(world.platform.sent().len(), 1);
}

#[tokio::test]
async fn press_without_a_reply_ends_after_ten_seconds() {
    let world = World::new().await;
    let _running = world.run();
    let question = world.ask(GROUP).await;
    let press = world.press_allow(ANN, &question, 1).await;
    world.pass_until_answered(1, Duration::from_secs(10)).await;
    assert_eq!(world.answers(), [Value::Null]);
    // The text of another button is for the agent, and its press ends at once.
    world.platform.press(ANN, &question, "Tea, please");
    world.platform.wait_for_calls("answerCallbackQuery", 2).await;
    // A reply that comes later is a message.
    world.telegram.deliver(&reply_to(&press, REFUSAL)).await.unwrap();
    assert_eq!(world.platform.sent().pop().unwrap().text, REFUSAL);
}

#[tokio::test]
async fn press_of_a_stranger_is_answered_without_a_message() {
    let world = World::new().await;
    let _running = world.run();
    let question = world.ask(GROUP).await;
    for (count, data) in ["/approve w1", "Tea, please"].into_iter().enumerate() {
        let refusal = PublishError::NotAllowed { channel: "telegram".into(), sender: "8".into() };
        world.bus.refuse([refusal]);
        world.platform.press(BOB, &question, data);
        world.platform.wait_for_calls("answerCallbackQuery", count + 1).await;
    }
    let refusal = json!("I do not answer you here: you have no access.");
    assert_eq!(world.answers(), [refusal.clone(), refusal]);
    assert_eq!(world.platform.sent().len(), 1);
}

#[tokio::test]
async fn press_that_the_platform_has_forgotten_is_answered_by_a_message() {
    let world = World::new().await;
    let _running = world.run();
    let question = world.ask(GROUP).await;
    let press = world.press_allow(ANN, &question, 1).await;
    world.platform.advance(CALLBACK_KEPT);
    world.clock.advance(Duration::from_secs(4));
    world.telegram.deliver(&reply_to(&press, REFUSAL)).await.unwrap();
    assert_eq!(world.platform.sent().pop().unwrap().text, REFUSAL);
}

#[tokio::test]
async fn answer_to_a_press_that_breaks_off_is_repeated_without_a_message() {
    let faults = [
        InjectedFault::ResetBefore,
        InjectedFault::ResetAfter,
        InjectedFault::Refuse(ApiError::bad_gateway()),
        InjectedFault::flood(3),
    ];
    for fault in faults {
        let world = World::new().await;
        let _running = world.run();
        let question = world.ask(GROUP).await;
        let press = world.press_allow(ANN, &question, 1).await;
        let reply = reply_to(&press, REFUSAL);
        world.platform.inject(On::method("answerCallbackQuery"), 1, fault.clone());
        let failed = world.telegram.deliver(&reply).await;
        assert!(failed.is_err(), "{fault:?}");
        world.telegram.deliver(&reply).await.unwrap();
        assert_eq!(world.answers(), [json!(REFUSAL), json!(REFUSAL)], "{fault:?}");
        assert_eq!(world.platform.sent().len(), 1, "{fault:?}");
    }
}
