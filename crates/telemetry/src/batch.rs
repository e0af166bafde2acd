//! Encoded spans that are sent together.

use avocet_protocol::store::EventSeq;

use crate::otlp::{OtlpSpan, trace_request};

/// The most ended turns and deliveries of a batch.
const MOST_EVENTS: usize = 100;
/// Bytes of the spans of a request. The frame around them has less than 1 KiB.
const MOST_BYTES: usize = 1024 * 1024 - 1024;

/// Spans of whole events, in the order of the log.
#[derive(Debug, Default)]
pub(crate) struct SpanBatch {
    spans: Vec<String>,
    events: usize,
    bytes: usize,
    /// The last event; `None` for an empty batch.
    upto: Option<EventSeq>,
}

impl SpanBatch {
    /// Returns `true` if the spans of one more event fit. Any event fits an empty batch.
    pub(crate) fn has_room(&self, spans: &[String]) -> bool {
        self.events == 0
            || (self.events < MOST_EVENTS && self.bytes + count_bytes(spans) <= MOST_BYTES)
    }

    pub(crate) fn add_spans(&mut self, event: EventSeq, spans: Vec<String>) {
        self.bytes += count_bytes(&spans);
        self.events += 1;
        self.spans.extend(spans);
        self.upto = Some(event);
    }

    /// Returns the last event of the batch; `None` if it is empty.
    pub(crate) fn last_event(&self) -> Option<EventSeq> {
        self.upto
    }

    /// Returns the bodies of the requests: one, or more if a single event has more than
    /// [`MOST_BYTES`].
    pub(crate) fn request_bodies<'b>(&'b self, log: &'b str) -> impl Iterator<Item = Vec<u8>> + 'b {
        let mut rest = self.spans.as_slice();
        std::iter::from_fn(move || {
            let mut size = 0;
            let fits = rest.iter().take_while(|span| {
                size += span.len() + 1;
                size <= MOST_BYTES
            });
            let count = fits.count().max(1).min(rest.len());
            let (first, others) = rest.split_at(count);
            rest = others;
            (count > 0).then(|| trace_request(log, first))
        })
    }
}

pub(crate) fn encode_spans(spans: &[OtlpSpan]) -> Vec<String> {
    // Encoding fails only for maps whose keys are not texts.
    spans.iter().filter_map(|span| serde_json::to_string(span).ok()).collect()
}

/// Returns the bytes of spans with the commas between them.
fn count_bytes(spans: &[String]) -> usize {
    spans.iter().map(|span| span.len() + 1).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Encoded spans with this many bytes each.
    fn spans(count: usize, size: usize) -> Vec<String> {
        vec![format!("\"{}\"", "a".repeat(size - 2)); count]
    }

    #[test]
    fn batch_has_room_for_100_events_or_1_mib() {
        let mut batch = SpanBatch::default();
        for seq in 0..100 {
            assert!(batch.has_room(&spans(1, 100)), "{seq}");
            batch.add_spans(EventSeq(seq), spans(1, 100));
        }
        assert!(!batch.has_room(&spans(1, 100)));
        assert_eq!(batch.last_event(), Some(EventSeq(99)));
        let mut batch = SpanBatch::default();
        assert!(batch.has_room(&spans(3, 700_000)), "a batch takes any first event");
        batch.add_spans(EventSeq(1), spans(1, 700_000));
        assert!(!batch.has_room(&spans(1, 400_000)));
    }

    #[test]
    fn batch_requests_split_an_event_that_is_too_large() {
        let mut batch = SpanBatch::default();
        assert_eq!(batch.request_bodies("log").count(), 0);
        batch.add_spans(EventSeq(1), spans(5, 500_000));
        let requests: Vec<_> = batch.request_bodies("log").collect();
        let sizes: Vec<_> = requests.iter().map(Vec::len).collect();
        assert!(sizes.iter().all(|size| *size <= 1024 * 1024), "{sizes:?}");
        let count = |request: &Vec<u8>| {
            let request: Value = serde_json::from_slice(request).unwrap();
            request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().len()
        };
        assert_eq!(requests.iter().map(count).collect::<Vec<_>>(), [2, 2, 1]);
    }
}
