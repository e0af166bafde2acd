use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::TurnId;
use avocet_protocol::model::{Money, Usage};
use avocet_protocol::store::Purpose;
use avocet_protocol::tool::WaitKind;
use serde_json::Map;

use super::*;

fn span(start: i64, end: Option<i64>, work: TraceWork) -> TraceSpan {
    let at = |ms: i64| Timestamp(1_732_700_000_000 + ms);
    let turn =
        (!matches!(work, TraceWork::Received { .. } | TraceWork::Queued)).then_some(TurnId(7));
    TraceSpan { start: at(start), end: end.map(at), turn, work }
}

fn usage(cost: Option<u64>) -> Vec<EventUsage> {
    let cost = cost.map(Money);
    let (model, purpose) = ("openai/gpt-5".to_owned(), Purpose::Answer);
    vec![EventUsage { model, purpose, usage: Usage::new(1200, 30), cost }]
}

fn answer(text: &str, calls: &[&str]) -> EventAnswer {
    let calls = calls.iter().map(|name| (*name).to_owned()).collect();
    EventAnswer { text: text.to_owned(), input_tokens: 1200, output_tokens: 30, calls }
}

#[test]
fn timeline_shows_each_span_with_a_bar() {
    let chat: avocet_protocol::chat::ChatAddress = "telegram:main:5".parse().unwrap();
    let message = EventMessage {
        id: "m12".parse().unwrap(),
        chat: chat.clone(),
        sender: "5".parse().unwrap(),
        sender_name: Some("Ada".to_owned()),
        is_command: false,
        text: "What is in\nthe notes?".to_owned(),
        outcome: None,
        reply: None,
    };
    let tool = |ok| EventTool {
        name: "read_file".to_owned(),
        arguments: Map::from_iter([(
            "path".to_owned(),
            json!("notes/".to_owned() + &"x".repeat(90)),
        )]),
        ok,
        result_bytes: ok.map(|_| 1234),
        refusal: None,
    };
    let call = |ordinal| avocet_protocol::ids::CallId { turn: TurnId(7), step: 0, ordinal };
    let delivery = EventDelivery {
        id: "o9".parse().unwrap(),
        chat,
        source: "reply".to_owned(),
        part: 0,
        text: "Milk.".to_owned(),
        choices: Vec::new(),
        attempts: 2,
        repeat: false,
        platform_id: Some("5567".parse().unwrap()),
        error: Some("Too Many Requests: retry after 2".to_owned()),
    };
    let notice = Some("The model does not answer.".to_owned());
    let ended = EventTurn {
        parent: None,
        label: None,
        waits_for: Vec::new(),
        answer: None,
        notice,
        failure: None,
    };
    let spans = [
        span(0, Some(0), TraceWork::Received { message }),
        span(0, Some(4), TraceWork::Queued),
        span(
            4,
            Some(1830),
            TraceWork::Model {
                answer: Some(answer("", &["read_file"])),
                usage: usage(Some(4_000_000)),
            },
        ),
        span(1830, Some(1835), TraceWork::Tool { call: call(0), tool: tool(Some(true)) }),
        span(1830, Some(1840), TraceWork::Tool { call: call(1), tool: tool(Some(false)) }),
        span(1840, None, TraceWork::Tool { call: call(2), tool: tool(None) }),
        span(1900, Some(3000), TraceWork::Paused { waits_for: vec![WaitKind::Approval] }),
        span(3000, Some(3100), TraceWork::Interrupted),
        span(
            3100,
            Some(4000),
            TraceWork::Model { answer: Some(answer("Milk.", &[])), usage: usage(None) },
        ),
        span(4000, Some(4100), TraceWork::Model { answer: None, usage: usage(None) }),
        span(
            4100,
            Some(4100),
            TraceWork::Ended { state: EventKind::TurnFailed, turn_info: Some(ended) },
        ),
        span(4100, Some(6200), TraceWork::Delivery { delivery, state: EventKind::DeliverySent }),
    ];
    insta::assert_snapshot!(timeline_text(&spans, Timestamp(1_732_700_060_000), &TimeZone::UTC));
}

#[test]
fn drawn_keeps_each_bar_within_the_timeline() {
    let ms = Duration::from_millis;
    for (start, lasts, whole, expected) in [
        (0, 0, 0, "▏"),
        (0, 100, 100, "████████████████████████"),
        (100, 0, 100, "                       ▏"),
        (50, 50, 100, "            ████████████"),
        (0, 1, 100, "▏"),
    ] {
        let drawn = draw_bar(ms(start), ms(lasts), ms(whole));
        assert_eq!(drawn.trim_end(), expected, "{start} {lasts} {whole}");
        assert_eq!(drawn.chars().count(), WIDTH);
    }
}

#[test]
fn seconds_uses_units_that_fit_the_length() {
    for (ms, text) in
        [(4, "0.004 s"), (12_340, "12.3 s"), (125_000, "2 min 5 s"), (11_520_000, "3 h 12 min")]
    {
        assert_eq!(format_seconds(Duration::from_millis(ms)), text);
    }
}
