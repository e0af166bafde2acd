//! A client that is limited to a chat reaches no other chat by any path.

use avocet_testkit::http_client::exchange;

use super::routes::CASES;
use super::world::{TABLET, TestRequest, World};

/// Paths of the whole daemon, which hold nothing of a chat.
const OPEN: [&str; 1] = ["GET /openapi.json"];

#[tokio::test]
async fn client_limited_to_a_chat_reaches_no_other_chat_by_any_path() {
    let world = World::new();
    *world.daemon.status.lock() = Some(super::routes::status());
    world.daemon.log.add("terminal:local:a", "hi");
    let more: [(&str, &str); 9] = [
        ("GET /v1/sessions/terminal:local:a/files/t1/0", ""),
        ("GET /v1/sessions/terminal:local:a/received/m1/0", ""),
        ("POST /v1/files", "x"),
        ("GET /v1/sessions/terminal:local:a/stream", ""),
        ("GET /v1/messages/m1", ""),
        ("POST /v1/messages", r#"{"session": "terminal:local:a", "text": "x"}"#),
        ("POST /v1/sends", r#"{"chat": "terminal:local:a", "text": "x"}"#),
        (
            "POST /v1/chat/completions",
            r#"{"model": "avocet", "user": "jo", "messages": [{"role": "user", "content": "x"}]}"#,
        ),
        ("POST /v1/responses", r#"{"model": "avocet", "user": "jo", "input": "x"}"#),
    ];
    let answered = CASES.iter().filter(|(.., status, _)| *status < 300);
    let requests = answered.map(|(line, body, ..)| (*line, *body)).chain(more);
    for (line, body) in requests.filter(|(line, _)| !OPEN.contains(line)) {
        let mut head = vec![
            format!("Host: {}", world.server),
            format!("Authorization: Bearer {TABLET}"),
            "Content-Type: application/json".to_owned(),
        ];
        head.retain(|one| !body.is_empty() || !one.starts_with("Content-Type"));
        let answer = exchange(world.server, &TestRequest { line, head, body }.bytes()).await;
        match answer.status {
            200 if line.starts_with("GET /v1/events") => {
                assert_eq!(answer.json()["events"].to_string(), "[]", "{line}");
            }
            200 => assert_eq!(answer.body, "[]", "{line}"),
            status => assert_eq!(status, 403, "{line}: {answer:?}"),
        }
    }
    assert_eq!(world.daemon.asked.lock().len(), 0);
}
