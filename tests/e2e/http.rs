//! Tests of the HTTP interface of the real daemon: the way of a message, the book's client, and the
//! ports that are open.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::process::{Command, Output};

use avocet_testkit::http_client::{HttpConnection, RawHttpAnswer, exchange};
use avocet_tests::{DaemonProcess, Home, program};
use serde_json::{Value, json};

use crate::support::{assert_fails, printed_json, run, soon, stop, until_all_is_delivered};

const BOOK: &str = include_str!("../../docs/src/build/http.md");
pub(crate) const TOKEN: &str = "a-token-of-the-phone-4711";
const CONFIG: &str = "[http]\nlisten = \"127.0.0.1:0\"\n[http.tokens.phone]\ntoken = \"${TOKEN}\"\nrole = \"operator\"\nchats = [\"*\"]\n";

/// A daemon with an HTTP interface.
pub(crate) struct HttpHome {
    home: Home,
    pub(crate) daemon: DaemonProcess,
    pub(crate) server: SocketAddr,
}

impl HttpHome {
    pub(crate) fn start() -> Self {
        Self::on(Home::new(program!()).with("TOKEN", TOKEN).with_config(CONFIG))
    }

    /// Starts a daemon whose token is an operator at `/mcp`, too.
    pub(crate) fn start_with_mcp_operator() -> Self {
        let config = format!("{CONFIG}mcp_role = \"operator\"\n");
        Self::on(Home::new(program!()).with("TOKEN", TOKEN).with_config(&config))
    }

    fn on(home: Home) -> Self {
        let mut daemon = home.spawn(&["run"]);
        let line = daemon.wait_for("serving HTTP");
        let (_, address) = line.split_once("address=").unwrap();
        let server = address.split_whitespace().next().unwrap().parse().unwrap();
        daemon.wait_until_ready();
        Self { home, daemon, server }
    }

    fn request(&self, line: &str, more: &str, body: &str) -> Vec<u8> {
        let (server, length) = (self.server, body.len());
        format!(
            "{line} HTTP/1.1\r\nHost: {server}\r\nAuthorization: Bearer {TOKEN}\r\n{more}\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }

    pub(crate) async fn ask(&self, line: &str, more: &str, body: &Value) -> RawHttpAnswer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        soon(line, exchange(self.server, &self.request(line, more, &body))).await
    }

    /// Waits until all messages are answered and delivered.
    pub(crate) fn until_delivered(&self) {
        until_all_is_delivered(&self.home);
    }

    /// Stops the daemon.
    pub(crate) fn stop(self) {
        stop(self.daemon);
    }

    async fn get(&self, path: &str) -> RawHttpAnswer {
        self.ask(&format!("GET {path}"), "", &Value::Null).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn http_message_is_in_the_log_before_202_and_is_answered_after_a_crash() {
    let http = HttpHome::start();
    let message = json!({"session": "terminal:local:me", "text": "count to 3"});
    let key = "Idempotency-Key: once\r\n";
    let accepted = http.ask("POST /v1/messages", key, &message).await;
    assert_eq!((accepted.status, accepted.json()), (202, json!({"id": "m1", "duplicate": false})));
    let HttpHome { home, daemon, .. } = http;
    daemon.kill();
    let http = HttpHome::on(home);
    let answered = http.get("/v1/messages/m1?wait=60").await.json();
    assert_eq!((&answered["outcome"], &answered["reply"]), (&json!("replied"), &json!("1, 2, 3.")));
    let again = http.ask("POST /v1/messages", key, &message).await;
    assert_eq!((again.status, again.json()), (200, json!({"id": "m1", "duplicate": true})));
    let other = json!({"session": "terminal:local:me", "text": "count to 4"});
    let taken = http.ask("POST /v1/messages", key, &other).await;
    assert_eq!((taken.status, &taken.json()["status"]), (409, &json!(409)));
    let shown = http.get("/v1/sessions/terminal:local:me").await.json();
    let sender = &shown[0]["origin"]["messages"][0]["message"]["inbound"]["sender"]["id"];
    assert_eq!((shown.as_array().unwrap().len(), sender), (1, &json!("http:phone")));
    assert_eq!(http.get("/v1/sessions").await.json()[0]["session"], "terminal:local:me");
    stop(http.daemon);
}

#[tokio::test(flavor = "multi_thread")]
async fn http_search_and_sent_show_a_conversation_with_its_title() {
    let http = HttpHome::start();
    for text in ["count to 3", "/status", "count to 2"] {
        let message = json!({"session": "terminal:local:me", "text": text});
        let accepted = http.ask("POST /v1/messages", "", &message).await.json();
        let id = accepted["id"].as_str().unwrap();
        http.get(&format!("/v1/messages/{id}?wait=60")).await;
    }
    let sessions = http.get("/v1/sessions").await.json();
    assert_eq!(sessions[0]["title"], "count to 3");
    let found = http.get("/v1/search?words=count&limit=5").await.json();
    let authors: Vec<&str> =
        found.as_array().unwrap().iter().map(|row| row["author"].as_str().unwrap()).collect();
    assert_eq!(authors, ["person", "person"], "{found}");
    let sent = http.get("/v1/sessions/terminal:local:me/sent").await.json();
    assert_eq!(sent.as_array().unwrap().len(), 1, "the answer to /status: {sent}");
    stop(http.daemon);
}

#[tokio::test(flavor = "multi_thread")]
async fn http_stream_shows_the_text_while_it_is_written() {
    let http = HttpHome::start();
    let mut stream = HttpConnection::open(http.server).await;
    let line = "GET /v1/sessions/terminal:local:me/stream";
    stream.write(&http.request(line, "", "")).await;
    assert_eq!(soon("the head", stream.head()).await.status, 200);
    let message = json!({"session": "terminal:local:me", "text": "count to 2"});
    assert_eq!(http.ask("POST /v1/messages", "", &message).await.status, 202);
    let mut kinds = Vec::new();
    while kinds.last().is_none_or(|kind| kind != "ended") {
        let event = soon("an event", stream.event()).await.unwrap();
        let event: Value = serde_json::from_str(&event).unwrap();
        kinds.push(event["type"].as_str().unwrap().to_owned());
    }
    assert!(kinds[0] == "started" && kinds.contains(&"text".to_owned()), "{kinds:?}");
    stop(http.daemon);
    assert_eq!(soon("the end of the stream", stream.event()).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn http_chat_completion_is_the_reply_of_the_agent() {
    let http = HttpHome::start();
    let body = |text: &str, stream: bool| {
        let messages = json!([{"role": "user", "content": text}]);
        json!({"model": "avocet", "messages": messages, "stream": stream, "user": "jo"})
    };
    let line = "POST /v1/chat/completions";
    let whole = http.ask(line, "", &body("count to 3", false)).await.json();
    assert_eq!(whole["choices"][0]["message"]["content"], "1, 2, 3.", "{whole}");
    let mut stream = HttpConnection::open(http.server).await;
    stream.write(&http.request(line, "", &body("count to 4", true).to_string())).await;
    assert_eq!(soon("the head", stream.head()).await.status, 200);
    let (mut text, mut data) = (String::new(), String::new());
    while data != "[DONE]" {
        let chunk: Value = serde_json::from_str(&data).unwrap_or_default();
        text.push_str(chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default());
        data = soon("a chunk", stream.event()).await.unwrap();
    }
    assert_eq!(text, "1, 2, 3, 4.");
    let response = json!({"model": "avocet", "input": "count to 2", "user": "jo"});
    let response = http.ask("POST /v1/responses", "", &response).await.json();
    assert_eq!(response["output"][0]["content"][0]["text"], "1, 2.", "{response}");
    let turns = http.get("/v1/sessions/terminal:local:api-jo").await.json();
    assert_eq!(turns.as_array().unwrap().len(), 3);
    until_all_is_delivered(&http.home);
}

/// Signs a body as GitHub does, with a separate implementation.
fn signature(secret: &str, body: &str) -> String {
    let program = "import hmac, sys; print(hmac.new(*(a.encode() for a in sys.argv[1:]), 'sha256').hexdigest())";
    let ran = Command::new("python3").args(["-c", program, secret, body]).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn http_hook_becomes_an_untrusted_message_once() {
    let secret = "the-secret-of-the-hook-4711";
    let hook = "[hooks.github]\nsecret = \"${HOOK}\"\nsession = \"terminal:local:me\"\n\
        text = \"count to {{ issue.number }}\"\n";
    let home = Home::new(program!()).with("TOKEN", TOKEN).with("HOOK", secret);
    let http = HttpHome::on(home.with_config(&format!("{CONFIG}{hook}")));
    let body = r#"{"action": "opened", "issue": {"number": 2}}"#;
    let post = async |signature: &str| {
        let request = format!(
            "POST /hooks/github HTTP/1.1\r\nHost: {}\r\nX-GitHub-Delivery: 1\r\n\
             X-Hub-Signature-256: sha256={signature}\r\nContent-Length: {}\r\n\r\n{body}",
            http.server,
            body.len()
        );
        soon("an answer", exchange(http.server, request.as_bytes())).await
    };
    let signed = signature(secret, body);
    assert_eq!(post(&signature("another-secret-4711", body)).await.status, 401);
    assert_eq!(post(&signed).await.json(), json!({"id": "m1", "duplicate": false}));
    assert_eq!(post(&signed).await.json(), json!({"id": "m1", "duplicate": true}));
    assert_eq!(http.get("/v1/messages/m1?wait=60").await.json()["outcome"], "replied");
    let turns = http.get("/v1/sessions/terminal:local:me").await.json();
    let inbound = &turns[0]["origin"]["messages"][0]["message"]["inbound"];
    assert_eq!(inbound["content"]["text"], "count to 2");
    assert_eq!(inbound["content"]["forwarded_from"], "webhook github");
    assert_eq!(inbound["sender"]["id"], "hook:github");
    stop(http.daemon);
}

#[tokio::test(flavor = "multi_thread")]
async fn http_health_and_metrics_follow_the_daemon() {
    let http = HttpHome::start();
    let open = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", http.server);
    for path in ["/healthz", "/readyz", "/metrics"] {
        let answer = soon(path, exchange(http.server, open(path).as_bytes())).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
    }
    let message = json!({"session": "terminal:local:me", "text": "count to 2"});
    http.ask("POST /v1/messages", "", &message).await;
    http.get("/v1/messages/m1?wait=60").await;
    let metrics = http.get("/metrics").await.body;
    for line in ["avocet_messages_total 1", "avocet_channel_up{account=\"terminal:local\"} 1"] {
        assert!(metrics.lines().any(|found| found == line), "{line}:\n{metrics}");
    }
    let status = http.get("/v1/status").await.json();
    assert_eq!(status["log"]["messages"], printed_json(&http.home, &["status"])["log"]["messages"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn f28_http_refuses_foreign_requests_to_the_real_daemon() {
    let http = HttpHome::start();
    let server = http.server;
    let auth = format!("Authorization: Bearer {TOKEN}");
    let table = [
        (format!("Host: evil.example\r\n{auth}"), 403),
        (format!("Host: {server}\r\nOrigin: http://evil.example\r\n{auth}"), 403),
        (format!("Host: {server}\r\nOrigin: null\r\n{auth}"), 403),
        (format!("Host: {server}"), 401),
        (format!("Host: {server}\r\nAuthorization: Bearer ${{TOKEN}}"), 401),
        (format!("Host: {server}\r\n{auth}"), 200),
    ];
    for (head, status) in table {
        let request = format!("GET /v1/status HTTP/1.1\r\n{head}\r\n\r\n");
        let answer = soon("an answer", exchange(server, request.as_bytes())).await;
        assert_eq!(answer.status, status, "{head}: {answer:?}");
        assert!(!answer.body.contains(TOKEN), "{answer:?}");
    }
}

/// The listening TCP sockets of a process, as their local addresses in proc(5).
pub(crate) fn listening(pid: u32) -> Vec<String> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let links = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    let sockets: BTreeSet<String> = links
        .map(|link| link.display().to_string())
        .filter(|link| link.starts_with("socket:"))
        .collect();
    assert!(!sockets.is_empty(), "the socket of the gateway is open");
    let tables =
        ["tcp", "tcp6"].map(|table| fs::read_to_string(format!("/proc/{pid}/net/{table}")));
    let rows = tables.iter().flat_map(|table| table.as_ref().unwrap().lines().skip(1));
    let rows = rows.map(|row| row.split_whitespace().collect::<Vec<_>>());
    // The state 0A is LISTEN.
    let rows =
        rows.filter(|row| row[3] == "0A" && sockets.contains(&format!("socket:[{}]", row[9])));
    rows.map(|row| row[1].to_owned()).collect()
}

#[test]
fn f28_daemon_without_http_table_listens_on_no_tcp_port() {
    for config in
        ["", "[http.tokens.phone]\ntoken = \"a-token-without-an-address\"\nchats = [\"*\"]\n"]
    {
        let home = Home::new(program!()).with_config(config);
        let daemon = home.daemon();
        assert_eq!(listening(daemon.pid()), Vec::<String>::new(), "{config:?}");
        stop(daemon);
    }
    let http = HttpHome::start();
    let port = format!("0100007F:{:04X}", http.server.port());
    assert_eq!(listening(http.daemon.pid()), [port]);
}

#[test]
fn daemon_with_a_taken_http_port_does_not_start() {
    let http = HttpHome::start();
    let config = CONFIG.replace("127.0.0.1:0", &http.server.to_string());
    let home = Home::new(program!()).with("TOKEN", TOKEN).with_config(&config);
    let ran = run(&home, &["run"]);
    assert_fails(&ran, 75, &["cannot listen on 127.0.0.1:", "[http] listen"]);
}

fn book_client(server: SocketAddr, session: &str) -> Output {
    let (_, rest) = BOOK.split_once("```bash\n").unwrap();
    let (client, _) = rest.split_once("```\n").unwrap();
    let mut bash = Command::new("bash");
    bash.args(["-c", client, "client", &server.to_string(), session, "count to 3"]);
    bash.env("AVOCET_HTTP_TOKEN", TOKEN).output().unwrap()
}

#[test]
fn book_http_client_asks_and_prints_the_answer() {
    let http = HttpHome::start();
    let ran = book_client(http.server, "terminal:local:me");
    let out = String::from_utf8_lossy(&ran.stdout);
    assert_eq!((ran.status.code(), out.as_ref()), (Some(0), "1, 2, 3.\n"), "{ran:?}");
    let refused = book_client(http.server, "nowhere");
    let out = String::from_utf8_lossy(&refused.stdout);
    assert!(refused.status.code() == Some(1) && out.contains("\"status\":400"), "{refused:?}");
    let tables = BOOK.split("```toml\n").skip(1).map(|rest| rest.split_once("```\n").unwrap().0);
    let config: String = tables.collect();
    let home = Home::new(program!()).with("AVOCET_HTTP_TOKEN", TOKEN).with_config(&config);
    let home = home.with("GITHUB_HOOK_SECRET", "the-secret-of-the-hook-4711");
    let ran = run(&home, &["config", "check"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
