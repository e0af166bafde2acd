//! Slash commands and buttons.

use avocet_protocol::{Channel, ChatKind, Choice, Content, PublishError};
use avocet_testkit::discord::{ApiError, InjectedFault, On, Route};
use serde_json::json;

use crate::{ANN, BOB, World, chat};

#[tokio::test]
async fn commands_are_registered_once() {
    let world = World::new().await;
    let _running = world.connected().await;
    let offered = world.platform.commands();
    assert_eq!(offered.len(), 2);
    assert_eq!(offered[0]["name"], "stop");
    assert_eq!(offered[0]["description"], "stop what I am doing");
    let argument = &offered[1]["options"][0];
    assert_eq!((&argument["type"], &argument["required"]), (&json!(3), &json!(false)));
    assert_eq!(argument["description"], "[mode]");

    world.platform.invalidate_session(false);
    world.connected_again(2).await;
    world.platform.say(world.dm, ANN, "hello");
    world.bus.taken(1).await;
    assert_eq!(world.platform.calls(Route::SetCommands), 1);
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn commands_refused_by_discord_do_not_stop_receiving() {
    let world = World::new().await;
    let refusal = InjectedFault::Refuse(ApiError::missing_access());
    world.platform.inject(On::route(Route::SetCommands), 1, refusal);
    let _running = world.connected().await;
    world.platform.say(world.dm, ANN, "hello");
    assert_eq!(world.texts(1).await, ["hello"]);
}

#[tokio::test]
async fn commands_are_registered_again_after_an_error() {
    let world = World::new().await;
    let trouble = InjectedFault::Refuse(ApiError::internal());
    world.platform.inject(On::route(Route::SetCommands), 1, trouble);
    let _running = world.connected().await;
    tokio::select! {
        biased;
        () = world.platform.wait_for_calls(Route::SetCommands, 2) => {}
        () = world.pass_short_waits() => {}
    }
    world.platform.say(world.dm, ANN, "hello");
    assert_eq!(world.texts(1).await, ["hello"]);
    assert_eq!(world.platform.commands().len(), 2);
}

#[tokio::test]
async fn slash_command_becomes_text_and_its_answer_is_ephemeral() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.bus.set_open(false);
    let stop = world.platform.slash(ANN, world.channel, "stop", &json!([]));
    let options = json!([{ "name": "argument", "type": 3, "value": "steer" }]);
    let queue = world.platform.slash(ANN, world.dm, "queue", &options);
    // The answer waits for the commit.
    assert_eq!(world.platform.interaction(stop).answered, None);
    world.bus.set_open(true);
    for id in [stop, queue] {
        let answer = world.platform.wait_for_answer(id).await;
        assert_eq!((answer.answered, &answer.data["flags"]), (Some(4), &json!(64)));
    }
    let received = world.bus.taken(2).await;
    assert_eq!((received[0].content.text.as_str(), received[0].chat), ("/stop", ChatKind::Group));
    assert_eq!(received[1].content.text, "/queue steer");
    assert_eq!(
        (&received[0].address, &received[1].address),
        (&chat(world.channel), &chat(world.dm))
    );
    assert_eq!(received[0].sender.id.as_str(), "77");
    assert_ne!(received[0].key, received[1].key);
}

#[tokio::test]
async fn slash_command_in_a_thread_has_the_address_of_the_thread() {
    let world = World::new().await;
    let thread = world.platform.thread(world.channel, "plans");
    let _running = world.connected().await;
    world.platform.slash(ANN, thread, "stop", &json!([]));
    let expected = format!("discord:main:{}:{thread}", world.channel);
    assert_eq!(world.bus.taken(1).await[0].address.to_string(), expected);
}

#[tokio::test]
async fn button_press_is_received_as_the_text_of_its_choice() {
    let world = World::new().await;
    let _running = world.connected().await;
    let choices = vec![Choice::new("Retry", "/retry w3"), Choice::new("Skip", "/skip w3")];
    let question = Content { choices, ..Content::text("Again?") };
    for chunk in world.discord.plan(&question) {
        world.discord.deliver(&crate::delivery(world.dm, chunk)).await.unwrap();
    }
    let sent = world.platform.sent().remove(0);
    let pressed = world.platform.press(ANN, sent.id, "/skip w3");
    let received = &world.bus.taken(1).await[0];
    assert_eq!((received.content.text.as_str(), received.sender.id.as_str()), ("/skip w3", "77"));
    let answer = world.platform.wait_for_answer(pressed).await;
    assert_eq!(answer.answered, Some(6), "the message stays as it is");
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn f14_slash_command_of_a_stranger_is_published_under_their_id() {
    let world = World::new().await;
    let refusal = PublishError::NotAllowed { channel: "discord".into(), sender: "88".into() };
    world.bus.refuse([refusal]);
    let _running = world.connected().await;
    let called = world.platform.slash(BOB, world.channel, "stop", &json!([]));
    assert_eq!(world.bus.ignored(1).await, ["not allowed"]);
    // The platform gets an answer even though the command was refused.
    assert_eq!(world.platform.wait_for_answer(called).await.answered, Some(4));
}

#[tokio::test]
async fn interaction_answer_that_is_lost_loses_no_message() {
    let world = World::new().await;
    world.platform.inject(On::route(Route::Respond), 1, InjectedFault::ResetBefore);
    let _running = world.connected().await;
    world.platform.slash(ANN, world.dm, "stop", &json!([]));
    world.platform.say(world.dm, ANN, "hello");
    assert_eq!(world.texts(2).await, ["/stop", "hello"]);
}

#[tokio::test]
async fn interaction_below_a_malformed_message_is_received_and_always_answered() {
    let world = World::new().await;
    let _running = world.connected().await;
    let called = world.platform.slash(ANN, world.dm, "stop", &json!("nonsense"));
    let answer = world.platform.wait_for_answer(called).await;
    assert_eq!((answer.answered, &answer.data["flags"]), (Some(4), &json!(64)));
    assert_eq!(world.bus.ignored(1).await, ["unreadable"]);

    let choices = vec![Choice::new("Skip", "/skip w3")];
    let question = Content { choices, ..Content::text("Again?") };
    let chunk = world.discord.plan(&question).remove(0);
    world.discord.deliver(&crate::delivery(world.dm, chunk)).await.unwrap();
    let sent = world.platform.sent().pop().unwrap().id;
    let mut below = world.platform.describe_message(sent);
    below["flags"] = json!("new");
    let pressed = json!({ "id": "9000", "application_id": "1", "token": "t", "version": 1,
        "attachment_size_limit": 1,
        "type": 3, "channel_id": world.dm.to_string(), "locale": "en-US", "entitlements": [],
        "app_permissions": "0", "authorizing_integration_owners": {}, "message": below,
        "user": { "id": ANN.to_string(), "username": "ann", "discriminator": "0", "avatar": null },
        "data": { "custom_id": "/skip w3", "component_type": 2 } });
    world.platform.push("INTERACTION_CREATE", &pressed);
    assert_eq!(world.texts(1).await, ["/skip w3"]);
    world.platform.push("INTERACTION_CREATE", &json!({ "id": "9001", "type": 3 }));
    assert_eq!(world.bus.ignored(2).await.len(), 2);
}
