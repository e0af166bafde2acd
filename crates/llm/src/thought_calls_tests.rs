//! Calls that a server leaves in the field for reasoning, because its parser did not find them.

use std::sync::Arc;

use avocet_protocol::model::ModelReply;
use avocet_testkit::ModelAnswer;
use avocet_testkit::ollama::{MODEL, OllamaFake, line};
use avocet_testkit::openai::OpenAiFake;
use serde_json::{Value, json};

use crate::testing::{ask_model, serve_model, tool_call};
use crate::{OllamaConfig, OpenAiConfig, SourcedFacts};

const CALL: &str = "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n\
                    </tool_call>";

/// The reply of a server of chat completions that streams these deltas.
async fn chat_reply(deltas: &[Value]) -> ModelReply {
    let chunk = |delta: &Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        format!("data: {}\n\n", json!({ "choices": [choice] }))
    };
    let mut events: Vec<String> = deltas.iter().map(|delta| chunk(delta, Value::Null)).collect();
    events.push(chunk(&json!({}), json!("stop")));
    let fake = OpenAiFake::start(move |_| ModelAnswer::Events(events.clone())).await;
    let config = OpenAiConfig { base_url: fake.base_url(), ..OpenAiConfig::default() };
    let model = serve_model(config, "local/qwen3", SourcedFacts::default(), Arc::default());
    let asked = ask_model(model.as_ref()).await;
    assert!(!asked.shown.contains("hm"), "{}", asked.shown);
    asked.reply.unwrap()
}

#[tokio::test]
async fn call_in_the_reasoning_of_an_empty_answer_is_read() {
    let (start, end) = CALL.split_at(20);
    for field in ["reasoning_content", "reasoning"] {
        let thinks = |text: &str| json!({ "content": "", field: text });
        let reply = chat_reply(&[thinks("hm "), thinks(start), thinks(end)]).await;
        assert_eq!(reply.calls, [tool_call("read_file", &json!({ "path": "a" }))], "{field}");
        assert!(reply.written.is_some(), "a call as text may need an approval");
    }
}

#[tokio::test]
async fn call_in_the_reasoning_of_an_answer_with_text_or_calls_is_a_thought() {
    let thinks = json!({ "reasoning_content": format!("hm {CALL}") });
    let reply = chat_reply(&[thinks.clone(), json!({ "content": "yes" })]).await;
    assert_eq!((reply.text.as_str(), reply.calls.len()), ("yes", 0));
    let other = json!({ "name": "read_file", "arguments": "{\"path\": \"b\"}" });
    let other = json!({ "tool_calls": [{ "index": 0, "id": "1", "function": other }] });
    let reply = chat_reply(&[thinks, other]).await;
    assert_eq!(reply.calls, [tool_call("read_file", &json!({ "path": "b" }))]);
    let reply = chat_reply(&[json!({ "reasoning_content": "hm, nothing" })]).await;
    assert_eq!((reply.text.as_str(), reply.calls.len()), ("", 0));
}

#[tokio::test]
async fn call_in_the_thinking_of_ollama_is_read() {
    let thinks = json!({ "message": { "content": "", "thinking": CALL }, "done": false });
    let last = json!({ "message": { "content": "" }, "done": true, "done_reason": "stop" });
    let lines: Vec<String> = [thinks, last].iter().map(line).collect();
    let fake = OllamaFake::start(move |_| ModelAnswer::Events(lines.clone())).await;
    let config = OllamaConfig { base_url: fake.base_url(), ..OllamaConfig::default() };
    let model =
        serve_model(config, &format!("home/{MODEL}"), SourcedFacts::default(), Arc::default());
    let reply = ask_model(model.as_ref()).await.reply.unwrap();
    assert_eq!(reply.calls, [tool_call("read_file", &json!({ "path": "a" }))]);
}
