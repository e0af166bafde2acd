use super::*;
use crate::model::Usage;
use crate::store::{EventSeq, Purpose};

/// Makes events of turn 1 from a list of `TIME KIND [ID]`, separated by `, `.
fn events(lines: &str) -> Vec<LogEvent> {
    lines.split(", ").map(event).collect()
}

fn event(line: &str) -> LogEvent {
    let (at, word) = line.split_once(' ').unwrap();
    let (word, id) = word.split_once(' ').unwrap_or((word, "0"));
    let kind = EventKind::ALL.iter().copied().find(|kind| kind.as_str() == word).unwrap();
    let ordinal: u32 = id.parse().unwrap();
    let turn = TurnId(1);
    LogEvent {
        seq: EventSeq(1),
        at: Timestamp(at.parse().unwrap()),
        kind,
        session: None,
        turn: (!word.starts_with("message")).then_some(turn),
        step: None,
        call: word.starts_with("call").then_some(CallId { turn, step: 0, ordinal }),
        detail: detail(word, ordinal),
    }
}

fn detail(word: &str, id: u32) -> Option<EventDetail> {
    let chat = "terminal:local:a".parse().unwrap();
    Some(match word.split_once('.').unwrap().0 {
        "message" => EventDetail::Message(EventMessage {
            id: crate::ids::MessageId(1),
            chat,
            sender: "u".parse().unwrap(),
            sender_name: None,
            is_command: false,
            text: "hi".to_owned(),
            outcome: None,
            reply: None,
        }),
        "model" => EventDetail::Answer(EventAnswer {
            text: "yes".to_owned(),
            input_tokens: 1,
            output_tokens: 1,
            calls: Vec::new(),
        }),
        "usage" => EventDetail::Usage(EventUsage {
            model: "a/b".to_owned(),
            purpose: Purpose::Answer,
            usage: Usage::new(10, 1),
            cost: None,
        }),
        "request" => EventDetail::FailedRequest(EventFailedRequest {
            began: Timestamp(i64::from(id)),
            ended: Timestamp(i64::from(id) + 2),
            purpose: Purpose::Answer,
            failure: crate::turn::FailureCode::RateLimited.into(),
        }),
        "call" => EventDetail::Tool(EventTool {
            name: "read".to_owned(),
            arguments: serde_json::Map::new(),
            ok: None,
            result_bytes: None,
            refusal: None,
        }),
        "delivery" => EventDetail::Delivery(EventDelivery {
            id: DeliveryId(id.into()),
            chat,
            source: "reply".to_owned(),
            part: 0,
            text: "yes".to_owned(),
            choices: Vec::new(),
            attempts: 1,
            repeat: false,
            platform_id: None,
            error: None,
        }),
        _ => return None,
    })
}

/// Formats spans as `START-END name`.
fn shown(spans: &[TraceSpan]) -> Vec<String> {
    let name = |work: &TraceWork| match work {
        TraceWork::Received { .. } => "received".to_owned(),
        TraceWork::Queued => "queued".to_owned(),
        TraceWork::Model { answer, usage } => {
            format!("model {} {}", answer.is_some(), usage.len())
        }
        TraceWork::FailedRequest { request } => {
            format!("failed request, {}", request.failure.code.as_str())
        }
        TraceWork::Tool { call, .. } => format!("tool {}", call.ordinal),
        TraceWork::Paused { .. } => "paused".to_owned(),
        TraceWork::Interrupted => "interrupted".to_owned(),
        TraceWork::Delivery { state, .. } => state.as_str().to_owned(),
        TraceWork::Ended { state, .. } => state.as_str().to_owned(),
    };
    let end = |span: &TraceSpan| span.end.map_or_else(|| "?".to_owned(), |end| end.0.to_string());
    spans
        .iter()
        .map(|span| format!("{}-{} {}", span.start.0, end(span), name(&span.work)))
        .collect()
}

#[test]
fn trace_makes_a_span_of_each_piece_of_work() {
    let table: &[(&str, &[&str])] = &[
        (
            "1 message.queued, 3 turn.running, 9 usage.recorded, 9 model.answered, 10 turn.done, \
             10 message.done, 10 delivery.pending, 10 delivery.sending, 14 delivery.sent",
            &[
                "1-1 received",
                "1-3 queued",
                "3-9 model true 1",
                "10-10 turn.done",
                "10-14 delivery.sent",
            ],
        ),
        (
            // The order of the transaction that ends a turn.
            "3 turn.running, 9 usage.recorded, 9 turn.done, 9 model.answered",
            &["3-9 model true 1", "9-9 turn.done"],
        ),
        (
            "3 turn.running, 9 usage.recorded, 9 turn.failed",
            &["3-9 model false 1", "9-9 turn.failed"],
        ),
        (
            // A stop comes before the usage of the request that it cuts off.
            "3 turn.running, 9 turn.cancelled, 9 usage.recorded, 10 usage.recorded",
            &["3-9 model false 2", "9-9 turn.cancelled"],
        ),
        (
            "3 turn.running, 9 model.answered, 9 turn.cancelled, 10 usage.recorded",
            &["3-9 model true 1", "9-9 turn.cancelled"],
        ),
        (
            "3 turn.running, 9 turn.failed, 10 usage.recorded",
            &["3-9 model false 1", "9-9 turn.failed"],
        ),
        (
            "3 turn.running, 5 usage.recorded, 5 model.answered, 9 turn.cancelled, 9 usage.recorded",
            &["3-5 model true 1", "5-9 model false 1", "9-9 turn.cancelled"],
        ),
        (
            // Two messages that one turn answers, and one that steers it.
            "1 message.queued, 2 message.queued, 3 turn.running, 4 message.queued, \
             10 turn.done, 10 message.done",
            &[
                "1-1 received",
                "1-3 queued",
                "2-2 received",
                "2-3 queued",
                "4-4 received",
                "4-10 queued",
                "10-10 turn.done",
            ],
        ),
        (
            // A call that was started, and one that only reads.
            "1 turn.running, 4 model.answered, 5 call.started 0, 7 call.finished 0, \
             8 call.finished 1, 9 model.answered",
            &["1-4 model true 0", "5-7 tool 0", "7-8 tool 1", "8-9 model true 0"],
        ),
        (
            "1 turn.running, 2 model.answered, 3 turn.waiting, 60 turn.queued, 61 turn.running, \
             65 model.answered",
            &["1-2 model true 0", "3-61 paused", "61-65 model true 0"],
        ),
        (
            "1 turn.running, 5 turn.queued, 9 turn.running, 12 model.answered",
            &["5-9 interrupted", "9-12 model true 0"],
        ),
        (
            "1 turn.running, 4 usage.recorded, 4 usage.recorded, 4 turn.failed",
            &["1-4 model false 2", "4-4 turn.failed"],
        ),
        (
            // The failures come into the log with the answer.
            "1 turn.running, 9 request.failed 1, 9 request.failed 5, 9 usage.recorded, \
             9 model.answered",
            &[
                "1-3 failed request, rate_limited",
                "1-9 model true 1",
                "5-7 failed request, rate_limited",
            ],
        ),
        // A command has no turn.
        ("1 message.queued, 2 message.done", &["1-1 received", "1-2 queued"]),
        ("1 message.queued", &["1-1 received", "1-? queued"]),
        (
            "1 delivery.sending 7, 2 delivery.unknown 7, 5 delivery.sending 7, 6 delivery.dead 7, \
             7 delivery.sending 8",
            &["1-6 delivery.dead", "7-? delivery.sending"],
        ),
    ];
    for (lines, expected) in table {
        assert_eq!(shown(&trace(events(lines))), *expected, "{lines}");
    }
}
