//! Limits of requests and connections.

use avocet_testkit::http_client::HttpConnection;

use super::world::World;
use crate::input::MAX_BODY_BYTES;
use crate::state::CONNECTIONS;

#[tokio::test]
async fn body_longer_than_a_line_of_the_socket_is_refused() {
    let world = World::new();
    let frame = r#"{"session": "terminal:local:a", "text": ""}"#.len();
    let body = |bytes: usize| {
        let text = "x".repeat(bytes - frame);
        format!(r#"{{"session": "terminal:local:a", "text": "{text}"}}"#)
    };
    let fits = world.ask("POST /v1/messages", &body(MAX_BODY_BYTES)).await;
    assert_eq!(fits.status, 202, "{fits:?}");
    let long = world.ask("POST /v1/messages", &body(MAX_BODY_BYTES + 1)).await;
    assert_eq!((long.status, &long.json()["type"]), (413, &"urn:avocet:problem:too-large".into()));
    assert!(long.body.contains("longer than 1048576 bytes"), "{long:?}");
}

#[tokio::test]
async fn body_that_is_not_json_by_its_type_is_refused() {
    let world = World::new();
    let head = format!("Host: {}\r\nAuthorization: Bearer {}", world.server, super::world::TOKEN);
    for media in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let mut connection = HttpConnection::open(world.server).await;
        let body = r#"{"session": "terminal:local:a", "text": "x"}"#;
        let request = format!(
            "POST /v1/messages HTTP/1.1\r\n{head}\r\nContent-Type: {media}\r\nContent-Length: {}\
             \r\n\r\n{body}",
            body.len()
        );
        connection.write(request.as_bytes()).await;
        assert_eq!(connection.answer().await.status, 415, "{media}");
    }
    assert!(world.daemon.asked.lock().is_empty());
}

#[tokio::test]
async fn body_that_does_not_arrive_is_refused_after_its_time() {
    let world = World::new();
    let mut connection = HttpConnection::open(world.server).await;
    let head = world.head().join("\r\n");
    let request = format!("POST /v1/messages HTTP/1.1\r\n{head}\r\nContent-Length: 9\r\n\r\n{{");
    connection.write(request.as_bytes()).await;
    let half_a_minute = std::time::Duration::from_secs(30);
    world.clock.sleeper(half_a_minute).await;
    world.clock.advance(half_a_minute);
    let answer = connection.answer().await;
    assert!(answer.status == 408 && answer.body.contains("within 30 seconds"), "{answer:?}");
}

#[tokio::test]
async fn head_that_is_too_long_is_refused() {
    let world = World::new();
    let long = format!("X-Long: {}", "x".repeat(64 * 1024));
    let answer = world.ask_with("GET /v1/sessions", &[&long], "").await;
    assert_eq!(answer.status, 431, "{answer:?}");
}

#[tokio::test]
async fn bytes_that_are_not_http_are_refused() {
    let world = World::new();
    for bytes in [&b"\x16\x03\x01\x02\x00\x01\x00"[..], b"{\"id\": 1}\n", b"GET\r\n\r\n"] {
        let mut connection = HttpConnection::open(world.server).await;
        connection.write(bytes).await;
        connection.write(b"\r\n\r\n").await;
        assert!([0, 400].contains(&connection.answer().await.status), "{bytes:?}");
    }
    assert_eq!(world.ask("GET /v1/sessions?limit=1", "").await.status, 200);
}

#[tokio::test]
async fn connection_beyond_the_limit_gets_the_place_of_the_longest_idle_one() {
    let world = World::new();
    let mut stream = world.begin("GET /v1/sessions/terminal:local:a/stream").await;
    assert_eq!(stream.head().await.status, 200);
    let mut halves = Vec::new();
    for _ in 1..CONNECTIONS {
        let mut half = HttpConnection::open(world.server).await;
        half.write(b"GET /healthz HTTP/1.1\r\nHost:").await;
        halves.push(half);
    }
    let mut kept = Vec::new();
    for _ in 0..3 {
        let mut connection = world.begin("GET /healthz").await;
        assert_eq!(connection.answer().await.status, 200);
        kept.push(connection);
    }
    for half in &mut halves[..3] {
        assert_eq!(half.answer().await.status, 0, "it is closed");
    }
    assert_eq!(world.live("connection-"), CONNECTIONS, "the stream and the other halves go on");
}

#[tokio::test]
async fn long_requests_leave_places_for_short_ones() {
    let world = World::new();
    let mut open = Vec::new();
    for _ in 0..CONNECTIONS / 2 {
        let mut stream = world.begin("GET /v1/sessions/terminal:local:a/stream").await;
        assert_eq!(stream.head().await.status, 200);
        open.push(stream);
    }
    for line in ["GET /v1/sessions/terminal:local:a/stream", "GET /v1/messages/m1?wait=1"] {
        let refused = world.ask(line, "").await;
        assert_eq!(refused.status, 503, "{line}: {refused:?}");
    }
    assert_eq!(world.ask("GET /v1/messages/m1", "").await.status, 200);
    drop(open.pop());
    while world.live("connection-") >= CONNECTIONS / 2 {
        tokio::task::yield_now().await;
    }
    let mut stream = world.begin("GET /v1/sessions/terminal:local:a/stream").await;
    assert_eq!(stream.head().await.status, 200);
}
