//! The web console: its page, the exchange of codes, and tokens.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::channel::WebLink;
use avocet_protocol::ids::SenderId;
use avocet_supervise::Group;
use avocet_testkit::http_client::{HttpConnection, RawHttpAnswer, exchange};
use avocet_testkit::{FakeDestinations, ManualClock, find_free_port};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::world::{GZIPPED_STYLE, TOKEN_TIME, TestRequest, World, console};
use crate::console::Console;

const TEN_MINUTES: Duration = Duration::from_mins(10);

fn person() -> SenderId {
    SenderId::parse("uid:1000").unwrap()
}

fn code(link: &WebLink) -> String {
    link.url.split_once("/#code=").unwrap().1.to_owned()
}

impl World {
    /// Sends a request with these lines in its head, without a token.
    async fn open(&self, line: &str, more: &[String], body: &str) -> RawHttpAnswer {
        let host = [format!("Host: {}", self.server)];
        let head = host.into_iter().chain(more.iter().cloned()).collect();
        exchange(self.server, &TestRequest { line, head, body }.bytes()).await
    }

    async fn login(&self, code: &str) -> RawHttpAnswer {
        let body = json!({ "code": code }).to_string();
        self.open("POST /v1/web/login", &["Content-Type: application/json".to_owned()], &body).await
    }

    async fn link(&self) -> WebLink {
        self.console.port().open(&person(), None).await.unwrap()
    }

    pub(super) async fn token(&self) -> String {
        let answer = self.login(&code(&self.link().await)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["token"].as_str().unwrap().to_owned()
    }

    async fn with_token(&self, line: &str, token: &str, body: &str) -> RawHttpAnswer {
        let head =
            [format!("Authorization: Bearer {token}"), "Content-Type: application/json".to_owned()];
        self.open(line, &head, body).await
    }
}

#[tokio::test]
async fn page_and_its_files_need_no_token_and_have_strict_headers() {
    let world = World::new();
    let table = [
        ("/", 200, "<p>page</p>", "text/html; charset=utf-8", "no-cache"),
        ("/icon.svg", 200, "<svg/>", "image/svg+xml", "no-cache"),
        ("/assets/app-01.js", 200, "let a = 1;", "text/javascript", "immutable"),
        ("/assets/app-02.js", 404, "no such file", "application/problem+json", ""),
        ("/assets/..%2Findex.html", 404, "no such file", "application/problem+json", ""),
    ];
    for (path, status, says, media, caching) in table {
        let answer = world.open(&format!("GET {path}"), &[], "").await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert!(answer.body.contains(says), "{path}: {answer:?}");
        assert_eq!(answer.header("content-type"), Some(media), "{path}");
        assert!(answer.header("cache-control").unwrap_or_default().contains(caching), "{path}");
        let policy = answer.header("content-security-policy").unwrap();
        for rule in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.split("; ").any(|one| one == rule), "{rule}: {policy}");
        }
        let headers = [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ];
        for (name, value) in headers {
            assert_eq!(answer.header(name), Some(value), "{path}");
        }
        let mut head = HttpConnection::open(world.server).await;
        let host = vec![format!("Host: {}", world.server)];
        let line = format!("HEAD {path}");
        head.write(&TestRequest { line: &line, head: host, body: "" }.bytes()).await;
        let head = head.head().await;
        assert_eq!((head.status, head.header("etag")), (status, answer.header("etag")), "{path}");
    }
    for path in ["/checksums.json", "/index.html", "/assets", "/v1/sessions"] {
        assert_eq!(world.open(&format!("GET {path}"), &[], "").await.status, 401, "{path}");
    }
    assert_eq!(world.open("POST /", &[], "").await.status, 405);
}

#[tokio::test]
async fn page_that_the_browser_knows_is_not_sent_again() {
    let world = World::new();
    for path in ["GET /", "GET /assets/app-01.js"] {
        let tag = world.open(path, &[], "").await.header("etag").unwrap().to_owned();
        for (known, status) in
            [(tag.clone(), 304), (format!("\"other\", {tag}"), 304), ("\"other\"".to_owned(), 200)]
        {
            let answer = world.open(path, &[format!("If-None-Match: {known}")], "").await;
            assert_eq!(answer.status, status, "{known}");
            assert_eq!(answer.body.is_empty(), status == 304, "{known}");
        }
    }
}

#[tokio::test]
async fn file_of_the_page_is_compressed_for_browsers_that_take_gzip() {
    let world = World::new();
    let head_of = async |head: Vec<String>| {
        let mut connection = HttpConnection::open(world.server).await;
        let host = [format!("Host: {}", world.server)];
        let head = host.into_iter().chain(head).collect();
        let line = "HEAD /assets/app-01.css";
        connection.write(&TestRequest { line, head, body: "" }.bytes()).await;
        connection.head().await
    };
    let mut tags = Vec::new();
    for (accepted, is_gzip) in [
        ("gzip, deflate, br", true),
        ("br;q=1.0, GZIP;q=0.5", true),
        ("gzip;q=0, identity", false),
        ("br", false),
        ("", false),
    ] {
        let head = format!("Accept-Encoding: {accepted}");
        let answer = head_of(vec![head.clone()]).await;
        assert_eq!(answer.status, 200, "{accepted}: {answer:?}");
        assert_eq!(answer.header("content-encoding"), is_gzip.then_some("gzip"), "{accepted}");
        assert_eq!(answer.header("vary"), Some("Accept-Encoding"), "{accepted}");
        let length = if is_gzip { GZIPPED_STYLE.len() } else { 8 * 17 };
        assert_eq!(answer.header("content-length"), Some(length.to_string().as_str()));
        let tag = answer.header("etag").unwrap().to_owned();
        let known = vec![head, format!("If-None-Match: {tag}")];
        assert_eq!(head_of(known).await.status, 304, "{accepted}");
        tags.push(tag);
    }
    assert!(tags[0] == tags[1] && tags[2] == tags[3], "{tags:?}");
    assert_ne!(tags[0], tags[2], "each form has its own tag");
    let style = world.open("GET /assets/app-01.css", &[], "").await;
    assert_eq!(style.body, "p { margin: 0; }\n".repeat(8));
    let plain = world.open("GET /icon.svg", &["Accept-Encoding: gzip".to_owned()], "").await;
    assert_eq!((plain.body.as_str(), plain.header("content-encoding")), ("<svg/>", None));
}

#[tokio::test]
async fn login_exchanges_a_code_once_within_ten_minutes() {
    let world = World::new();
    let link = world.link().await;
    assert!(link.url.starts_with(&format!("http://{}/#code=", world.server)), "{link:?}");
    for wrong in ["", "0123", &code(&link)[1..]] {
        assert_eq!(world.login(wrong).await.status, 401, "{wrong}");
    }
    let answer = world.login(&code(&link)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let now = avocet_testkit::START.0;
    let thirty_days = i64::try_from(TOKEN_TIME.as_millis()).unwrap();
    let session = answer.json();
    assert_eq!(
        (&session["sender"], &session["expires_at"]),
        (&json!("uid:1000"), &json!(now + thirty_days))
    );
    let used = world.login(&code(&link)).await;
    assert_eq!(used.status, 401);
    assert!(used.body.contains("used or older than 10 minutes"), "{used:?}");
    let late = world.link().await;
    assert_eq!(late.expires_at.0, now + 600_000);
    world.clock.advance(TEN_MINUTES);
    assert_eq!(world.login(&code(&late)).await.status, 401);
}

#[tokio::test]
async fn token_of_the_console_is_an_operator_with_the_sender_of_its_person() {
    let world = World::new();
    let token = world.token().await;
    let body = r#"{"session": "web:console:main", "text": "hi"}"#;
    let accepted = world.with_token("POST /v1/messages", &token, body).await;
    assert_eq!(accepted.status, 202, "{accepted:?}");
    let asked = world.daemon.asked.lock()[0].clone();
    assert_eq!(asked.sender.id, person());
    let deleted = world.with_token("DELETE /v1/sessions/terminal:local:a", &token, "").await;
    assert_eq!(deleted.status, 200, "{deleted:?}");
}

#[tokio::test]
async fn token_that_is_forged_foreign_or_expired_is_refused_on_every_path() {
    let world = World::new();
    let token = world.token().await;
    let directory = TempDir::new().unwrap();
    let other = foreign_token(&directory, &world.clock).await;
    let forged = [token.replace("uid:1000", "uid:0"), token[..token.len() - 2].to_owned(), other];
    let lines = super::routes::CASES.iter().map(|(line, ..)| *line);
    let lines: Vec<&str> = lines.filter(|line| !line.ends_with("/v1/web/login")).collect();
    for line in &lines {
        for token in &forged {
            let answer = world.with_token(line, token, "").await;
            assert_eq!(answer.status, 401, "{line} {token}: {answer:?}");
            assert_eq!(world.open(line, &[], "").await.status, 401, "{line}");
        }
    }
    assert_eq!(world.with_token("GET /v1/sessions", &token, "").await.status, 200);
    world.clock.advance(TOKEN_TIME);
    let expired = world.with_token("GET /v1/sessions", &token, "").await;
    assert!(expired.status == 401 && expired.body.contains("avocet web"), "{expired:?}");
}

/// Makes a token with the key of another console.
async fn foreign_token(directory: &TempDir, clock: &Arc<ManualClock>) -> String {
    let console = console(directory, clock);
    console.listens("127.0.0.1:1".parse().unwrap(), &[]);
    let link = console.port().open(&person(), None).await.unwrap();
    console.redeem_code(&code(&link), "").await.unwrap().token
}

#[tokio::test]
async fn token_outlives_its_console_and_ends_with_a_sign_out() {
    let world = World::new();
    let token = world.token().await;
    let restarted = console(&world.directory, &world.clock);
    assert_eq!(restarted.verify_token(&token).unwrap().sender, person());
    let unused = world.link().await;
    let mut stream = HttpConnection::open(world.server).await;
    let head = vec![format!("Host: {}", world.server), format!("Authorization: Bearer {token}")];
    let line = "GET /v1/sessions/terminal:local:a/stream";
    stream.write(&TestRequest { line, head, body: "" }.bytes()).await;
    assert_eq!(stream.head().await.status, 200);
    world.console.port().sign_out(None).await.unwrap();
    assert_eq!(stream.event().await, None, "the stream of a signed-out browser ends");
    assert_eq!(world.with_token("GET /v1/sessions", &token, "").await.status, 401);
    assert_eq!(world.login(&code(&unused)).await.status, 401);
    let again = world.token().await;
    assert_eq!(world.with_token("GET /v1/sessions", &again, "").await.status, 200);
    assert_eq!(world.with_token("GET /v1/sessions", &token, "").await.status, 401);
}

#[tokio::test]
async fn browser_that_is_signed_out_alone_loses_its_token_and_its_stream() {
    let world = World::new();
    let (one, other) = (world.token().await, world.token().await);
    let listed = world.console.list_browsers();
    assert_eq!(listed.len(), 2);
    assert_eq!(
        (listed[0].name.as_str(), &listed[0].sender),
        ("a browser without a name", &person())
    );
    let mut stream = HttpConnection::open(world.server).await;
    let head = vec![format!("Host: {}", world.server), format!("Authorization: Bearer {other}")];
    let line = "GET /v1/sessions/terminal:local:a/stream";
    stream.write(&TestRequest { line, head, body: "" }.bytes()).await;
    assert_eq!(stream.head().await.status, 200);
    // The last sign-in is the first of the list.
    world.console.port().sign_out(Some(&listed[0].id)).await.unwrap();
    assert_eq!(stream.event().await, None, "the stream of the signed-out browser ends");
    assert_eq!(world.with_token("GET /v1/sessions", &other, "").await.status, 401);
    assert_eq!(world.with_token("GET /v1/sessions", &one, "").await.status, 200);
    let again = world.console.port().sign_out(Some(&listed[0].id)).await.unwrap_err();
    assert!(again.to_string().contains("avocet web --browsers"), "{again}");
    let restarted = console(&world.directory, &world.clock);
    assert!(restarted.verify_token(&other).is_none() && restarted.verify_token(&one).is_some());
}

#[tokio::test]
async fn console_on_demand_opens_one_loopback_port_until_the_stop() {
    let (group, stop) = (Group::new("test"), CancellationToken::new());
    let (clock, directory) = (Arc::<ManualClock>::default(), TempDir::new().unwrap());
    let daemon = Arc::<avocet_gateway::testing::FakeDaemon>::default();
    let console = console(&directory, &clock);
    let port = console.port();
    assert!(port.open(&person(), None).await.is_err(), "the daemon does not serve yet");
    let parts = daemon.parts(clock.clone(), Arc::<FakeDestinations>::default());
    console.serve_on_demand(parts, &group, stop.clone());
    assert!(group.live_tasks().iter().all(|task| !task.contains("accept")), "no port is open yet");
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().port();
    let refused = port.open(&person(), Some(taken)).await.unwrap_err().to_string();
    assert!(refused.contains(&taken.to_string()) && refused.contains("another port"), "{refused}");
    let link = port.open(&person(), None).await.unwrap();
    let server = link.url.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let server: std::net::SocketAddr = server.parse().unwrap();
    assert!(server.ip().is_loopback());
    let second = port.open(&person(), Some(server.port())).await.unwrap();
    assert!(second.url.starts_with(&format!("http://{server}/")), "{second:?}");
    let free = find_free_port(20_000);
    for wanted in [Some(free), None] {
        let link = port.open(&person(), wanted).await.unwrap();
        assert!(link.url.starts_with(&format!("http://127.0.0.1:{free}/")), "{link:?}");
    }
    let ask = async |line: &str, head: &str, body: &str| {
        let head = vec![format!("Host: {server}"), head.to_owned()];
        exchange(server, &TestRequest { line, head, body }.bytes()).await
    };
    let body = json!({ "code": code(&link) }).to_string();
    let token: Value =
        ask("POST /v1/web/login", "Content-Type: application/json", &body).await.json();
    let head = format!("Authorization: Bearer {}", token["token"].as_str().unwrap());
    assert_eq!(ask("GET /v1/sessions", &head, "").await.status, 200);
    stop.cancel();
    while group.live_tasks().iter().any(|task| task.contains("accept") || task.contains("console"))
    {
        tokio::task::yield_now().await;
    }
    assert!(port.open(&person(), None).await.is_err(), "the daemon stops");
}

/// A start of a daemon without `[http]`, with the console's files of earlier starts.
struct Start {
    console: Arc<Console>,
    group: Group,
}

impl Start {
    fn new(directory: &TempDir, clock: &Arc<ManualClock>) -> Self {
        let (group, console) = (Group::new("test"), console(directory, clock));
        let daemon = Arc::<avocet_gateway::testing::FakeDaemon>::default();
        let parts = daemon.parts(clock.clone(), Arc::<FakeDestinations>::default());
        console.serve_on_demand(parts, &group, group.cancel_token());
        Self { console, group }
    }

    /// Returns the origin of a link.
    async fn origin(&self, port: Option<u16>) -> String {
        let link = self.console.port().open(&person(), port).await.unwrap();
        link.url.split_once("/#").unwrap().0.to_owned()
    }

    async fn stop(self, port: u16) {
        self.group.cancel_tasks();
        while is_open(port).await {
            tokio::task::yield_now().await;
        }
    }
}

async fn is_open(port: u16) -> bool {
    tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_ok()
}

#[tokio::test]
async fn console_opens_its_port_again_while_a_browser_may_be_signed_in() {
    let (clock, directory) = (Arc::<ManualClock>::default(), TempDir::new().unwrap());
    let port = find_free_port(21_000);
    let first = Start::new(&directory, &clock);
    let origin = first.origin(Some(port)).await;
    first.stop(port).await;

    let second = Start::new(&directory, &clock);
    assert!(is_open(port).await, "an open page connects again");
    assert_eq!(second.origin(None).await, origin);
    second.stop(port).await;

    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    let third = Start::new(&directory, &clock);
    assert_ne!(third.origin(None).await, origin, "another program uses the port");
    third.console.port().sign_out(None).await.unwrap();
    third.group.cancel_tasks();
    drop(other);

    let fourth = Start::new(&directory, &clock);
    assert!(!is_open(port).await, "all browsers are signed out");
    assert_eq!(fourth.origin(Some(port)).await, origin);
    fourth.stop(port).await;

    clock.advance(TEN_MINUTES + TOKEN_TIME);
    let fifth = Start::new(&directory, &clock);
    assert!(!is_open(port).await, "the last token has ended");
    fifth.group.cancel_tasks();
}

#[tokio::test]
async fn console_behind_a_configured_listener_keeps_its_port() {
    let world = World::new();
    let parts = world.daemon.parts(world.clock.clone(), Arc::<FakeDestinations>::default());
    world.console.serve_on_demand(parts, &world.group, world.stop.clone());
    let link = world.link().await;
    assert!(link.url.starts_with(&format!("http://{}/", world.server)), "{link:?}");
    assert_eq!(world.live("accept"), 1);
}
