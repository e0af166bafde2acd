//! Earlier messages of a group, which the next message for the agent gives to the model.

use std::sync::Arc;

use avocet_protocol::chat::{ChatKind, Inbound};
use avocet_protocol::store::AcceptedAs;
use avocet_telegram::{Telegram, TelegramConfig};
use avocet_testkit::telegram::{PostedMessage, UserMessage};
use serde_json::json;

use crate::{ANN, TOKEN, World};

const BOB: i64 = 8;
const GROUP: i64 = -1_000_000_000_050;

impl World {
    /// Changes how many earlier messages the account keeps.
    fn keeping(self, earlier_messages: u32) -> Self {
        let config = TelegramConfig {
            token: Some(TOKEN.to_owned().into()),
            api_url: self.platform.base_url(),
            earlier_messages,
            ..TelegramConfig::default()
        };
        let (name, account) = ("telegram".parse().unwrap(), "main".parse().unwrap());
        let telegram = Telegram::new(name, account, &config, self.clock.clone()).unwrap();
        Self { telegram: Arc::new(telegram), ..self }
    }

    fn mention(&self, text: &str) -> PostedMessage {
        self.platform.say(UserMessage::group(ANN, GROUP, &format!("@avocet_bot {text}")))
    }

    /// Returns the earlier messages that the last of `count` messages came with.
    async fn earlier(&self, count: usize) -> Vec<String> {
        texts(&self.bus.taken(count).await[count - 1])
    }
}

fn texts(inbound: &Inbound) -> Vec<String> {
    inbound.content.earlier.iter().map(|quote| quote.text.clone()).collect()
}

fn by_bob(text: &str) -> UserMessage {
    UserMessage::group(BOB, GROUP, text)
}

#[tokio::test]
async fn mention_comes_with_the_messages_since_the_last_one() {
    let world = World::new().await;
    let _running = world.run();
    let boat = world.platform.say(by_bob("the boat leaves at nine"));
    let photo = UserMessage::thing(BOB, GROUP, "photo", UserMessage::photo("f"));
    world.platform.say(photo.with("caption", "the boat".into()));
    world.platform.say(by_bob("what a boat").forwarded_from(9, 12));
    world.platform.say(by_bob("in another topic").thread(4));
    world.platform.edit(boat, "the boat leaves at ten");
    world.mention("when does it leave?");
    let received = world.bus.taken(1).await.remove(0);
    let expected = [
        "the boat leaves at ten",
        "the boat\n[image: 1000 bytes]",
        "[forwarded from User 9]\nwhat a boat",
    ];
    assert_eq!(texts(&received), expected);
    assert_eq!(received.content.earlier[0].from.as_deref(), Some("User 8"));
    assert_eq!((received.chat, received.content.has_untrusted_parts()), (ChatKind::Group, true));
    assert_eq!(received.content.text, "@avocet_bot when does it leave?");
    world.platform.say(by_bob("no, at eleven"));
    world.mention("and now?");
    assert_eq!(world.earlier(2).await, ["no, at eleven"], "nothing is given twice");
    world.mention("thank you");
    assert_eq!(world.earlier(3).await, [""; 0]);
    world.platform.say(UserMessage::group(ANN, GROUP, "@avocet_bot hello").thread(4));
    assert_eq!(world.earlier(4).await, ["in another topic"], "a topic has its own messages");
    world.platform.private_text(ANN, "hello");
    assert_eq!(world.earlier(5).await, [""; 0], "a private chat has only messages to the agent");
    world.platform.wait_for_confirmed().await;
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn mention_comes_with_at_most_the_configured_number_of_short_messages() {
    let world = World::new().await.keeping(3);
    let _running = world.run();
    for number in 0..5 {
        world.platform.say(by_bob(&format!("{number} {}", "x".repeat(1000))));
    }
    world.mention("what did they say?");
    let received = world.earlier(1).await;
    let begins: Vec<&str> = received.iter().map(|text| &text[..2]).collect();
    assert_eq!(begins, ["2 ", "3 ", "4 "]);
    assert!(received.iter().all(|text| text.len() == 600), "{received:?}");
}

#[tokio::test]
async fn mention_comes_without_earlier_messages_if_they_are_switched_off() {
    let world = World::new().await.keeping(0);
    let _running = world.run();
    world.platform.say(by_bob("hello"));
    world.mention("one");
    assert_eq!(world.earlier(1).await, [""; 0]);
}

#[tokio::test]
async fn edit_of_a_mention_keeps_its_earlier_messages_and_a_command_or_button_takes_none() {
    let world = World::new().await;
    let _running = world.run();
    world.platform.say(by_bob("the boat leaves at nine"));
    world.platform.say(UserMessage::group(ANN, GROUP, "/stop@avocet_bot"));
    assert_eq!(world.earlier(1).await, [""; 0]);
    let press = json!({
        "id": "q1", "chat_instance": "x", "data": "yes",
        "from": { "id": ANN, "is_bot": false, "first_name": "Ann" },
        "message": { "message_id": 2, "date": 1, "text": "?",
            "chat": { "id": GROUP, "type": "supergroup", "title": "Birds" } } });
    world.platform.push("callback_query", press).unwrap();
    assert_eq!(world.earlier(2).await, [""; 0]);
    let mention = world.mention("when does it leave?");
    assert_eq!(world.earlier(3).await, ["the boat leaves at nine"]);
    world.platform.say(by_bob("or later"));
    world.platform.edit(mention, "@avocet_bot when does it leave today?");
    assert_eq!(world.earlier(4).await, ["the boat leaves at nine"]);
    world.mention("well?");
    assert_eq!(world.earlier(5).await, ["or later"]);
}

#[tokio::test]
async fn decision_of_a_question_leaves_the_earlier_messages_to_the_next_mention() {
    let world = World::new().await;
    world.bus.accept_as([AcceptedAs::Decision]);
    let _running = world.run();
    world.platform.say(by_bob("the boat leaves at nine"));
    world.mention("yes");
    world.bus.taken(1).await;
    world.mention("when does it leave?");
    assert_eq!(world.earlier(2).await, ["the boat leaves at nine"]);
}

#[tokio::test]
async fn reply_that_begins_with_a_path_is_no_command_and_comes_with_earlier_messages() {
    let world = World::new().await;
    let _running = world.run();
    world.platform.say(by_bob("the boat leaves at nine"));
    world.platform.say(UserMessage::group(ANN, GROUP, "/etc/hosts: see @avocet_bot"));
    assert_eq!(world.earlier(1).await, ["the boat leaves at nine"]);
}

#[tokio::test]
async fn edit_of_a_message_that_was_given_is_no_new_message() {
    let world = World::new().await;
    let _running = world.run();
    let boat = world.platform.say(by_bob("the boat leaves at nine"));
    world.mention("when does it leave?");
    assert_eq!(world.earlier(1).await.len(), 1);
    world.platform.edit(boat, "the boat leaves at ten");
    world.mention("and now?");
    assert_eq!(world.earlier(2).await, [""; 0]);
}
