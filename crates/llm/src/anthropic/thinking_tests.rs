//! Reasoning before a call: sent back unchanged, and only to the same model.

use avocet_protocol::model::{Effort, Message, Reasoning, RequestOptions, SentCall};
use avocet_testkit::anthropic::{
    ADAPTIVE, AnthropicFake, KEY, MODEL, THINKER, redacted, signature,
};
use avocet_testkit::openai::{OpenAiFake, stream_head};
use avocet_testkit::{ManualClock, ModelAnswer};
use serde_json::{Value, json};

use super::*;
use crate::testing::{
    SECOND, ShownReply, ask_model, ask_through, cut_up, sample_request, tool_call,
};
use crate::{OpenAi, OpenAiConfig};

const THOUGHT: &str = "what does \"ä\" say? <think> {";

fn thinking() -> ModelAnswer {
    let then = ModelAnswer::call("read_file", json!({ "path": "ä" }));
    ModelAnswer::thinks(THOUGHT, then)
}

fn model(fake: &AnthropicFake, thinking_tokens: Option<u32>) -> AnthropicModel {
    let config = AnthropicConfig {
        base_url: fake.base_url(),
        api_key: Some(Secret::new(KEY.to_owned()).into()),
        max_retries: 0,
        thinking_tokens,
        ..AnthropicConfig::default()
    };
    AnthropicModel::new("claude", MODEL, &config, Arc::<ManualClock>::default())
}

async fn ask_for(answer: ModelAnswer) -> ShownReply {
    let fake = AnthropicFake::start(move |_| answer.clone()).await;
    ask_model(&model(&fake, Some(1024))).await
}

fn blocks() -> Value {
    json!([{ "type": "thinking", "thinking": THOUGHT, "signature": signature(THOUGHT) }])
}

fn thought_by(model: &str, content: Value) -> Reasoning {
    Reasoning::new(model, content)
}

fn ours(content: Value) -> Reasoning {
    let host = Some("127.0.0.1".to_owned());
    Reasoning { host, ..thought_by(&format!("claude/{MODEL}"), content) }
}

fn step(id: &str, reasoning: Option<Reasoning>) -> [Message; 2] {
    let call = SentCall { id: id.to_owned(), name: "f".to_owned(), arguments: Default::default() };
    let result = Message::ToolResult { call: id.to_owned(), ok: true, result: "seen".to_owned() };
    [Message::Assistant { text: "I look".to_owned(), calls: vec![call], reasoning }, result]
}

/// The request body for a conversation, from a model that may think.
async fn sent(messages: &[&[Message]]) -> Value {
    let fake = AnthropicFake::start(|_| ModelAnswer::says("ok")).await;
    let request = ModelRequest { messages: messages.concat().into(), ..sample_request() };
    model(&fake, Some(1024)).complete(&request, &|_| ()).await.unwrap();
    assert_eq!(fake.refusals(), [""; 0]);
    fake.requests().remove(0)
}

#[tokio::test]
async fn anthropic_thinking_is_kept_with_the_calls_and_is_not_shown() {
    let asked = ask_for(thinking()).await;
    let reply = asked.reply.unwrap();
    assert_eq!((reply.text.as_str(), asked.shown.as_str()), ("", ""));
    assert_eq!(reply.calls, [tool_call("read_file", &json!({ "path": "ä" }))]);
    assert_eq!(reply.reasoning, Some(ours(blocks())));
    assert!(!format!("{:?}", reply.reasoning).contains("say?"), "not even to the log");
    let asked = ask_for(ModelAnswer::says("hello")).await;
    assert_eq!(asked.reply.unwrap().reasoning, None);
}

#[tokio::test]
async fn anthropic_thinking_is_the_same_if_cut_at_any_byte() {
    let fake = AnthropicFake::start(|_| thinking()).await;
    // The bytes of the fake's own stream.
    let url = format!("{}/v1/messages", fake.base_url());
    let body = json!({ "model": MODEL, "max_tokens": 1, "messages": [{ "role": "user", "content": "hi" }] });
    let headers = [("x-api-key", KEY), ("anthropic-version", VERSION)];
    let http = HttpClient::new();
    let answer = http.post_json(&url, &headers, body.to_string().into_bytes()).await.unwrap();
    let stream = answer.read_text(usize::MAX).await.unwrap();
    let reply = ask_for(cut_up(stream_head(), stream.as_bytes(), &[1])).await.reply.unwrap();
    assert_eq!(reply.reasoning, Some(ours(blocks())));
}

#[tokio::test]
async fn anthropic_thinking_counts_as_activity() {
    use avocet_testkit::http::Piece;
    let begun = [
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking" } }),
        json!({ "type": "content_block_delta", "index": 0,
            "delta": { "type": "thinking_delta", "thinking": "hm" } }),
    ];
    let mut pieces = vec![stream_head()];
    let events = begun.iter().map(avocet_testkit::anthropic::event);
    pieces.extend(events.map(|event| Piece::chunk(event.as_bytes())));
    pieces.push(Piece::Hang);
    let fake = AnthropicFake::start(move |_| ModelAnswer::Raw(pieces.clone())).await;
    let clock = Arc::<ManualClock>::default();
    let mut model = model(&fake, Some(1024));
    model.endpoint.clock = clock.clone();
    let error = ask_through(&model, &clock, 60 * SECOND).await.reply.unwrap_err().to_string();
    assert!(error.contains("no data arrived any more within 60 s"), "{error}");
}

#[tokio::test]
async fn anthropic_thinking_is_sent_back_unchanged_before_the_calls() {
    let sealed = json!([redacted("hm"), blocks()[0]]);
    for content in [blocks(), sealed] {
        let thought = Some(ours(content.clone()));
        let sent = sent(&[&[Message::user("hi")], &step("1", thought), &step("2", None)]).await;
        assert_eq!(sent["thinking"], json!({ "type": "enabled", "budget_tokens": 1024 }));
        assert_eq!(sent["max_tokens"], 8192 + 1024);
        let first = sent["messages"][1]["content"].as_array().unwrap();
        let (thoughts, rest) = first.split_at(content.as_array().unwrap().len());
        assert_eq!(json!(thoughts), content);
        assert_eq!(rest[0]["type"], "text");
        assert_eq!(rest[1]["type"], "tool_use");
    }
}

#[tokio::test]
async fn anthropic_thinking_is_off_in_a_turn_that_began_without_it() {
    let hi = [Message::user("hi")];
    let others = Some(thought_by("other/model", json!([{ "type": "thinking", "thinking": "x" }])));
    for first in [None, others.clone()] {
        let sent = sent(&[&hi, &step("1", first), &step("2", Some(ours(blocks())))]).await;
        assert!(sent["thinking"].is_null() && sent["max_tokens"] == 8192, "{sent}");
        assert!(!sent.to_string().contains("signature"), "{sent}");
    }
    // A message that steers a turn continues it, and only the current turn matters.
    let steered = sent(&[&hi, &step("1", Some(ours(blocks()))), &hi, &step("2", None)]).await;
    assert!(steered["thinking"].is_object());
    let done = [Message::assistant("done", Vec::new()), Message::user("and?")];
    let later = sent(&[&hi, &step("1", others), &done, &step("2", Some(ours(blocks())))]).await;
    assert!(later["thinking"].is_object());
    assert_eq!(later.to_string().matches("\"signature\"").count(), 1, "the other's is left out");
}

#[tokio::test]
async fn anthropic_thinking_is_neither_requested_nor_sent_back_without_thinking_tokens() {
    let fake = AnthropicFake::start(|_| ModelAnswer::says("ok")).await;
    let messages = [&[Message::user("hi")][..], &step("1", Some(ours(blocks())))].concat();
    let request = ModelRequest { messages: messages.into(), ..sample_request() };
    model(&fake, None).complete(&request, &|_| ()).await.unwrap();
    let sent = fake.requests().remove(0);
    assert!(sent["thinking"].is_null() && !sent.to_string().contains("signature"), "{sent}");
}

#[tokio::test]
async fn anthropic_thinking_is_not_sent_to_other_providers() {
    let fake = OpenAiFake::start(|_| ModelAnswer::says("ok")).await;
    let config = OpenAiConfig { base_url: fake.base_url(), ..OpenAiConfig::default() };
    let clock = Arc::<ManualClock>::default();
    let other = OpenAi::new("claude", MODEL, &config, clock).unwrap();
    let messages = [&[Message::user("hi")][..], &step("1", Some(ours(blocks())))].concat();
    other
        .complete(&ModelRequest { messages: messages.into(), ..sample_request() }, &|_| ())
        .await
        .unwrap();
    assert!(!fake.requests()[0].to_string().contains("think"));
}

#[test]
fn anthropic_thinking_and_answer_tokens_stay_within_the_limit_of_the_model() {
    let table = [
        ("claude-opus-4-1", 8192, 16_000, (24_192, 16_000)),
        ("claude-opus-4-1", 16_000, 20_000, (32_000, 20_000)),
        ("claude-opus-4-1", 8192, 64_000, (32_000, 24_000)),
        // The operator's value wins.
        ("claude-opus-4-1", 64_000, 16_000, (64_000, 16_000)),
        ("some-model", 8192, 64_000, (72_192, 64_000)),
    ];
    for (name, max_output_tokens, thinking, expected) in table {
        let thinking_tokens = Some(thinking);
        let config =
            AnthropicConfig { max_output_tokens, thinking_tokens, ..AnthropicConfig::default() };
        let clock = Arc::<ManualClock>::default();
        let model = AnthropicModel::new("claude", name, &config, clock);
        let request =
            ModelRequest { messages: vec![Message::user("hi")].into(), ..sample_request() };
        let sent: Value = serde_json::from_slice(&model.request_body(&request).unwrap()).unwrap();
        let sent = (sent["max_tokens"].as_u64(), sent["thinking"]["budget_tokens"].as_u64());
        assert_eq!(sent, (Some(expected.0), Some(expected.1)), "{name} {thinking}");
    }
}

fn newer(fake: &AnthropicFake, name: &str, thinking_tokens: Option<u32>) -> AnthropicModel {
    let config = AnthropicConfig {
        base_url: fake.base_url(),
        api_key: Some(Secret::new(KEY.to_owned()).into()),
        max_retries: 0,
        thinking_tokens,
        ..AnthropicConfig::default()
    };
    AnthropicModel::new("claude", name, &config, Arc::<ManualClock>::default())
}

fn with_effort(messages: Vec<Message>, effort: Option<Effort>) -> ModelRequest {
    let options = RequestOptions { effort, ..RequestOptions::default() };
    ModelRequest { messages: messages.into(), options, ..sample_request() }
}

#[tokio::test]
async fn anthropic_thinking_of_newer_models_is_an_effort_and_never_a_budget() {
    let adapts = json!({ "type": "adaptive", "display": "summarized" });
    let table = [
        (ADAPTIVE, None, None, Value::Null, Value::Null, 8192),
        (ADAPTIVE, Some(Effort::Off), Some(2000), Value::Null, Value::Null, 8192),
        (ADAPTIVE, None, Some(2000), adapts.clone(), Value::Null, 10_192),
        (ADAPTIVE, Some(Effort::High), None, adapts.clone(), json!("high"), 40_960),
        (THINKER, None, None, adapts.clone(), Value::Null, 40_960),
        (THINKER, Some(Effort::Off), None, adapts.clone(), json!("low"), 12_288),
        (THINKER, Some(Effort::Medium), Some(2000), adapts, json!("medium"), 24_576),
        (MODEL, Some(Effort::Off), Some(2000), Value::Null, Value::Null, 8192),
    ];
    for (name, effort, tokens, thinking, word, most) in table {
        let fake = AnthropicFake::start(|_| ModelAnswer::says("ok")).await;
        let request = with_effort(vec![Message::user("hi")], effort);
        newer(&fake, name, tokens).complete(&request, &|_| ()).await.unwrap();
        assert_eq!(fake.refusals(), [""; 0], "{name} {effort:?}");
        let sent = fake.requests().remove(0);
        assert_eq!((&sent["thinking"], &sent["output_config"]["effort"]), (&thinking, &word));
        assert_eq!(sent["max_tokens"], most, "{name} {effort:?}");
    }
}

#[tokio::test]
async fn anthropic_thinking_of_newer_models_is_sent_back_whenever_they_sent_it() {
    let thought = |name: &str| Some(thought_by(&format!("claude/{name}"), blocks()));
    for name in [ADAPTIVE, THINKER] {
        let fake = AnthropicFake::start(|_| ModelAnswer::says("ok")).await;
        let said = Message::Assistant {
            text: "hello".to_owned(),
            calls: Vec::new(),
            reasoning: thought(name),
        };
        let first = [Message::user("hi"), said, Message::user("and?")];
        let messages = [&first[..], &step("1", thought(name))].concat();
        let request = with_effort(messages, Some(Effort::Off));
        newer(&fake, name, None).complete(&request, &|_| ()).await.unwrap();
        assert_eq!(fake.refusals(), [""; 0]);
        let sent = fake.requests().remove(0);
        for place in [1, 3] {
            assert_eq!(sent["messages"][place]["content"][0], blocks()[0], "{name} {place}");
        }
    }
}

#[tokio::test]
async fn anthropic_thinking_between_text_and_calls_keeps_its_place() {
    let second = json!({ "type": "thinking", "thinking": "b", "signature": signature("b") });
    let body = json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": THINKER,
        "stop_reason": "tool_use", "usage": {}, "content": [
            blocks()[0], { "type": "text", "text": "I look" }, second,
            { "type": "tool_use", "id": "a", "name": "f", "input": {} } ] });
    let headers = vec![("content-type", "application/json".to_owned())];
    let answer = ModelAnswer::Status(200, headers, body.to_string());
    let fake = AnthropicFake::start(move |_| answer.clone()).await;
    let model = newer(&fake, THINKER, None);
    let reply = ask_model(&model).await.reply.unwrap();
    let step = step("1", reply.reasoning);
    let request = with_effort([&[Message::user("hi")][..], &step].concat(), None);
    model.complete(&request, &|_| ()).await.unwrap();
    assert_eq!(fake.refusals(), [""; 0]);
    let content = fake.requests().remove(1)["messages"][1]["content"].clone();
    let kinds: Vec<&str> =
        content.as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["thinking", "text", "thinking", "tool_use"]);
    assert_eq!((&content[0], &content[2]), (&blocks()[0], &second));
}

#[tokio::test]
async fn anthropic_thinking_that_the_api_refuses_is_left_out_of_a_second_request() {
    let says = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound \
        to a different conversation.";
    let error = json!({ "type": "error",
        "error": { "type": "invalid_request_error", "message": says } });
    let fake = AnthropicFake::start(move |request| {
        if request.to_string().contains("\"signature\"") {
            let headers = vec![("content-type", "application/json".to_owned())];
            return ModelAnswer::Status(400, headers, error.to_string());
        }
        ModelAnswer::says("ok")
    })
    .await;
    let thought = Some(thought_by(&format!("claude/{THINKER}"), blocks()));
    let messages = [&[Message::user("hi")][..], &step("1", thought)].concat();
    let request = with_effort(messages, None);
    let reply = newer(&fake, THINKER, None).complete(&request, &|_| ()).await.unwrap();
    assert_eq!((reply.text.as_str(), fake.requests().len()), ("ok", 2));
}
