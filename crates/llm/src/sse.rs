//! Server-sent events out of an HTTP answer (WHATWG HTML, "Parsing an event stream").

use std::collections::VecDeque;

use avocet_net::{HttpResponse, NetError};
use futures_util::stream::{self, BoxStream, Stream, StreamExt};

/// What a body may begin with.
const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();
/// Bytes of a body that are read, a few at a time. An answer of 200,000 tokens comes in about 60 MB of events.
const MAX_BYTES: usize = 128 * 1024 * 1024;
/// Bytes of an event that are read. The last event of an answer may hold all of it.
pub(crate) const MAX_EVENT: usize = 4 * 1024 * 1024;

/// What has been read, and not yet given out.
#[derive(Debug, Default)]
struct Splitter {
    /// The events that are whole, and behind them why there are no more, if there are none.
    ready: VecDeque<Result<String, NetError>>,
    /// The line that is not whole.
    line: Vec<u8>,
    /// The data of the event that is not whole, with a line feed behind each line.
    data: Vec<u8>,
    /// Whether the last line ended in a carriage return: a line feed behind it belongs to it.
    returned: bool,
    /// Whether the first line is over, in front of which a byte-order mark may stand.
    begun: bool,
}

/// The data of each event, in order, until the body ends.
pub(crate) fn events(response: HttpResponse) -> BoxStream<'static, Result<String, NetError>> {
    split(chunks(response)).boxed()
}

/// The data of each event in a body that comes in these pieces. What is not ended by a blank line is no
/// event, nor is one without data.
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

/// The body, piece by piece.
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
    /// Reads every byte once, however the body is cut.
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

    /// A blank line ends an event. Of its fields only the data matters: the rest says nothing that the
    /// data does not, is a comment, or is for a client that connects again.
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

/// The value of a line with data: behind the colon and one space, if they are there.
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
