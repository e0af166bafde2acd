//! Splits the body of an answer into events: server-sent events (WHATWG HTML, "Parsing an event
//! stream"), lines of JSON, or one JSON value.
//!
//! The content decides, line by line, because the media type is often wrong and proxies mix the
//! forms:
//!
//! | a line that begins with | is |
//! |---|---|
//! | `{` (or `[` at the start of the body) | bare JSON, up to its last bracket, over any number of lines |
//! | `data:` | a field of an event |
//! | `event: error`, `error:` | a sign that an event is an error |
//! | `<` at the start of the body | a web page |
//! | other text | ignored, and reported if the body contains nothing else |
//!
//! An event ends at a blank line, at the end of the body, and also where its JSON ends, because
//! some servers send no blank lines. Its data may be something else than JSON: the caller decides.

use std::collections::VecDeque;

use avocet_net::{HttpResponse, NetError};
use futures_util::stream::{self, BoxStream, Stream, StreamExt};

/// The byte-order mark that a body may begin with.
const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();
/// Maximum bytes of a body, read in small chunks. An answer of 200,000 tokens has about 60 MB of
/// events.
const MAX_BYTES: usize = 128 * 1024 * 1024;
/// Maximum bytes of one event. The last event of an answer may hold all of it.
pub(crate) const MAX_EVENT: usize = 4 * 1024 * 1024;
/// Bytes that are kept of a body that is no answer.
const MAX_WORDS: usize = 1000;
/// The data of the last event of many streams.
const DONE: &[u8] = b"[DONE]";

/// A part of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BodyEvent {
    /// The data of an event, or a bare JSON value.
    Data(String),
    /// The data of an event that the body calls an error.
    Error(String),
    /// The beginning of a bare JSON value that is longer than the limit.
    Cut(String),
    /// The event `[DONE]`.
    Done,
    /// The end of a body that is a single JSON value.
    Whole,
    /// The body is a web page.
    Page,
    /// The body has no event. Its beginning.
    Words(String),
}

/// Returns the events of a response, in order, until its body ends.
pub(crate) fn read_events(
    response: HttpResponse,
) -> BoxStream<'static, Result<BodyEvent, NetError>> {
    split_body(body_chunks(response)).boxed()
}

/// Returns the events of a body that arrives in these chunks. Ends after the first error.
pub(crate) fn split_body<B: AsRef<[u8]>>(
    chunks: impl Stream<Item = Result<B, NetError>>,
) -> impl Stream<Item = Result<BodyEvent, NetError>> {
    let reading = Some((Box::pin(chunks), BodySplitter::default()));
    stream::unfold(reading, async |reading| {
        let (mut chunks, mut splitter) = reading?;
        loop {
            if let Some(event) = splitter.ready.pop_front() {
                let more = event.is_ok().then_some((chunks, splitter));
                return Some((event, more));
            }
            if splitter.has_ended {
                return None;
            }
            match chunks.next().await {
                Some(Ok(chunk)) => splitter.push(chunk.as_ref()),
                Some(Err(error)) => return Some((Err(error), None)),
                None => splitter.end_body(),
            }
        }
    })
}

fn body_chunks(
    response: HttpResponse,
) -> impl Stream<Item = Result<impl AsRef<[u8]>, NetError>> + Send {
    stream::unfold(Some((response, MAX_BYTES)), async |reading| {
        let (mut response, left) = reading?;
        match response.next_chunk().await {
            Ok(None) => None,
            Ok(Some(chunk)) if chunk.len() > left => {
                Some((Err(NetError::TooLong(MAX_BYTES)), None))
            }
            Ok(Some(chunk)) => {
                let left = left - chunk.len();
                Some((Ok(chunk), Some((response, left))))
            }
            Err(error) => Some((Err(error), None)),
        }
    })
}

/// The split events that are yet to be returned, and the incomplete rest.
#[derive(Debug, Default)]
struct BodySplitter {
    /// The complete events. After them the error, if the stream failed.
    ready: VecDeque<Result<BodyEvent, NetError>>,
    has_ended: bool,
    /// The incomplete line.
    line: Vec<u8>,
    /// `true` if the last line ended in a carriage return: a line feed after it belongs to it.
    returned: bool,
    /// `true` after the first line, which may begin with a byte-order mark.
    begun: bool,
    /// The data of the incomplete event, or an incomplete bare value, with a line feed after each
    /// line.
    data: Vec<u8>,
    extent: JsonExtent,
    /// `true` if `data` is a bare value.
    is_bare: bool,
    /// `true` if the incomplete event is an error.
    is_error: bool,
    /// The number of events.
    events: usize,
    /// `true` if the last event was a bare value.
    was_bare: bool,
    /// Text that belongs to no event.
    words: Vec<u8>,
}

impl BodySplitter {
    /// Splits a chunk. Reads every byte once, however the body is divided.
    fn push(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while !rest.is_empty() && !self.has_ended {
            if std::mem::take(&mut self.returned) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            self.line.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
            if self.line.len() + self.data.len() > MAX_EVENT {
                return self.fail_at_limit();
            }
            let Some(end) = end else { return };
            self.returned = rest[end] == b'\r';
            rest = &rest[end + 1..];
            self.end_line();
        }
    }

    /// Ends the body. The rest of it is an event too, unless it is JSON that was cut off.
    fn end_body(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
        if !self.extent.is_open() {
            self.end_event();
        }
        if self.events == 1 && self.was_bare && self.data.is_empty() {
            self.ready.push_back(Ok(BodyEvent::Whole));
        } else if self.events == 0 && !self.words.is_empty() {
            let words = String::from_utf8_lossy(&self.words).into_owned();
            self.ready.push_back(Ok(BodyEvent::Words(words)));
        }
        self.has_ended = true;
    }

    /// Ends the body at the limit of its length.
    fn fail_at_limit(&mut self) {
        let is_json = self.is_bare || self.line.trim_ascii_start().starts_with(b"{");
        if self.events == 0 && is_json {
            let mut data = std::mem::take(&mut self.data);
            data.append(&mut self.line);
            self.ready.push_back(Ok(BodyEvent::Cut(into_text(data))));
        } else {
            self.ready.push_back(Err(NetError::TooLong(MAX_EVENT)));
        }
        self.has_ended = true;
    }

    fn end_line(&mut self) {
        let whole = std::mem::take(&mut self.line);
        let mut line = &whole[..];
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        self.read_line(line);
        // The buffer serves for the next line.
        self.line = whole;
        self.line.clear();
    }

    fn read_line(&mut self, line: &[u8]) {
        let field = EventField::read(line);
        if self.is_bare && !matches!(field, EventField::Data(_) | EventField::Event(_)) {
            return self.push_data(line);
        }
        let start = line.trim_ascii_start();
        let is_first = self.events == 0 && self.data.is_empty() && self.words.is_empty();
        match field {
            _ if start.starts_with(b"{") || start.starts_with(b"[") && is_first => {
                self.end_event();
                self.is_bare = true;
                self.push_data(line);
            }
            _ if start.starts_with(b"<") && is_first => {
                self.ready.push_back(Ok(BodyEvent::Page));
                self.has_ended = true;
            }
            EventField::Data(value) => self.read_data(value),
            EventField::Event(name) => {
                self.drop_bare();
                self.is_error = name.trim_ascii() == b"error";
            }
            EventField::Error(value) => {
                self.end_event();
                self.is_error = true;
                self.push_data(value);
                self.end_event();
            }
            EventField::Other if start.is_empty() => self.end_event(),
            EventField::Other if is_done(start) => self.read_data(DONE),
            EventField::Other => {
                let room = MAX_WORDS.saturating_sub(self.words.len());
                self.words.extend(line.iter().chain(b" ").take(room));
            }
            EventField::Comment => {}
        }
    }

    fn read_data(&mut self, value: &[u8]) {
        self.drop_bare();
        let is_json = value.trim_ascii_start().starts_with(b"{");
        let is_done = is_done(value);
        // Text before JSON is an event of its own: a comment that was wrapped as data.
        if (is_json || is_done) && !self.extent.is_open() {
            self.end_event();
        }
        if is_done && self.data.is_empty() {
            self.ready.push_back(Ok(BodyEvent::Done));
        } else {
            self.push_data(value);
        }
    }

    /// Adds a line of data, and ends the event if its JSON is complete.
    fn push_data(&mut self, line: &[u8]) {
        self.data.extend_from_slice(line);
        self.data.push(b'\n');
        self.extent.push(line);
        if self.extent.is_complete() {
            self.end_event();
        }
    }

    /// Drops a bare value that did not end before the next event.
    fn drop_bare(&mut self) {
        if std::mem::take(&mut self.is_bare) {
            self.data.clear();
            self.extent = JsonExtent::default();
        }
    }

    /// Returns the data, if any, as an event.
    fn end_event(&mut self) {
        self.data.pop();
        let mut data = std::mem::take(&mut self.data);
        let (is_error, is_bare) =
            (std::mem::take(&mut self.is_error), std::mem::take(&mut self.is_bare));
        self.extent = JsonExtent::default();
        if data.trim_ascii().is_empty() {
            data.clear();
            self.data = data;
            return;
        }
        self.events += 1;
        self.was_bare = is_bare;
        let text = into_text(data);
        let event = if is_error { BodyEvent::Error(text) } else { BodyEvent::Data(text) };
        self.ready.push_back(Ok(event));
    }
}

/// Removes a second `data:` before JSON: some proxies wrap the lines of another stream.
fn without_second_name(value: &[u8]) -> &[u8] {
    match value.trim_ascii_start().strip_prefix(b"data:") {
        Some(inner) if inner.trim_ascii_start().starts_with(b"{") || is_done(inner) => inner,
        _ => value,
    }
}

/// Returns `true` for the data that ends a stream. Some proxies send it as a JSON string.
fn is_done(data: &[u8]) -> bool {
    let data = data.trim_ascii();
    let quoted = data.strip_prefix(b"\"").and_then(|data| data.strip_suffix(b"\""));
    quoted.unwrap_or(data) == DONE
}

/// Converts bytes that should be UTF-8.
fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// A line as a field of an event.
enum EventField<'l> {
    Data(&'l [u8]),
    Event(&'l [u8]),
    Error(&'l [u8]),
    /// Comments, and fields that serve clients that reconnect.
    Comment,
    Other,
}

impl<'l> EventField<'l> {
    fn read(line: &'l [u8]) -> Self {
        let name = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(name + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..name] {
            b"data" => Self::Data(without_second_name(value)),
            b"event" => Self::Event(value),
            b"error" if !value.is_empty() => Self::Error(value),
            b"" if !line.is_empty() => Self::Comment,
            b"id" | b"retry" => Self::Comment,
            _ => Self::Other,
        }
    }
}

/// Finds the end of a JSON object or list by its brackets.
#[derive(Debug, Default, Clone, Copy)]
struct JsonExtent {
    depth: usize,
    has_begun: bool,
    is_other: bool,
    is_in_string: bool,
    is_escaped: bool,
}

impl JsonExtent {
    fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_in_string => self.is_escaped = true,
                b'"' => self.is_in_string = !self.is_in_string,
                _ if self.is_in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if !self.has_begun && !byte.is_ascii_whitespace() {
                self.has_begun = true;
                self.is_other = !matches!(byte, b'{' | b'[');
            }
        }
    }

    /// Returns `true` if the text is an object or a list, and all brackets are closed.
    fn is_complete(self) -> bool {
        self.has_begun && !self.is_other && self.depth == 0 && !self.is_in_string
    }

    /// Returns `true` if the text is the beginning of an object or a list.
    fn is_open(self) -> bool {
        self.has_begun && !self.is_other && !self.is_complete()
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
