use std::time::Duration;

use serde_json::{Value, json};

use super::super::client::{TOKEN, id, known, messages, raw, request, send};
use super::super::{LINK_KEPT, Route, UserMessage};

#[tokio::test]
async fn gateway_is_public_and_gateway_bot_shows_the_budget() {
    let known = known().await;
    let open = request("GET", "/gateway", None, &Value::Null);
    let answer = send(&known.fake, &open).await.answer().await.unwrap().result();
    assert_eq!(answer, json!({ "url": known.fake.gateway_url() }));
    let answer = known.get("/gateway/bot").await.result();
    let limit = json!({ "total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1 });
    assert_eq!((&answer["shards"], &answer["session_start_limit"]), (&json!(1), &limit));
}

#[tokio::test]
async fn methods_refuse_a_wrong_token() {
    let known = known().await;
    let unauthorized = (401, 0, "401: Unauthorized".to_owned());
    for token in [None, Some(TOKEN), Some("Bot x"), Some("Bearer a.b.c")] {
        let request = request("GET", "/users/@me", token, &Value::Null);
        let answer = send(&known.fake, &request).await.answer().await.unwrap();
        assert_eq!(answer.refusal(), unauthorized, "{token:?}");
    }
    assert_eq!(id(&known.get("/users/@me").await.result()), known.fake.bot());
    known.fake.revoke();
    assert_eq!(known.get("/users/@me").await.refusal(), unauthorized);
}

#[tokio::test]
async fn methods_refuse_unknown_routes_and_verbs() {
    let known = known().await;
    let not_found = (404, 0, "404: Not Found".to_owned());
    assert_eq!(known.get("/users/@me/dance").await.refusal(), not_found);
    let answer = send(&known.fake, b"GET /api/v9/gateway HTTP/1.1\r\n\r\n").await.answer().await;
    assert_eq!(answer.unwrap().refusal(), not_found);
    let not_allowed = (405, 0, "405: Method Not Allowed".to_owned());
    assert_eq!(known.ask("PUT", "/gateway", &Value::Null).await.refusal(), not_allowed);
    let mut sent = send(&known.fake, b"POST /attachments/1/2/a HTTP/1.1\r\n\r\n").await;
    assert_eq!(sent.answer().await.unwrap().refusal(), not_allowed);
    let errors = known.get("/channels/abc").await.errors();
    assert_eq!(errors, ["channel_id NUMBER_TYPE_COERCE: Value \"abc\" is not snowflake."]);
    let first = &known.fake.refusals()[0];
    assert_eq!((first.route, &*first.request), (None, "GET /api/v10/users/@me/dance"));
}

#[tokio::test]
async fn methods_refuse_a_body_that_is_not_json() {
    let known = known().await;
    let token = format!("Bot {TOKEN}");
    let broken = raw("POST", &messages(known.dm), Some(&token), "application/json", b"{");
    let answer = send(&known.fake, &broken).await.answer().await.unwrap();
    let why = "The request body contains invalid JSON.";
    assert_eq!(answer.refusal(), (400, 50109, why.to_owned()));
    let text = raw("POST", &messages(known.dm), Some(&token), "text/plain", b"{}");
    let answer = send(&known.fake, &text).await.answer().await.unwrap();
    let reason = "_ CONTENT_TYPE_INVALID: Expected \"Content-Type\" header to be one of \
                  {'application/json'}.";
    assert_eq!(answer.errors(), [reason]);
}

#[tokio::test]
async fn guilds_show_their_channels_and_active_threads() {
    let known = known().await;
    let hidden = known.fake.channel(known.guild, "hidden");
    known.fake.hide(hidden);
    let channels = known.get(&format!("/guilds/{}/channels", known.guild)).await.result();
    assert_eq!(channels.as_array().unwrap().iter().map(id).collect::<Vec<_>>(), [known.channel]);
    let path = format!("/guilds/{}/threads/active", known.guild);
    let threads = known.get(&path).await.result();
    assert_eq!(id(&threads["threads"][0]), known.thread);
    assert_eq!(threads["threads"][0]["parent_id"], known.channel.to_string());
    assert_eq!(id(&known.get("/users/@me/guilds").await.result()[0]), known.guild);
    let dm = known.get(&format!("/channels/{}", known.dm)).await.result();
    assert_eq!((&dm["type"], id(&dm["recipients"][0])), (&json!(1), known.user));
    known.fake.kick(known.guild);
    let unknown = (404, 10004, "Unknown Guild".to_owned());
    assert_eq!(known.get(&path).await.refusal(), unknown);
    let channels = known.get(&format!("/guilds/{}/channels", known.guild)).await;
    assert_eq!(channels.refusal(), unknown);
    assert_eq!(known.get("/users/@me/guilds").await.result(), json!([]));
}

#[tokio::test]
async fn direct_messages_are_opened_once_and_with_people_only() {
    let known = known().await;
    let open = |user: u64| json!({ "recipient_id": user.to_string() });
    let dm = known.post("/users/@me/channels", &open(known.user)).await.result();
    assert_eq!(id(&dm), known.dm);
    let invalid = (400, 50033, "Invalid Recipient(s)".to_owned());
    for user in [404, known.fake.bot()] {
        assert_eq!(known.post("/users/@me/channels", &open(user)).await.refusal(), invalid);
    }
}

#[tokio::test]
async fn application_is_the_bot() {
    let known = known().await;
    for path in ["/applications/@me", "/oauth2/applications/@me"] {
        assert_eq!(id(&known.get(path).await.result()), known.fake.bot());
    }
}

#[tokio::test]
async fn typing_is_counted() {
    let known = known().await;
    let path = format!("/channels/{}/typing", known.thread);
    known.post(&path, &Value::Null).await.nothing();
    known.fake.wait_for_calls(Route::Typing, 1).await;
    assert_eq!(known.fake.requests(Route::Typing)[0].channel, Some(known.thread));
}

#[tokio::test]
async fn file_link_expires_and_is_renewed_with_its_message() {
    let known = known().await;
    let said = UserMessage::new(known.dm, known.user, "look");
    let message = known.fake.post(said.file_of_size("a.txt", "text/plain", 1 << 30, b"bytes"));
    let path = format!("{}/{message}", messages(known.dm));
    let download = async || {
        let described = known.get(&path).await.result();
        assert_eq!(described["attachments"][0]["size"], 1 << 30);
        described["attachments"][0]["url"].as_str().unwrap().to_owned()
    };
    let get = async |url: &str| {
        let path = url.strip_prefix(&known.fake.base_url()).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
        send(&known.fake, request.as_bytes()).await.answer().await.unwrap()
    };
    let url = download().await;
    assert_eq!(get(&url).await.bytes, b"bytes");
    known.fake.advance(LINK_KEPT + Duration::from_secs(1));
    let gone = get(&url).await;
    let why = "This content is no longer available.";
    assert_eq!((gone.status, String::from_utf8(gone.bytes).unwrap()), (404, why.to_owned()));
    let url = download().await;
    assert_eq!(get(&url).await.bytes, b"bytes");
    let (unsigned, _) = url.split_once('?').unwrap();
    assert_eq!(get(unsigned).await.status, 404);
    assert_eq!(get(&url.replace("a.txt", "b.txt")).await.status, 404);
    known.fake.delete(message);
    assert_eq!(get(&url).await.status, 404);
}
