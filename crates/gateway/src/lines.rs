//! Reads lines of bounded length from a stream. A longer line is skipped to its end, so that the
//! lines behind it are still read.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

use crate::MAX_LINE_BYTES;

/// A line read from the stream.
#[derive(Debug, PartialEq)]
pub(crate) enum InputLine {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// A line that was too long, and its length in bytes.
    TooLong(usize),
}

/// Reads the next line; `None` at the end of the stream. An incomplete last line is dropped.
pub(crate) async fn next<R: AsyncBufRead + Unpin>(stream: &mut R) -> io::Result<Option<InputLine>> {
    let mut line = Vec::new();
    let mut length = 0;
    loop {
        let available = stream.fill_buf().await?;
        if available.is_empty() {
            return Ok(None);
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let piece = &available[..end.unwrap_or(available.len())];
        length += piece.len();
        if length <= MAX_LINE_BYTES {
            line.extend_from_slice(piece);
        } else {
            line = Vec::new();
        }
        let used = piece.len() + usize::from(end.is_some());
        stream.consume(used);
        if end.is_some() {
            return Ok(Some(match length {
                0..=MAX_LINE_BYTES => InputLine::Whole(line),
                length => InputLine::TooLong(length),
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    #[tokio::test]
    async fn next_skips_a_line_that_is_too_long_and_returns_the_one_after_it() {
        let long = "x".repeat(10 * MAX_LINE_BYTES);
        let exact = "y".repeat(MAX_LINE_BYTES);
        let text = format!("one\n{long}\n\n{exact}\nhalf");
        let mut stream = BufReader::with_capacity(1000, text.as_bytes());
        let whole = |text: &str| Some(InputLine::Whole(text.as_bytes().to_vec()));
        assert_eq!(next(&mut stream).await.unwrap(), whole("one"));
        assert_eq!(next(&mut stream).await.unwrap(), Some(InputLine::TooLong(long.len())));
        assert_eq!(next(&mut stream).await.unwrap(), whole(""));
        assert_eq!(next(&mut stream).await.unwrap(), whole(&exact));
        assert_eq!(next(&mut stream).await.unwrap(), None);
    }
}
