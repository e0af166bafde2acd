//! A plain HTTP client for the tests of the fake, and their initial state. Each call has its own
//! connection, so that every end of a call is visible.

use std::io;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::{TelegramFake, UserMessage};
use crate::http::read_chunks;

pub(super) const TOKEN: &str = "123:abc";

/// An answer: status, headers in lower case, and the body.
#[derive(Debug)]
pub(super) struct HttpAnswer {
    pub(super) status: u16,
    pub(super) headers: String,
    pub(super) bytes: Vec<u8>,
}

impl HttpAnswer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }

    /// Returns the result of a successful call.
    #[track_caller]
    pub(super) fn result(&self) -> Value {
        let body = self.json();
        assert_eq!((self.status, &body["ok"]), (200, &Value::Bool(true)), "{body}");
        body["result"].clone()
    }

    /// Returns status and description of a refusal. Checks that the body has the same status.
    #[track_caller]
    pub(super) fn refusal(&self) -> (u16, String) {
        let body = self.json();
        assert_eq!(body["ok"], false, "{body}");
        assert_eq!(body["error_code"], self.status);
        (self.status, body["description"].as_str().unwrap().to_owned())
    }
}

/// A call that waits for its answer.
#[derive(Debug)]
pub(super) struct PendingCall(BufReader<TcpStream>);

impl PendingCall {
    pub(super) async fn answer(&mut self) -> io::Result<HttpAnswer> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let headers = head.to_ascii_lowercase();
        Ok(HttpAnswer { status, headers, bytes: read_chunks(&mut self.0).await? })
    }
}

/// Sends these bytes as a request.
pub(super) async fn send(fake: &TelegramFake, request: &[u8]) -> PendingCall {
    let address = fake.base_url().replace("http://", "");
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request).await.unwrap();
    PendingCall(BufReader::new(stream))
}

/// Sends a request with a body of this type.
pub(super) async fn post(
    fake: &TelegramFake,
    path: &str,
    media_type: &str,
    body: &[u8],
) -> PendingCall {
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {media_type}\r\n\
         content-length: {length}\r\n\r\n"
    );
    send(fake, &[head.as_bytes(), body].concat()).await
}

pub(super) async fn start(fake: &TelegramFake, method: &str, args: &Value) -> PendingCall {
    let path = format!("/bot{TOKEN}/{method}");
    post(fake, &path, "application/json", args.to_string().as_bytes()).await
}

pub(super) async fn call(fake: &TelegramFake, method: &str, args: &Value) -> HttpAnswer {
    start(fake, method, args).await.answer().await.unwrap()
}

/// Returns the type and the body of a form: fields, and files by name and file name.
pub(super) fn form(fields: &[(&str, &str)], files: &[(&str, &str, &[u8])]) -> (String, Vec<u8>) {
    let mut body = Vec::new();
    let mut part = |disposition: String, bytes: &[u8]| {
        let head = format!("--XX\r\nContent-Disposition: form-data; {disposition}\r\n\r\n");
        body.extend([head.as_bytes(), bytes, b"\r\n"].concat());
    };
    for (name, value) in fields {
        part(format!("name=\"{name}\""), value.as_bytes());
    }
    for (name, file, bytes) in files {
        part(format!("name=\"{name}\"; {file}"), bytes);
    }
    body.extend(b"--XX--\r\n");
    ("multipart/form-data; boundary=XX".to_owned(), body)
}

pub(super) const USER: i64 = 7;
pub(super) const GROUP: i64 = -20;
pub(super) const FORUM: i64 = -1_000_000_000_030;

/// A bot that knows three chats: a user (message 1 is the user's, 2 the bot's with a button), a
/// group, and topic 5 of a supergroup.
pub(super) async fn fake() -> TelegramFake {
    let fake = TelegramFake::start(TOKEN).await;
    fake.private_text(USER, "hi");
    fake.say(UserMessage::group(USER, GROUP, "hi"));
    fake.topic_text(USER, FORUM, 5, "hi");
    fake.add_file("big", Some(20 * 1024 * 1024 + 1), b"");
    let args = json!({ "chat_id": USER, "text": "hello", "reply_markup": buttons(1) });
    call(&fake, "sendMessage", &args).await.result();
    fake
}

pub(super) fn buttons(count: usize) -> Value {
    let button = json!({ "text": "yes", "callback_data": "y" });
    json!({ "inline_keyboard": vec![json!([button]); count] })
}

pub(super) fn text(text: &str) -> Value {
    json!({ "chat_id": USER, "text": text })
}

pub(super) fn edit(message: i64, text: &str) -> Value {
    json!({ "chat_id": USER, "message_id": message, "text": text })
}
