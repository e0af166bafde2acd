//! A conversation that a provider refuses because of its history, on each wire: it is answered after
//! one more request, and a later message of it is accepted at once.

use std::sync::Arc;

use avocet_protocol::model::{Model, SentCall};
use avocet_testkit::anthropic::AnthropicFake;
use avocet_testkit::openai::responses::{self, ResponsesFake};
use avocet_testkit::openai::{Insists, InsistsOnState, OpenAiFake};
use avocet_testkit::{ManualClock, ModelAnswer, anthropic};
use serde_json::{Map, Value, json};

use super::*;
use crate::testing::sample_request;
use crate::{AnthropicConfig, AnthropicModel, OpenAi, OpenAiApi, OpenAiConfig};

const CHAT: &str = "local/qwen3";

fn chat(base_url: String) -> OpenAi {
    let config = OpenAiConfig { base_url, max_retries: 0, ..OpenAiConfig::default() };
    OpenAi::new("local", "qwen3", &config, Arc::<ManualClock>::default()).unwrap()
}

/// A turn with a call and the result, then the next message of the person.
fn history(reasoning: Option<Reasoning>) -> ModelRequest {
    let arguments = Map::from_iter([("path".to_owned(), json!("a"))]);
    let call = SentCall { id: "t1s0c0".to_owned(), name: "read_file".to_owned(), arguments };
    let result =
        Message::ToolResult { call: call.id.clone(), ok: true, result: "the content".to_owned() };
    let messages = vec![
        Message::System { text: "be kind".to_owned() },
        Message::user("read a"),
        Message::Assistant { text: "I look".to_owned(), calls: vec![call], reasoning },
        result,
        Message::assistant("it says content", Vec::new()),
        Message::user("hi"),
    ];
    ModelRequest { messages: messages.into(), ..sample_request() }
}

/// The same conversation before its answer, in the middle of the turn.
fn in_turn(reasoning: Option<Reasoning>) -> ModelRequest {
    let mut request = history(reasoning);
    request.messages.pop();
    request.messages.pop();
    request
}

/// Asks twice with the same history, as two messages of a conversation do.
async fn ask_twice(model: &dyn Model, request: &ModelRequest) {
    for _ in 0..2 {
        let reply = model.complete(request, &|_| ()).await;
        assert_eq!(reply.unwrap().text, "hello");
    }
}

fn hello(_: &Value) -> ModelAnswer {
    ModelAnswer::says("hello")
}

fn stated(message: &Value) -> Reasoning {
    let call = json!({ "extra_content": { "google": { "thought_signature": "b2xk" } } });
    Reasoning::new(CHAT, json!({ "message": message, "calls": [call] }))
}

#[tokio::test]
async fn repair_of_chat_completions_answers_a_conversation_that_the_server_refuses() {
    use InsistsOnState::{
        KnownFields, NoReasoning, OwnSignature, Reasoning, ReasoningText, Signatures,
    };
    let thought = || Some(stated(&json!({ "reasoning_content": "SECRET" })));
    let table = [
        // A log from before the state was kept.
        (Reasoning, None),
        (ReasoningText, None),
        (Signatures, None),
        (OwnSignature("c2ln"), thought()),
        (NoReasoning, thought()),
    ];
    for (on, reasoning) in table {
        let fake = OpenAiFake::start_insisting(Insists::State(on), hello).await;
        let model = chat(fake.base_url());
        ask_twice(&model, &history(reasoning.clone())).await;
        ask_twice(&model, &in_turn(reasoning)).await;
        assert_eq!(fake.refusals().len(), 1, "{on:?}: {:?}", fake.refusals());
        assert_eq!(fake.requests().len(), 4, "{on:?}");
    }
    // A server that knows the fields of the API only.
    let fake = OpenAiFake::start_insisting(Insists::State(KnownFields), hello).await;
    let model = chat(fake.base_url());
    let reasoning = Some(super::Reasoning::new(
        CHAT,
        json!({ "message": { "reasoning_content": "SECRET" }, "calls": [null] }),
    ));
    ask_twice(&model, &history(reasoning)).await;
    assert_eq!(fake.refusals().len(), 1, "{:?}", fake.refusals());
}

/// The state of the first answer goes back in the same turn and with the next message, and the
/// requests begin alike (F33).
#[tokio::test]
async fn state_of_an_answer_with_a_call_goes_back_so_that_a_strict_server_accepts_the_conversation()
{
    let table = [
        (
            InsistsOnState::ReasoningText,
            include_str!("../testdata/openai_state/reasoning-not-returned.sse"),
            json!({ "reasoning_content": "I should look." }),
        ),
        (
            InsistsOnState::Signatures,
            include_str!("../testdata/openai_state/thought-signature-dropped.sse"),
            json!({}),
        ),
    ];
    for (on, stream, kept) in table {
        let fake = OpenAiFake::start_insisting(Insists::State(on), move |request| {
            if request["messages"].to_string().contains("the content") {
                return ModelAnswer::says("hello");
            }
            ModelAnswer::Events(vec![stream.to_owned()])
        })
        .await;
        let model = chat(fake.base_url());
        let asks =
            ModelRequest { messages: vec![Message::user("read a")].into(), ..sample_request() };
        let reply = model.complete(&asks, &|_| ()).await.unwrap();
        assert_eq!(reply.calls.len(), 1);
        let reasoning = reply.reasoning.unwrap();
        assert_eq!(reasoning.content["message"], kept);
        assert_eq!(reasoning.host.as_deref(), Some("127.0.0.1"));
        ask_twice(&model, &in_turn(Some(reasoning.clone()))).await;
        ask_twice(&model, &history(Some(reasoning))).await;
        assert_eq!(fake.refusals(), [""; 0], "{on:?}");
        let sent = fake.requests();
        let messages = |number: usize| sent[number]["messages"].as_array().unwrap();
        assert_eq!(messages(1)[..], messages(3)[..messages(1).len()], "{on:?}");
    }
}

#[tokio::test]
async fn repair_asks_exactly_once_more_and_then_returns_the_refusal() {
    let refusals = [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "body.messages.2.assistant.reasoning_content: Extra inputs are not permitted",
        "Thought signature is not valid.",
        "No tool output found for function call t1s0c0.",
    ];
    for says in refusals {
        let body = json!({ "error": { "message": says } }).to_string();
        let fake = OpenAiFake::start(move |_| ModelAnswer::Status(400, Vec::new(), body.clone()));
        let fake = fake.await;
        let model = chat(fake.base_url());
        let request = history(Some(stated(&json!({ "reasoning": "hm" }))));
        let error = model.complete(&request, &|_| ()).await.unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        let sent = fake.requests();
        let most = if says.contains("Extra inputs") { 1 } else { 2 };
        assert_eq!(sent.len(), most, "{says}");
        assert!(most == 1 || sent[0] != sent[1], "{says}");
    }
}

#[tokio::test]
async fn repair_sends_calls_as_text_that_the_server_cannot_match() {
    let fake = OpenAiFake::start(|request| {
        if request.to_string().contains("tool_calls") {
            let says = "Tool call id was t1s0c0 but must be a-z, A-Z, 0-9, with a length of 9.";
            let body = json!({ "message": says }).to_string();
            return ModelAnswer::Status(400, Vec::new(), body);
        }
        ModelAnswer::says("hello")
    })
    .await;
    let model = chat(fake.base_url());
    ask_twice(&model, &history(None)).await;
    ask_twice(&model, &in_turn(None)).await;
    assert_eq!(fake.refusals(), [""; 0], "the repaired requests are valid");
    let sent = fake.requests();
    assert_eq!(sent.len(), 5);
    let text = sent[1]["messages"].to_string();
    for part in ["I look", "read_file", "the content", "it says content"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[tokio::test]
async fn repair_of_anthropic_drops_thoughts_with_an_invalid_signature() {
    let fake = AnthropicFake::start(hello).await;
    let config = AnthropicConfig {
        base_url: fake.base_url(),
        api_key: Some(avocet_text::Secret::new(anthropic::KEY.to_owned()).into()),
        thinking_tokens: Some(1024),
        max_retries: 0,
        ..AnthropicConfig::default()
    };
    let clock = Arc::<ManualClock>::default();
    let model = AnthropicModel::new("claude", anthropic::MODEL, &config, clock);
    let thoughts = json!([{ "type": "thinking", "thinking": "hm", "signature": "b2xk" }]);
    let reasoning = Some(Reasoning::new(model.name(), thoughts));
    ask_twice(&model, &history(reasoning.clone())).await;
    ask_twice(&model, &in_turn(reasoning)).await;
    assert_eq!(fake.refusals().len(), 1, "{:?}", fake.refusals());
}

#[tokio::test]
async fn repair_of_responses_drops_thoughts_that_cannot_be_verified_or_found() {
    let sealed = |content: Value| {
        json!([{ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": content },
            "message", "call"])
    };
    for thoughts in [sealed(json!("b2xk")), sealed(Value::Null)] {
        let fake = ResponsesFake::start(hello).await;
        let config = OpenAiConfig {
            base_url: fake.base_url(),
            api: OpenAiApi::Responses,
            max_retries: 0,
            ..OpenAiConfig::default()
        };
        let clock = Arc::<ManualClock>::default();
        let model = OpenAi::new("openai", responses::MODEL, &config, clock).unwrap();
        let reasoning = Some(Reasoning::new(model.name(), thoughts));
        ask_twice(&model, &history(reasoning.clone())).await;
        ask_twice(&model, &in_turn(reasoning)).await;
        assert_eq!(fake.refusals().len(), 1, "{:?}", fake.refusals());
    }
}
