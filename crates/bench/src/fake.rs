//! The model fake, a separate process that sends prepared answers over HTTP/1.1. It parses no JSON,
//! because it shares the processors with the daemon.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use avocet_protocol::ignore_result;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::clock::sleep;

/// The text of every answer.
pub(crate) const REPLY: &str = "ok";
/// The file that a tool call reads, in the workspace.
pub(crate) const TOOL_FILE: &str = "notes.txt";
/// Maximum size of a request.
const LARGEST: usize = 64 << 20;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                    transfer-encoding: chunked\r\n\r\n";
const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct FakeOptions {
    /// Milliseconds before each answer.
    #[arg(long, default_value_t = 0)]
    pub(crate) delay: u64,
    /// Call a tool that reads a file before each reply.
    #[arg(long)]
    pub(crate) tool: bool,
    /// Write the body of the first request into this file.
    #[arg(long)]
    pub(crate) keep: Option<PathBuf>,
    /// Number the answers, and stream only an answer whose request asks for it.
    #[arg(long)]
    pub(crate) numbered: bool,
}

/// Prints the port and serves until the process is killed, or its parent ends.
pub(crate) async fn serve(options: FakeOptions) -> Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("{}", listener.local_addr()?.port());
    let answers = Arc::new(PreparedAnswers::new(options));
    loop {
        let (stream, _) = listener.accept().await?;
        serve_connection(stream, answers.clone());
    }
}

#[expect(clippy::disallowed_methods, reason = "a fake is not part of the daemon")]
fn serve_connection(stream: TcpStream, answers: Arc<PreparedAnswers>) {
    tokio::spawn(async move {
        ignore_result(
            connection(stream, &answers).await,
            "a daemon that stops breaks its connections",
        );
    });
}

async fn connection(mut stream: TcpStream, answers: &PreparedAnswers) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut received = Vec::with_capacity(1 << 16);
    loop {
        let end = loop {
            match request_end(&received) {
                Some(end) if end > LARGEST => return Ok(()),
                Some(end) if received.len() >= end => break end,
                _ => {}
            }
            if stream.read_buf(&mut received).await? == 0 {
                return Ok(());
            }
        };
        let answer = answers.answer(&received[..end]).await?;
        stream.write_all(&answer).await?;
        received.drain(..end);
    }
}

/// Returns the length of the first request. `None` if its head is incomplete.
fn request_end(received: &[u8]) -> Option<usize> {
    const LENGTH: &str = "content-length:";
    let head = received.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
    let lines = std::str::from_utf8(&received[..head]).ok()?.lines();
    let length = |line: &str| {
        let name = line.get(..LENGTH.len())?;
        name.eq_ignore_ascii_case(LENGTH).then(|| line[LENGTH.len()..].trim().parse().ok())?
    };
    Some(head + lines.filter_map(length).next().unwrap_or(0))
}

/// The bytes of all answers.
#[derive(Debug)]
struct PreparedAnswers {
    options: FakeOptions,
    is_kept: AtomicBool,
    /// The number of the last answer.
    last: AtomicU64,
    reply: Vec<u8>,
    call: Vec<u8>,
}

impl PreparedAnswers {
    fn new(options: FakeOptions) -> Self {
        let arguments = json!({ "path": TOOL_FILE }).to_string();
        let call = json!([{ "index": 0, "id": "call_0", "type": "function",
            "function": { "name": "read_file", "arguments": arguments } }]);
        Self {
            options,
            is_kept: AtomicBool::new(false),
            last: AtomicU64::new(0),
            reply: stream(&json!({ "role": "assistant", "content": REPLY }), "stop"),
            call: stream(&json!({ "role": "assistant", "tool_calls": call }), "tool_calls"),
        }
    }

    async fn answer(&self, request: &[u8]) -> io::Result<Cow<'_, [u8]>> {
        if !request.starts_with(b"POST") {
            return Ok(NOT_FOUND.into());
        }
        if let Some(file) = &self.options.keep
            && !self.is_kept.swap(true, Ordering::Relaxed)
        {
            let head = request.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap_or(0);
            fs::write(file, &request[head + 4..])?;
        }
        if self.options.delay > 0 {
            sleep(Duration::from_millis(self.options.delay)).await;
        }
        if self.options.numbered {
            let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
            return Ok(numbered_reply(number, wants_stream(request)).into());
        }
        let calls = self.options.tool && !ends_in_result(request);
        Ok(if calls { &self.call } else { &self.reply }.into())
    }
}

/// Returns `true` if the last message of a request is the result of a call.
fn ends_in_result(request: &[u8]) -> bool {
    let last = |mark: &[u8]| request.windows(mark.len()).rposition(|bytes| bytes == mark);
    last(br#""role":"tool""#) > last(br#""role":"user""#)
}

/// In front of the number of an answer.
const NUMBER_MARK: &[u8] = b"answer-number-";

/// Returns the number of the last answer in the output of a program. A number that may go on has a letter missing
/// behind it, and counts as absent.
pub(crate) fn number_in(output: &[u8]) -> Option<u64> {
    let begin = output.windows(NUMBER_MARK.len()).rposition(|bytes| bytes == NUMBER_MARK)?;
    let digits = &output[begin + NUMBER_MARK.len()..];
    let end = digits.iter().position(|&byte| byte == b'.')?;
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

fn wants_stream(request: &[u8]) -> bool {
    let mut body: Vec<u8> = request.to_vec();
    body.retain(|byte| !byte.is_ascii_whitespace());
    let mark = br#""stream":true"#;
    body.windows(mark.len()).any(|bytes| bytes == mark)
}

fn numbered_reply(number: u64, is_stream: bool) -> Vec<u8> {
    let text = format!("{}{number}.", String::from_utf8_lossy(NUMBER_MARK));
    let message = json!({ "role": "assistant", "content": text });
    if is_stream {
        return stream(&message, "stop");
    }
    let body = json!({ "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "fake",
        "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15 } });
    let body = body.to_string();
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").into()
}

/// Returns the whole answer with one delta, its usage and its end, one chunk for each event.
fn stream(delta: &Value, finish: &str) -> Vec<u8> {
    let chunk = |choices: Value| {
        json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
            "model": "fake", "choices": choices })
    };
    let mut usage = chunk(json!([]));
    usage["usage"] = json!({ "prompt_tokens": 12, "completion_tokens": 3 });
    let events = [
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }])).to_string(),
        chunk(json!([{ "index": 0, "delta": {}, "finish_reason": finish }])).to_string(),
        usage.to_string(),
        "[DONE]".to_owned(),
    ];
    let events = events.map(|event| {
        let event = format!("data: {event}\n\n");
        format!("{:x}\r\n{event}\r\n", event.len())
    });
    format!("{HEAD}{}0\r\n\r\n", events.concat()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_end_counts_the_body() {
        let request = b"POST / HTTP/1.1\r\nhost: a\r\nContent-Length: 3\r\n\r\nabcPOST";
        assert_eq!(request_end(request), Some(request.len() - 4));
        assert_eq!(request_end(&request[..20]), None);
        assert_eq!(request_end(b"GET / HTTP/1.1\r\n\r\n"), Some(18));
    }

    #[test]
    fn number_in_finds_the_last_whole_number() {
        for (output, expected) in [
            ("> hello\nanswer-number-7.\n", Some(7)),
            ("answer-number-7. again answer-number-12.", Some(12)),
            ("answer-number-1", None),
            ("no answer", None),
        ] {
            assert_eq!(number_in(output.as_bytes()), expected, "{output}");
        }
    }

    #[test]
    fn numbered_reply_streams_only_if_asked() {
        assert!(wants_stream(b"{\"stream\": true}") && !wants_stream(b"{\"stream\": false}"));
        for (is_stream, expected) in [(true, "data: "), (false, "\"finish_reason\":\"stop\"")] {
            let reply = numbered_reply(7, is_stream);
            assert_eq!(number_in(&reply), Some(7));
            assert!(String::from_utf8(reply).unwrap().contains(expected), "{expected}");
        }
    }

    #[test]
    fn ends_in_result_looks_at_the_last_message() {
        let (user, tool) = (r#"{"role":"user"}"#, r#"{"role":"tool"}"#);
        for (messages, expected) in
            [(vec![user], false), (vec![user, tool], true), (vec![user, tool, user], false)]
        {
            assert_eq!(ends_in_result(messages.join(",").as_bytes()), expected, "{messages:?}");
        }
    }
}
