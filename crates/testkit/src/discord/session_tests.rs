use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Value, json};

use super::super::client::{INTENTS, Socket, TOKEN, after, id, identify, known};
use super::super::{GatewayFault, PAYLOAD_LIMIT, PAYLOAD_WINDOW, UserMessage};

#[tokio::test]
async fn session_begins_with_ready_and_the_guilds() {
    let known = known().await;
    let mut socket = Socket::greeted(&known.fake).await;
    socket.send(&json!({ "op": 1, "d": null })).await;
    assert_eq!(socket.next().await["op"], 11);
    socket.send(&identify(&format!("Bot {TOKEN}"), INTENTS)).await;
    let ready = socket.event("READY").await;
    assert_eq!(ready["guilds"], json!([{ "id": known.guild.to_string(), "unavailable": true }]));
    assert_eq!(id(&ready["application"]), known.fake.bot());
    let guild = socket.event("GUILD_CREATE").await;
    assert_eq!(id(&guild["channels"][0]), known.channel);
    assert_eq!(id(&guild["threads"][0]), known.thread);
    let [identified] = &known.fake.identifies()[..] else { panic!() };
    assert_eq!((identified.connection, identified.intents), (1, INTENTS));
    assert_eq!(known.fake.identifies_left(), 999);
    assert_eq!(known.fake.heartbeats(), 1);
    assert!(known.fake.is_connected());
}

#[tokio::test]
async fn guild_create_shows_the_last_message_of_channels_and_threads() {
    let known = known().await;
    let quiet = known.fake.channel(known.guild, "quiet");
    let said = known.fake.say(known.channel, known.user, "hello");
    let mine = known.created(known.thread, &json!({})).await;
    let archived = known.fake.thread(known.channel, "long ago");
    known.fake.archive(archived);
    let (mut socket, _) = Socket::ready(&known.fake, INTENTS).await;
    let guild = socket.event("GUILD_CREATE").await;
    let last = |place: &Value| (id(place), place["last_message_id"].clone());
    let listed = |list: &str| guild[list].as_array().unwrap().iter().map(last).collect::<Vec<_>>();
    let channels = [(known.channel, json!(said.to_string())), (quiet, Value::Null)];
    assert_eq!(listed("channels"), channels);
    assert_eq!(listed("threads"), [(known.thread, json!(mine.to_string()))]);
    let private = known.fake.say(known.dm, known.user, "between us").to_string();
    let dm = known.get(&format!("/channels/{}", known.dm)).await.result();
    assert_eq!(dm["last_message_id"], private);

    socket.event("MESSAGE_CREATE").await;
    known.fake.say(archived, known.user, "again");
    let unarchived = socket.event("THREAD_UPDATE").await;
    assert_eq!(
        (id(&unarchived), &unarchived["thread_metadata"]["archived"]),
        (archived, &json!(false))
    );
    let path = format!("/guilds/{}/threads/active", known.guild);
    assert_eq!(known.get(&path).await.result()["threads"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn session_closes_with_a_code_for_each_client_error() {
    let known = known().await;
    let bad = |d: Value| json!({ "op": 2, "d": d });
    for (payload, code) in [
        (json!({ "op": 3, "d": {} }), 4003),
        (json!({ "op": 8, "d": {} }), 4003),
        (json!({ "op": 99 }), 4001),
        (json!({ "d": 1 }), 4002),
        (bad(json!({ "token": TOKEN, "intents": 1 })), 4002),
        (bad(json!({ "intents": 1, "properties": {} })), 4002),
        (bad(json!({ "token": TOKEN, "properties": {} })), 4013),
        (json!({ "op": 1, "d": "a".repeat(4096) }), 4002),
        (identify("x", INTENTS), 4004),
        (identify(TOKEN, 1 << 17), 4013),
        (identify(TOKEN, INTENTS | 1 << 1), 4014),
        (json!({ "op": 6, "d": { "token": "x", "session_id": "x", "seq": 0 } }), 4004),
        (json!({ "op": 6, "d": { "token": TOKEN } }), 4002),
    ] {
        assert_eq!(after(&known.fake, &payload).await.closed().await, code, "{payload}");
    }
    let mut socket = Socket::greeted(&known.fake).await;
    socket.send_text("{").await;
    assert_eq!(socket.closed().await, 4002);
    assert_eq!(known.fake.identifies(), []);
}

#[tokio::test]
async fn session_of_another_gateway_version_is_refused() {
    let known = known().await;
    let socket = Socket::open(&format!("{}/?v=9", known.fake.gateway_url())).await.unwrap();
    assert_eq!(socket.closed().await, 4012);
}

#[tokio::test]
async fn message_content_needs_the_grant_and_the_intent() {
    let known = known().await;
    let (mut socket, _) = Socket::ready(&known.fake, INTENTS & !(1 << 15)).await;
    socket.event("GUILD_CREATE").await;
    known.fake.say(known.channel, known.user, "secret");
    assert_eq!(socket.event("MESSAGE_CREATE").await["content"], "");
    known.fake.post(UserMessage::new(known.channel, known.user, "hi").mention());
    let mention = format!("<@{}> hi", known.fake.bot());
    assert_eq!(socket.event("MESSAGE_CREATE").await["content"], mention);
    known.fake.say(known.dm, known.user, "between us");
    assert_eq!(socket.event("MESSAGE_CREATE").await["content"], "between us");
    known.fake.grant_message_content(false);
    let refused = after(&known.fake, &identify(TOKEN, INTENTS)).await;
    assert_eq!(refused.closed().await, 4014);
}

#[tokio::test]
async fn session_closes_on_a_second_identify_or_too_many_payloads() {
    let known = known().await;
    let (mut socket, _) = Socket::ready(&known.fake, 0).await;
    socket.send(&identify(TOKEN, 0)).await;
    assert_eq!(socket.closed().await, 4005);
    known.fake.limit_rates(true);
    let heartbeat = json!({ "op": 1, "d": null });
    let mut socket = Socket::greeted(&known.fake).await;
    for _ in 0..PAYLOAD_LIMIT {
        socket.send(&heartbeat).await;
        assert_eq!(socket.next().await["op"], 11);
    }
    known.fake.advance(PAYLOAD_WINDOW);
    for _ in 0..PAYLOAD_LIMIT {
        socket.send(&heartbeat).await;
        assert_eq!(socket.next().await["op"], 11);
    }
    socket.send(&heartbeat).await;
    assert_eq!(socket.closed().await, 4008);
}

#[tokio::test]
async fn inject_gateway_breaks_connections_as_scripted() {
    let known = known().await;
    let url = format!("{}/?v=10", known.fake.gateway_url());
    known.fake.inject_gateway(1, GatewayFault::Reset);
    assert!(Socket::open(&url).await.is_err());
    known.fake.inject_gateway(1, GatewayFault::NoHello);
    let mut silent = Socket::open(&url).await.unwrap();
    silent.send(&identify(TOKEN, 0)).await;
    known.fake.inject_gateway(2, GatewayFault::Close(4000));
    for _ in 0..2 {
        assert_eq!(after(&known.fake, &identify(TOKEN, 0)).await.closed().await, 4000);
    }
    known.fake.inject_gateway(1, GatewayFault::InvalidSession { resumable: true });
    let mut socket = after(&known.fake, &identify(TOKEN, 0)).await;
    assert_eq!(socket.next().await["d"], true);
    assert_eq!(known.fake.identifies(), []);
    Socket::ready(&known.fake, 0).await;
    // Until now the silent connection has received no message.
    known.fake.close_connections(4000);
    assert_eq!(silent.closed().await, 4000);
}

#[tokio::test]
async fn session_sends_the_payloads_that_a_test_scripts() {
    let known = known().await;
    let (mut socket, _) = Socket::ready(&known.fake, 0).await;
    known.fake.request_reconnect();
    assert_eq!(socket.next().await["op"], 7);
    known.fake.request_heartbeat();
    assert_eq!(socket.next().await["op"], 1);
    known.fake.push("NEW_THING", &json!({ "a": 1 }));
    assert_eq!(socket.event("NEW_THING").await, json!({ "a": 1 }));
    known.fake.push_raw("{");
    assert_eq!(socket.next_text().await, "{");
    known.fake.acknowledge_heartbeats(false);
    socket.send(&json!({ "op": 1, "d": null })).await;
    known.fake.wait_for_heartbeats(1).await;
    known.fake.invalidate_session(false);
    // The heartbeat got no acknowledgement before this.
    assert_eq!(socket.next().await, json!({ "op": 9, "t": null, "s": null, "d": false }));
    known.fake.close_connections(1001);
    assert_eq!(socket.closed().await, 1001);
    known.fake.wait_for_disconnected().await;
}

#[tokio::test]
async fn connection_that_never_opens_ends_with_its_client() {
    let known = known().await;
    known.fake.inject_gateway(1, GatewayFault::Hang);
    let url = format!("{}/?v=10", known.fake.gateway_url());
    let open = Socket::open(&url);
    let mut open = std::pin::pin!(open);
    tokio::select! {
        biased;
        _ = &mut open => panic!("it opened"),
        () = known.fake.wait_for_connections(1) => {}
    }
    Socket::ready(&known.fake, 0).await;
    assert!(open.now_or_never().is_none());
}

#[tokio::test]
async fn hello_contains_the_heartbeat_interval() {
    let known = known().await;
    known.fake.set_heartbeat_interval(Duration::from_millis(50));
    let url = format!("{}/?v=10", known.fake.gateway_url());
    let mut socket = Socket::open(&url).await.unwrap();
    assert_eq!(socket.next().await["d"]["heartbeat_interval"], 50);
}
