use std::future::Future;

use tokio::sync::Semaphore;

use super::client::{TOKEN, call, post, send, start};
use super::*;

const USER: i64 = 7;
const FORUM: i64 = -1_000_000_000_030;

/// A bot with one open private chat, still empty.
async fn fake() -> TelegramFake {
    let fake = TelegramFake::start(TOKEN).await;
    fake.open_chat(USER);
    fake
}

fn text(text: &str) -> Value {
    json!({ "chat_id": USER, "text": text })
}

/// Starts a poll that stays open because there are no updates.
async fn held_poll(fake: &TelegramFake) -> client::PendingCall {
    let poll = start(fake, "GetUpdates", &json!({ "timeout": 30 })).await;
    fake.wait_for_poll().await;
    poll
}

async fn updates(fake: &TelegramFake, args: &Value) -> Vec<Value> {
    call(fake, "getUpdates", args).await.result().as_array().unwrap().clone()
}

#[tokio::test]
async fn poll_waits_for_an_update_and_confirms_by_offset() {
    let fake = fake().await;
    let mut poll = held_poll(&fake).await;
    let heard = fake.private_text(USER, "hi");
    let found = poll.answer().await.unwrap().result();
    assert_eq!(found[0]["update_id"], heard.update.unwrap());
    assert_eq!(found[0]["message"]["text"], "hi");
    assert_eq!(fake.unconfirmed(), [heard.update.unwrap()]);
    let offset = json!({ "offset": heard.update.unwrap() + 1 });
    assert_eq!(updates(&fake, &offset).await, Vec::<Value>::new());
    fake.wait_for_confirmed().await;
    assert_eq!(fake.refusals(), []);
}

#[tokio::test]
async fn poll_ends_at_its_timeout_or_on_end_poll() {
    let fake = fake().await;
    let mut poll = held_poll(&fake).await;
    fake.advance(Duration::from_secs(29));
    still_waits(&fake, &mut poll).await;
    fake.advance(Duration::from_secs(1));
    assert_eq!(poll.answer().await.unwrap().result(), json!([]));
    assert!(!fake.end_poll(), "none waits");

    let mut poll = held_poll(&fake).await;
    assert!(fake.end_poll());
    assert_eq!(poll.answer().await.unwrap().result(), json!([]));
}

#[tokio::test]
async fn poll_is_ended_by_a_second_one() {
    let fake = fake().await;
    let mut first = held_poll(&fake).await;
    let mut second = held_poll(&fake).await;
    let conflict = "Conflict: terminated by other getUpdates request; make sure that only one bot \
                    instance is running";
    let refusal = first.answer().await.unwrap().refusal();
    assert_eq!(refusal, (409, conflict.to_owned()));
    fake.private_text(USER, "hi");
    assert_eq!(second.answer().await.unwrap().result().as_array().unwrap().len(), 1);
    assert_eq!(fake.refusals().len(), 1);
}

#[tokio::test]
async fn poll_of_a_client_that_went_away_is_no_conflict() {
    let fake = fake().await;
    drop(held_poll(&fake).await);
    fake.wait_for_no_poll().await;
    let mut poll = held_poll(&fake).await;
    assert!(fake.end_poll());
    poll.answer().await.unwrap().result();
    assert_eq!(fake.refusals(), []);
}

#[tokio::test]
async fn webhook_refuses_polls_until_it_is_deleted() {
    let fake = fake().await;
    fake.private_text(USER, "hi");
    let info = async || call(&fake, "getWebhookInfo", &json!({})).await.result()["url"].clone();
    assert_eq!(info().await, "");
    fake.set_webhook();
    assert_eq!(info().await, "https://hooks.example.org/bot");
    let conflict = "Conflict: can't use getUpdates method while webhook is active; use \
                    deleteWebhook to delete the webhook first";
    let refusal = call(&fake, "getUpdates", &json!({})).await.refusal();
    assert_eq!(refusal, (409, conflict.to_owned()));
    call(&fake, "deleteWebhook", &json!({})).await.result();
    assert_eq!(updates(&fake, &json!({})).await.len(), 1);
    call(&fake, "deleteWebhook", &json!({ "drop_pending_updates": true })).await.result();
    assert_eq!(updates(&fake, &json!({})).await.len(), 0);
}

#[tokio::test]
async fn break_poll_ends_a_waiting_poll_in_each_way() {
    let fake = fake().await;
    for how in [Break::Cut, Break::Reset] {
        let mut poll = held_poll(&fake).await;
        assert!(fake.break_poll(how));
        poll.answer().await.unwrap_err();
    }
    let mut poll = held_poll(&fake).await;
    assert!(fake.break_poll(Break::Refuse(ApiError::bad_gateway())));
    assert_eq!(poll.answer().await.unwrap().refusal(), (502, "Bad Gateway".to_owned()));

    let mut hung = held_poll(&fake).await;
    assert!(fake.break_poll(Break::Hang));
    fake.private_text(USER, "hi");
    assert_eq!(updates(&fake, &json!({})).await.len(), 1);
    still_waits(&fake, &mut hung).await;
    assert_eq!(fake.refusals(), []);
}

/// Checks that the request is still open after the fake has answered another one.
async fn still_waits(fake: &TelegramFake, sent: &mut client::PendingCall) {
    call(fake, "getMe", &json!({})).await;
    tokio::select! {
        biased;
        answer = sent.answer() => panic!("{answer:?}"),
        () = tokio::task::yield_now() => {}
    }
}

#[tokio::test]
async fn allowed_updates_leave_out_other_kinds() {
    let fake = fake().await;
    updates(&fake, &json!({ "allowed_updates": ["message"] })).await;
    assert_eq!(fake.push("poll", json!({})), None);
    fake.private_text(USER, "hi");
    assert_eq!(updates(&fake, &json!({})).await.len(), 1, "the list is remembered");
    updates(&fake, &json!({ "allowed_updates": "[]" })).await;
    assert!(fake.push("brand_new", json!({ "a": 1 })).is_some());
    assert_eq!(updates(&fake, &json!({ "offset": -1 })).await[0]["brand_new"], json!({ "a": 1 }));
}

#[tokio::test]
async fn updates_expire_after_a_day() {
    let fake = fake().await;
    fake.private_text(USER, "hi");
    fake.advance(UPDATE_KEPT);
    assert_eq!(updates(&fake, &json!({})).await.len(), 0);
    fake.restart_update_ids(5);
    assert_eq!(fake.private_text(USER, "hi").update, Some(5));
}

#[tokio::test]
async fn token_that_is_wrong_or_revoked_is_unauthorised() {
    let fake = fake().await;
    let unauthorised = (401, "Unauthorized".to_owned());
    let mut wrong = post(&fake, "/bot1:x/getMe", "application/json", b"{}").await;
    assert_eq!(wrong.answer().await.unwrap().refusal(), unauthorised);
    assert_eq!(call(&fake, "GETME", &json!({})).await.result()["username"], USERNAME);
    let mut poll = held_poll(&fake).await;
    fake.revoke();
    assert_eq!(poll.answer().await.unwrap().refusal(), unauthorised);
    assert_eq!(call(&fake, "getMe", &json!({})).await.refusal(), unauthorised);
    assert_eq!(fake.calls("getMe"), 1, "a refused request counts as no call");
}

#[tokio::test]
async fn request_that_cannot_be_parsed_is_refused() {
    let method = format!("/bot{TOKEN}/sendMessage");
    let form = "multipart/form-data; boundary=XX";
    let cases = [
        ("/elsewhere", "application/json", "{}", (404, "Not Found")),
        (&method, "application/json", "{oops", (400, "Bad Request: can't parse JSON object")),
        (&method, "application/json", "[]", (400, "Bad Request: can't parse JSON object")),
        (&method, "text/plain", "{}", (400, "Bad Request: unsupported content-type")),
        (&method, form, "--XX\r\n", (400, "Bad Request: can't parse multipart/form-data")),
        (&method, form, "--YY--\r\n", (400, "Bad Request: can't parse multipart/form-data")),
    ];
    for (path, media_type, body, (status, description)) in cases {
        let fake = fake().await;
        let answer = post(&fake, path, media_type, body.as_bytes()).await.answer().await.unwrap();
        assert_eq!(answer.refusal(), (status, description.to_owned()), "{path} {body}");
        assert_eq!(fake.refusals().len(), 1);
    }
}

#[tokio::test]
async fn request_without_a_body_has_no_parameters() {
    let fake = fake().await;
    let request = format!("GET /bot{TOKEN}/getMe HTTP/1.1\r\n\r\n");
    send(&fake, request.as_bytes()).await.answer().await.unwrap().result();
}

#[tokio::test]
async fn inject_flood_hits_the_calls_of_its_chat_and_then_ends() {
    let fake = fake().await;
    fake.open_chat(8);
    fake.inject(On::method("sendMessage").chat(USER), 2, InjectedFault::flood(17));
    call(&fake, "sendMessage", &json!({ "chat_id": 8, "text": "x" })).await.result();
    let action = json!({ "chat_id": USER, "action": "typing" });
    call(&fake, "sendChatAction", &action).await.result();
    for _ in 0..2 {
        let answer = call(&fake, "sendMessage", &text("x")).await;
        assert_eq!(answer.refusal(), (429, "Too Many Requests: retry after 17".to_owned()));
        assert_eq!(answer.json()["parameters"], json!({ "retry_after": 17 }));
        assert!(answer.headers.contains("retry-after: 17\r\n"), "{}", answer.headers);
    }
    call(&fake, "sendMessage", &text("x")).await.result();
    assert_eq!((fake.sent().len(), fake.calls("SendMessage")), (2, 4));
    assert_eq!(fake.refusals(), [], "a fault is not a refusal");
}

#[tokio::test]
async fn inject_hits_every_call_until_clear_faults() {
    let fake = fake().await;
    fake.inject(On::any(), usize::MAX, InjectedFault::Refuse(ApiError::conflict()));
    for method in ["getMe", "getUpdates"] {
        assert_eq!(call(&fake, method, &json!({})).await.refusal().0, 409);
    }
    fake.clear_faults();
    call(&fake, "getMe", &json!({})).await.result();
}

#[tokio::test]
async fn inject_break_happens_before_or_after_processing() {
    let breaks = [
        (InjectedFault::ResetBefore, 0),
        (InjectedFault::ResetAfter, 1),
        (InjectedFault::CutAnswer, 1),
    ];
    for (fault, processed) in breaks {
        let fake = fake().await;
        fake.inject(On::method("sendMessage"), 1, fault.clone());
        start(&fake, "sendMessage", &text("x")).await.answer().await.unwrap_err();
        assert_eq!(fake.sent().len(), processed, "{fault:?}");
    }
    for (fault, processed) in [(InjectedFault::Hang, 0), (InjectedFault::HangAfter, 1)] {
        let fake = fake().await;
        fake.inject(On::method("sendMessage"), 1, fault.clone());
        let mut hung = start(&fake, "sendMessage", &text("x")).await;
        fake.wait_for_calls("sendMessage", 1).await;
        assert_eq!(fake.sent().len(), processed, "{fault:?}");
        still_waits(&fake, &mut hung).await;
    }
}

#[tokio::test]
async fn inject_page_answers_with_html_before_or_after_processing() {
    for (fault, processed) in [(InjectedFault::Page(502), 0), (InjectedFault::PageAfter(504), 1)] {
        let fake = fake().await;
        fake.inject(On::method("sendMessage"), 1, fault.clone());
        let answer = call(&fake, "sendMessage", &text("x")).await;
        assert!(answer.headers.contains("text/html"), "{}", answer.headers);
        assert_eq!(fake.sent().len(), processed, "{fault:?}");
    }
}

#[tokio::test]
async fn inject_hold_answer_waits_for_a_permit() {
    let fake = fake().await;
    let permits = Arc::new(Semaphore::new(0));
    fake.inject(On::method("sendMessage"), 1, InjectedFault::HoldAnswer(permits.clone()));
    let mut held = start(&fake, "sendMessage", &text("x")).await;
    assert_eq!(fake.wait_for_sent(1).await[0].text, "x");
    still_waits(&fake, &mut held).await;
    permits.add_permits(1);
    assert_eq!(held.answer().await.unwrap().result()["text"], "x");
}

#[tokio::test]
async fn poll_with_a_fault_does_not_wait() {
    let fake = fake().await;
    fake.inject(On::method("getUpdates"), 1, InjectedFault::CutAnswer);
    let mut poll = start(&fake, "getUpdates", &json!({ "timeout": 30 })).await;
    poll.answer().await.unwrap_err();
}

#[tokio::test]
async fn updates_have_the_form_that_telegram_sends() {
    let fake = fake().await;
    let first = fake.topic_text(USER, FORUM, 5, "/start@avocet_bot now");
    fake.say(UserMessage::group(8, FORUM, "yes").reply_to(first.id).by_bot());
    fake.edit(first, "👉 @avocet_bot");
    fake.album(USER, USER, "g1", &["a", "b"], "look");
    fake.say(UserMessage::private(USER, "x").forwarded_from(9, 12));
    fake.block(USER);
    let found = updates(&fake, &json!({})).await;

    let message = |place: usize| &found[place]["message"];
    let date = fake.now().0 / 1000;
    assert_eq!(message(0)["message_thread_id"], 5);
    assert_eq!(
        (&message(0)["date"], &message(0)["chat"]["type"]),
        (&json!(date), &json!("supergroup"))
    );
    let command = json!({ "type": "bot_command", "offset": 0, "length": 17 });
    assert_eq!(message(0)["entities"], json!([command]));
    assert_eq!(message(1)["reply_to_message"]["message_id"], first.id);
    assert_eq!(message(1)["from"]["is_bot"], true);
    let edited = &found[2]["edited_message"];
    let mention = json!({ "type": "mention", "offset": 3, "length": 11 });
    assert_eq!(
        (&edited["text"], &edited["entities"]),
        (&json!("👉 @avocet_bot"), &json!([mention]))
    );
    assert_eq!((&edited["message_id"], &edited["edit_date"]), (&json!(first.id), &json!(date)));
    assert_eq!((&message(3)["caption"], &message(4)["caption"]), (&json!("look"), &Value::Null));
    assert_eq!(message(3)["media_group_id"], message(4)["media_group_id"]);
    assert_eq!(message(4)["photo"][0]["file_id"], "b");
    assert_eq!(message(5)["forward_origin"]["sender_user"]["id"], 9);
    assert_eq!(found[6]["my_chat_member"]["new_chat_member"]["status"], "kicked");
}

#[tokio::test]
async fn press_contains_the_message_of_its_button() {
    let fake = fake().await;
    let button = json!({ "text": "yes", "callback_data": "y" });
    let mut args = text("sure?");
    args["reply_markup"] = json!({ "inline_keyboard": [[button]] });
    call(&fake, "sendMessage", &args).await.result();
    let query = fake.press(USER, &fake.sent()[0], "y");
    let found = updates(&fake, &json!({})).await;
    let found = &found[0]["callback_query"];
    assert_eq!((&found["id"], &found["data"]), (&json!(query), &json!("y")));
    assert_eq!(found["message"]["text"], "sure?");
    assert_eq!(found["from"]["id"], USER);
}

#[tokio::test]
#[should_panic(expected = "no button")]
async fn press_panics_on_a_missing_button() {
    let fake = fake().await;
    call(&fake, "sendMessage", &text("sure?")).await.result();
    fake.press(USER, &fake.sent()[0], "y");
}

#[tokio::test]
async fn wait_for_ends_once_its_condition_holds() {
    let fake = fake().await;
    let send = async {
        for word in ["a", "b"] {
            call(&fake, "sendMessage", &text(word)).await.result();
        }
    };
    let has_b = |sent: &[SentMessage]| sent.iter().any(|sent| sent.text == "b");
    let (sent, ()) = tokio::join!(fake.wait_for(has_b), send);
    assert_eq!(sent.len(), 2);
    assert_eq!(fake.requests("sendMessage")[1].args, text("b"));
}

#[test]
fn telegram_fake_is_send_and_sync() {
    fn shared<T: Send + Sync>(value: T) -> T {
        value
    }
    fn sent<T: Send>(future: impl Future<Output = T> + Send) -> impl Future<Output = T> + Send {
        future
    }
    drop(sent(async {
        let fake = shared(TelegramFake::start(TOKEN).await);
        fake.wait_for_sent(1).await;
        fake.wait_for_poll().await;
    }));
}
