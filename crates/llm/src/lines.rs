//! Lines out of an HTTP answer: JSON values, one each (NDJSON).

use avocet_net::{HttpResponse, NetError};
use futures_util::stream::{self, BoxStream, StreamExt};

use crate::sse::{MAX_EVENT, chunks};

/// What has been read, and not yet given out.
#[derive(Debug, Default)]
struct Buffer {
    bytes: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Before here there is no end of it.
    searched: usize,
}

/// The lines, in order and without their ends, until the body ends; blank ones are left out.
pub(crate) fn lines(response: HttpResponse) -> BoxStream<'static, Result<String, NetError>> {
    let reading = Some((chunks(response).boxed(), Buffer::default()));
    let lines = stream::unfold(reading, async |reading| {
        let (mut chunks, mut buffer) = reading?;
        loop {
            if let Some(line) = buffer.line() {
                return Some((line, Some((chunks, buffer))));
            }
            match chunks.next().await {
                Some(Ok(chunk)) if buffer.bytes.len() + chunk.as_ref().len() > MAX_EVENT => {
                    let error = format!("a line is longer than {MAX_EVENT} bytes");
                    return Some((Err(NetError::Broken(error)), None));
                }
                Some(Ok(chunk)) => buffer.bytes.extend_from_slice(chunk.as_ref()),
                Some(Err(error)) => return Some((Err(error), None)),
                None => return Some((text(&buffer.bytes), None)),
            }
        }
    });
    let is_blank =
        |line: &Result<String, NetError>| line.as_ref().is_ok_and(|line| line.trim().is_empty());
    lines.filter(move |line| std::future::ready(!is_blank(line))).boxed()
}

impl Buffer {
    /// The next line, if it is there whole. Every byte is looked at once, and moved at most once a chunk.
    fn line(&mut self) -> Option<Result<String, NetError>> {
        let unsearched = &self.bytes[self.searched..];
        let Some(end) = unsearched.iter().position(|byte| *byte == b'\n') else {
            self.bytes.drain(..self.start);
            (self.start, self.searched) = (0, self.bytes.len());
            return None;
        };
        let (start, end) = (self.start, self.searched + end + 1);
        (self.start, self.searched) = (end, end);
        Some(text(&self.bytes[start..end]))
    }
}

fn text(line: &[u8]) -> Result<String, NetError> {
    String::from_utf8(line.to_vec()).map_err(|error| NetError::Broken(error.to_string()))
}
