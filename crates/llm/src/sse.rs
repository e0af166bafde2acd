//! Parses server-sent events from an HTTP response (WHATWG HTML, "Parsing an event stream").

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

/// The parsed events that are yet to be returned, and the incomplete rest.
#[derive(Debug, Default)]
struct Splitter {
    /// The complete events. After them the error, if the stream failed.
    ready: VecDeque<Result<String, NetError>>,
    /// The incomplete line.
    line: Vec<u8>,
    /// The data of the incomplete event, with a line feed after each line.
    data: Vec<u8>,
    /// `true` if the last line ended in a carriage return: a line feed after it belongs to it.
    returned: bool,
    /// `true` after the first line, which may begin with a byte-order mark.
    begun: bool,
}

/// Returns the data of each event, in order, until the body ends.
pub(crate) fn events(response: HttpResponse) -> BoxStream<'static, Result<String, NetError>> {
    split(chunks(response)).boxed()
}

/// Returns the data of each event in a body that arrives in these chunks. Data without a blank line
/// after it is dropped, and so is an event without data.
pub(crate) fn split<B: AsRef<[u8]>>(
    chunks: impl Stream<Item = Result<B, NetError>>,
) -> impl Stream<Item = Result<String, NetError>> {
    let reading = Some((Box::pin(chunks), Splitter::default()));
    stream::unfold(reading, async |reading| {
        let (mut chunks, mut splitter) = reading?;
        loop {
            if let Some(event) = splitter.ready.pop_front() {
                let more = event.is_ok().then_some((chunks, splitter));
                return Some((event, more));
            }
            match chunks.next().await? {
                Ok(chunk) => splitter.push(chunk.as_ref()),
                Err(error) => return Some((Err(error), None)),
            }
        }
    })
}

/// The body, chunk by chunk.
pub(crate) fn chunks(
    response: HttpResponse,
) -> impl Stream<Item = Result<impl AsRef<[u8]>, NetError>> + Send {
    stream::unfold(Some((response, MAX_BYTES)), async |reading| {
        let (mut response, left) = reading?;
        match response.chunk().await {
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

impl Splitter {
    /// Parses a chunk. Reads every byte once, however the body is divided.
    fn push(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while !rest.is_empty() {
            if std::mem::take(&mut self.returned) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            self.line.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
            if self.line.len() + self.data.len() > MAX_EVENT {
                return self.fail(NetError::TooLong(MAX_EVENT));
            }
            let Some(end) = end else { return };
            self.returned = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if let Err(error) = self.end_line() {
                return self.fail(NetError::Broken(error.to_string()));
            }
        }
    }

    fn fail(&mut self, error: NetError) {
        self.ready.push_back(Err(error));
    }

    /// A blank line ends an event. Only the data fields matter. The others repeat the data, are
    /// comments, or serve clients that reconnect.
    fn end_line(&mut self) -> Result<(), std::string::FromUtf8Error> {
        let mut line = &self.line[..];
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            self.data.pop();
            if !self.data.is_empty() {
                self.ready.push_back(Ok(String::from_utf8(std::mem::take(&mut self.data))?));
            }
        } else if let Some(value) = data(line) {
            self.data.extend_from_slice(value);
            self.data.push(b'\n');
        }
        self.line.clear();
        Ok(())
    }
}

/// The value of a data line: the text after the colon and one optional space.
fn data(line: &[u8]) -> Option<&[u8]> {
    match line.strip_prefix(b"data")? {
        [] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
