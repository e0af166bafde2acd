//! Messages and sends, and the wait for an outcome.

use std::time::Duration;

use avocet_gateway::testing::session;
use avocet_protocol::bus::PublishError;
use avocet_protocol::chat::{Content, Outcome};
use avocet_protocol::ids::{MessageId, TurnId};
use avocet_protocol::store::StoreError;
use avocet_protocol::turn::{TurnEvent, TurnEvents};
use serde_json::json;

use super::world::World;

const MESSAGE: &str = r#"{"session": "terminal:local:a", "text": "hello"}"#;

#[tokio::test]
async fn publish_answers_202_after_the_commit_and_absorbs_a_repeated_key() {
    let world = World::new();
    let key = ["Idempotency-Key: k1"];
    let first = world.ask_with("POST /v1/messages", &key, MESSAGE).await;
    assert_eq!((first.status, first.json()), (202, json!({"id": "m1", "duplicate": false})));
    assert_eq!(first.header("location"), Some("/v1/messages/m1"));
    // The same key in quotation marks, as structured fields write it.
    let quoted = ["Idempotency-Key: \"k1\""];
    let again = world.ask_with("POST /v1/messages", &quoted, MESSAGE).await;
    assert_eq!((again.status, again.json()), (200, json!({"id": "m1", "duplicate": true})));
    let other = MESSAGE.replace("hello", "goodbye");
    let taken = world.ask_with("POST /v1/messages", &key, &other).await;
    assert_eq!(
        (taken.status, taken.header("content-type")),
        (409, Some("application/problem+json"))
    );
    let detail = taken.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("\"k1\" was used in this chat for another message (m1)"), "{detail}");
    let asked = world.daemon.asked.lock()[0].clone();
    assert_eq!(asked.sender.id.as_str(), "http:phone");
    assert_eq!((asked.content, asked.address), (Content::text("hello"), session().address()));
}

#[tokio::test]
async fn publish_without_a_key_gets_a_generated_one() {
    let world = World::new();
    for number in ["m1", "m2"] {
        let answer = world.ask("POST /v1/messages", MESSAGE).await;
        assert_eq!((answer.status, &answer.json()["id"]), (202, &json!(number)));
    }
}

#[tokio::test]
async fn publish_errors_are_problems_with_a_status_and_the_reason() {
    let world = World::new();
    let path = "db".to_owned();
    let table = [
        (PublishError::Stopping, 503, "urn:avocet:problem:unavailable", "the daemon is stopping"),
        (PublishError::Empty, 400, "urn:avocet:problem:invalid-request", "the message is empty"),
        (
            PublishError::Log(StoreError::Full { path }),
            503,
            "urn:avocet:problem:unavailable",
            "the disk that holds db is full",
        ),
        (
            PublishError::NotAllowed {
                channel: "telegram".to_owned(),
                sender: "http:phone".to_owned(),
            },
            403,
            "urn:avocet:problem:not-allowed",
            "http:phone may not speak on telegram",
        ),
    ];
    for (refusal, status, kind, says) in table {
        *world.daemon.refusal.lock() = Some(refusal);
        let answer = world.ask("POST /v1/messages", MESSAGE).await;
        let problem = answer.json();
        assert_eq!((answer.status, &problem["status"]), (status, &json!(status)), "{problem}");
        assert_eq!(problem["type"], kind);
        assert!(problem["detail"].as_str().unwrap().contains(says), "{problem}");
        assert!(problem["title"].is_string(), "{problem}");
        assert_eq!(answer.header("retry-after").is_some(), status == 503);
    }
}

#[tokio::test]
async fn publish_is_completed_although_the_client_disconnected() {
    let world = World::new();
    let ((began, begins), (go, go_on)) = (flume::bounded(1), flume::bounded(1));
    *world.daemon.slow.lock() = Some((began, go_on));
    let mut client = world.begin("POST /v1/messages").await;
    drop(client.answer().await);
    let length = format!("Content-Length: {}\r\n\r\n{MESSAGE}", MESSAGE.len());
    let head = world.head().join("\r\n");
    client.write(format!("POST /v1/messages HTTP/1.1\r\n{head}\r\n{length}").as_bytes()).await;
    begins.recv_async().await.unwrap();
    drop(client);
    while world.live("connection-") > 0 {
        tokio::task::yield_now().await;
    }
    go.send_async(()).await.unwrap();
    while world.daemon.asked.lock().is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn send_answers_202_with_the_delivery() {
    let world = World::new();
    let answer =
        world.ask("POST /v1/sends", r#"{"chat": "terminal:local:a", "text": "hello"}"#).await;
    assert_eq!(
        (answer.status, answer.json()),
        (202, json!({"delivery": "o9", "duplicate": false}))
    );
}

#[tokio::test]
async fn message_shows_its_progress_at_once_and_waits_for_the_outcome() {
    let world = World::new();
    let open =
        json!({"id": "m1", "session": session(), "turn": null, "outcome": null, "reply": null});
    let now = world.ask("GET /v1/messages/m1", "").await;
    assert_eq!((now.status, now.json()), (200, open.clone()));
    let ended = TurnEvent::Ended {
        turn: Some(TurnId(1)),
        messages: vec![MessageId(1)],
        outcome: Outcome::Replied,
    };
    let (waited, ()) = tokio::join!(world.ask("GET /v1/messages/m1?wait=600", ""), async {
        world.clock.sleeper(Duration::from_secs(600)).await;
        *world.daemon.outcome.lock() = Some(Outcome::Replied);
        world.daemon.emit(&session(), ended);
    });
    assert_eq!(waited.json()["reply"], "the reply");
    *world.daemon.outcome.lock() = None;
    let (late, ()) = tokio::join!(world.ask("GET /v1/messages/m1?wait=60", ""), async {
        world.clock.sleeper(Duration::from_secs(60)).await;
        world.clock.advance(Duration::from_secs(60));
    });
    assert_eq!((late.status, late.json()), (200, open));
}
