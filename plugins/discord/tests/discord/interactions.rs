//! Slash commands and buttons.

use std::time::Duration;

use avocet_protocol::bus::PublishError;
use avocet_protocol::channel::{Channel, SendError};
use avocet_protocol::chat::{ChatKind, Choice, Content, Delivery, Inbound, REPEAT_MARK};
use avocet_protocol::ids::DeliveryId;
use avocet_testkit::discord::{ApiError, DiscordMessage, InjectedFault, On, Route};
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
    assert_eq!(argument["choices"], json!([{ "name": "steer", "value": "steer" }]));
    assert_eq!(offered[0]["contexts"], json!([0, 1]));
    assert_eq!(offered[1]["contexts"], json!([1]), "only in private chats");

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

/// Returns the reply to a received command, as the outbox delivers it.
pub(crate) fn reply_to(command: &Inbound, row: i64, text: &str) -> Delivery {
    let content = Content { reply_to: command.to_reply_to().cloned(), ..Content::text(text) };
    Delivery::new(DeliveryId(row), command.address.clone(), content)
}

#[tokio::test]
async fn slash_command_becomes_text_and_is_answered_in_its_place() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.bus.set_open(false);
    let stop = world.platform.slash(ANN, world.channel, "stop", &json!([]));
    let options = json!([{ "name": "argument", "type": 3, "value": "steer" }]);
    let queue = world.platform.slash(ANN, world.dm, "queue", &options);
    // The answer waits for the commit.
    assert_eq!(world.platform.interaction(stop).answered, None);
    world.bus.set_open(true);
    let received = world.bus.taken(2).await;
    for (row, command, id) in [(1, &received[0], stop), (2, &received[1], queue)] {
        world.discord.deliver(&reply_to(command, row, "**Done**")).await.unwrap();
        let answer = world.platform.interaction(id);
        assert_eq!((answer.answered, &answer.data["flags"]), (Some(4), &json!(4)));
        assert_eq!(answer.data["content"], "**Done**");
    }
    assert_eq!(world.platform.calls(Route::CreateMessage), 0);
    assert_eq!(world.platform.calls(Route::Respond), 2, "one request for each");
    assert_eq!((received[0].content.text.as_str(), received[0].chat), ("/stop", ChatKind::Group));
    assert_eq!(received[1].content.text, "/queue steer");
    assert_eq!(
        (&received[0].address, &received[1].address),
        (&chat(world.channel), &chat(world.dm))
    );
    assert_eq!(received[0].sender.id.as_str(), "77");
    assert_ne!(received[0].key, received[1].key);
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn slash_command_that_only_shows_something_has_an_ephemeral_answer_in_channels() {
    let world = World::new().await;
    let _running = world.connected().await;
    let argument = json!([{ "name": "argument", "type": 3, "value": "a/b" }]);
    let cases = [
        (world.channel, "status", json!([]), 64 | 4),
        (world.channel, "model", json!([]), 64 | 4),
        (world.channel, "model", argument, 4),
        (world.dm, "status", json!([]), 4),
    ];
    for (number, (channel, name, options, flags)) in (1..).zip(cases) {
        let id = world.platform.slash(ANN, channel, name, &options);
        let command = world.bus.taken(number).await.pop().unwrap();
        let row = i64::try_from(number).unwrap();
        world.discord.deliver(&reply_to(&command, row, "shown")).await.unwrap();
        assert_eq!(world.platform.interaction(id).data["flags"], flags, "{name} {options}");
    }
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn slash_command_with_a_long_answer_gets_all_of_it_in_its_place() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.slash(ANN, world.channel, "status", &json!([]));
    let command = world.bus.taken(1).await.remove(0);
    let whole = reply_to(&command, 0, &"word ".repeat(900)).content;
    let chunks = world.discord.plan(&whole);
    assert_eq!(chunks.len(), 3);
    for (row, chunk) in (1..).zip(&chunks) {
        let sent = Delivery::new(DeliveryId(row), command.address.clone(), chunk.clone());
        if row == 2 {
            let lost = InjectedFault::ResetAfter;
            world.platform.inject(On::route(Route::FollowUp), 1, lost);
            assert!(matches!(world.discord.deliver(&sent).await, Err(SendError::Unknown(_))));
        }
        world.discord.deliver(&sent).await.unwrap();
    }
    let sent = world.platform.sent();
    assert!(sent.iter().all(DiscordMessage::is_ephemeral), "{sent:?}");
    let marked: Vec<bool> = sent.iter().map(|one| one.text.starts_with(REPEAT_MARK)).collect();
    assert_eq!(marked, [false, false, true, false], "a repetition is marked");
    assert_eq!(world.platform.calls(Route::CreateMessage), 0);
}

#[tokio::test]
async fn slash_command_with_a_late_answer_is_deferred_and_then_edited() {
    let world = World::new().await;
    let _running = world.connected().await;
    let id = world.platform.slash(ANN, world.channel, "status", &json!([]));
    let command = world.bus.taken(1).await.remove(0);
    let defer = Duration::from_millis(1500);
    world.clock.sleeper_within(defer..=defer).await;
    world.clock.advance(defer);
    let deferred = world.platform.wait_for_answer(id).await;
    assert_eq!((deferred.answered, &deferred.data["flags"]), (Some(5), &json!(64)));
    let reply = reply_to(&command, 1, "shown");
    for _ in 0..2 {
        // A repeated delivery changes nothing.
        world.discord.deliver(&reply).await.unwrap();
        assert_eq!(world.sent_texts(), ["shown"]);
    }
    assert!(world.platform.sent()[0].is_ephemeral());
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn slash_command_without_an_answer_loses_its_acknowledgement() {
    let world = World::new().await;
    let _running = world.connected().await;
    let id = world.platform.slash(ANN, world.dm, "stop", &json!([]));
    for wait in [Duration::from_millis(1500), Duration::from_mins(1)] {
        world.clock.sleeper_within(wait..=wait).await;
        world.clock.advance(wait);
    }
    world.platform.wait_for_calls(Route::DeleteResponse, 1).await;
    assert_eq!(world.platform.interaction(id).answered, Some(5));
}

#[tokio::test]
async fn slash_command_answered_too_late_or_by_another_run_gets_a_message() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.slash(ANN, world.channel, "stop", &json!([]));
    let command = world.bus.taken(1).await.remove(0);
    let world = world.restarted();
    world.discord.deliver(&reply_to(&command, 1, "Stopped.")).await.unwrap();
    assert_eq!(world.platform.calls(Route::CreateMessage), 1);
    assert_eq!(world.sent_texts(), ["Stopped."]);
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn slash_command_whose_first_response_has_an_unknown_outcome_is_answered_once() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.slash(ANN, world.dm, "stop", &json!([]));
    let command = world.bus.taken(1).await.remove(0);
    world.platform.inject(On::route(Route::Respond), 1, InjectedFault::ResetAfter);
    let reply = reply_to(&command, 1, "Stopped.");
    assert!(matches!(world.discord.deliver(&reply).await, Err(SendError::Unknown(_))));
    world.discord.deliver(&reply).await.unwrap();
    assert_eq!(world.sent_texts(), ["Stopped."]);
}

#[tokio::test]
async fn slash_command_whose_first_response_is_late_and_unknown_is_answered_once() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.slash(ANN, world.channel, "status", &json!([]));
    let command = world.bus.taken(1).await.remove(0);
    world.platform.inject(On::route(Route::Respond), 1, InjectedFault::ResetAfter);
    let reply = reply_to(&command, 1, "secret");
    assert!(matches!(world.discord.deliver(&reply).await, Err(SendError::Unknown(_))));
    world.pass(Duration::from_secs(5));
    world.discord.deliver(&reply).await.unwrap();
    assert_eq!(world.sent_texts(), ["secret"]);
    assert!(world.platform.sent()[0].is_ephemeral());
    assert_eq!(world.platform.calls(Route::CreateMessage), 0);
}

#[tokio::test]
async fn slash_command_whose_response_never_arrived_is_answered_first_or_by_a_message() {
    for (name, late, expected) in [
        ("status", false, vec!["secret"]),
        ("stop", true, vec!["secret"]),
        (
            "status",
            true,
            vec![
                "I could not show the answer to a command to its caller only. \
            Write the command again, here or in a direct message.",
            ],
        ),
    ] {
        let world = World::new().await;
        let _running = world.connected().await;
        world.platform.slash(ANN, world.channel, name, &json!([]));
        let command = world.bus.taken(1).await.remove(0);
        world.platform.inject(On::route(Route::Respond), 1, InjectedFault::ResetBefore);
        let replies = [1, 2].map(|row| reply_to(&command, row, "secret"));
        assert!(matches!(world.discord.deliver(&replies[0]).await, Err(SendError::Unknown(_))));
        if late {
            world.pass(Duration::from_secs(5));
        }
        world.discord.deliver(&replies[0]).await.unwrap();
        assert_eq!(world.sent_texts(), expected, "{name}");
        if name == "status" && late {
            world.discord.deliver(&replies[1]).await.unwrap();
            assert_eq!(world.sent_texts(), expected, "the note comes once");
        }
    }
}

#[tokio::test]
async fn slash_command_of_another_run_never_has_its_ephemeral_answer_in_public() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.slash(ANN, world.channel, "status", &json!([]));
    world.platform.slash(ANN, world.channel, "stop", &json!([]));
    let commands = world.bus.taken(2).await;
    let world = world.restarted();
    let first_sent_at = Some(avocet_protocol::clock::Clock::now(&*world.clock));
    for (row, command) in (1..).zip(&commands) {
        let sent = Delivery { first_sent_at, ..reply_to(command, row, "secret") };
        world.discord.deliver(&sent).await.unwrap();
    }
    let sent = world.sent_texts();
    assert!(sent[0].ends_with("Write the command again, here or in a direct message."), "{sent:?}");
    assert_eq!(sent[1], format!("{REPEAT_MARK}\nsecret"), "it may be in place of the command");
}

#[tokio::test]
async fn slash_command_with_a_further_chunk_of_unknown_outcome_gets_one_copy() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.slash(ANN, world.channel, "status", &json!([]));
    let command = world.bus.taken(1).await.remove(0);
    world.discord.deliver(&reply_to(&command, 1, "one")).await.unwrap();
    world.platform.inject(On::route(Route::FollowUp), 2, InjectedFault::ResetAfter);
    let second = reply_to(&command, 2, "two");
    assert!(matches!(world.discord.deliver(&second).await, Err(SendError::Unknown(_))));
    world.discord.deliver(&second).await.unwrap();
    assert_eq!(world.sent_texts(), ["one".to_owned(), "two".into(), format!("{REPEAT_MARK}\ntwo")]);
}

#[tokio::test]
async fn slash_command_whose_event_is_repeated_is_answered_once() {
    let world = World::new().await;
    let _running = world.connected().await;
    let called = json!({ "id": "9000", "application_id": "1", "token": "t", "version": 1, "type": 2,
        "channel_id": world.channel.to_string(), "locale": "en-US", "entitlements": [],
        "app_permissions": "0", "attachment_size_limit": 1, "context": 0,
        "authorizing_integration_owners": { "1": ANN.to_string() },
        "user": { "id": ANN.to_string(), "username": "ann", "discriminator": "0", "avatar": null },
        "data": { "id": "1", "name": "stop", "type": 1, "options": [] } });
    for _ in 0..2 {
        world.platform.push("INTERACTION_CREATE", &called);
    }
    world.platform.say(world.dm, ANN, "the end");
    let received = world.bus.taken(2).await;
    assert_eq!(received[1].content.text, "the end");
    // The bot is not in that server, so only the caller can see an answer.
    assert_eq!((received[0].key.as_str(), received[0].chat), ("i9000p", ChatKind::Group));
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
    assert!(received.content.by_button, "nobody has typed it");
    let answer = world.platform.wait_for_answer(pressed).await;
    assert_eq!(answer.answered, Some(6), "the message stays as it is");
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn choice_of_a_menu_is_received_as_the_text_of_its_choice() {
    let world = World::new().await;
    let _running = world.connected().await;
    let choices: Vec<Choice> = (0..30)
        .map(|number| Choice::new(format!("m{number}"), format!("/model m{number}")))
        .collect();
    let question = Content { choices, ..Content::text("Which model?") };
    let chunk = world.discord.plan(&question).remove(0);
    world.discord.deliver(&crate::delivery(world.dm, chunk)).await.unwrap();
    let sent = world.platform.sent().remove(0);
    let chosen = world.platform.choose(ANN, sent.id, "/model m7");
    assert_eq!(world.texts(1).await, ["/model m7"]);
    assert_eq!(world.platform.wait_for_answer(chosen).await.answered, Some(6));
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
    let answer = world.platform.wait_for_answer(called).await;
    assert_eq!((answer.answered, &answer.data["flags"]), (Some(4), &json!(64)));
}

#[tokio::test]
async fn interaction_answer_that_is_lost_loses_no_message() {
    let world = World::new().await;
    world.platform.inject(On::route(Route::Respond), 1, InjectedFault::ResetBefore);
    let _running = world.connected().await;
    let choices = vec![Choice::new("Stop", "/stop")];
    let question = Content { choices, ..Content::text("Stop?") };
    world.discord.deliver(&crate::delivery(world.dm, question)).await.unwrap();
    world.platform.press(ANN, world.platform.sent()[0].id, "/stop");
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
