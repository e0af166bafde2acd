//! Odd fields of chat completions. Cases for all wires are in `odd_answer_tests.rs`.

use avocet_protocol::model::{Money, Usage};
use serde_json::{Value, json};

use super::answer::OpenAiChatAnswer;
use crate::endpoint::{AnswerError, CompleteAnswer};
use crate::fuzzing::read_body;
use crate::testing::tool_call;

fn read(body: &str) -> Result<CompleteAnswer, AnswerError> {
    read_body::<OpenAiChatAnswer>(body)
}

/// A stream of chunks, and its end.
fn stream(chunks: &[Value]) -> String {
    let mut body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    body.push_str("data: [DONE]\n\n");
    body
}

fn choice(delta: &Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn reply(deltas: &[Value], finish: &str) -> CompleteAnswer {
    let mut chunks: Vec<Value> = deltas.iter().map(choice).collect();
    chunks.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": finish }] }));
    read(&stream(&chunks)).unwrap()
}

#[test]
fn openai_chat_reads_calls_with_odd_fields() {
    let function = json!({ "name": "one", "arguments": "{\"x\": 1}" });
    let table = [
        json!({ "index": "0", "id": 7, "function": function }),
        json!({ "index": -1, "id": "a", "function": function }),
        json!({ "index": 0.0, "id": null, "function": function }),
        json!({ "index": {}, "id": [], "type": 3, "function": function }),
        json!({ "name": "one", "arguments": { "x": 1 } }),
    ];
    for piece in table {
        for calls in [json!([piece]), piece.clone(), json!([null, piece, {}, 7])] {
            let said = reply(&[json!({ "content": [], "tool_calls": calls })], "tool_calls");
            assert_eq!(said.calls, [tool_call("one", &json!({ "x": 1 }))], "{calls}");
        }
    }
    for absent in [json!(null), json!(""), json!({}), json!(0), json!([null]), json!(false)] {
        let said = reply(&[json!({ "content": "so", "tool_calls": absent })], "stop");
        assert!(said.text == "so" && said.calls.is_empty(), "{absent}");
    }
}

#[test]
fn openai_chat_runs_a_legacy_function_call() {
    let pieces = [
        json!({ "content": null, "function_call": { "name": "one", "arguments": "" } }),
        json!({ "function_call": { "arguments": "{\"x\":" } }),
        json!({ "function_call": { "arguments": " 1}" } }),
    ];
    assert_eq!(reply(&pieces, "function_call").calls, [tool_call("one", &json!({ "x": 1 }))]);
    let function = json!({ "name": "one", "arguments": "{}" });
    let both = json!({ "tool_calls": [{ "id": "a", "function": function }],
        "function_call": function });
    assert_eq!(reply(&[both], "tool_calls").calls, [tool_call("one", &json!({}))]);
}

#[test]
fn openai_chat_reads_a_refusal_as_the_answer() {
    let pieces = [json!({ "refusal": "I cannot " }), json!({ "refusal": "help." })];
    assert_eq!(reply(&pieces, "stop").text, "I cannot help.");
    let message = json!({ "content": null, "refusal": "No." });
    let whole = json!({ "choices": [{ "message": message, "finish_reason": "stop" }] });
    assert_eq!(read(&whole.to_string()).unwrap().text, "No.");
}

#[test]
fn openai_chat_reads_the_cost_that_a_provider_states() {
    let usage = |cost: Value| {
        let usage = json!({ "prompt_tokens": "10", "completion_tokens": 2.0, "cost": cost });
        let mut said = choice(&json!({ "content": "so" }));
        said["usage"] = usage;
        read(&stream(&[said])).unwrap()
    };
    assert_eq!(usage(json!(0.00025)).cost, Some(Money::dollars(0.00025)));
    assert_eq!(usage(json!("0.5")).cost, Some(Money::dollars(0.5)));
    for none in [json!(null), json!(-1), json!({}), json!("free")] {
        assert_eq!((usage(none.clone()).cost, usage(none).usage), (None, Usage::new(10, 2)));
    }
}

#[test]
fn openai_chat_keeps_the_words_of_an_error_in_a_choice() {
    let error = json!({ "code": 502, "message": "upstream fell over" });
    let choice = json!({ "finish_reason": "error", "error": error, "message": { "content": "" } });
    let failed = read(&json!({ "choices": [choice] }).to_string());
    assert_eq!(failed, Err(AnswerError::Status(502, "upstream fell over".to_owned())));
}

#[test]
fn openai_chat_answer_without_any_end_is_cut_off() {
    let said = choice(&json!({ "content": "so" }));
    assert!(read(&format!("data: {said}\n\n")).is_err());
    assert!(read("data: [DONE]\n\n").is_err(), "it said nothing");
}
