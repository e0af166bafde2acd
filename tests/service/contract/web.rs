//! The web console, as its page uses it over HTTP.

use std::net::SocketAddr;

use async_trait::async_trait;
use avocet_testkit::find_free_port;
use avocet_testkit::http_client::{RawHttpAnswer, exchange};
use avocet_tests::Home;
use serde_json::{Value, json};

use super::{FakePlatformSide, check};
use crate::patience::with_timeout;

const SESSION: &str = "web:console:main";
/// The events that show the agent's messages.
const SENT: &str = "/v1/events?session=web:console:main&kinds=delivery.sent&limit=500";

pub(super) struct WebSide {
    home: Option<Home>,
    /// The port that each start of the daemon opens. The default one may belong to another test.
    port: u16,
    /// The port of the running daemon.
    server: Option<SocketAddr>,
    token: String,
    /// The number of the last message, which is its key.
    said: usize,
    /// The body of the last message.
    last: Value,
}

impl WebSide {
    fn new() -> Self {
        // Tests that run at the same time begin their search at different numbers.
        let apart = u16::try_from(std::process::id() % 5_000).unwrap();
        Self {
            home: None,
            port: find_free_port(25_000 + apart),
            server: None,
            token: String::new(),
            said: 0,
            last: Value::Null,
        }
    }

    /// Opens the port of the console. Returns the code of a new link.
    fn open(&mut self) -> String {
        let port = self.port.to_string();
        let open = ["web", "--print", "--json", "--port", &port];
        let printed = self.home.as_ref().unwrap().run(&open).out;
        let link: Value = serde_json::from_str(&printed).unwrap();
        let link = link["url"].as_str().unwrap().strip_prefix("http://").unwrap();
        let (server, code) = link.split_once("/#code=").unwrap();
        self.server = Some(server.parse().unwrap());
        code.to_owned()
    }

    async fn send(&mut self, line: &str, body: &str) -> RawHttpAnswer {
        if self.server.is_none() {
            self.open();
        }
        let Self { token, said, .. } = self;
        let server = self.server.unwrap();
        let request = format!(
            "{line} HTTP/1.1\r\nHost: {server}\r\nOrigin: http://{server}\r\n\
             Authorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Idempotency-Key: \"key{said}\"\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        with_timeout(line, exchange(server, request.as_bytes())).await
    }

    async fn post(&mut self, path: &str, body: &Value) -> Value {
        let answer = self.send(&format!("POST {path}"), &body.to_string()).await;
        assert!((200..300).contains(&answer.status), "{answer:?}");
        answer.json()
    }
}

#[async_trait(?Send)]
impl FakePlatformSide for WebSide {
    fn account(&self) -> String {
        "web:console".to_owned()
    }

    fn table(&mut self, home: &Home) -> String {
        self.home = Some(home.clone());
        String::new()
    }

    async fn begin(&mut self, _home: &Home) {
        let code = self.open();
        let login = self.post("/v1/web/login", &json!({ "code": code })).await;
        login["token"].as_str().unwrap().clone_into(&mut self.token);
    }

    async fn wait_until_disconnected(&mut self) {
        self.server = None;
    }

    async fn say(&mut self, text: &str) {
        self.said += 1;
        self.last = json!({ "session": SESSION, "text": text });
        self.repeat_event().await;
    }

    async fn repeat_event(&mut self) {
        let message = self.last.clone();
        self.post("/v1/messages", &message).await;
    }

    async fn texts(&mut self) -> Vec<String> {
        let events = self.send(&format!("GET {SENT}"), "").await.json();
        let events = events["events"].as_array().unwrap_or_else(|| panic!("{events}"));
        let text = |event: &Value| event["delivery"]["text"].as_str().unwrap().to_owned();
        events.iter().map(text).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn web_page_keeps_the_contract_of_channels() {
    check(WebSide::new()).await;
}
