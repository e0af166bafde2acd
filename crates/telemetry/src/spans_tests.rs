use avocet_protocol::ids::TurnId;
use avocet_protocol::model::ProviderNames;
use avocet_protocol::turn::FailureCode;
use avocet_testkit::START;
use avocet_text::{Redactor, Secret};
use serde_json::json;

use super::*;
use crate::testing::{ANSWERED, ARGUMENT, ASKED, FAULT, NOTICE, SECRET, make_history};

const TEXT: &str = "0 message.queued, 1 turn.running, 3 usage.recorded, 3 model.answered, \
    4 turn.done";
const TOOL: &str = "0 message.queued, 1 turn.running, 3 usage.recorded, 3 model.answered, \
    4 call.started, 6 call.finished, 7 model.answered, 7 turn.done";

fn spans(history: EventHistory, content: bool) -> Vec<Value> {
    let redactor = Redactor::new([Secret::new(SECRET.to_owned())]);
    let mut providers = ProviderNames::default();
    providers.add_provider("local", "ollama", None);
    let maker = SpanMaker { log: "log1", content, redactor: &redactor, providers: &providers };
    let end = history.events.last().unwrap().clone();
    maker.spans_of_event(&end, history).iter().map(|span| json!(span)).collect()
}

/// Returns a time as seconds since the start of the tests.
fn seconds(span: &Value, key: &str) -> i64 {
    let nanoseconds: i64 = span[key].as_str().unwrap().parse().unwrap();
    (nanoseconds / 1_000_000 - START.0) / 1000
}

fn attribute(span: &Value, key: &str) -> String {
    let value = avocet_testkit::otlp::attribute(span, key);
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Formats a span as `START-END name`, with the type of its error.
fn shown(span: &Value) -> String {
    let (start, end) = (seconds(span, "startTimeUnixNano"), seconds(span, "endTimeUnixNano"));
    let error = match span["status"]["code"].as_u64() {
        Some(_) => format!(" error {}", attribute(span, "error.type")),
        None => String::new(),
    };
    format!("{start}-{end} {}{error}", span["name"].as_str().unwrap())
}

#[test]
fn spans_of_a_turn_show_its_work_below_the_turn() {
    let table: &[(&str, &[&str])] = &[
        (TEXT, &["0-4 invoke_agent", "0-1 queue", "1-3 chat qwen3"]),
        (
            TOOL,
            &[
                "0-7 invoke_agent",
                "0-1 queue",
                "1-3 chat qwen3",
                "4-6 execute_tool find",
                "6-7 chat",
            ],
        ),
        (
            "0 message.queued, 1 turn.running, 3 request.failed, 3 usage.recorded, \
             3 model.answered, 3 turn.done",
            &[
                "0-3 invoke_agent",
                "0-1 queue",
                "1-2 chat qwen3 error rate_limited",
                "1-3 chat qwen3",
            ],
        ),
        (
            "0 message.queued, 1 turn.running, 5 usage.recorded, 5 turn.failed",
            &["0-5 invoke_agent error turn_failed", "0-1 queue", "1-5 chat qwen3 error no_answer"],
        ),
        (
            // Without usage: the provider has refused each attempt.
            "0 message.queued, 1 turn.running, 5 turn.failed",
            &["0-5 invoke_agent error turn_failed", "0-1 queue", "1-5 chat error no_answer"],
        ),
        (
            "0 message.queued, 1 turn.running, 5 usage.recorded, 5 turn.cancelled",
            &["0-5 invoke_agent", "0-1 queue", "1-5 chat qwen3"],
        ),
        (
            "0 turn.running, 2 model.answered, 2 turn.waiting, 50 turn.queued, 51 turn.running, \
             53 model.answered, 53 turn.done",
            &["0-53 invoke_agent", "0-2 chat", "2-51 wait approval", "51-53 chat"],
        ),
        (
            // A crash during a call, which then runs again.
            "0 turn.running, 2 model.answered, 3 call.started, 9 call.interrupted, 9 turn.queued, \
             10 turn.running, 11 call.started, 12 call.finished, 13 model.answered, 13 turn.done",
            &[
                "0-13 invoke_agent",
                "0-2 chat",
                "3-3 execute_tool find error interrupted",
                "9-10 interruption",
                "11-12 execute_tool find",
                "12-13 chat",
            ],
        ),
        ("4 turn.cancelled", &["4-4 invoke_agent"]),
    ];
    for (lines, expected) in table {
        let spans = spans(make_history(1, lines), false);
        assert_eq!(spans.iter().map(shown).collect::<Vec<_>>(), *expected, "{lines}");
        let root = &spans[0]["spanId"];
        assert!(spans[1..].iter().all(|span| span["parentSpanId"] == *root), "{spans:?}");
        assert!(spans.iter().all(|span| span["traceId"] == spans[0]["traceId"]));
        let mut ids: Vec<_> = spans.iter().map(|span| span["spanId"].to_string()).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), spans.len(), "{lines}: an id is repeated");
    }
}

#[test]
fn spans_have_the_attributes_of_the_conventions() {
    let spans = spans(make_history(1, TOOL), false);
    let table = [
        (0, "gen_ai.operation.name", "invoke_agent"),
        (0, "gen_ai.conversation.id", "telegram:bot:7"),
        (0, "avocet.turn.id", "1"),
        (0, "avocet.turn.state", "done"),
        (2, "gen_ai.operation.name", "chat"),
        (2, "gen_ai.provider.name", "ollama"),
        (2, "gen_ai.request.model", "qwen3"),
        (2, "gen_ai.usage.input_tokens", "100"),
        (2, "gen_ai.usage.output_tokens", "20"),
        (2, "gen_ai.usage.cache_read.input_tokens", "64"),
        (2, "gen_ai.usage.cache_creation.input_tokens", "null"),
        (2, "avocet.cost.usd", "0.25"),
        (3, "gen_ai.operation.name", "execute_tool"),
        (3, "gen_ai.tool.name", "find"),
        (3, "gen_ai.tool.call.id", "t1s0c0"),
        (3, "avocet.tool.result_bytes", "6"),
        // An answer without a record of its usage.
        (4, "gen_ai.usage.input_tokens", "100"),
        (4, "avocet.cost.usd", "null"),
    ];
    for (span, key, value) in table {
        assert_eq!(attribute(&spans[span], key), value, "{key}: {}", spans[span]);
    }
    assert_eq!([&spans[0]["kind"], &spans[2]["kind"]], [&json!(1), &json!(3)]);
}

#[test]
fn spans_of_a_failed_request_name_the_reason_the_status_and_the_model() {
    let mut failed = make_history(1, "0 message.queued, 1 turn.running, 5 turn.failed");
    let Some(EventDetail::TurnInfo(info)) = &mut failed.events[2].detail else { panic!() };
    info.failure = Some(TurnFailure {
        code: FailureCode::RateLimited,
        model: Some("local/qwen3".to_owned()),
        status: Some(429),
        retry_after_seconds: None,
    });
    let spans = spans(failed, false);
    let expected =
        ["0-5 invoke_agent error rate_limited", "0-1 queue", "1-5 chat qwen3 error rate_limited"];
    assert_eq!(spans.iter().map(shown).collect::<Vec<_>>(), expected);
    let table = [
        ("gen_ai.provider.name", "ollama"),
        ("gen_ai.request.model", "qwen3"),
        ("http.response.status_code", "429"),
    ];
    for (key, value) in table {
        assert_eq!(attribute(&spans[2], key), value, "{key}");
    }
}

#[test]
fn spans_of_a_sub_agent_are_below_the_call_or_the_turn_that_started_it() {
    let parent = spans(make_history(1, TOOL), false);
    let (turn, call) = (&parent[0], &parent[3]);
    let id = CallId { turn: TurnId(1), step: 0, ordinal: 0 };
    for (waiting, above) in [(Some(id), call), (None, turn)] {
        let child = EventHistory {
            root: TurnId(1),
            parent: Some(TurnId(1)),
            call: waiting,
            ..make_history(2, "4 turn.running, 5 model.answered, 5 turn.done")
        };
        let child = spans(child, false);
        assert_eq!(child[0]["parentSpanId"], above["spanId"]);
        assert_eq!(child[1]["parentSpanId"], child[0]["spanId"]);
        assert!(child.iter().all(|span| span["traceId"] == turn["traceId"]));
    }
}

#[test]
fn spans_of_a_delivery_begin_with_the_first_send() {
    let turn = &spans(make_history(1, TEXT), false)[0];
    for (end, expected) in [
        ("delivery.sent", "2-6 deliver telegram"),
        ("delivery.dead", "2-6 deliver telegram error dead"),
        ("delivery.unconfirmed", "2-6 deliver telegram error unconfirmed"),
    ] {
        let lines = format!("1 delivery.pending, 2 delivery.sending, 5 delivery.sending, 6 {end}");
        let spans = spans(make_history(1, &lines), false);
        assert_eq!(spans.iter().map(shown).collect::<Vec<_>>(), [expected]);
        assert_eq!(spans[0]["parentSpanId"], turn["spanId"]);
        assert_eq!(attribute(&spans[0], "avocet.delivery.source"), "reply");
    }
    let mut removed = make_history(1, "6 delivery.sent");
    removed.events[0].detail = None;
    assert_eq!(spans(removed, false), [Value::Null; 0]);
}

#[test]
fn spans_have_texts_only_with_content_and_never_secrets() {
    let histories = [
        make_history(1, TOOL),
        make_history(1, "0 message.queued, 1 turn.running, 5 turn.failed"),
        make_history(1, "0 delivery.sending, 1 delivery.dead"),
    ];
    let all = |content| -> String {
        let all = histories.iter().flat_map(|history| spans(history.clone(), content));
        all.map(|span| span.to_string()).collect()
    };
    for text in [ASKED, ANSWERED, ARGUMENT, NOTICE, FAULT] {
        assert!(!all(false).contains(text), "{text}");
        assert!(all(true).contains(text), "{text}");
    }
    assert!(!all(false).contains(SECRET) && !all(true).contains(SECRET));
    let spans = spans(make_history(1, TOOL), true);
    let message = |role: &str, text: &str| json!([{ "role": role, "parts": [{ "type": "text", "content": text }] }]);
    let given: Value =
        serde_json::from_str(&attribute(&spans[0], "gen_ai.input.messages")).unwrap();
    assert_eq!(given, message("user", &format!("{ASKED} [secret]")));
    for span in [&spans[0], &spans[2]] {
        let text: Value = serde_json::from_str(&attribute(span, "gen_ai.output.messages")).unwrap();
        assert_eq!(text, message("assistant", ANSWERED));
    }
    let arguments = attribute(&spans[3], "gen_ai.tool.call.arguments");
    assert_eq!(arguments, json!({ "room": ARGUMENT }).to_string());
}
