//! Answers that only one person sees: in chats of other people, and to decisions.

use avocet_protocol::{Channel, ChatKind};
use serde_json::json;

use crate::interactions::reply_to;
use crate::{ANN, World};

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
