//! The ids of traces and spans. They are derived from the log, so that a span that is exported again
//! has the same ids.

use avocet_protocol::ids::{CallId, TurnId};
use avocet_protocol::store::EventSeq;
use avocet_text::in_hexadecimal;
use sha2::{Digest, Sha256};

/// Bytes of a trace id (OTLP, `Span.trace_id`).
const TRACE_BYTES: usize = 16;
/// Bytes of a span id (OTLP, `Span.span_id`).
const SPAN_BYTES: usize = 8;

/// The subject of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanOf {
    /// A whole turn.
    Turn(TurnId),
    /// A finished call of a tool.
    Call(CallId),
    /// Another piece of a turn's work, by its place in the turn's timeline.
    Work(TurnId, usize),
    /// A delivery, by the event of its end.
    Delivery(EventSeq),
}

/// Returns the id of the trace of a root turn, as 32 hexadecimal digits.
pub(crate) fn trace_id(log: &str, root: TurnId) -> String {
    hexadecimal_id::<TRACE_BYTES>(&format!("avocet trace\n{log}\n{root}"))
}

/// Returns the id of a span, as 16 hexadecimal digits.
pub(crate) fn span_id(log: &str, of: SpanOf) -> String {
    let name = match of {
        SpanOf::Turn(turn) => format!("turn {turn}"),
        SpanOf::Call(call) => format!("call {call}"),
        SpanOf::Work(turn, place) => format!("work {turn} {place}"),
        SpanOf::Delivery(seq) => format!("delivery {seq}"),
    };
    hexadecimal_id::<SPAN_BYTES>(&format!("avocet span\n{log}\n{name}"))
}

fn hexadecimal_id<const BYTES: usize>(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    in_hexadecimal(&digest[..BYTES])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_ids_depend_on_the_log_and_the_subject_alone() {
        let call = CallId { turn: TurnId(1), step: 0, ordinal: 0 };
        let ids = [
            span_id("a", SpanOf::Turn(TurnId(1))),
            span_id("b", SpanOf::Turn(TurnId(1))),
            span_id("a", SpanOf::Turn(TurnId(2))),
            span_id("a", SpanOf::Call(call)),
            span_id("a", SpanOf::Work(TurnId(1), 0)),
            span_id("a", SpanOf::Delivery(EventSeq(1))),
        ];
        for (place, id) in ids.iter().enumerate() {
            assert!(id.len() == 16 && id.bytes().all(|digit| digit.is_ascii_hexdigit()), "{id}");
            assert!(!ids[..place].contains(id), "{id}");
        }
        assert_eq!(ids[0], span_id("a", SpanOf::Turn(TurnId(1))));
        assert_eq!(trace_id("a", TurnId(1)).len(), 32);
        assert_ne!(trace_id("a", TurnId(1)), trace_id("b", TurnId(1)));
    }
}
