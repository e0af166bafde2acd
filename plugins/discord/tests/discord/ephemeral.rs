//! Answers that only one person sees: in chats of other people, and to decisions.

use avocet_protocol::bus::PublishError;
use avocet_protocol::channel::Channel;
use avocet_protocol::chat::{ChatKind, Choice, Content};
use avocet_testkit::discord::{DiscordMessage, Route};
use serde_json::json;

use crate::interactions::reply_to;
use crate::{ANN, BOB, World, delivery};

#[tokio::test]
async fn slash_command_in_a_chat_of_others_is_answered_to_its_caller_only() {
    let world = World::with(|config| config.user_install = true).await;
    let _running = world.connected().await;
    let called = world.platform.slash_elsewhere(ANN, "stop");
    let command = world.bus.taken(1).await.remove(0);
    assert_eq!((command.chat, command.sender.id.as_str()), (ChatKind::Group, "77"));
    world.discord.deliver(&reply_to(&command, 1, "Stopped.")).await.unwrap();
    let answer = world.platform.interaction(called);
    assert_eq!((answer.answered, &answer.data["flags"]), (Some(4), &json!(64 | 4)));
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn press_in_a_chat_of_others_is_answered_to_its_presser_only() {
    let world = World::with(|config| config.user_install = true).await;
    let _running = world.connected().await;
    let pressed = world.platform.press_elsewhere(ANN, "/stop");
    let command = world.bus.taken(1).await.remove(0);
    assert_eq!((command.chat, command.content.text.as_str()), (ChatKind::Group, "/stop"));
    world.discord.deliver(&reply_to(&command, 1, "Stopped.")).await.unwrap();
    let answer = world.platform.interaction(pressed);
    assert_eq!((answer.answered, &answer.data["flags"]), (Some(4), &json!(64 | 4)));
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn slash_command_that_decides_is_answered_to_its_caller_only() {
    let world = World::new().await;
    let _running = world.connected().await;
    for (count, name) in (1..).zip(["approve", "deny"]) {
        let options = json!([{ "name": "argument", "type": 3, "value": "w1" }]);
        let called = world.platform.slash(ANN, world.channel, name, &options);
        let command = world.bus.taken(count).await.pop().unwrap();
        assert_eq!(command.content.text, format!("/{name} w1"));
        world.discord.deliver(&reply_to(&command, 1, "Done.")).await.unwrap();
        let answer = world.platform.interaction(called);
        assert_eq!((answer.answered, &answer.data["flags"]), (Some(4), &json!(64 | 4)), "{name}");
    }
}

#[tokio::test]
async fn press_of_a_command_in_a_channel_is_answered_to_its_presser_only() {
    let world = World::new().await;
    let _running = world.connected().await;
    let choices = vec![Choice::new("Allow", "/approve w1"), Choice::new("Tea", "Tea, please")];
    let question = Content { choices, ..Content::text("May I?") };
    world.discord.deliver(&delivery(world.channel, question)).await.unwrap();
    let question = world.platform.sent()[0].id;
    // The right is missing, the press is late, or it is the second one: the daemon says so.
    for count in 1..=15 {
        let pressed = world.platform.press(ANN, question, "/approve w1");
        let press = world.bus.taken(count).await.pop().unwrap();
        if count % 2 == 0 {
            world.platform.wait_for_answer(pressed).await;
        }
        let row = i64::try_from(count).unwrap();
        world.discord.deliver(&reply_to(&press, row, "Only an owner may.")).await.unwrap();
        let said = world.platform.sent().pop().unwrap();
        assert!(said.is_ephemeral() && said.text == "Only an owner may.", "{said:?}");
        assert_eq!(press.content.pressed.unwrap().as_str(), question.to_string());
    }
    let public = world.platform.sent().into_iter().filter(|one| !one.is_ephemeral());
    assert_eq!(public.map(|one| one.text).collect::<Vec<_>>(), ["May I?"]);
    // The text of another button is for the agent, whose answer everyone sees.
    world.platform.press(ANN, question, "Tea, please");
    let press = world.bus.taken(16).await.pop().unwrap();
    world.discord.deliver(&reply_to(&press, 16, "Here it is.")).await.unwrap();
    assert_eq!(world.platform.sent().last().map(DiscordMessage::is_ephemeral), Some(false));
    assert_eq!(world.platform.calls(Route::CreateMessage), 2);
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn press_of_a_command_by_a_stranger_is_answered_to_them_only() {
    let world = World::new().await;
    let refusal = PublishError::NotAllowed { channel: "discord".into(), sender: "88".into() };
    world.bus.refuse([refusal]);
    let _running = world.connected().await;
    let choices = vec![Choice::new("Allow", "/approve w1")];
    let question = Content { choices, ..Content::text("May I?") };
    world.discord.deliver(&delivery(world.channel, question)).await.unwrap();
    let pressed = world.platform.press(BOB, world.platform.sent()[0].id, "/approve w1");
    let answer = world.platform.wait_for_answer(pressed).await;
    assert_eq!((answer.answered, &answer.data["flags"]), (Some(4), &json!(64)));
}
