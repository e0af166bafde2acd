use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;

use super::super::TelegramFake;
use super::super::client::{TOKEN, USER, call, start};
use crate::http::{HttpFake, HttpRequest, whole};

const URL: &str = "https://bus.example/telegram/main";

/// Starts a server that answers with these statuses, then with 200.
async fn server(statuses: &[u16]) -> (HttpFake, Arc<Mutex<Vec<HttpRequest>>>) {
    let requests = Arc::<Mutex<Vec<HttpRequest>>>::default();
    let (seen, statuses) = (requests.clone(), statuses.to_vec());
    let server = HttpFake::start(move |request| {
        let mut seen = seen.lock();
        seen.push(request);
        let status = statuses.get(seen.len() - 1).copied().unwrap_or(200);
        [whole(status, &[], ""), vec![crate::http::Piece::Close]].concat()
    })
    .await;
    (server, requests)
}

async fn info(fake: &TelegramFake) -> serde_json::Value {
    call(fake, "getWebhookInfo", &json!({})).await.result()
}

#[tokio::test]
async fn set_webhook_refuses_bad_urls_and_secrets() {
    let fake = TelegramFake::start(TOKEN).await;
    let table = [
        ("http://bus.example/", "s", "An HTTPS URL must be provided"),
        ("bus.example", "s", "An HTTPS URL must be provided"),
        ("https://", "s", "invalid webhook URL"),
        ("https://a@bus.example/", "s", "invalid webhook URL"),
        ("https://bus.example:8470/", "s", "only on ports 80, 88, 443 or 8443"),
        ("https://localhost/", "s", "Failed to resolve host"),
        ("https://127.0.0.1/", "s", "Failed to resolve host"),
        (URL, "a secret", "unallowed characters"),
        (URL, "ä", "unallowed characters"),
        (URL, &"s".repeat(257), "too long"),
    ];
    for (url, secret, says) in table {
        let args = json!({ "url": url, "secret_token": secret });
        let (code, why) = call(&fake, "setWebhook", &args).await.refusal();
        assert!(code == 400 && why.contains(says), "{url} {secret}: {why}");
    }
    assert_eq!(info(&fake).await["url"], "");
    let args = json!({ "url": URL, "secret_token": "s".repeat(256), "max_connections": 0 });
    call(&fake, "setWebhook", &args).await.result();
    let shown = info(&fake).await;
    assert_eq!((&shown["url"], &shown["max_connections"]), (&json!(URL), &json!(1)));
    call(&fake, "setWebhook", &json!({ "url": "" })).await.result();
    assert_eq!(info(&fake).await["url"], "");
}

#[tokio::test]
async fn set_webhook_ends_the_open_poll() {
    let fake = TelegramFake::start(TOKEN).await;
    let mut poll = start(&fake, "getUpdates", &json!({ "timeout": 50 })).await;
    fake.wait_for_poll().await;
    call(&fake, "setWebhook", &json!({ "url": URL })).await.result();
    let (code, why) = poll.answer().await.unwrap().refusal();
    assert_eq!((code, why.as_str()), (409, "Conflict: terminated by setWebhook request"));
}

#[tokio::test]
async fn deliver_repeats_an_update_until_a_2xx_and_keeps_the_order() {
    let fake = TelegramFake::start(TOKEN).await;
    let (server, requests) = server(&[503, 401, 204]).await;
    let args = json!({ "url": URL, "secret_token": "s-1", "allowed_updates": ["message"] });
    call(&fake, "setWebhook", &args).await.result();
    fake.private_text(USER, "one");
    fake.private_text(USER, "two");
    assert_eq!(info(&fake).await["pending_update_count"], 2);
    fake.deliver_to(Some(server.address()));
    fake.wait_for_confirmed().await;
    let shown = info(&fake).await;
    assert_eq!(shown["last_error_message"], "Wrong response from the webhook: 401");
    let requests = requests.lock().clone();
    let texts: Vec<String> = requests
        .iter()
        .map(|request| {
            let update: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
            update["message"]["text"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(texts, ["one", "one", "one", "two"]);
    for request in requests {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/telegram/main"));
        assert_eq!(request.header("host"), Some("bus.example"));
        assert_eq!(request.header("x-telegram-bot-api-secret-token"), Some("s-1"));
    }
}

#[tokio::test]
async fn deliver_keeps_updates_while_the_server_is_down() {
    let fake = TelegramFake::start(TOKEN).await;
    call(&fake, "setWebhook", &json!({ "url": URL })).await.result();
    fake.private_text(USER, "one");
    let (server, requests) = server(&[]).await;
    fake.deliver_to(Some("127.0.0.1:1".parse().unwrap()));
    while info(&fake).await["last_error_message"] != "Connection refused" {}
    fake.deliver_to(Some(server.address()));
    fake.wait_for_confirmed().await;
    assert_eq!(requests.lock().len(), 1);
    fake.deliver_to(None);
    fake.private_text(USER, "two");
    assert_eq!(info(&fake).await["pending_update_count"], 1);
}
