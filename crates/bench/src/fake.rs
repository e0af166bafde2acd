//! The model fake, a separate process that sends prepared answers over HTTP/1.1. It parses no JSON,
//! because it shares the processors with the daemon.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
        stream.write_all(answer).await?;
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
            reply: stream(&json!({ "role": "assistant", "content": REPLY }), "stop"),
            call: stream(&json!({ "role": "assistant", "tool_calls": call }), "tool_calls"),
        }
    }

    async fn answer(&self, request: &[u8]) -> io::Result<&[u8]> {
        if !request.starts_with(b"POST") {
            return Ok(NOT_FOUND);
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
        let calls = self.options.tool && !ends_in_result(request);
        Ok(if calls { &self.call } else { &self.reply })
    }
}

/// Returns `true` if the last message of a request is the result of a call.
fn ends_in_result(request: &[u8]) -> bool {
    let last = |mark: &[u8]| request.windows(mark.len()).rposition(|bytes| bytes == mark);
    last(br#""role":"tool""#) > last(br#""role":"user""#)
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
    fn ends_in_result_looks_at_the_last_message() {
        let (user, tool) = (r#"{"role":"user"}"#, r#"{"role":"tool"}"#);
        for (messages, expected) in
            [(vec![user], false), (vec![user, tool], true), (vec![user, tool, user], false)]
        {
            assert_eq!(ends_in_result(messages.join(",").as_bytes()), expected, "{messages:?}");
        }
    }
}
