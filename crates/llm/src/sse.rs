//! Server-sent events out of an HTTP answer.

use avocet_net::{HttpResponse, NetError};
use eventsource_stream::{EventStreamError, Eventsource};
use futures_util::stream::{self, BoxStream, Stream, StreamExt};

/// What a body may begin with (WHATWG HTML, "Parsing an event stream").
const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();
/// Bytes of a body that are read; no answer is that long.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The data of each event, in order, until the body ends.
pub(crate) fn events(response: HttpResponse) -> BoxStream<'static, Result<String, NetError>> {
    split(chunks(response)).boxed()
}

/// The data of each event in a body that comes in these pieces.
pub(crate) fn split<B: AsRef<[u8]>>(
    chunks: impl Stream<Item = Result<B, NetError>>,
) -> impl Stream<Item = Result<String, NetError>> {
    let mut is_first = true;
    let without_mark = chunks.map(move |chunk| {
        let is_first = std::mem::take(&mut is_first);
        chunk.map(|bytes| match bytes.as_ref().strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if is_first => rest.to_vec(),
            _ => bytes.as_ref().to_vec(),
        })
    });
    without_mark.eventsource().map(|event| match event {
        Ok(event) => Ok(event.data),
        Err(EventStreamError::Transport(error)) => Err(error),
        Err(error) => Err(NetError::Broken(error.to_string())),
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
                let error = format!("the answer is longer than {MAX_BYTES} bytes");
                Some((Err(NetError::Broken(error)), None))
            }
            Ok(Some(chunk)) => {
                let left = left - chunk.len();
                Some((Ok(chunk), Some((response, left))))
            }
            Err(error) => Some((Err(error), None)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_may_begin_with_a_byte_order_mark() {
        let pieces = ["\u{FEFF}data: one\n\n", "data: \u{FEFF}two\n\n"];
        let chunks = stream::iter(pieces.map(|piece| Ok::<_, NetError>(piece.as_bytes())));
        let events: Vec<String> = split(chunks).map(Result::unwrap).collect().await;
        assert_eq!(events, ["one", "\u{FEFF}two"]);
    }
}
