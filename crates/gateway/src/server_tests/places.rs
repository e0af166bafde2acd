//! Tests with all places for connections taken.

use std::future::Future;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::world::{World, ask, refused};
use crate::places::{ATTACHED, CONNECTIONS};
use crate::testing::session;
use crate::{AttachParams, RpcError};

async fn raw(world: &World) -> BufReader<UnixStream> {
    BufReader::new(UnixStream::connect(&world.path).await.unwrap())
}

/// Opens `count` connections one second apart, each of which has had an answer.
async fn idle(world: &World, count: usize) -> Vec<BufReader<UnixStream>> {
    let mut connections = Vec::new();
    for _ in 0..count {
        let mut connection = raw(world).await;
        connection.write_all(b"{\"id\":1,\"method\":\"ping\"}\n").await.unwrap();
        assert_eq!(line(&mut connection).await.unwrap()["id"], 1);
        world.clock.advance(Duration::from_secs(1));
        connections.push(connection);
    }
    connections
}

/// Reads the next line; `None` at the end of the connection.
async fn line(connection: &mut BufReader<UnixStream>) -> Option<Value> {
    let mut line = String::new();
    let length = connection.read_line(&mut line).await.unwrap();
    (length > 0).then(|| serde_json::from_str(&line).unwrap())
}

/// Advances the clock while a closing connection has time left.
async fn while_time_passes<T>(world: &World, work: impl Future<Output = T>) -> T {
    let passing = async {
        loop {
            world.clock.sleeper_within(Duration::ZERO..=Duration::from_secs(1)).await;
            world.clock.advance(Duration::from_secs(1));
        }
    };
    tokio::select! {
        done = work => done,
        () = passing => unreachable!(),
    }
}

#[tokio::test]
async fn server_closes_an_idle_connection_for_a_new_one_and_sends_the_reason() {
    let world = World::new();
    let mut connections = idle(&world, CONNECTIONS).await;
    let client = world.client().await;
    assert_eq!(client.request::<Value>("ping", &json!({})).await, Ok(Value::Null));
    let told = line(&mut connections[0]).await.unwrap();
    assert_eq!((&told["id"], &told["error"]["code"]), (&Value::Null, &json!(-32003)));
    let message = told["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("the connection was closed because it was idle"), "{message}");
    assert_eq!(while_time_passes(&world, line(&mut connections[0])).await, None, "then it ends");
    connections[1].write_all(b"{\"id\":2,\"method\":\"ping\"}\n").await.unwrap();
    assert_eq!(line(&mut connections[1]).await.unwrap()["id"], 2, "the next one stays");
}

#[tokio::test]
async fn server_keeps_busy_connections_and_refuses_a_new_one_with_the_reason() {
    let world = World::new();
    let (began, begun) = flume::bounded(CONNECTIONS);
    let (go_on, goes_on) = flume::bounded(CONNECTIONS);
    *world.daemon.slow.lock() = Some((began, goes_on));
    let mut connections = Vec::new();
    for number in 0..CONNECTIONS {
        let mut connection = raw(&world).await;
        let is_attached = number < ATTACHED;
        let request = if is_attached {
            let chat = format!("terminal:local:{number}");
            json!({ "id": 1, "method": "attach", "params": { "chat": chat } })
        } else {
            json!({ "id": 1, "method": "ask", "params": ask(&number.to_string()) })
        };
        connection.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        if is_attached {
            assert!(line(&mut connection).await.unwrap().get("result").is_some());
        } else {
            begun.recv_async().await.unwrap();
        }
        connections.push(connection);
    }
    let (code, message) = refused(world.client().await.request::<Value>("ping", &json!({})).await);
    assert_eq!(code, RpcError::UNAVAILABLE);
    let in_use = "all 512 connections to the daemon are in use (256 have requests under way, 256 are attached to chats)";
    assert!(message.starts_with(in_use), "{message}");

    go_on.send_async(()).await.unwrap();
    assert!(line(&mut connections[ATTACHED]).await.unwrap().get("result").is_some());
    assert_eq!(world.client().await.request::<Value>("ping", &json!({})).await, Ok(Value::Null));
}

#[tokio::test]
async fn attach_is_refused_above_the_limit() {
    let world = World::new();
    let attached = AttachParams::to_chat(session().address());
    let mut clients = Vec::new();
    for _ in 0..ATTACHED {
        let client = world.client().await;
        client.request::<Value>("attach", &attached).await.unwrap();
        clients.push(client);
    }
    let client = world.client().await;
    let (code, message) = refused(client.request::<Value>("attach", &attached).await);
    assert_eq!(code, RpcError::UNAVAILABLE);
    assert!(message.contains("256 connections are attached"), "{message}");
}
