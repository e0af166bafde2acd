//! Messages of several parts that come through a webhook.

use std::time::Duration;

use avocet_protocol::bus::{Publish, PublishError};
use avocet_protocol::channel::ChannelConfig;
use avocet_protocol::chat::Cursor;
use avocet_protocol::store::{NoCorrection, StoreError};
use avocet_telegram::TelegramConfig;
use avocet_testkit::telegram::UserMessage;
use serde_json::{Value, json};

use crate::webhook::{WebhookWorld, end};
use crate::{ANN, World};

const BOB: i64 = 8;
const GROUP: i64 = -50;
const PART_WAIT: Duration = Duration::from_secs(1);

fn long() -> String {
    "word ".repeat(800)
}

/// Sends a text that is cut by the client, and waits until Telegram no longer keeps its first part.
async fn send_first_part(world: &World) {
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    world.platform.private_text(ANN, &long());
    world.platform.wait_for_confirmed().await;
}

/// Lets the time for the next part pass.
async fn end_part_wait(world: &World) {
    world.clock.sleeper_within(Duration::ZERO..=PART_WAIT).await;
    world.clock.advance(PART_WAIT);
}

fn parts_cursor(world: &World) -> Cursor {
    world.bus.moves().into_iter().rev().find(|one| one.scope == "parts 0").unwrap()
}

#[tokio::test]
async fn text_cut_by_the_client_comes_through_a_webhook_as_one_message() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let _running = world.run();
    send_first_part(world).await;
    world.platform.private_text(ANN, &long());
    world.platform.private_text(ANN, "and the end");
    let text = world.bus.taken(1).await.remove(0).content.text;
    assert_eq!(text, format!("{0}\n{0}\nand the end", long()));
    world.platform.private_text(ANN, "another");
    assert_eq!(world.bus.taken(2).await[1].content.text, "another");
    world.platform.wait_for_confirmed().await;
    let position: Value = serde_json::from_str(&parts_cursor(world).position).unwrap();
    assert_eq!(position["joined"].as_array().unwrap().len(), 3, "the parts are listed");
}

#[tokio::test]
async fn part_without_a_next_one_is_committed_after_a_second_or_before_another_message() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let _running = world.run();
    send_first_part(world).await;
    let full = StoreError::Full { path: "avocet.db".to_owned() };
    world.bus.refuse([PublishError::Log(full)]);
    end_part_wait(world).await;
    end_part_wait(world).await;
    assert_eq!(world.bus.taken(1).await[0].content.text, long(), "the log was full once");
    world.platform.private_text(ANN, &long());
    world.platform.private_text(ANN, "/status");
    let taken = world.bus.taken(3).await;
    assert_eq!((&taken[1].content.text, taken[2].content.text.as_str()), (&long(), "/status"));
}

#[tokio::test]
async fn part_survives_a_crash_before_the_next_one() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let running = world.run();
    send_first_part(world).await;
    end(world, running).await;
    let running = world.run();
    world.platform.private_text(ANN, "and the end");
    let text = world.bus.taken(1).await.remove(0).content.text;
    assert_eq!(text, format!("{}\nand the end", long()));
    world.platform.wait_for_confirmed().await;
    end(world, running).await;

    // No next part comes after this crash.
    let running = world.run();
    world.platform.private_text(ANN, &long());
    world.platform.wait_for_confirmed().await;
    end(world, running).await;
    let _running = world.run();
    end_part_wait(world).await;
    assert_eq!(world.bus.taken(2).await[1].content.text, long());
}

#[tokio::test]
async fn part_that_waits_is_committed_after_a_change_to_polls() {
    let webhook = WebhookWorld::new().await;
    let running = webhook.world.run();
    send_first_part(&webhook.world).await;
    end(&webhook.world, running).await;
    let world = webhook.polling();
    let _running = world.run();
    assert_eq!(world.bus.taken(1).await[0].content.text, long());
    world.platform.private_text(ANN, "hello");
    assert_eq!(world.bus.taken(2).await[1].content.text, "hello");
}

#[tokio::test]
async fn damaged_cursor_of_parts_is_cleared_once() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let cursor = |position: &str| Cursor { scope: "parts 3".into(), position: position.into() };
    let (channel, account) = ("telegram".parse().unwrap(), "main".parse().unwrap());
    let damaged = cursor(r#"{"chat":7,"waiting":[{}]}"#);
    world.bus.move_cursor(&channel, &account, damaged).await.unwrap();
    for _ in 0..2 {
        let running = world.run();
        world.platform.private_text(ANN, "hello");
        world.platform.wait_for_confirmed().await;
        end(world, running).await;
    }
    let cleared = world.bus.moves().into_iter().filter(|one| *one == cursor("")).count();
    assert_eq!(cleared, 1);
}

fn update(id: i64, text: &str) -> Value {
    json!({ "update_id": id, "message": {
        "message_id": id, "date": 1, "text": text,
        "from": { "id": ANN, "is_bot": false, "first_name": "Ann" },
        "chat": { "id": ANN, "type": "private", "first_name": "Ann" } } })
}

#[tokio::test]
async fn part_that_is_repeated_after_a_crash_becomes_no_second_message() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let mut running = world.run();
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    let endpoint = TelegramConfig::webhook(&world.telegram).unwrap();
    let (first, last) = (update(5, &long()), update(6, "and the end"));
    for (calls, part) in (2..).zip([&first, &first, &last, &last, &first]) {
        endpoint.receive(part.to_string().as_bytes()).await.unwrap();
        // The process dies before Telegram gets the response.
        end(world, running).await;
        running = world.run();
        world.platform.wait_for_calls("getWebhookInfo", calls).await;
    }
    endpoint.receive(update(7, "another").to_string().as_bytes()).await.unwrap();
    let texts: Vec<String> =
        world.bus.taken(2).await.into_iter().map(|one| one.content.text).collect();
    assert_eq!(texts, [format!("{}\nand the end", long()), "another".to_owned()]);
}

#[tokio::test]
async fn messages_forwarded_at_once_come_through_a_webhook_as_one_message() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let _running = world.run();
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    for text in ["one", "two"] {
        world.platform.say(UserMessage::private(ANN, text).forwarded_from(9, 12));
    }
    world.platform.wait_for_confirmed().await;
    end_part_wait(world).await;
    let received = world.bus.taken(1).await.remove(0).content;
    assert_eq!(
        (received.text.as_str(), received.forwarded_from.as_deref()),
        ("one", Some("User 9"))
    );
    assert_eq!(received.forwarded[0].text, "two");
}

#[tokio::test]
async fn comment_is_received_at_once_and_corrected_by_the_messages_forwarded_with_it() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let _running = world.run();
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    world.platform.private_text(ANN, "is this true?");
    let comment = world.bus.taken(1).await.remove(0);
    assert_eq!(comment.content.text, "is this true?");
    for text in ["one", "two"] {
        world.platform.say(UserMessage::private(ANN, text).forwarded_from(9, 12));
    }
    world.platform.wait_for_confirmed().await;
    end_part_wait(world).await;
    let corrected = world.bus.taken(2).await.remove(1);
    assert_eq!(corrected.corrects, Some(comment.key));
    assert_eq!(corrected.content.text, "is this true?");
    let forwarded: Vec<&str> =
        corrected.content.forwarded.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(forwarded, ["one", "two"]);
    assert!(corrected.content.has_untrusted_parts());
    world.platform.private_text(ANN, "another");
    assert_eq!(world.bus.taken(3).await[2].content.text, "another");
}

#[tokio::test]
async fn forwards_after_an_answered_comment_are_a_message_of_their_own() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let _running = world.run();
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    world.platform.private_text(ANN, "is this true?");
    world.bus.taken(1).await;
    world.bus.refuse([NoCorrection::Answered.into()]);
    world.platform.say(UserMessage::private(ANN, "news").forwarded_from(9, 12));
    world.platform.wait_for_confirmed().await;
    end_part_wait(world).await;
    let forwarded = world.bus.taken(2).await.remove(1);
    assert_eq!((forwarded.content.text.as_str(), forwarded.corrects), ("news", None));
    assert_eq!(forwarded.content.forwarded_from.as_deref(), Some("User 9"));
}

#[tokio::test]
async fn forwards_in_a_group_after_an_answered_comment_are_for_the_bot() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let _running = world.run();
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    world.platform.say(UserMessage::group(ANN, GROUP, "@avocet_bot is this true?"));
    world.bus.taken(1).await;
    world.bus.refuse([NoCorrection::Answered.into()]);
    world.platform.say(UserMessage::group(ANN, GROUP, "news").forwarded_from(9, 12));
    world.platform.wait_for_confirmed().await;
    end_part_wait(world).await;
    let forwarded = world.bus.taken(2).await.remove(1);
    assert_eq!((forwarded.content.text.as_str(), forwarded.corrects), ("news", None));
    assert!(world.bus.ignored(0).await.is_empty());
}

#[tokio::test]
async fn correction_of_a_comment_and_the_end_of_its_parts_are_one_write() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let running = world.run();
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    world.platform.private_text(ANN, "is this true?");
    world.bus.taken(1).await;
    world.platform.say(UserMessage::private(ANN, "news").forwarded_from(9, 12));
    world.platform.wait_for_confirmed().await;
    // Only writes of cursors alone wait from here, and the process dies before them.
    world.bus.hold_moves();
    end_part_wait(world).await;
    assert!(world.bus.taken(2).await[1].corrects.is_some());
    end(world, running).await;
    let position: Value = serde_json::from_str(&parts_cursor(world).position).unwrap();
    assert!(position["waiting"].is_null(), "no part waits after the correction: {position}");
}

#[tokio::test]
async fn message_of_another_person_passes_a_part_that_waits() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let _running = world.run();
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    let first = format!("@avocet_bot {}", long());
    world.platform.say(UserMessage::group(ANN, GROUP, &first));
    world.platform.say(UserMessage::group(BOB, GROUP, "@avocet_bot hello"));
    assert_eq!(world.bus.taken(1).await[0].content.text, "@avocet_bot hello");
    world.platform.say(UserMessage::group(ANN, GROUP, "and the end"));
    let text = world.bus.taken(2).await.remove(1).content.text;
    assert_eq!(text, format!("{first}\nand the end"));
    assert!(world.bus.ignored(0).await.is_empty());
}

#[tokio::test]
async fn comment_stays_known_while_another_person_writes() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let _running = world.run();
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    world.platform.say(UserMessage::group(ANN, GROUP, "@avocet_bot is this true?"));
    world.platform.say(UserMessage::group(ANN, GROUP, "news").forwarded_from(9, 12));
    world.platform.say(UserMessage::group(BOB, GROUP, "@avocet_bot hello"));
    world.bus.taken(2).await;
    end_part_wait(world).await;
    let corrected = world.bus.taken(3).await.remove(2);
    assert!(corrected.corrects.is_some());
    assert_eq!(corrected.content.forwarded[0].text, "news");
}

#[tokio::test]
async fn part_is_committed_alone_while_parts_of_a_hundred_authors_wait() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let _running = world.run();
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    let say = |author: i64, text: &str| UserMessage::group(author, GROUP, text);
    let first = &format!("@avocet_bot {}", long());
    for author in 100..199 {
        world.platform.say(say(author, first));
    }
    let (end, comment) = ("and the end", "@avocet_bot is this true?");
    let joined = &format!("{first}\n{end}");
    let table: [(&str, UserMessage, &[&str]); 6] = [
        ("the hundredth part waits", say(199, first), &[]),
        ("no cursor is free", say(BOB, first), &[first]),
        ("a comment is no part", say(ANN, comment), &[comment]),
        ("a forward is alone, too", say(ANN, "news").forwarded_from(9, 12), &["news"]),
        ("other parts still wait", say(100, end), &[joined]),
        ("a cursor is free again", say(BOB, first), &[]),
    ];
    let mut before = 0;
    for (case, message, expected) in table {
        world.platform.say(message);
        world.platform.wait_for_confirmed().await;
        let taken = world.bus.taken(before).await;
        let texts: Vec<&str> =
            taken[before..].iter().map(|one| one.content.text.as_str()).collect();
        assert_eq!(texts, expected, "{case}");
        before = taken.len();
    }
    assert!(world.bus.ignored(0).await.is_empty(), "each part is for the bot");
}

#[tokio::test]
async fn button_press_and_unreadable_message_come_after_the_part_that_waits() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let _running = world.run();
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    let endpoint = TelegramConfig::webhook(&world.telegram).unwrap();
    let from = json!({ "id": ANN, "is_bot": false, "first_name": "Ann" });
    let chat = json!({ "id": ANN, "type": "private", "first_name": "Ann" });
    let asked = json!({ "message_id": 3, "date": 1, "text": "?", "chat": chat, "from": from });
    let pressed = json!({ "update_id": 12, "callback_query": {
        "id": "1", "from": from, "chat_instance": "1", "data": "yes", "message": asked } });
    let unreadable = json!({ "update_id": 14, "message": {
        "message_id": 14, "date": 1, "from": from, "chat": chat, "text": "odd", "entities": 7 } });
    for (part, next, taken) in [(11, pressed, 1), (13, unreadable, 3)] {
        endpoint.receive(update(part, &long()).to_string().as_bytes()).await.unwrap();
        endpoint.receive(next.to_string().as_bytes()).await.unwrap();
        let first = world.bus.taken(taken).await.remove(taken - 1);
        assert_eq!(first.content.text, long(), "{next}");
    }
}

#[tokio::test]
async fn kept_part_that_is_unreadable_now_gets_a_reply_and_leaves_the_others() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let mut odd = update(4, "");
    odd["message"]["text"].take();
    odd["message"]["hologram"] = json!({ "id": 1 });
    let position = json!({ "chat": ANN, "waiting": [odd, update(5, &long())] });
    let cursor = Cursor { scope: "parts 0".into(), position: position.to_string() };
    let (channel, account) = ("telegram".parse().unwrap(), "main".parse().unwrap());
    world.bus.move_cursor(&channel, &account, cursor).await.unwrap();
    let running = world.run();
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    let said: Vec<String> =
        world.bus.said().into_iter().map(|(reply, _)| reply.content.text).collect();
    assert!(said.len() == 1 && said[0].starts_with("I cannot read this kind"), "{said:?}");
    let kept: Value = serde_json::from_str(&parts_cursor(world).position).unwrap();
    assert_eq!(kept["waiting"], json!([update(5, &long())]));
    end(world, running).await;
    let _running = world.run();
    end_part_wait(world).await;
    assert_eq!(world.bus.taken(1).await[0].content.text, long());
    assert_eq!(world.bus.said().len(), 1);
}
