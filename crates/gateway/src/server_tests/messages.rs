//! Messages to the agent, and their outcome.

use std::sync::atomic::Ordering;
use std::time::Duration;

use avocet_protocol::chat::{Attachment, AttachmentKind, AttachmentSource, Content, Outcome};
use avocet_protocol::ids::{MessageId, TurnId};
use avocet_protocol::store::MessageStatus;
use avocet_protocol::turn::{TurnEvent, TurnEvents};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;

use super::world::{World, ask, refused};
use crate::testing::session;
use crate::{AskResult, RpcError, Wait};

#[tokio::test]
async fn ask_is_answered_after_the_commit_and_absorbs_a_repeated_key() {
    let world = World::new();
    let client = world.client().await;
    let first: AskResult = client.request("ask", &ask("hello")).await.unwrap();
    assert_eq!(first, AskResult { message: MessageId(1), duplicate: false });
    let again: AskResult = client.request("ask", &ask("hello")).await.unwrap();
    assert_eq!(again, AskResult { message: MessageId(1), duplicate: true });
    let asked = world.daemon.asked.lock()[0].clone();
    let uid = rustix::process::geteuid().as_raw();
    assert_eq!(asked.sender.id.as_str(), format!("uid:{uid}"));
    assert_eq!((asked.content, asked.address), (Content::text("hello"), session().address()));
}

#[tokio::test]
async fn ask_without_a_key_gets_a_generated_one() {
    let world = World::new();
    let line = r#"{"id":1,"method":"ask","params":{"session":"terminal:local:a","text":"hi"}}"#;
    world.raw(format!("{line}\n{line}\n").as_bytes(), 2).await;
    let asked = world.daemon.asked.lock();
    assert_ne!(asked[0].key, asked[1].key);
}

/// The requests of one connection, written without waiting for an answer.
fn write_requests(method: &str, count: usize, params: impl Fn(usize) -> Value) -> String {
    let mut lines = String::new();
    for number in 0..count {
        // Requests that take long or answer at once stand between the messages.
        let other = match number % 500 {
            0 => json!({"id": "slow", "method": "wait", "params": {"message": "m1"}}),
            _ => json!({"id": "fast", "method": "people.list"}),
        };
        if number % 10 == 0 {
            lines.push_str(&format!("{other}\n"));
        }
        let message = json!({"id": number, "method": method, "params": params(number)});
        lines.push_str(&format!("{message}\n"));
    }
    lines
}

#[tokio::test]
async fn messages_of_a_connection_are_stored_in_the_order_of_their_lines() {
    const COUNT: usize = 5_000;
    let ask = |number: usize| json!({"session": "terminal:local:a", "text": "hi", "key": format!("k{number}")});
    let publish = |number: usize| {
        let (key, cursor) = (format!("k{number}"), json!({"position": format!("k{number}")}));
        json!({"chat": "external:irc:#team", "sender": "anna", "text": "hi", "key": key, "cursor": cursor})
    };
    for (method, lines) in [
        ("ask", write_requests("ask", COUNT, ask)),
        ("publish", write_requests("publish", COUNT, publish)),
    ] {
        let world = World::new();
        world.daemon.is_uneven.store(true, Ordering::Relaxed);
        // The answers of the messages and of `people.list`; `wait` never ends here.
        world.raw(lines.as_bytes(), COUNT + COUNT / 10 - COUNT / 500).await;
        let keys = (0..COUNT).map(|number| format!("k{number}"));
        let asked = world.daemon.asked.lock();
        assert!(asked.iter().map(|one| one.key.to_string()).eq(keys.clone()), "{method}");
        if method == "publish" {
            let cursors = world.daemon.cursors.lock();
            let positions = cursors.iter().flatten().map(|cursor| cursor.position.clone());
            assert!(positions.eq(keys));
        }
    }
}

#[tokio::test]
async fn ask_refers_to_files_of_the_client_in_a_chat_that_clients_attach_to() {
    let world = World::new();
    let client = world.client().await;
    let ask = |session: &str| {
        let file = json!({"reference": "f1", "name": "cat.png", "kind": "image"});
        json!({"session": session, "text": "What is it?", "attachments": [file]})
    };
    let _: AskResult = client.request("ask", &ask("terminal:local:a")).await.unwrap();
    let asked = world.daemon.asked.lock()[0].content.clone();
    let source = AttachmentSource::Platform("terminal:local:a\nf1".to_owned());
    let name = Some("cat.png".to_owned());
    let attachment = Attachment { name, ..Attachment::new(AttachmentKind::Image, source) };
    assert_eq!(asked.attachments, [attachment]);
    let (code, message) = refused(client.request::<AskResult>("ask", &ask("telegram:bot:5")).await);
    assert_eq!(code, RpcError::PARAMS);
    assert!(message.contains("telegram:bot:5 takes no files"), "{message}");
}

#[tokio::test]
async fn wait_ends_with_the_outcome() {
    let world = World::new();
    let client = world.client().await;
    let wait = Wait { message: MessageId(1), seconds: None };
    let ended = TurnEvent::Ended {
        turn: Some(TurnId(1)),
        messages: vec![MessageId(1)],
        outcome: Outcome::Replied,
    };
    for missed in [false, true] {
        *world.daemon.outcome.lock() = None;
        let (status, ()) = tokio::join!(client.request::<MessageStatus>("wait", &wait), async {
            world.clock.sleeper(Duration::from_secs(1)).await;
            *world.daemon.outcome.lock() = Some(Outcome::Replied);
            if missed {
                world.clock.advance(Duration::from_mins(1));
            } else {
                world.daemon.emit(&session(), ended.clone());
            }
        });
        assert_eq!(status.unwrap().reply.as_deref(), Some("the reply"));
    }
}

#[tokio::test]
async fn wait_with_seconds_ends_without_an_outcome() {
    let world = World::new();
    let client = world.client().await;
    let now = Wait { message: MessageId(1), seconds: Some(0) };
    let status: MessageStatus = client.request("wait", &now).await.unwrap();
    assert_eq!((status.id, status.outcome), (MessageId(1), None));
    let soon = Wait { seconds: Some(3), ..now };
    let (status, ()) = tokio::join!(client.request::<MessageStatus>("wait", &soon), async {
        world.clock.sleeper_within(..=Duration::from_secs(3)).await;
        world.clock.advance(Duration::from_secs(3));
    });
    assert_eq!(status.unwrap().outcome, None);
}

#[tokio::test]
async fn ask_is_completed_although_the_client_disconnected() {
    let world = World::new();
    let ((began, begins), (go, go_on)) = (flume::bounded(1), flume::bounded(1));
    *world.daemon.slow.lock() = Some((began, go_on));
    let mut client = UnixStream::connect(&world.path).await.unwrap();
    let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "ask", "params": ask("hello")});
    client.write_all(format!("{ask}\n").as_bytes()).await.unwrap();
    begins.recv_async().await.unwrap();
    drop(client);
    while world.gateway.group.live_tasks().iter().any(|task| task.contains("connection-")) {
        tokio::task::yield_now().await;
    }
    go.send_async(()).await.unwrap();
    while world.daemon.asked.lock().is_empty() {
        tokio::task::yield_now().await;
    }
}
