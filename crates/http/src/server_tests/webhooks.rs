//! The endpoints of channels.

use avocet_protocol::channel::WebhookError;
use avocet_testkit::http_client::{HttpConnection, RawHttpAnswer, exchange};

use super::world::{TOKEN, TestRequest, World};
use crate::input::MAX_BODY_BYTES;

const GENUINE: &str = "X-Pigeon: coo";

async fn ask(world: &World, line: &str, head: &[&str], body: &str) -> RawHttpAnswer {
    let has_host = head.iter().any(|line| line.starts_with("Host:"));
    let host = (!has_host).then_some("Host: bus.example");
    let head = host.into_iter().chain(head.iter().copied()).map(str::to_owned).collect();
    exchange(world.server, &TestRequest { line, head, body }.bytes()).await
}

fn taken(world: &World) -> Vec<String> {
    world.endpoint.taken.lock().clone()
}

#[tokio::test]
async fn webhook_takes_a_genuine_request_without_a_token() {
    let world = World::new();
    for path in ["/pigeon/main", "/pigeon/my%20post"] {
        let answer = ask(&world, &format!("POST {path}"), &[GENUINE], "a letter").await;
        assert_eq!((answer.status, answer.body.as_str()), (200, ""), "{path}");
    }
    assert_eq!(taken(&world), ["a letter"; 2]);
}

#[tokio::test]
async fn webhook_error_is_a_status_that_makes_the_platform_repeat() {
    let world = World::new();
    let why = || "why".to_owned();
    let table = [(WebhookError::Unavailable(why()), 503), (WebhookError::Malformed(why()), 400)];
    for (error, status) in table {
        *world.endpoint.error.lock() = Some(error);
        let answer = ask(&world, "POST /pigeon/main", &[GENUINE], "a letter").await;
        assert_eq!((answer.status, &answer.json()["detail"]), (status, &"why".into()));
    }
}

#[tokio::test]
async fn webhook_refuses_forged_and_broken_requests() {
    let world = World::new();
    let token = format!("Authorization: Bearer {TOKEN}");
    let long = "x".repeat(MAX_BODY_BYTES + 1);
    let table: [(&str, &[&str], &str, u16); 15] = [
        ("POST /pigeon/main", &[], "x", 401),
        ("POST /pigeon/main", &["X-Pigeon: "], "x", 401),
        ("POST /pigeon/main", &["X-Pigeon: coo coo"], "x", 401),
        ("POST /pigeon/main", &[GENUINE, GENUINE], "x", 401),
        ("POST /pigeon/main", &[&token], "x", 401),
        ("POST /pigeon/other", &[GENUINE], "x", 401),
        ("POST /pigeon/main", &[GENUINE, "Host: evil.example"], "x", 403),
        ("POST /pigeon/main", &[GENUINE, "Origin: http://evil.example"], "x", 403),
        ("POST /pigeon/main", &[GENUINE], &long, 413),
        ("GET /pigeon/main", &[GENUINE], "", 405),
        ("POST /pigeon/main/x", &[GENUINE], "x", 404),
        ("POST /pigeon/", &[GENUINE], "x", 404),
        ("POST /pigeon", &[GENUINE], "x", 401),
        ("POST /dove/main", &[GENUINE], "x", 401),
        ("POST /pigeon/../v1/messages", &[GENUINE], "x", 404),
    ];
    for (line, head, body, status) in table {
        let answer = ask(&world, line, head, body).await;
        assert_eq!(answer.status, status, "{line} {head:?}: {answer:?}");
    }
    assert_eq!(taken(&world), [""; 0]);
    assert!(world.daemon.asked.lock().is_empty());
}

#[tokio::test]
async fn webhook_refuses_a_forged_request_before_it_reads_the_body() {
    let world = World::new();
    let mut connection = HttpConnection::open(world.server).await;
    let head = "POST /pigeon/main HTTP/1.1\r\nHost: bus.example\r\nContent-Length: 9\r\n\r\n";
    connection.write(head.as_bytes()).await;
    assert_eq!(connection.answer().await.status, 401);
}
