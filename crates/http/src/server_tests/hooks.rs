//! Incoming webhooks.

use avocet_gateway::testing::session;
use avocet_protocol::chat::Content;
use avocet_testkit::http_client::{RawHttpAnswer, exchange};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;

use super::world::{HOOK_SECRET, TestRequest, World};

const BODY: &str = r#"{"action": "opened", "issue": {"title": "/stop {{ action }}"}}"#;

fn signature(body: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(HOOK_SECRET.as_bytes()).unwrap();
    let digest = mac.chain_update(body.as_bytes()).finalize().into_bytes();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn post(world: &World, path: &str, more: &[String], body: &str) -> RawHttpAnswer {
    let head = [format!("Host: {}", world.server)].into_iter().chain(more.iter().cloned());
    let line = format!("POST {path}");
    let request = TestRequest { line: &line, head: head.collect(), body };
    exchange(world.server, &request.bytes()).await
}

/// The head of a request from GitHub.
fn github(body: &str, delivery: &str) -> Vec<String> {
    vec![
        "User-Agent: GitHub-Hookshot/044aadd".to_owned(),
        "Content-Type: application/json".to_owned(),
        "X-GitHub-Event: issues".to_owned(),
        format!("X-GitHub-Delivery: {delivery}"),
        format!("X-Hub-Signature-256: sha256={}", signature(body)),
    ]
}

#[tokio::test]
async fn hook_publishes_an_untrusted_message_once_per_delivery() {
    let world = World::new();
    let head = github(BODY, "72d3162e-cc78-11e3-81ab-4c9367dc0958");
    let first = post(&world, "/hooks/github", &head, BODY).await;
    assert_eq!((first.status, first.json()), (202, json!({"id": "m1", "duplicate": false})));
    let again = post(&world, "/hooks/github", &head, BODY).await;
    assert_eq!((again.status, again.json()), (200, json!({"id": "m1", "duplicate": true})));
    let asked = world.daemon.asked.lock()[0].clone();
    assert_eq!((asked.address, asked.sender.id.as_str()), (session().address(), "hook:github"));
    // A forwarded text has the lowest trust, and is never a command.
    let from = Some("webhook github".to_owned());
    let expected = Content { forwarded_from: from, ..Content::text("opened: /stop {{ action }}") };
    assert_eq!(asked.content, expected);
}

#[tokio::test]
async fn hook_reads_the_headers_of_other_servers() {
    let world = World::new();
    let head = [format!("X-Signature: {}", signature(BODY)), "X-Id: 5".to_owned()];
    for status in [202, 200] {
        assert_eq!(post(&world, "/hooks/other", &head, BODY).await.status, status);
    }
    assert_eq!(world.daemon.asked.lock()[0].sender.id.as_str(), "7");
}

#[tokio::test]
async fn hook_skips_other_kinds_of_events() {
    let world = World::new();
    let mut head = github(BODY, "1");
    head[2] = "X-GitHub-Event: ping".to_owned();
    let skipped = post(&world, "/hooks/github", &head, BODY).await;
    assert_eq!((skipped.status, skipped.body.as_str()), (204, ""));
    assert!(world.daemon.asked.lock().is_empty());
}

#[tokio::test]
async fn hook_refuses_forged_and_broken_requests() {
    let world = World::new();
    let signed = |body: &str| github(body, "1");
    let with = |place: usize, line: &str| {
        let mut head = signed(BODY);
        head[place] = line.to_owned();
        head
    };
    let host = [vec!["Host: evil.example".to_owned()], signed(BODY)].concat();
    let origin = [vec!["Origin: http://evil.example".to_owned()], signed(BODY)].concat();
    let secret = format!("X-Hub-Signature-256: {HOOK_SECRET}");
    let table = [
        ("/hooks/github", with(4, "X-None: 1"), BODY, 401),
        ("/hooks/github", with(4, "X-Hub-Signature-256: "), BODY, 401),
        ("/hooks/github", with(4, &secret), BODY, 401),
        ("/hooks/github", with(4, "X-Hub-Signature-256: sha256=00"), BODY, 401),
        ("/hooks/github", signed("{}"), BODY, 401),
        ("/hooks/github", signed(BODY), "{}", 401),
        ("/hooks/nowhere", signed(BODY), BODY, 401),
        ("/hooks/other", signed(BODY), BODY, 401),
        ("/hooks/", signed(BODY), BODY, 404),
        ("/hooks/github/x", signed(BODY), BODY, 404),
        ("/hooks", signed(BODY), BODY, 401),
        ("/hooks/../v1/messages", signed(BODY), BODY, 404),
        ("/hooks/github", signed("{oops"), "{oops", 400),
        ("/hooks/github", host, BODY, 400),
        ("/hooks/github", origin, BODY, 403),
    ];
    for (path, head, body, status) in table {
        let answer = post(&world, path, &head, body).await;
        assert_eq!(answer.status, status, "{path} {head:?}: {answer:?}");
    }
    assert!(world.daemon.asked.lock().is_empty());
}
