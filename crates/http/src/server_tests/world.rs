//! A server on a loopback port in front of a fake daemon, and its client.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_gateway::testing::FakeDaemon;
use avocet_protocol::access::ClientRole;
use avocet_protocol::channel::{ChannelWebhook, WebAsset, Webhook, WebhookError};
use avocet_supervise::Group;
use avocet_testkit::http_client::{HttpConnection, RawHttpAnswer, exchange};
use avocet_testkit::{FakeDestinations, ManualClock};
use avocet_text::Secret;
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::{
    Console, ConsoleParts, HookConfig, HttpConfig, HttpListener, HttpServer, HttpToken, hook_plans,
};

/// The token of the client `phone`.
pub(super) const TOKEN: &str = "0123456789abcdef-phone";
/// The token of the client `tablet`, which reaches the chat `terminal:local:b` alone.
pub(super) const TABLET: &str = "fedcba9876543210-tablet";

/// The token of the client `hub`, which stays an operator at `/mcp`.
pub(super) const HUB: &str = "89abcdef01234567-hub";

/// The secret of the webhooks `github` and `other`.
pub(super) const HOOK_SECRET: &str = "the-secret-of-the-hooks";

pub(super) struct World {
    pub(super) daemon: Arc<FakeDaemon>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) group: Group,
    pub(super) stop: CancellationToken,
    pub(super) console: Arc<Console>,
    pub(super) server: SocketAddr,
    pub(super) endpoint: Arc<FakeWebhook>,
    /// Has the key of the console's tokens.
    pub(super) directory: TempDir,
}

/// Eight times `p { margin: 0; }` and a line break.
pub(super) const GZIPPED_STYLE: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x2b\x50\xa8\x56\xc8\x4d\x2c\x4a\xcf\xcc\xb3\x52\x30\xb0\x56\xa8\xe5\x2a\x18\x18\x01\x00\x80\x9a\xbf\xb2\x88\x00\x00\x00";

/// The files of the console.
pub(super) const ASSETS: &[WebAsset] = &[
    WebAsset {
        path: "assets/app-01.js",
        media_type: "text/javascript",
        bytes: b"let a = 1;",
        is_gzipped: false,
    },
    WebAsset {
        path: "assets/app-01.css",
        media_type: "text/css",
        bytes: GZIPPED_STYLE,
        is_gzipped: true,
    },
    WebAsset {
        path: "checksums.json",
        media_type: "application/json",
        bytes: b"{}",
        is_gzipped: false,
    },
    WebAsset { path: "icon.svg", media_type: "image/svg+xml", bytes: b"<svg/>", is_gzipped: false },
    WebAsset {
        path: "index.html",
        media_type: "text/html; charset=utf-8",
        bytes: b"<p>page</p>",
        is_gzipped: false,
    },
];

/// The time for which a token is valid.
pub(super) const TOKEN_TIME: Duration = Duration::from_hours(30 * 24);

/// A console with its key in this directory.
pub(super) fn console(directory: &TempDir, clock: &Arc<ManualClock>) -> Arc<Console> {
    let files = ["web.key", "web.port", "web.browsers"].map(|name| directory.path().join(name));
    let [key_file, port_file, browsers_file] = files;
    let (token_time, clock) = (TOKEN_TIME, clock.clone());
    Console::new(ConsoleParts {
        key_file,
        port_file,
        browsers_file,
        token_time,
        assets: ASSETS,
        clock,
    })
}

/// An endpoint of a channel, whose header has to be `coo`.
#[derive(Debug, Default)]
pub(super) struct FakeWebhook {
    pub(super) taken: Mutex<Vec<String>>,
    /// The error of all bodies.
    pub(super) error: Mutex<Option<WebhookError>>,
}

#[async_trait]
impl Webhook for FakeWebhook {
    fn public_host(&self) -> String {
        "bus.example".to_owned()
    }

    fn header(&self) -> &'static str {
        "x-pigeon"
    }

    fn is_genuine(&self, value: &[u8]) -> bool {
        value == b"coo"
    }

    async fn receive(&self, body: &[u8]) -> Result<(), WebhookError> {
        let body = String::from_utf8(body.to_vec()).unwrap();
        self.taken.lock().push(body);
        self.error.lock().clone().map_or(Ok(()), Err)
    }
}

/// A request for [`World::ask`].
#[derive(Debug, Clone, Default)]
pub(super) struct TestRequest<'r> {
    /// For example `GET /healthz`.
    pub(super) line: &'r str,
    /// Lines of the head beside those of the body.
    pub(super) head: Vec<String>,
    pub(super) body: &'r str,
}

impl TestRequest<'_> {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut text = format!("{} HTTP/1.1\r\n", self.line);
        for line in &self.head {
            text.push_str(line);
            text.push_str("\r\n");
        }
        if !self.body.is_empty() {
            text.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        text.push_str("\r\n");
        text.push_str(self.body);
        text.into_bytes()
    }
}

impl World {
    pub(super) fn new() -> Self {
        let (daemon, clock) = <(Arc<FakeDaemon>, Arc<ManualClock>)>::default();
        let places = Arc::<FakeDestinations>::default();
        let (group, stop) = (Group::new("test"), CancellationToken::new());
        let token = |text: &str, role, chats: &str| {
            let (token, chats) = (Some(Secret::new(text.to_owned())), vec![chats.to_owned()]);
            HttpToken { token, role, mcp_role: None, chats, methods: None }
        };
        let hub = HttpToken {
            mcp_role: Some(ClientRole::Operator),
            ..token(HUB, ClientRole::Operator, "*")
        };
        let config = HttpConfig {
            listen: Some("127.0.0.1:0".to_owned()),
            hosts: vec!["bus.example".to_owned()],
            tokens: [
                ("hub".to_owned(), hub),
                ("phone".to_owned(), token(TOKEN, ClientRole::Operator, "*")),
                ("tablet".to_owned(), token(TABLET, ClientRole::Operator, "terminal:local:b")),
            ]
            .into(),
            ..HttpConfig::default()
        };
        let hook = |events: &[&str]| HookConfig {
            secret: Some(Secret::new(HOOK_SECRET.to_owned())),
            session: "terminal:local:a".to_owned(),
            text: "{{ action }}: {{ issue.title }}".to_owned(),
            events: events.iter().map(|&event| event.to_owned()).collect(),
            ..HookConfig::default()
        };
        let other = HookConfig {
            person: Some("7".to_owned()),
            signature: "X-Signature".to_owned(),
            delivery: "X-Id".to_owned(),
            ..hook(&[])
        };
        let hooks = [("github".to_owned(), hook(&["issues"])), ("other".to_owned(), other)].into();
        let plan = config.plan().unwrap().unwrap().with_hooks(hook_plans(&hooks).unwrap());
        let endpoint = Arc::<FakeWebhook>::default();
        let webhook = |account: &str| ChannelWebhook {
            channel: "pigeon".parse().unwrap(),
            account: account.parse().unwrap(),
            endpoint: endpoint.clone(),
        };
        let webhooks = ["main", "my post"].map(webhook).into();
        let listener = HttpListener::bind(plan).unwrap().with_webhooks(webhooks);
        let parts = daemon.parts(clock.clone(), places);
        let directory = TempDir::new().unwrap();
        let console = console(&directory, &clock);
        let server = HttpServer::start(listener, parts, &console, &group, stop.clone()).unwrap();
        let server = server.address();
        Self { daemon, clock, group, stop, console, server, endpoint, directory }
    }

    /// The head of a request of the client `phone`.
    pub(super) fn head(&self) -> Vec<String> {
        vec![
            format!("Host: {}", self.server),
            format!("Authorization: Bearer {TOKEN}"),
            "Content-Type: application/json".to_owned(),
        ]
    }

    /// Sends a request of the client `phone`, and reads the answer.
    pub(super) async fn ask(&self, line: &str, body: &str) -> RawHttpAnswer {
        self.ask_with(line, &[], body).await
    }

    /// Works as [`Self::ask`], with more lines in the head.
    pub(super) async fn ask_with(&self, line: &str, more: &[&str], body: &str) -> RawHttpAnswer {
        let head = self.head().into_iter().chain(more.iter().map(|&line| line.to_owned()));
        let request = TestRequest { line, head: head.collect(), body };
        exchange(self.server, &request.bytes()).await
    }

    /// Sends a request of the client `phone` without reading the answer.
    pub(super) async fn begin(&self, line: &str) -> HttpConnection {
        self.begin_with(line, &[]).await
    }

    /// Works as [`Self::begin`], with more lines in the head.
    pub(super) async fn begin_with(&self, line: &str, more: &[&str]) -> HttpConnection {
        let mut connection = HttpConnection::open(self.server).await;
        let head = self.head().into_iter().chain(more.iter().map(|&line| line.to_owned()));
        let request = TestRequest { line, head: head.collect(), body: "" };
        connection.write(&request.bytes()).await;
        connection
    }

    /// Counts the running tasks with this text in their names.
    pub(super) fn live(&self, name: &str) -> usize {
        self.group.live_tasks().iter().filter(|task| task.contains(name)).count()
    }
}
