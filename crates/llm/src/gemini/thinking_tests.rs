//! Reasoning before a call: hidden. Its signatures are sent back at the same places, and only to
//! the same model.

use avocet_protocol::model::{Effort, Message, Reasoning, RequestOptions, SentCall};
use avocet_testkit::gemini::{GeminiFake, KEY, MODEL, SKIPPED, event, signature};
use avocet_testkit::{ManualClock, ModelAnswer};
use serde_json::{Value, json};

use super::*;
use crate::testing::{ShownReply, ask_model, sample_request, tool_call};

fn model(fake: &GeminiFake) -> GeminiModel {
    let config = GeminiConfig {
        base_url: fake.base_url(),
        api_key: Some(Secret::new(KEY.to_owned()).into()),
        max_retries: 0,
        ..GeminiConfig::default()
    };
    GeminiModel::new("google", MODEL, &config, Arc::<ManualClock>::default())
}

async fn ask_for(answer: ModelAnswer) -> ShownReply {
    let fake = GeminiFake::start(move |_| answer.clone()).await;
    ask_model(&model(&fake)).await
}

fn streams(parts: &[Value]) -> ModelAnswer {
    let mut chunks: Vec<Value> = parts
        .iter()
        .map(|part| json!({ "candidates": [{ "content": { "parts": [part] } }] }))
        .collect();
    chunks.push(json!({ "candidates": [{ "finishReason": "STOP" }] }));
    ModelAnswer::Events(chunks.iter().map(event).collect())
}

fn thought_by(model: &str, content: Value) -> Reasoning {
    Reasoning::new(model, content)
}

fn ours(content: Value) -> Reasoning {
    let host = Some("127.0.0.1".to_owned());
    Reasoning { host, ..thought_by(&format!("google/{MODEL}"), content) }
}

/// The parts that are sent for a step with two calls and this reasoning.
async fn sent(text: &str, reasoning: Option<Reasoning>) -> Value {
    let sent_call = |id: &str| SentCall {
        id: id.to_owned(),
        name: "f".to_owned(),
        arguments: Default::default(),
    };
    let result =
        |id: &str| Message::ToolResult { call: id.to_owned(), ok: true, result: "1".to_owned() };
    let calls = vec![sent_call("1"), sent_call("2")];
    let step = Message::Assistant { text: text.to_owned(), calls, reasoning };
    let messages = vec![Message::user("hi"), step, result("1"), result("2")];
    let fake = GeminiFake::start(|_| ModelAnswer::says("ok")).await;
    let request = ModelRequest { messages: messages.into(), ..sample_request() };
    model(&fake).complete(&request, &|_| ()).await.unwrap();
    assert_eq!(fake.refusals(), [""; 0]);
    fake.requests()[0]["contents"][1]["parts"].clone()
}

#[tokio::test]
async fn gemini_signature_that_the_server_misses_is_added_from_then_on() {
    let fake = GeminiFake::start(|_| ModelAnswer::says("ok")).await;
    let mut model = model(&fake);
    // As for a name that does not tell the version.
    model.options.wants_signatures = false;
    for _ in 0..2 {
        assert_eq!(ask_model(&model).await.reply.unwrap().text, "ok");
    }
    assert_eq!(fake.refusals().len(), 1, "{:?}", fake.refusals());
    assert_eq!(fake.requests().len(), 2);
}

/// The signatures of parts, in order.
fn signatures(parts: &Value) -> Vec<&str> {
    let parts = parts.as_array().unwrap().iter();
    parts.map(|part| part["thoughtSignature"].as_str().unwrap_or("-")).collect()
}

#[tokio::test]
async fn gemini_signature_of_a_call_is_sent_back_with_the_call() {
    let then = ModelAnswer::Calls(vec![("f".to_owned(), json!({})), ("f".to_owned(), json!({}))]);
    let asked = ask_for(ModelAnswer::thinks("hm", then)).await;
    let reply = asked.reply.unwrap();
    assert_eq!((reply.text.as_str(), asked.shown.as_str()), ("", ""));
    let signed = signature("hm");
    assert_eq!(reply.reasoning, Some(ours(json!({ "calls": [signed, null] }))));
    let parts = sent("I look", reply.reasoning).await;
    assert_eq!(signatures(&parts), ["-", &signed, "-"]);
}

#[tokio::test]
async fn gemini_signature_of_text_is_sent_back_with_the_text() {
    let (first, second) = (signature("a"), signature("b"));
    let parts = [
        json!({ "text": "I look", "thoughtSignature": first }),
        json!({ "functionCall": { "name": "f", "args": {} }, "thoughtSignature": second }),
        json!({ "functionCall": { "name": "f", "args": {} } }),
    ];
    let reply = ask_for(streams(&parts)).await.reply.unwrap();
    assert_eq!(signatures(&sent("I look", reply.reasoning.clone()).await), [&first, &second, "-"]);
    let blank = sent("", reply.reasoning).await;
    assert_eq!(
        blank[0],
        json!({ "text": "", "thoughtSignature": first }),
        "it is kept all the same"
    );
}

#[tokio::test]
async fn gemini_reply_without_a_signature_has_no_reasoning() {
    let parts = [json!({ "functionCall": { "name": "f", "args": {} } })];
    let reply = ask_for(streams(&parts)).await.reply.unwrap();
    assert_eq!((reply.calls, reply.reasoning), (vec![tool_call("f", &json!({}))], None));
}

#[tokio::test]
async fn gemini_request_marks_calls_of_other_models_as_unsigned() {
    let others = thought_by("claude/x", json!({ "calls": [signature("theirs"), null] }));
    for reasoning in [None, Some(others), Some(ours(json!("nonsense")))] {
        assert_eq!(signatures(&sent("", reasoning).await), [SKIPPED, "-"]);
    }
}

#[test]
fn gemini_signatures_are_wanted_since_gemini_3() {
    for model in ["gemini-3-pro-preview", "gemini-3.1-flash", "models/gemini-3-test", "gemini-10"] {
        assert!(signatures::are_wanted(model), "{model}");
    }
    for model in ["gemini-2.5-flash", "gemini-flash", "gemma-3-27b-it", "tunedModels/mine"] {
        assert!(!signatures::are_wanted(model), "{model}");
    }
}

#[tokio::test]
async fn gemini_thinking_follows_the_effort_of_the_request() {
    let table = [
        (None, None, Value::Null, 1000),
        (Some(Effort::Off), Some(500), json!({ "thinkingLevel": "low" }), 1000),
        (Some(Effort::High), Some(500), json!({ "thinkingLevel": "high" }), 33_768),
        (None, Some(500), json!({ "thinkingBudget": 500 }), 1500),
    ];
    for (effort, thinking_tokens, thinking, most) in table {
        let fake = GeminiFake::start(|_| ModelAnswer::says("ok")).await;
        let config = GeminiConfig {
            base_url: fake.base_url(),
            api_key: Some(Secret::new(KEY.to_owned()).into()),
            max_output_tokens: Some(1000),
            thinking_tokens,
            ..GeminiConfig::default()
        };
        let model = GeminiModel::new("google", MODEL, &config, Arc::<ManualClock>::default());
        let options = RequestOptions { effort, ..RequestOptions::default() };
        model.complete(&ModelRequest { options, ..sample_request() }, &|_| ()).await.unwrap();
        assert_eq!(fake.refusals(), [""; 0]);
        let sent = fake.requests().remove(0)["generationConfig"].clone();
        assert_eq!((&sent["thinkingConfig"], &sent["maxOutputTokens"]), (&thinking, &json!(most)));
    }
}
