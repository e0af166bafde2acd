//! Streams of turn events, and the end of the server.

use std::time::Duration;

use avocet_gateway::testing::session;
use avocet_protocol::chat::Outcome;
use avocet_protocol::ids::{MessageId, TurnId};
use avocet_protocol::turn::{TurnEvent, TurnEvents};
use serde_json::{Value, json};

use super::world::World;

const STREAM: &str = "GET /v1/sessions/terminal:local:a/stream";

#[tokio::test]
async fn stream_passes_on_the_events_of_the_session() {
    let world = World::new();
    let mut stream = world.begin(STREAM).await;
    let head = stream.head().await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(*world.daemon.heard.lock(), [session()]);
    let text = TurnEvent::Text { delta: "two\nlines ☂".to_owned() };
    let ended = TurnEvent::Ended {
        turn: Some(TurnId(1)),
        messages: vec![MessageId(1)],
        outcome: Outcome::Replied,
    };
    for event in [text, ended] {
        world.daemon.emit(&session(), event.clone());
        let seen: Value = serde_json::from_str(&stream.event().await.unwrap()).unwrap();
        assert_eq!(seen, json!(event));
    }
}

#[tokio::test]
async fn stream_sends_a_comment_while_nothing_happens() {
    let world = World::new();
    let mut stream = world.begin(STREAM).await;
    stream.head().await;
    world.clock.sleeper(Duration::from_secs(15)).await;
    world.clock.advance(Duration::from_secs(15));
    while stream.line().await.unwrap() != ": alive" {}
}

#[tokio::test]
async fn stop_ends_streams_and_closes_the_port_while_waits_finish() {
    let world = World::new();
    let mut stream = world.begin(STREAM).await;
    assert_eq!(stream.head().await.status, 200);
    let mut wait = world.begin("GET /v1/messages/m1?wait=600").await;
    world.clock.sleeper(Duration::from_secs(600)).await;
    world.stop.cancel();
    assert_eq!(stream.event().await, None, "the stream ends");
    *world.daemon.outcome.lock() = Some(Outcome::Replied);
    world.clock.advance(Duration::from_secs(5));
    assert_eq!(wait.answer().await.json()["reply"], "the reply");
    while !world.group.live_tasks().is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(tokio::net::TcpStream::connect(world.server).await.is_err(), "the port is closed");
}

#[tokio::test]
async fn cancelled_group_ends_waits_too() {
    let world = World::new();
    let mut wait = world.begin("GET /v1/messages/m1?wait=600").await;
    world.clock.sleeper(Duration::from_secs(600)).await;
    world.stop.cancel();
    world.group.cancel_tasks();
    assert_eq!(wait.answer().await.status, 0);
}

#[tokio::test]
async fn events_stream_continues_behind_the_last_event_id() {
    let world = World::new();
    for text in ["one", "two"] {
        world.daemon.log.add(session().as_str(), text);
    }
    let table: [(&str, &[&str], &[i64]); 3] = [
        ("GET /v1/events/stream", &[], &[3]),
        ("GET /v1/events/stream?from=0", &[], &[1, 2, 3]),
        ("GET /v1/events/stream?from=0", &["Last-Event-ID: 1"], &[2, 3]),
    ];
    let mut streams = Vec::new();
    for (line, head, _) in table {
        let mut stream = world.begin_with(line, head).await;
        assert_eq!(stream.head().await.status, 200, "{line}");
        while stream.line().await.unwrap() != ": open" {}
        streams.push(stream);
    }
    world.daemon.log.add(session().as_str(), "three");
    for (mut stream, (line, head, expected)) in streams.into_iter().zip(table) {
        for seq in expected {
            let mut lines = Vec::new();
            while lines.len() < 3 {
                let line = stream.line().await.unwrap();
                let is_field =
                    ["id: ", "event: ", "data: "].iter().any(|key| line.starts_with(key));
                lines.extend(is_field.then_some(line));
            }
            assert_eq!(lines[0], format!("id: {seq}"), "{line} {head:?}");
            assert_eq!(lines[1], "event: message.queued");
            let data: Value =
                serde_json::from_str(lines[2].strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(data["seq"], *seq);
        }
    }
    let refused = world.ask_with("GET /v1/events/stream", &["Last-Event-ID: x"], "").await;
    assert_eq!(refused.status, 400, "{refused:?}");
}
