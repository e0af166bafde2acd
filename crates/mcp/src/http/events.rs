//! Reads the events of a body (server-sent events, WHATWG HTML standard, section 9.2.6), leniently:
//! a line that cannot be read costs no event, and neither does a missing blank line.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use avocet_net::{HttpResponse, NetError};
use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt, unfold};
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::Sse;

use crate::lines::LONGEST_LINE;
use crate::wire::{ServerMessage, ServerWire};

/// The kinds of events that carry messages. Others, such as `ping`, are for the connection, unless their
/// data says that it is a message.
const MESSAGE_KINDS: [&str; 2] = ["", "message"];

/// The key that each message has.
const MARK: &[u8] = b"\"jsonrpc\"";

/// A body whose first bytes may have been read already.
pub(crate) struct AnswerBody {
    pub(crate) response: HttpResponse,
    pub(crate) read: VecDeque<Bytes>,
}

impl AnswerBody {
    /// Returns the next piece of the body; `None` at its end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, NetError> {
        match self.read.pop_front() {
            Some(chunk) => Ok(Some(chunk)),
            None => self.response.next_chunk().await,
        }
    }
}

/// Returns the events of a body, each with one message in the form that `rmcp` reads. `asked` is the
/// request that the body answers: if it ends without a response, the last event is an error.
pub(crate) fn read_events(
    body: AnswerBody,
    wire: Arc<ServerWire>,
    asked: Option<i64>,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let stream = EventStream {
        body: Some(body),
        lines: EventLines::default(),
        events: EventReader { wire, asked, ..EventReader::default() },
    };
    unfold(stream, async |mut stream| stream.next().await.map(|event| (event, stream))).boxed()
}

/// Returns messages as events.
pub(crate) fn send_events(messages: &[ServerMessage]) -> BoxStream<'static, Result<Sse, SseError>> {
    let events: Vec<_> = messages.iter().filter_map(event_of).map(Ok).collect();
    futures_util::stream::iter(events).boxed()
}

fn event_of(message: &ServerMessage) -> Option<Sse> {
    let data = serde_json::to_string(message).ok()?;
    Some(Sse { data: Some(data), ..Sse::default() })
}

struct EventStream {
    /// `None` after the end.
    body: Option<AnswerBody>,
    lines: EventLines,
    events: EventReader,
}

impl EventStream {
    async fn next(&mut self) -> Option<Result<Sse, SseError>> {
        loop {
            if let Some(event) = self.events.ready.pop_front() {
                return Some(Ok(event));
            }
            let chunk = self.body.as_mut()?.next().await;
            let end = match chunk {
                Ok(Some(chunk)) => {
                    self.lines.push(&chunk, &mut self.events);
                    let size = self.lines.line_bytes() + self.events.data_bytes();
                    if size <= LONGEST_LINE {
                        continue;
                    }
                    let limit = LONGEST_LINE / (1024 * 1024);
                    Err(format!("the server sent an event of more than {limit} MB"))
                }
                Ok(None) => {
                    self.lines.finish_body(&mut self.events);
                    Ok(())
                }
                Err(error) => Err(format!("its stream of events broke off: {error}")),
            };
            self.body = None;
            if let Some(error) = self.events.finish_body(end) {
                self.events.ready.push_back(error);
            }
        }
    }
}

/// Divides bytes into lines, which end with LF, CR LF or CR.
#[derive(Debug, Default)]
struct EventLines {
    line: Vec<u8>,
    /// `true` if the last byte was the CR that ended a line.
    has_cr: bool,
    is_started: bool,
}

impl EventLines {
    fn line_bytes(&self) -> usize {
        self.line.len()
    }

    fn push(&mut self, bytes: &[u8], events: &mut EventReader) {
        for byte in bytes {
            let after_cr = mem::take(&mut self.has_cr);
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => {
                    self.has_cr = *byte == b'\r';
                    self.end_line(events);
                }
                other => self.line.push(*other),
            }
        }
    }

    fn end_line(&mut self, events: &mut EventReader) {
        let line = mem::take(&mut self.line);
        let is_first = !mem::replace(&mut self.is_started, true);
        let bare = line.strip_prefix(b"\xef\xbb\xbf").filter(|_| is_first);
        events.take_line(bare.unwrap_or(&line));
    }

    fn finish_body(&mut self, events: &mut EventReader) {
        if !self.line.is_empty() {
            self.end_line(events);
        }
        events.end_event();
    }
}

/// Collects the fields of events.
#[derive(Debug, Default)]
struct EventReader {
    wire: Arc<ServerWire>,
    asked: Option<i64>,
    kind: Option<String>,
    data: Vec<u8>,
    id: Option<String>,
    retry: Option<u64>,
    /// `true` once an event had an id: `rmcp` then continues a stream that broke off.
    can_continue: bool,
    ready: VecDeque<Sse>,
}

impl EventReader {
    fn data_bytes(&self) -> usize {
        self.data.len()
    }

    fn take_line(&mut self, line: &[u8]) {
        if line.is_empty() {
            return self.end_event();
        }
        // A body of JSON, or JSON without `data:` in front.
        let is_bare = line.trim_ascii_start().first().is_some_and(|byte| b"{[}]\"".contains(byte));
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            _ if is_bare => (&b"data"[..], line),
            Some(at) => (&line[..at], without_space(&line[at + 1..])),
            None => (line, &b""[..]),
        };
        let text = || String::from_utf8_lossy(value).trim().to_owned();
        match name.trim_ascii() {
            b"data" => self.take_data(value),
            b"event" => self.kind = Some(text()),
            b"id" if !value.contains(&0) => self.id = Some(text()),
            b"retry" => self.retry = text().parse().ok(),
            _ => {}
        }
    }

    /// Adds a line of data. A line that is a whole message is one, also without a blank line after it.
    fn take_data(&mut self, line: &[u8]) {
        if !self.data.is_empty() {
            self.data.push(b'\n');
            self.data.extend_from_slice(line);
            return;
        }
        self.data.extend_from_slice(line);
        if line.trim_ascii_end().ends_with(b"}") || line.trim_ascii_end().ends_with(b"]") {
            self.end_data();
        }
    }

    /// Reads the messages of the data so far. Data without a message stays, because more of it may follow.
    fn end_data(&mut self) {
        if !self.has_messages() {
            return self.data.clear();
        }
        for message in self.wire.read_messages(&self.data, self.asked) {
            self.data.clear();
            self.ready.extend(event_of(&message));
        }
    }

    fn has_messages(&self) -> bool {
        let is_of_messages = |kind: &str| MESSAGE_KINDS.contains(&kind);
        self.kind.as_deref().is_none_or(is_of_messages)
            || self.data.windows(MARK.len()).any(|bytes| bytes == MARK)
    }

    fn end_event(&mut self) {
        if !self.data.is_empty() {
            self.end_data();
            self.data.clear();
        }
        self.kind = None;
        let (id, retry) = (self.id.take(), self.retry.take());
        self.can_continue |= id.is_some();
        if id.is_some() || retry.is_some() {
            self.ready.push_back(Sse { id, retry, ..Sse::default() });
        }
    }

    /// Returns the error for a request that the body has left without a response.
    fn finish_body(&self, end: Result<(), String>) -> Option<Sse> {
        let asked = self.asked?;
        let why = match end {
            Err(why) => why,
            Ok(()) if self.can_continue => return None,
            Ok(()) => "its stream of events ended without an answer".to_owned(),
        };
        event_of(&self.wire.fail_request(asked, why)?)
    }
}

/// Removes the one space that may follow the colon of a field.
fn without_space(value: &[u8]) -> &[u8] {
    value.strip_prefix(b" ").unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::wire::open_requests;

    /// Returns the events of a body that answers the request 0, which comes in these chunks.
    fn events(chunks: &[&[u8]]) -> Vec<Sse> {
        let wire = open_requests(&[(0, "ping")]);
        let mut lines = EventLines::default();
        let mut events = EventReader { wire, asked: Some(0), ..EventReader::default() };
        for chunk in chunks {
            lines.push(chunk, &mut events);
        }
        lines.finish_body(&mut events);
        let end = events.finish_body(Ok(()));
        events.ready.into_iter().chain(end).collect()
    }

    #[test]
    fn read_events_finds_the_message_in_every_framing() {
        let message = r#"{"jsonrpc":"2.0","id":0,"result":{}}"#;
        let pretty = "{\n \"jsonrpc\":\"2.0\",\n\n \"id\":0,\n \"result\":{}\n}";
        for text in [
            format!("data: {message}\n\n"),
            format!("event: ping\ndata: 1\n\ndata: {message}\n\n"),
            format!("event: ping\ndata: {{}}\n\nevent: message\ndata: {message}\n\n"),
            format!("event: endpoint\ndata: /messages?id=1\n\ndata: {message}\n\n"),
            format!("event: response\ndata: {message}\n\n"),
            format!("event:data\nid:\nretry:\ndata:{message}\n\nevent: done\ndata: [DONE]\n\n"),
            format!(": a comment\n\ndata: : wrapped\n\ndata:{message}\n\n"),
            format!("\u{feff}event:message\r\ndata: {message}\r\n\r\n"),
            format!("event: message\rdata: {message}\r\r"),
            // Without the blank line, and without a line end.
            format!("data: {message}\n"),
            format!("data: {message}"),
            format!("data: 1\ndata: 2\n\ndata: {message}"),
            // Fields that the standard does not know, and repeated ones.
            format!(
                "hello\nevent: a\nevent: message\nx: y\nid: 1\nid: 2\nretry: soon\ndata: {message}\n\n"
            ),
            "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":0,\"result\":{}}\n\n".to_owned(),
            message.to_owned(),
            format!("[{message}]"),
            format!("data: [{message}]\n\n"),
            pretty.replace("\n\n", "\n"),
        ] {
            for size in [1, 7, text.len()] {
                let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
                let found = events(&chunks).into_iter().find_map(|event| event.data);
                let found: Value = serde_json::from_str(&found.unwrap()).unwrap();
                assert_eq!(found["id"], 0, "{text}");
                assert!(found["result"].is_object(), "{text}: {found}");
            }
        }
    }

    #[test]
    fn read_events_ends_with_an_error_if_no_response_has_come() {
        for (text, is_error) in [
            ("", true),
            ("event: ping\ndata: 1\n\n", true),
            ("data: <html>\n\n", true),
            ("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n", true),
            // `rmcp` continues such a stream.
            ("id: 5\ndata:\n\n", false),
        ] {
            let last = events(&[text.as_bytes()]).pop().and_then(|event| event.data);
            let is_ours = last.is_some_and(|data| data.contains("ended without an answer"));
            assert_eq!(is_ours, is_error, "{text}");
        }
    }
}
