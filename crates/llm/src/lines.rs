//! Splits an HTTP response into lines, one JSON value each (NDJSON).

use avocet_net::{HttpResponse, NetError};
use futures_util::stream::{self, BoxStream, Stream, StreamExt};

use crate::sse::{MAX_EVENT, chunks};

/// The received bytes that are yet to be returned.
#[derive(Debug, Default)]
struct Buffer {
    bytes: Vec<u8>,
    /// Start of the next line.
    start: usize,
    /// The bytes before this index were searched for the end of that line.
    searched: usize,
}

/// Returns the lines of a response, in order and without line ends, until the body ends. Blank
/// lines are skipped.
pub(crate) fn lines(response: HttpResponse) -> BoxStream<'static, Result<String, NetError>> {
    split(chunks(response)).boxed()
}

/// Returns the lines of a body that arrives in these chunks.
pub(crate) fn split<B: AsRef<[u8]>>(
    chunks: impl Stream<Item = Result<B, NetError>>,
) -> impl Stream<Item = Result<String, NetError>> {
    let reading = Some((Box::pin(chunks), Buffer::default()));
    let lines = stream::unfold(reading, async |reading| {
        let (mut chunks, mut buffer) = reading?;
        loop {
            if let Some(line) = buffer.line() {
                return Some((line, Some((chunks, buffer))));
            }
            match chunks.next().await {
                Some(Ok(chunk)) if buffer.bytes.len() + chunk.as_ref().len() > MAX_EVENT => {
                    return Some((Err(NetError::TooLong(MAX_EVENT)), None));
                }
                Some(Ok(chunk)) => buffer.bytes.extend_from_slice(chunk.as_ref()),
                Some(Err(error)) => return Some((Err(error), None)),
                None => return Some((text(&buffer.bytes), None)),
            }
        }
    });
    let is_blank =
        |line: &Result<String, NetError>| line.as_ref().is_ok_and(|line| line.trim().is_empty());
    lines.filter(move |line| std::future::ready(!is_blank(line)))
}

impl Buffer {
    /// Returns the next line if it is complete. Every byte is searched once and moved at most once
    /// per chunk.
    fn line(&mut self) -> Option<Result<String, NetError>> {
        let unsearched = &self.bytes[self.searched..];
        let Some(end) = unsearched.iter().position(|byte| *byte == b'\n') else {
            self.bytes.drain(..self.start);
            (self.start, self.searched) = (0, self.bytes.len());
            return None;
        };
        let (start, end) = (self.start, self.searched + end);
        (self.start, self.searched) = (end + 1, end + 1);
        Some(text(&self.bytes[start..end]))
    }
}

fn text(line: &[u8]) -> Result<String, NetError> {
    String::from_utf8(line.to_vec()).map_err(|_| NetError::Broken("a line is not UTF-8".to_owned()))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn lines_of(pieces: &[&[u8]]) -> Vec<Result<String, String>> {
        let pieces = pieces.iter().map(|piece| Ok::<_, NetError>(*piece));
        let lines = split(stream::iter(pieces)).collect::<Vec<_>>().now_or_never().unwrap();
        lines.into_iter().map(|line| line.map_err(|error| error.to_string())).collect()
    }

    #[test]
    fn lines_split_gives_the_same_lines_for_any_pieces() {
        let table: [(&[&[u8]], &[&str]); 5] = [
            (&[], &[]),
            (&[b"{\"a\": 1}\n{}\n"], &["{\"a\": 1}", "{}"]),
            (&[b"on", b"e\r\n\n \ntw", b"o\nthr", b"ee"], &["one\r", "two", "three"]),
            (&[b"\xC3", b"\xA4\n"], &["ä"]),
            (&[b"a\nb", b"\n", b"c"], &["a", "b", "c"]),
        ];
        for (pieces, lines) in table {
            let lines = lines.iter().map(|line| Ok((*line).to_owned())).collect::<Vec<_>>();
            assert_eq!(lines_of(pieces), lines, "{pieces:?}");
        }
    }

    #[test]
    fn lines_split_refuses_a_line_that_is_too_long_or_is_not_utf8() {
        let half = vec![b'x'; MAX_EVENT / 2 + 1];
        let long = lines_of(&[b"a\n", &half, &half, b"\n"]);
        assert_eq!(long[0], Ok("a".to_owned()));
        assert!(long[1].as_ref().is_err_and(|error| error.contains("longer than")));
        assert!(lines_of(&[b"\xFF\n"])[0].is_err());
    }
}
