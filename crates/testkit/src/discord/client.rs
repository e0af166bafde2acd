//! Plain clients for the tests of the fake, and their initial state. HTTP has one connection per
//! request, and the gateway is read frame by frame, so that every end of a connection is visible.

use std::io;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use super::DiscordFake;
use crate::http::read_chunks;

pub(super) const TOKEN: &str = "a.b.c";
/// Guilds, guild messages, direct messages, message content.
pub(super) const INTENTS: u64 = 1 | 1 << 9 | 1 << 12 | 1 << 15;

/// A fake whose bot knows one user, one guild with a channel and a thread, and direct messages.
/// Rate limits are off.
pub(super) struct DiscordFixture {
    pub(super) fake: DiscordFake,
    pub(super) user: u64,
    pub(super) guild: u64,
    pub(super) channel: u64,
    pub(super) thread: u64,
    pub(super) dm: u64,
}

pub(super) async fn known() -> DiscordFixture {
    let fake = DiscordFake::start(TOKEN).await;
    fake.limit_rates(false);
    let user = fake.user("ann");
    let guild = fake.guild("home");
    let channel = fake.channel(guild, "general");
    let (thread, dm) = (fake.thread(channel, "a thread"), fake.dm(user));
    DiscordFixture { fake, user, guild, channel, thread, dm }
}

impl DiscordFixture {
    pub(super) async fn get(&self, path: &str) -> HttpAnswer {
        self.ask("GET", path, &Value::Null).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> HttpAnswer {
        self.ask("POST", path, body).await
    }

    /// Sends a request with the bot's token.
    pub(super) async fn ask(&self, method: &str, path: &str, body: &Value) -> HttpAnswer {
        let request = request(method, path, Some(&format!("Bot {TOKEN}")), body);
        send(&self.fake, &request).await.answer().await.unwrap()
    }

    /// Sends a message and returns the answer.
    pub(super) async fn create(&self, channel: u64, more: &Value) -> HttpAnswer {
        let mut body = json!({ "content": "hello", "allowed_mentions": { "parse": [] } });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.post(&messages(channel), &body).await
    }

    /// Sends a valid message and returns its id.
    pub(super) async fn created(&self, channel: u64, more: &Value) -> u64 {
        id(&self.create(channel, more).await.result())
    }
}

pub(super) fn messages(channel: u64) -> String {
    format!("/channels/{channel}/messages")
}

pub(super) fn id(described: &Value) -> u64 {
    described["id"].as_str().unwrap().parse().unwrap()
}

/// Returns a request below `/api/v10`, with a body unless it is null.
pub(super) fn request(method: &str, path: &str, token: Option<&str>, body: &Value) -> Vec<u8> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    raw(method, path, token, "application/json", body.as_bytes())
}

pub(super) fn raw(
    method: &str,
    path: &str,
    token: Option<&str>,
    media_type: &str,
    body: &[u8],
) -> Vec<u8> {
    let token = token.map(|token| format!("authorization: {token}\r\n")).unwrap_or_default();
    let length = body.len();
    let head = format!(
        "{method} /api/v10{path} HTTP/1.1\r\nhost: x\r\n{token}content-type: {media_type}\r\n\
         content-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// An answer: status, headers in lower case, and the body.
#[derive(Debug)]
pub(super) struct HttpAnswer {
    pub(super) status: u16,
    pub(super) headers: String,
    pub(super) bytes: Vec<u8>,
}

impl HttpAnswer {
    #[track_caller]
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }

    /// Returns the body of a successful answer.
    #[track_caller]
    pub(super) fn result(&self) -> Value {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.bytes));
        self.json()
    }

    /// Checks that the answer is a success without a body.
    #[track_caller]
    pub(super) fn nothing(&self) {
        assert_eq!(self.status, 204, "{}", String::from_utf8_lossy(&self.bytes));
    }

    /// Returns status, code and message of a refusal.
    #[track_caller]
    pub(super) fn refusal(&self) -> (u16, i64, String) {
        let body = self.json();
        let code = body["code"].as_i64().expect("a refusal with a code");
        (self.status, code, body["message"].as_str().unwrap().to_owned())
    }

    /// Returns the errors of a form in the format `PATH CODE: MESSAGE`, sorted.
    #[track_caller]
    pub(super) fn errors(&self) -> Vec<String> {
        assert_eq!(self.refusal(), (400, 50035, "Invalid Form Body".to_owned()));
        let mut found = Vec::new();
        collect(&self.json()["errors"], "", &mut found);
        found
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let line = self.headers.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim_start_matches(':').trim())
    }
}

fn collect(errors: &Value, path: &str, found: &mut Vec<String>) {
    for (step, inner) in errors.as_object().unwrap() {
        if step == "_errors" {
            let line = |error: &Value| {
                let (code, why) = (error["code"].as_str(), error["message"].as_str());
                format!("{} {}: {}", path.trim_start_matches('.'), code.unwrap(), why.unwrap())
            };
            found.extend(inner.as_array().unwrap().iter().map(line));
        } else {
            collect(inner, &format!("{path}.{step}"), found);
        }
    }
}

/// A request that waits for its answer.
#[derive(Debug)]
pub(super) struct PendingRequest(BufReader<TcpStream>);

/// Sends these bytes as a request.
pub(super) async fn send(fake: &DiscordFake, request: &[u8]) -> PendingRequest {
    let address = fake.base_url().replace("http://", "");
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request).await.unwrap();
    PendingRequest(BufReader::new(stream))
}

impl PendingRequest {
    pub(super) async fn answer(&mut self) -> io::Result<HttpAnswer> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let bytes = if status == 204 { Vec::new() } else { read_chunks(&mut self.0).await? };
        Ok(HttpAnswer { status, headers: head.to_ascii_lowercase(), bytes })
    }
}

/// A connection to the gateway.
pub(super) struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    /// Opens a WebSocket at this address, with a query.
    pub(super) async fn open(url: &str) -> Result<Self, Error> {
        let (authority, _) = url.trim_start_matches("ws://").split_once(['/', '?']).unwrap();
        let stream = TcpStream::connect(authority).await.unwrap();
        Ok(Self(client_async(url, stream).await?.0))
    }

    /// Opens a connection and receives HELLO.
    pub(super) async fn greeted(fake: &DiscordFake) -> Self {
        let mut socket = Self::open(&format!("{}/?v=10", fake.gateway_url())).await.unwrap();
        assert_eq!(socket.next().await["op"], 10);
        socket
    }

    /// Opens a connection with a session, and returns the data of READY.
    pub(super) async fn ready(fake: &DiscordFake, intents: u64) -> (Self, Value) {
        let mut socket = Self::greeted(fake).await;
        socket.send(&identify(TOKEN, intents)).await;
        let ready = socket.event("READY").await;
        (socket, ready)
    }

    pub(super) async fn send(&mut self, payload: &Value) {
        self.send_text(&payload.to_string()).await;
    }

    pub(super) async fn send_text(&mut self, text: &str) {
        self.0.send(Message::text(text)).await.unwrap();
    }

    /// Returns the next payload.
    pub(super) async fn next(&mut self) -> Value {
        serde_json::from_str(&self.next_text().await).unwrap()
    }

    pub(super) async fn next_text(&mut self) -> String {
        match self.0.next().await {
            Some(Ok(Message::Text(text))) => text.as_str().to_owned(),
            other => panic!("no payload, but {other:?}"),
        }
    }

    /// Returns the data of the next payload, which must be this event.
    pub(super) async fn event(&mut self, kind: &str) -> Value {
        let payload = self.next().await;
        assert_eq!((&payload["op"], &payload["t"]), (&json!(0), &json!(kind)), "{payload}");
        payload["d"].clone()
    }

    /// Returns the platform's close code, or 1006 if the connection ends without one.
    pub(super) async fn closed(mut self) -> u16 {
        match self.0.next().await {
            Some(Ok(Message::Close(frame))) => frame.map_or(1005, |frame| frame.code.into()),
            Some(Err(_)) | None => 1006,
            other => panic!("not closed: {other:?}"),
        }
    }

    /// Closes the connection with a code.
    pub(super) async fn close(mut self, code: u16) {
        let frame = CloseFrame { code: code.into(), reason: "".into() };
        self.0.close(Some(frame)).await.unwrap();
        while let Some(Ok(_)) = self.0.next().await {}
    }
}

/// Opens a connection and sends this payload first.
pub(super) async fn after(fake: &DiscordFake, payload: &Value) -> Socket {
    let mut socket = Socket::greeted(fake).await;
    socket.send(payload).await;
    socket
}

pub(super) fn identify(token: &str, intents: u64) -> Value {
    json!({ "op": 2, "d": { "token": token, "intents": intents, "properties": {} } })
}

pub(super) fn resume(session: &Value, seq: u64) -> Value {
    json!({ "op": 6, "d": { "token": TOKEN, "session_id": session, "seq": seq } })
}
