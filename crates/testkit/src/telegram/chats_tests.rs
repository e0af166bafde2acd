use std::time::Duration;

use super::super::client::{FORUM, GROUP, USER, buttons, call, edit, fake, text};
use super::super::updates::CALLBACK_KEPT;
use super::*;

#[tokio::test]
async fn chat_contains_the_sent_and_edited_messages() {
    let fake = fake().await;
    let bold = json!([{ "type": "bold", "offset": 1, "length": 2 }]);
    let args = json!({
        "chat_id": FORUM, "message_thread_id": 5, "text": " hi", "entities": bold.to_string(),
        "reply_parameters": { "message_id": 1 }, "link_preview_options": { "is_disabled": true },
        "reply_markup": buttons(1) });
    let said = call(&fake, "sendMessage", &args).await.result();
    assert_eq!(said["chat"]["id"], FORUM);
    assert_eq!(said["text"], "hi");
    assert_eq!(said["from"]["id"], 123);
    let args = json!({ "chat_id": FORUM, "message_id": said["message_id"], "text": "ho" });
    let edited = call(&fake, "editMessageText", &args).await.result();
    assert_eq!(edited["edit_date"], edited["date"]);

    let expected = SentMessage {
        chat: FORUM,
        id: 2,
        thread: Some(5),
        direct_topic: None,
        reply_to: Some(1),
        text: "ho".to_owned(),
        entities: Vec::new(),
        keyboard: None,
        preview_off: false,
        edits: vec!["hi".to_owned()],
        deleted: false,
        file: None,
        poll: None,
        album: None,
        rich: None,
    };
    assert_eq!(fake.sent()[1], expected);
}

#[tokio::test]
async fn message_ids_grow_in_each_chat_and_are_never_reused() {
    let fake = fake().await;
    let send = json!({ "chat_id": USER, "text": "x" });
    assert_eq!(call(&fake, "sendMessage", &send).await.result()["message_id"], 3);
    let delete = json!({ "chat_id": USER, "message_id": 3 });
    call(&fake, "deleteMessage", &delete).await.result();
    assert_eq!(call(&fake, "sendMessage", &send).await.result()["message_id"], 4);
    let there = json!({ "chat_id": GROUP, "text": "x" });
    assert_eq!(call(&fake, "sendMessage", &there).await.result()["message_id"], 2);
    let deleted: Vec<bool> = fake.sent().iter().map(|sent| sent.deleted).collect();
    assert_eq!(deleted, [false, true, false, false]);
    let refusal = call(&fake, "editMessageText", &edit(3, "y")).await.refusal();
    assert_eq!(refusal.1, "Bad Request: message to edit not found");
}

#[tokio::test]
async fn delete_message_fails_after_two_days() {
    let fake = fake().await;
    fake.advance(Duration::from_secs(48 * 60 * 60));
    let delete = json!({ "chat_id": USER, "message_id": 2 });
    let refusal = call(&fake, "deleteMessage", &delete).await.refusal();
    assert_eq!(refusal.1, "Bad Request: message can't be deleted");
}

#[tokio::test]
async fn reply_to_a_missing_message_is_sent_plain_if_allowed() {
    let fake = fake().await;
    let reply = json!({ "message_id": 99, "allow_sending_without_reply": true });
    let args = json!({ "chat_id": USER, "text": "x", "reply_parameters": reply });
    call(&fake, "sendMessage", &args).await.result();
    assert_eq!(fake.sent()[1].reply_to, None);
}

#[tokio::test]
async fn answer_callback_query_works_once_and_in_time() {
    let fake = fake().await;
    let press = || json!({ "callback_query_id": fake.press(USER, &fake.sent()[0], "y") });
    let too_late = "Bad Request: query is too old and response timeout expired or query ID is \
                    invalid";
    let first = press();
    call(&fake, "answerCallbackQuery", &first).await.result();
    assert_eq!(call(&fake, "answerCallbackQuery", &first).await.refusal().1, too_late);
    let second = press();
    fake.advance(CALLBACK_KEPT);
    assert_eq!(call(&fake, "answerCallbackQuery", &second).await.refusal().1, too_late);
}

#[tokio::test]
async fn chat_that_is_closed_refuses_calls_with_the_reason() {
    for (method, rest) in [
        ("sendMessage", json!({ "text": "x" })),
        ("sendChatAction", json!({ "action": "typing" })),
        ("editMessageText", json!({ "text": "x", "message_id": 2 })),
        ("deleteMessage", json!({ "message_id": 2 })),
    ] {
        let fake = fake().await;
        let refusal = async |chat: i64| {
            let mut args = rest.clone();
            args["chat_id"] = json!(chat);
            call(&fake, method, &args).await
        };
        fake.block(USER);
        let blocked = "Forbidden: bot was blocked by the user";
        assert_eq!(refusal(USER).await.refusal(), (403, blocked.to_owned()));
        fake.kick(USER, FORUM);
        let kicked = "Forbidden: bot was kicked from the supergroup chat";
        assert_eq!(refusal(FORUM).await.refusal(), (403, kicked.to_owned()));
        fake.kick(USER, GROUP);
        let kicked = "Forbidden: bot was kicked from the group chat";
        assert_eq!(refusal(GROUP).await.refusal(), (403, kicked.to_owned()));
        fake.take_back(USER, GROUP);
        fake.migrate(USER, GROUP, -1_000_000_000_020);
        let moved = refusal(GROUP).await;
        let upgraded = "Bad Request: group chat was upgraded to a supergroup chat";
        assert_eq!(moved.refusal(), (400, upgraded.to_owned()));
        let parameters = json!({ "migrate_to_chat_id": -1_000_000_000_020_i64 });
        assert_eq!(moved.json()["parameters"], parameters);
    }
}

#[tokio::test]
async fn chat_accepts_messages_after_take_back_or_migrate() {
    let fake = fake().await;
    fake.block(USER);
    fake.take_back(USER, USER);
    call(&fake, "sendMessage", &text("x")).await.result();
    fake.migrate(USER, GROUP, -1_000_000_000_020);
    let args = json!({ "chat_id": -1_000_000_000_020_i64, "text": "x" });
    call(&fake, "sendMessage", &args).await.result();
}

#[tokio::test]
async fn topic_that_is_closed_or_deleted_takes_no_messages() {
    let fake = fake().await;
    let send = json!({ "chat_id": FORUM, "message_thread_id": 5, "text": "x" });
    let said = call(&fake, "sendMessage", &send).await.result();
    fake.close_topic(FORUM, 5);
    let closed = (400, "Bad Request: TOPIC_CLOSED".to_owned());
    assert_eq!(call(&fake, "sendMessage", &send).await.refusal(), closed);
    fake.reopen_topic(FORUM, 5);
    call(&fake, "sendMessage", &send).await.result();
    fake.delete_topic(FORUM, 5);
    let deleted = (400, "Bad Request: message thread not found".to_owned());
    assert_eq!(call(&fake, "sendMessage", &send).await.refusal(), deleted);
    let edit = json!({ "chat_id": FORUM, "message_id": said["message_id"], "text": "y" });
    let gone = (400, "Bad Request: message to edit not found".to_owned());
    assert_eq!(call(&fake, "editMessageText", &edit).await.refusal(), gone);
}
