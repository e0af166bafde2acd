use super::super::client::{FORUM, GROUP, USER, buttons, call, edit, fake, text};
use super::*;

fn keyboard(button: &Value) -> Value {
    json!({ "chat_id": USER, "text": "x", "reply_markup": { "inline_keyboard": [[button]] } })
}

fn command(name: &str, description: &str) -> Value {
    json!({ "commands": [{ "command": name, "description": description }] })
}

/// Calls each method on a new fake. Checks that it is refused with this status and description, is
/// recorded as a refusal, and has no effect.
async fn refuses(cases: &[(&str, Value, u16, &str)]) {
    for (method, args, status, description) in cases {
        let fake = fake().await;
        let before = fake.sent();
        let refusal = call(&fake, method, args).await.refusal();
        assert_eq!(refusal, (*status, (*description).to_owned()), "{method} {args}");
        let [refused] = &fake.refusals()[..] else { panic!("{:?}", fake.refusals()) };
        assert_eq!(refused.method, method.to_ascii_lowercase());
        assert_eq!(refused.error.description, *description);
        assert_eq!(fake.sent(), before, "{method} {args}");
    }
}

#[tokio::test]
async fn send_message_refuses_invalid_arguments() {
    let args = |more: Value| {
        let mut args = text("x");
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        args
    };
    let long = "a".repeat(TEXT_LIMIT + 1);
    refuses(&[
        ("sendMessage", json!({ "text": "x" }), 400, "Bad Request: chat_id is empty"),
        ("sendMessage", json!({ "chat_id": 404, "text": "x" }), 400, "Bad Request: chat not found"),
        (
            "sendMessage",
            json!({ "chat_id": "@somewhere", "text": "x" }),
            400,
            "Bad Request: chat not found",
        ),
        ("sendMessage", json!({ "chat_id": USER }), 400, "Bad Request: message text is empty"),
        ("sendMessage", text(""), 400, "Bad Request: message text is empty"),
        ("sendMessage", text(" \n "), 400, "Bad Request: text must be non-empty"),
        ("sendMessage", text(&long), 400, "Bad Request: message is too long"),
        ("sendMessage", text(&"👉".repeat(2049)), 400, "Bad Request: message is too long"),
        (
            "sendMessage",
            args(json!({ "parse_mode": "HTML" })),
            400,
            "Bad Request: unsupported parse_mode",
        ),
        (
            "sendMessage",
            args(json!({ "entities": [{ "type": "bold", "offset": 0, "length": 2 }] })),
            400,
            "Bad Request: entity beginning at UTF-16 offset 0 ends after the end of the text at \
             UTF-16 offset 2",
        ),
        (
            "sendMessage",
            args(json!({ "entities": "[oops" })),
            400,
            "Bad Request: can't parse entities JSON object",
        ),
        (
            "sendMessage",
            args(json!({ "message_thread_id": 5 })),
            400,
            "Bad Request: message thread not found",
        ),
        (
            "sendMessage",
            json!({ "chat_id": FORUM, "message_thread_id": 6, "text": "x" }),
            400,
            "Bad Request: message thread not found",
        ),
        (
            "sendMessage",
            args(json!({ "reply_parameters": { "message_id": 99 } })),
            400,
            "Bad Request: message to be replied not found",
        ),
        (
            "sendMessage",
            args(json!({ "reply_parameters": {} })),
            400,
            "Bad Request: can't parse reply parameters: message_id",
        ),
        (
            "sendMessage",
            args(json!({ "link_preview_options": [] })),
            400,
            "Bad Request: object expected as link preview options",
        ),
    ])
    .await;
}

#[tokio::test]
async fn send_message_refuses_invalid_keyboards() {
    let markup = |markup: Value| json!({ "chat_id": USER, "text": "x", "reply_markup": markup });
    let unreadable = "Bad Request: can't parse inline keyboard button: ";
    let no_text = format!("{unreadable}Can't find field \"text\"");
    let no_data = format!("{unreadable}Text buttons are unallowed in the inline keyboard");
    let no_object = format!("{unreadable}InlineKeyboardButton must be an Object");
    let button = |data: &str| keyboard(&json!({ "text": "yes", "callback_data": data }));
    refuses(&[
        ("sendMessage", markup(json!([])), 400, "Bad Request: object expected as reply markup"),
        (
            "sendMessage",
            markup(json!({ "inline_keyboard": {} })),
            400,
            "Bad Request: can't parse inline keyboard: expected an Array of Array",
        ),
        (
            "sendMessage",
            markup(json!({ "inline_keyboard": [{}] })),
            400,
            "Bad Request: can't parse inline keyboard: expected an Array of buttons",
        ),
        ("sendMessage", keyboard(&json!(1)), 400, &no_object),
        ("sendMessage", keyboard(&json!({ "callback_data": "y" })), 400, &no_text),
        (
            "sendMessage",
            keyboard(&json!({ "text": " ", "callback_data": "y" })),
            400,
            "Bad Request: BUTTON_TEXT_EMPTY",
        ),
        ("sendMessage", keyboard(&json!({ "text": "yes" })), 400, &no_data),
        (
            "sendMessage",
            keyboard(&json!({ "text": "yes", "url": "nowhere" })),
            400,
            "Bad Request: BUTTON_URL_INVALID",
        ),
        ("sendMessage", button(""), 400, "Bad Request: BUTTON_DATA_INVALID"),
        ("sendMessage", button(&"a".repeat(65)), 400, "Bad Request: BUTTON_DATA_INVALID"),
        ("sendMessage", button(&"ä".repeat(33)), 400, "Bad Request: BUTTON_DATA_INVALID"),
        ("sendMessage", markup(buttons(101)), 400, "Bad Request: REPLY_MARKUP_TOO_LONG"),
    ])
    .await;
}

#[tokio::test]
async fn edit_and_delete_message_refuse_invalid_arguments() {
    let long = "a".repeat(TEXT_LIMIT + 1);
    let unnamed = "Bad Request: message identifier is not specified";
    let mut same = edit(2, "hello");
    same["reply_markup"] = buttons(1);
    let not_modified = "Bad Request: message is not modified: specified new message content and \
                        reply markup are exactly the same as a current content and reply markup \
                        of the message";
    refuses(&[
        ("editMessageText", text("x"), 400, unnamed),
        ("editMessageText", edit(9, "x"), 400, "Bad Request: message to edit not found"),
        ("editMessageText", edit(1, "x"), 400, "Bad Request: message can't be edited"),
        ("editMessageText", edit(2, ""), 400, "Bad Request: message text is empty"),
        ("editMessageText", edit(2, " "), 400, "Bad Request: text must be non-empty"),
        ("editMessageText", edit(2, &long), 400, "Bad Request: MESSAGE_TOO_LONG"),
        ("editMessageText", same, 400, not_modified),
        (
            "editMessageReplyMarkup",
            json!({ "chat_id": USER, "message_id": 2, "reply_markup": buttons(1) }),
            400,
            not_modified,
        ),
        ("deleteMessage", json!({ "chat_id": USER }), 400, unnamed),
        ("deleteMessage", edit(9, ""), 400, "Bad Request: message to delete not found"),
        (
            "deleteMessage",
            json!({ "chat_id": GROUP, "message_id": 1 }),
            400,
            "Bad Request: message can't be deleted",
        ),
    ])
    .await;
}

#[tokio::test]
async fn methods_other_than_messages_refuse_invalid_arguments() {
    let many = json!({ "commands": vec![json!({ "command": "a", "description": "b" }); 101] });
    let action = |action: &str| json!({ "chat_id": USER, "action": action });
    let file = |id: &str| json!({ "chat_id": USER, "document": id, "photo": id });
    let wrong_id = "Bad Request: wrong file identifier/HTTP URL specified";
    refuses(&[
        (
            "sendChatAction",
            action("dancing"),
            400,
            "Bad Request: wrong parameter action in request",
        ),
        (
            "sendChatAction",
            json!({ "chat_id": FORUM, "message_thread_id": 6, "action": "typing" }),
            400,
            "Bad Request: message thread not found",
        ),
        (
            "answerCallbackQuery",
            json!({ "callback_query_id": "1" }),
            400,
            "Bad Request: query is too old and response timeout expired or query ID is invalid",
        ),
        (
            "answerCallbackQuery",
            json!({ "callback_query_id": "1", "text": "a".repeat(201) }),
            400,
            "Bad Request: MESSAGE_TOO_LONG",
        ),
        ("setMyCommands", json!({}), 400, "Bad Request: expected an Array of BotCommand"),
        ("setMyCommands", many, 400, "Bad Request: BOT_COMMANDS_TOO_MUCH"),
        (
            "setMyCommands",
            json!({ "commands": [{ "command": "help" }] }),
            400,
            "Bad Request: can't parse BotCommand: Can't find field \"command\" or \"description\"",
        ),
        ("setMyCommands", command("", "x"), 400, "Bad Request: BOT_COMMAND_INVALID"),
        ("setMyCommands", command("Help", "x"), 400, "Bad Request: BOT_COMMAND_INVALID"),
        ("setMyCommands", command("/help", "x"), 400, "Bad Request: BOT_COMMAND_INVALID"),
        ("setMyCommands", command(&"a".repeat(33), "x"), 400, "Bad Request: BOT_COMMAND_INVALID"),
        ("setMyCommands", command("a", ""), 400, "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID"),
        (
            "setMyCommands",
            command("a", &"a".repeat(257)),
            400,
            "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID",
        ),
        ("getFile", json!({}), 400, "Bad Request: file_id not specified"),
        (
            "getFile",
            json!({ "file_id": "1" }),
            400,
            "Bad Request: wrong file_id or the file is temporarily unavailable",
        ),
        ("getFile", json!({ "file_id": "big" }), 400, "Bad Request: file is too big"),
        (
            "sendDocument",
            json!({ "chat_id": USER }),
            400,
            "Bad Request: there is no document in the request",
        ),
        ("sendDocument", file("unknown"), 400, wrong_id),
        ("sendPhoto", file("attach://missing"), 400, wrong_id),
        (
            "sendPhoto",
            json!({ "chat_id": USER, "photo": "big", "caption": "a".repeat(1025) }),
            400,
            "Bad Request: message caption is too long",
        ),
        ("sendDance", json!({ "chat_id": USER }), 404, "Not Found: method not found"),
    ])
    .await;
}

#[tokio::test]
async fn methods_accept_values_at_the_limits() {
    let fake = fake().await;
    let button = json!({ "text": "yes", "callback_data": "a".repeat(64) });
    let name = "a".repeat(32);
    let cases = [
        ("sendMessage", text(&"👉".repeat(TEXT_LIMIT / 2))),
        ("sendMessage", keyboard(&button)),
        ("sendMessage", keyboard(&json!({ "text": "see", "url": "https://a.b" }))),
        ("sendMessage", json!({ "chat_id": USER, "text": "x", "reply_markup": buttons(100) })),
        ("sendMessage", json!({ "chat_id": "7", "text": "x", "parse_mode": null })),
        ("sendMessage", json!({ "chat_id": FORUM, "message_thread_id": 5, "text": "x" })),
        ("editMessageText", edit(2, &"a".repeat(TEXT_LIMIT))),
        ("setMyCommands", command(&name, &"ä".repeat(256))),
        ("setMyCommands", json!({ "commands": [] })),
        ("sendChatAction", json!({ "chat_id": USER, "action": "typing" })),
        ("SENDCHATACTION", json!({ "chat_id": USER, "action": "typing" })),
    ];
    for (method, args) in cases {
        call(&fake, method, &args).await.result();
    }
    assert_eq!(fake.refusals(), []);
}
