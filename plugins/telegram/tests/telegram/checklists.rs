//! Checklists, and the changes of their tasks.

use avocet_protocol::bus::PublishError;
use avocet_protocol::chat::Inbound;
use avocet_protocol::store::StoreError;
use avocet_testkit::telegram::UserMessage;
use serde_json::{Value, json};

use crate::webhook::WebhookWorld;
use crate::{ANN, World};

const GROUP: i64 = -1_000_000_000_070;

fn list() -> Value {
    json!({ "title": "Trip", "tasks": [
        { "id": 1, "text": "pack", "completion_date": 1_700_000_000,
            "completed_by_user": { "id": ANN, "is_bot": false, "first_name": "Ann" } },
        { "id": 2, "text": "go" }] })
}

fn done(user: i64, chat: i64) -> UserMessage {
    let within = json!({ "message_id": 1, "date": 1_700_000_000, "checklist": list(),
        "chat": { "id": chat, "type": "private", "first_name": "Ann" } });
    let change = json!({ "checklist_message": within, "marked_as_done_task_ids": [2] });
    UserMessage::thing(user, chat, "checklist_tasks_done", change)
}

fn earlier(inbound: &Inbound) -> Vec<&str> {
    inbound.content.earlier.iter().map(|quote| quote.text.as_str()).collect()
}

#[tokio::test]
async fn checklist_reads_as_a_list_with_marks() {
    let world = World::new().await;
    let _running = world.run();
    world.platform.say(UserMessage::thing(ANN, ANN, "checklist", list()));
    let taken = world.bus.taken(1).await;
    assert_eq!(taken[0].content.text, "[checklist: Trip]\n[x] pack\n[ ] go");
}

#[tokio::test]
async fn checklist_change_comes_with_the_next_message_of_its_chat() {
    let world = World::new().await;
    let _running = world.run();
    world.platform.say(done(ANN, ANN));
    let added = json!({ "tasks": [{ "id": 3, "text": "eat" }] });
    world.platform.say(UserMessage::thing(ANN, ANN, "checklist_tasks_added", added));
    world.platform.say(UserMessage::group(ANN, GROUP, "@avocet_bot hello"));
    world.platform.private_text(ANN, "/id");
    world.platform.private_text(ANN, "what is left?");
    world.platform.private_text(ANN, "and now?");
    let taken = world.bus.taken(4).await;
    let none: [&str; 0] = [];
    assert_eq!((earlier(&taken[0]), earlier(&taken[1])), (none.to_vec(), none.to_vec()));
    assert_eq!(
        earlier(&taken[2]),
        ["[checklist Trip: done: go]", "[checklist unknown: added: eat]"]
    );
    assert_eq!(taken[2].content.earlier[0].from.as_deref(), Some("User 7"));
    assert!(taken[2].content.has_untrusted_parts());
    assert_eq!(earlier(&taken[3]), none, "nothing is told twice");
    world.platform.wait_for_confirmed().await;
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn checklist_change_that_a_webhook_posts_again_is_told_once() {
    let WebhookWorld { world, .. } = &WebhookWorld::new().await;
    let full = StoreError::Full { path: "avocet.db".to_owned() };
    world.bus.refuse([PublishError::Log(full)]);
    let _running = world.run();
    world.platform.say(done(ANN, ANN));
    world.platform.wait_for_confirmed().await;
    let error = world.platform.webhook_info()["last_error_message"].clone();
    assert_eq!(error, "Wrong response from the webhook: 503", "the log was full");
    world.platform.private_text(ANN, "what is left?");
    let taken = world.bus.taken(1).await;
    assert_eq!(earlier(&taken[0]), ["[checklist Trip: done: go]"]);
}
