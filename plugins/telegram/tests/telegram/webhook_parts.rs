//! Messages of several parts that come through a webhook.

use avocet_protocol::bus::Publish;
use avocet_protocol::channel::ChannelConfig;
use avocet_protocol::chat::Cursor;
use avocet_telegram::TelegramConfig;
use avocet_testkit::telegram::UserMessage;
use serde_json::{Value, json};

use crate::webhook::{WebhookWorld, end};
use crate::{ANN, World};

const BOB: i64 = 8;
const GROUP: i64 = -50;

fn long() -> String {
    "word ".repeat(800)
}

fn update(id: i64, text: &str) -> Value {
    json!({ "update_id": id, "message": {
        "message_id": id, "date": 1, "text": text,
        "from": { "id": ANN, "is_bot": false, "first_name": "Ann" },
        "chat": { "id": ANN, "type": "private", "first_name": "Ann" } } })
}

#[tokio::test]
async fn each_part_through_a_webhook_continues_the_one_before() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let _running = world.run();
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    world.platform.private_text(ANN, "is this true?");
    for text in ["one", "two"] {
        world.platform.say(UserMessage::private(ANN, text).forwarded_from(9, 12));
    }
    let taken = world.bus.taken(3).await;
    assert_eq!(taken[1].content.continues.as_ref(), Some(&taken[0].key));
    assert_eq!(taken[2].content.continues.as_ref(), Some(&taken[1].key));
    assert_eq!(taken[2].content.forwarded_from.as_deref(), Some("User 9"));
    assert!(taken.iter().all(|one| one.corrects.is_none()));
}

#[tokio::test]
async fn part_that_is_repeated_after_a_crash_becomes_no_second_message() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let mut running = world.run();
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    let endpoint = TelegramConfig::webhook(&world.telegram).unwrap();
    let (first, last) = (update(5, &long()), update(6, "and the end"));
    for (calls, part) in (2..).zip([&first, &first, &last, &last]) {
        endpoint.receive(part.to_string().as_bytes()).await.unwrap();
        // The process dies before Telegram gets the response.
        end(world, running).await;
        running = world.run();
        world.platform.wait_for_calls("getWebhookInfo", calls).await;
    }
    endpoint.receive(update(7, "another").to_string().as_bytes()).await.unwrap();
    let taken = world.bus.taken(3).await;
    let texts: Vec<&str> = taken.iter().map(|one| one.content.text.as_str()).collect();
    assert_eq!(texts, [&*long(), "and the end", "another"]);
    assert_eq!(taken[1].content.continues.as_ref(), Some(&taken[0].key));
}

#[tokio::test]
async fn forward_in_a_group_after_a_comment_is_for_the_bot() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let _running = world.run();
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    let say = |user, text: &str| UserMessage::group(user, GROUP, text);
    world.platform.say(say(ANN, "@avocet_bot is this true?"));
    world.platform.say(say(BOB, "hello, Ann"));
    world.platform.say(say(ANN, "news").forwarded_from(9, 12));
    let taken = world.bus.taken(2).await;
    assert_eq!(taken[1].content.text, "news");
    assert_eq!(taken[1].content.continues.as_ref(), Some(&taken[0].key));
    world.platform.say(say(BOB, "my news").forwarded_from(9, 12));
    assert_eq!(world.bus.ignored(2).await, ["not mentioned"; 2], "Bob's are for Ann");
}

async fn learn(world: &World, position: &str) {
    let (channel, account) = ("telegram".parse().unwrap(), "main".parse().unwrap());
    let cursor = Cursor { scope: "parts 3".into(), position: position.into() };
    world.bus.move_cursor(&channel, &account, cursor).await.unwrap();
}

fn last_position(world: &World) -> String {
    let parts = world.bus.moves().into_iter().rev().find(|one| one.scope == "parts 3");
    parts.unwrap().position
}

#[tokio::test]
async fn parts_that_an_earlier_version_has_kept_are_committed_at_the_start() {
    for has_webhook in [true, false] {
        let webhook = WebhookWorld::new().await;
        let polling = World::new().await;
        let world = if has_webhook { &webhook.world } else { &polling };
        let mut odd = update(4, "");
        odd["message"]["text"].take();
        odd["message"]["hologram"] = json!({ "id": 1 });
        let kept = json!({ "chat": ANN, "author": ANN, "joined": [2],
            "waiting": [odd, update(5, &long())] });
        learn(world, &kept.to_string()).await;
        for _ in 0..2 {
            let running = world.run();
            assert_eq!(world.bus.taken(1).await[0].content.text, long());
            while last_position(world).contains("waiting") {
                tokio::task::yield_now().await;
            }
            end(world, running).await;
        }
        let said: Vec<String> =
            world.bus.said().into_iter().map(|(reply, _)| reply.content.text).collect();
        assert!(said.len() == 1 && said[0].starts_with("I cannot read this kind"), "{said:?}");
        let rest: Value = serde_json::from_str(&last_position(world)).unwrap();
        assert_eq!(rest, json!({ "chat": ANN, "joined": [2] }));
        assert_eq!(world.bus.taken(1).await.len(), 1);
    }
}

#[tokio::test]
async fn part_that_an_earlier_version_has_joined_is_known() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    learn(world, &json!({ "chat": ANN, "joined": [5] }).to_string()).await;
    let _running = world.run();
    world.platform.wait_for_calls("getWebhookInfo", 1).await;
    let endpoint = TelegramConfig::webhook(&world.telegram).unwrap();
    for (id, text) in [(5, "known"), (6, "new")] {
        endpoint.receive(update(id, text).to_string().as_bytes()).await.unwrap();
    }
    assert_eq!(world.bus.taken(1).await[0].content.text, "new");
}

#[tokio::test]
async fn damaged_cursor_of_parts_is_cleared_once() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    learn(world, "[{").await;
    for _ in 0..2 {
        let running = world.run();
        world.platform.private_text(ANN, "hello");
        world.platform.wait_for_confirmed().await;
        end(world, running).await;
    }
    let cleared = world.bus.moves().into_iter().filter(|one| one.scope == "parts 3");
    assert_eq!(cleared.map(|one| one.position).collect::<Vec<_>>(), ["[{", ""]);
}
