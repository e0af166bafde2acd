use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::client::{INTENTS, Socket, TOKEN, id, known, messages, request, send};
use super::*;

fn create(channel: u64) -> Vec<u8> {
    let body = json!({ "content": "hello", "allowed_mentions": { "parse": [] } });
    request("POST", &messages(channel), Some(&format!("Bot {TOKEN}")), &body)
}

#[tokio::test]
async fn inject_before_processing_has_no_effect() {
    let known = known().await;
    let on = On::route(Route::CreateMessage).channel(known.dm);
    known.fake.inject(on.clone(), 1, InjectedFault::ResetBefore);
    assert!(send(&known.fake, &create(known.dm)).await.answer().await.is_err());
    let shut_out = ApiError::shut_out(Duration::from_secs(9));
    let others = [ApiError::internal(), ApiError::bad_gateway(), ApiError::missing_access()];
    for error in [shut_out].into_iter().chain(others) {
        known.fake.inject(on.clone(), 1, InjectedFault::Refuse(error.clone()));
        // Other channels are unaffected.
        known.create(known.channel, &json!({})).await.result();
        let answer = known.create(known.dm, &json!({})).await;
        assert_eq!(answer.status, error.status);
        assert_eq!(answer.bytes, error.body().into_bytes());
        assert_eq!(answer.header("content-type"), Some(&*error.media_type().to_lowercase()));
        let retry_after = error.retry_after.map(|after| after.as_secs().to_string());
        assert_eq!(answer.header("retry-after"), retry_after.as_deref());
    }
    known.fake.inject(on, usize::MAX, InjectedFault::Hang);
    let _hanging = send(&known.fake, &create(known.dm)).await;
    known.fake.wait_for_calls(Route::CreateMessage, 10).await;
    known.fake.clear_faults();
    assert_eq!(known.fake.sent_in(known.dm), []);
    known.create(known.dm, &json!({})).await.result();
    assert_eq!(known.fake.refusals(), []);
}

#[tokio::test]
async fn inject_after_processing_leaves_the_effect() {
    let known = known().await;
    let on = On::route(Route::CreateMessage);
    for fault in [InjectedFault::ResetAfter, InjectedFault::CutAnswer] {
        known.fake.inject(on.clone(), 1, fault);
        assert!(send(&known.fake, &create(known.dm)).await.answer().await.is_err());
    }
    known.fake.inject(on, 1, InjectedFault::HangAfter);
    let _hanging = send(&known.fake, &create(known.dm)).await;
    assert_eq!(known.fake.wait_for_sent(3).await.len(), 3);
}

#[tokio::test]
async fn inject_hold_answer_waits_for_a_permit() {
    let known = known().await;
    let permits = Arc::new(Semaphore::new(0));
    known.fake.inject(On::any(), 1, InjectedFault::HoldAnswer(permits.clone()));
    let mut sent = send(&known.fake, &create(known.dm)).await;
    known.fake.wait_for_sent(1).await;
    // Without the permit, it would be answered by now.
    known.get("/users/@me").await.result();
    assert!(sent.answer().now_or_never().is_none());
    permits.add_permits(1);
    sent.answer().await.unwrap().result();
}

#[tokio::test]
async fn inject_rate_limit_contains_retry_after() {
    let known = known().await;
    for (error, global, after) in [
        (ApiError::rate_limited(Duration::from_millis(350)), false, 0.35),
        (ApiError::globally_limited(Duration::from_secs(9)), true, 9.0),
    ] {
        known.fake.inject(On::any(), 1, InjectedFault::Refuse(error));
        let answer = known.create(known.dm, &json!({})).await;
        let seconds = if global { "9" } else { "1" };
        assert_eq!((answer.status, answer.header("retry-after")), (429, Some(seconds)));
        let body = answer.json();
        assert_eq!((&body["retry_after"], &body["global"]), (&json!(after), &json!(global)));
        assert_eq!(body["code"], Value::Null);
    }
}

#[tokio::test]
async fn discord_fake_sends_an_event_for_every_change() {
    let known = known().await;
    let fake = &known.fake;
    let (mut socket, _) = Socket::ready(fake, INTENTS).await;
    socket.event("GUILD_CREATE").await;
    let message = fake.say(known.channel, known.user, "hi");
    let said = socket.event("MESSAGE_CREATE").await;
    assert_eq!((id(&said), id(&said["author"])), (message, known.user));
    assert_eq!(said["guild_id"], known.guild.to_string());
    fake.edit(message, "hello");
    let edited = socket.event("MESSAGE_UPDATE").await;
    assert_eq!(
        (&edited["content"], edited["edited_timestamp"].is_string()),
        (&json!("hello"), true)
    );
    fake.delete(message);
    assert_eq!(id(&socket.event("MESSAGE_DELETE").await), message);
    let channel = fake.channel(known.guild, "new");
    assert_eq!(id(&socket.event("CHANNEL_CREATE").await), channel);
    let thread = fake.thread(channel, "newer");
    assert_eq!(socket.event("THREAD_CREATE").await["parent_id"], channel.to_string());
    fake.delete_channel(thread);
    assert_eq!(id(&socket.event("THREAD_DELETE").await), thread);
    fake.delete_channel(channel);
    assert_eq!(id(&socket.event("CHANNEL_DELETE").await), channel);
    fake.kick(known.guild);
    assert_eq!(id(&socket.event("GUILD_DELETE").await), known.guild);
    fake.take_back(known.guild);
    assert_eq!(id(&socket.event("GUILD_CREATE").await), known.guild);
    // Opening a direct chat sends no event.
    let dm = fake.dm(8);
    fake.push("CHANNEL_CREATE", &fake.describe_channel(dm));
    assert_eq!(socket.event("CHANNEL_CREATE").await["recipients"][0]["id"], "8");
    let message = fake.post(UserMessage::new(dm, 8, "hi").by_bot().with("type", 7.into()));
    let said = socket.event("MESSAGE_CREATE").await;
    assert_eq!((&said["author"]["bot"], &said["type"]), (&json!(true), &json!(7)));
    assert_eq!(fake.describe_message(message), said);
}

#[tokio::test]
async fn discord_fake_sends_the_bot_its_own_messages() {
    let known = known().await;
    let (mut socket, _) = Socket::ready(&known.fake, INTENTS).await;
    socket.event("GUILD_CREATE").await;
    let own = known.created(known.channel, &json!({ "nonce": "n" })).await;
    let said = socket.event("MESSAGE_CREATE").await;
    assert_eq!((id(&said), &said["nonce"]), (own, &json!("n")));
    assert_eq!(id(&said["author"]), known.fake.bot());
    let edit = json!({ "content": "x", "allowed_mentions": {} });
    let path = format!("{}/{own}", messages(known.channel));
    known.ask("PATCH", &path, &edit).await.result();
    assert_eq!(socket.event("MESSAGE_UPDATE").await["content"], "x");
    known.ask("DELETE", &path, &Value::Null).await.nothing();
    assert_eq!(id(&socket.event("MESSAGE_DELETE").await), own);
}

#[tokio::test]
async fn interaction_events_contain_presses_and_commands() {
    let known = known().await;
    let (mut socket, _) = Socket::ready(&known.fake, INTENTS).await;
    socket.event("GUILD_CREATE").await;
    let button = json!({ "type": 2, "style": 1, "label": "yes", "custom_id": "y" });
    let more = json!({ "components": [{ "type": 1, "components": [button] }] });
    let message = known.created(known.channel, &more).await;
    socket.event("MESSAGE_CREATE").await;
    let press = known.fake.press(known.user, message, "y");
    let heard = socket.event("INTERACTION_CREATE").await;
    assert_eq!((id(&heard), &heard["type"]), (press, &json!(3)));
    assert_eq!((&heard["data"]["custom_id"], id(&heard["message"])), (&json!("y"), message));
    assert_eq!(id(&heard["member"]["user"]), known.user);
    let options = json!([{ "name": "text", "type": 3, "value": "x" }]);
    known.fake.slash(known.user, known.dm, "ask", &options);
    let heard = socket.event("INTERACTION_CREATE").await;
    assert_eq!((&heard["type"], &heard["data"]["name"]), (&json!(2), &json!("ask")));
    assert_eq!((&heard["data"]["options"], id(&heard["user"])), (&options, known.user));
}

#[tokio::test]
async fn history_alone_contains_messages_sent_without_a_connection() {
    let known = known().await;
    known.fake.say(known.dm, known.user, "early");
    let (mut socket, _) = Socket::ready(&known.fake, INTENTS).await;
    socket.event("GUILD_CREATE").await;
    known.fake.wait_for_connected().await;
    known.fake.say(known.dm, known.user, "late");
    assert_eq!(socket.event("MESSAGE_CREATE").await["content"], "late");
    assert_eq!(known.get(&messages(known.dm)).await.result().as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn discord_fake_outlives_its_clients() {
    let known = known().await;
    for round in 1..=3 {
        let (socket, _) = Socket::ready(&known.fake, INTENTS).await;
        known.created(known.dm, &json!({ "nonce": round })).await;
        assert_eq!(known.fake.wait_for_identifies(round).await.len(), round);
        drop(socket);
        known.fake.wait_for_disconnected().await;
        assert!(!known.fake.is_connected());
    }
    assert_eq!((known.fake.connections(), known.fake.created().len()), (3, 3));
    assert_eq!(known.fake.identifies_left(), START_LIMIT - 3);
    assert_eq!(known.fake.wait_for_resumes(0).await, []);
    known.fake.wait_for_connections(3).await;
}

#[tokio::test]
async fn reply_mentions_the_author_unless_pings_are_off() {
    let known = known().await;
    known.fake.grant_message_content(false);
    let own = known.created(known.channel, &json!({})).await;
    known.fake.post(UserMessage::new(known.channel, known.user, "yes").reply_to(own));
    known.fake.post(UserMessage::new(known.channel, known.user, "no").reply_to(own).without_ping());
    let shown = known.get(&messages(known.channel)).await.result();
    let of = |place: usize| (shown[place]["mentions"].clone(), shown[place]["content"].clone());
    assert_eq!(of(0), (json!([]), json!("")));
    let (mentions, content) = of(1);
    assert_eq!((id(&mentions[0]), content), (known.fake.bot(), json!("yes")));
}

#[tokio::test]
async fn unfurl_is_an_update_and_no_edit() {
    let known = known().await;
    let (mut socket, _) = Socket::ready(&known.fake, INTENTS).await;
    socket.event("GUILD_CREATE").await;
    let message = known.fake.say(known.dm, known.user, "https://a.b");
    socket.event("MESSAGE_CREATE").await;
    known.fake.unfurl(message, &json!({ "type": "link", "url": "https://a.b" }));
    let update = socket.event("MESSAGE_UPDATE").await;
    assert_eq!(
        (&update["edited_timestamp"], &update["embeds"][0]["type"]),
        (&Value::Null, &json!("link"))
    );
}
