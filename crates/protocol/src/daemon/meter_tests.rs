use super::*;
use crate::ids::{CallId, TurnId};
use crate::model::{Money, Usage};
use crate::store::{EventAnswer, EventSeq, EventTool};
use crate::tool::WaitKind;
use crate::turn::{FailureCode, TurnFailure};

fn usage(cost: Option<Money>) -> EventDetail {
    let usage = Usage { cached: 64, ..Usage::new(100, 20) };
    let model = "mine/gpt".to_owned();
    EventDetail::Usage(EventUsage { model, purpose: Purpose::Answer, usage, cost })
}

fn event(milliseconds: i64, kind: EventKind, detail: Option<EventDetail>) -> LogEvent {
    let turn = Some(TurnId(1));
    let call = kind.as_str().starts_with("call").then_some(CallId {
        turn: TurnId(1),
        step: 0,
        ordinal: 0,
    });
    let (seq, at) = (EventSeq(1), Timestamp(1_800_000_000_000 + milliseconds));
    LogEvent { seq, at, kind, session: None, turn, step: None, call, detail }
}

fn tool(ok: bool) -> EventDetail {
    let name = "find".to_owned();
    let tool = EventTool {
        name,
        arguments: serde_json::Map::new(),
        ok: Some(ok),
        result_bytes: None,
        refusal: None,
    };
    EventDetail::Tool(tool)
}

fn answer() -> EventDetail {
    let calls = Vec::new();
    let answer = EventAnswer { text: String::new(), input_tokens: 1, output_tokens: 1, calls };
    EventDetail::Answer(answer)
}

fn metered(events: &[LogEvent]) -> EventMeter {
    let mut providers = ProviderNames::default();
    providers.add_provider("mine", "openai", None);
    let mut meter = EventMeter::new(providers);
    let (turn, root) = (TurnId(1), TurnId(1));
    let history = EventHistory { turn, root, parent: None, call: None, events: events.to_vec() };
    for event in events {
        meter.add_event(event, EventMeter::is_timed(event.kind).then_some(&history));
    }
    meter
}

fn failed_request() -> EventDetail {
    let failure =
        TurnFailure { model: Some("mine/gpt".to_owned()), ..FailureCode::RateLimited.into() };
    let (began, ended) = (Timestamp(0), Timestamp(500));
    EventDetail::FailedRequest(EventFailedRequest {
        began,
        ended,
        purpose: Purpose::Answer,
        failure,
    })
}

/// Formats the series of a family as `LABELS VALUE`. A histogram has its count and its sum.
fn shown(meter: &EventMeter, family: &MetricFamily) -> Vec<String> {
    let line = |(labels, value): (&MetricLabels, &MetricValue)| {
        let labels: Vec<_> = labels.iter().map(|(_, value)| value.as_str()).collect();
        match value {
            MetricValue::Sum(sum) => format!("{} {sum}", labels.join(" ")),
            MetricValue::Histogram { counts, sum } => {
                format!("{} {}/{sum}", labels.join(" "), counts.iter().sum::<u64>())
            }
        }
    };
    meter.series(family).map(line).collect()
}

#[test]
fn meter_counts_and_times_the_work_of_a_turn() {
    let meter = metered(&[
        event(0, EventKind::TurnRunning, None),
        event(2_000, EventKind::RequestFailed, Some(failed_request())),
        event(2_000, EventKind::UsageRecorded, Some(usage(Some(Money::dollars(0.25))))),
        event(2_000, EventKind::ModelAnswered, Some(answer())),
        event(2_500, EventKind::CallStarted, None),
        event(3_000, EventKind::CallFinished, Some(tool(false))),
        event(4_000, EventKind::UsageRecorded, Some(usage(None))),
        event(4_000, EventKind::ModelAnswered, Some(answer())),
        event(4_000, EventKind::TurnDone, None),
    ]);
    for (family, expected) in [
        (&TURNS, &["done 1"][..]),
        (&ANSWERS, &["mine/gpt 2"]),
        (&FAILED_REQUESTS, &["rate_limited mine/gpt 1"]),
        (&MODEL_TOKENS, &["mine/gpt cached 128", "mine/gpt input 200", "mine/gpt output 40"]),
        (&COST, &["mine/gpt 0.25"]),
        (&UNPRICED, &["mine/gpt 120"]),
        (&TURN_TIME, &["done 1/4"]),
        (&MODEL_TIME, &["chat openai gpt 2/3"]),
        (&TOOL_TIME, &["find tool_error 1/0.5"]),
        (&TOKEN_USAGE, &["chat openai gpt input 2/200", "chat openai gpt output 2/40"]),
        (&MESSAGES, &[]),
    ] {
        assert_eq!(shown(&meter, family), expected, "{}", family.name);
    }
}

#[test]
fn meter_times_a_failed_request() {
    let meter = metered(&[
        event(0, EventKind::TurnRunning, None),
        event(7_000, EventKind::TurnFailed, None),
    ]);
    assert_eq!(shown(&meter, &MODEL_TIME), ["chat no_answer 1/7"]);
    assert_eq!(shown(&meter, &TURNS), ["failed 1"]);
    let info = crate::store::EventTurn {
        parent: None,
        label: None,
        waits_for: vec![WaitKind::Approval],
        answer: None,
        notice: None,
        failure: None,
    };
    let waiting = metered(&[
        event(0, EventKind::TurnRunning, None),
        event(1_000, EventKind::TurnWaiting, Some(EventDetail::TurnInfo(info))),
        event(9_000, EventKind::TurnFailed, None),
    ]);
    assert_eq!(shown(&waiting, &MODEL_TIME), [""; 0], "no request was under way");
}

#[test]
fn meter_puts_a_value_on_a_boundary_below_it() {
    let mut meter = EventMeter::default();
    for value in [0.01, 0.011, 1000.0] {
        meter.measure(&QUEUE_TIME, Vec::new(), value);
    }
    let (_, MetricValue::Histogram { counts, .. }) = meter.series(&QUEUE_TIME).next().unwrap()
    else {
        panic!("no histogram")
    };
    assert_eq!((counts[0], counts[1], counts[SECONDS.len()]), (1, 1, 1));
}
