//! Tests that are specific to the Messages API. Tests for all providers are in `contract`.

use std::collections::BTreeMap;

use avocet_protocol::model::{Image, ImageRef, Message, Messages, Usage};
use avocet_testkit::anthropic::{AnthropicFake, KEY, MODEL, event};
use avocet_testkit::{ManualClock, ModelAnswer};
use serde_json::{Value, json};

use super::*;
use crate::testing::{ShownReply, ask_model, sample_request, tool_call, with_image};

fn config(base_url: String) -> AnthropicConfig {
    let api_key = Some(Secret::new(KEY.to_owned()).into());
    AnthropicConfig { base_url, api_key, ..AnthropicConfig::default() }
}

async fn serve(answer: ModelAnswer) -> (AnthropicFake, AnthropicModel) {
    let fake = AnthropicFake::start(move |_| answer.clone()).await;
    let clock = Arc::<ManualClock>::default();
    let config = AnthropicConfig { max_retries: 0, ..config(fake.base_url()) };
    let model = AnthropicModel::new("claude", MODEL, &config, clock);
    (fake, model)
}

/// Asks a model that gives this answer. The clock stands still.
async fn ask_for(answer: ModelAnswer) -> (ShownReply, AnthropicFake) {
    let (fake, model) = serve(answer).await;
    (ask_model(&model).await, fake)
}

/// The request body for these messages.
async fn sent(messages: impl Into<Messages>) -> Value {
    sent_with(messages, |_| {}).await
}

async fn sent_with(messages: impl Into<Messages>, change: impl Fn(&mut AnthropicConfig)) -> Value {
    let fake = AnthropicFake::start(|_| ModelAnswer::says("ok")).await;
    let mut config = config(fake.base_url());
    change(&mut config);
    let model = AnthropicModel::new("claude", MODEL, &config, Arc::<ManualClock>::default());
    let request = ModelRequest { messages: messages.into(), ..sample_request() };
    model.complete(&request, &|_| ()).await.unwrap();
    assert_eq!(fake.refusals(), [""; 0]);
    fake.requests().remove(0)
}

#[tokio::test]
async fn anthropic_request_has_the_format_of_the_api() {
    let sent = sent(sample_request().messages).await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&sent).unwrap());
}

fn assistant(text: &str, ids: &[&str]) -> Message {
    let Message::Assistant { calls, .. } = &sample_request().messages[4] else { panic!() };
    let call =
        |id: &&str| avocet_protocol::model::SentCall { id: (*id).to_owned(), ..calls[0].clone() };
    Message::assistant(text, ids.iter().map(call).collect())
}

fn result(id: &str) -> Message {
    Message::ToolResult { call: id.to_owned(), ok: true, result: format!("result {id}") }
}

/// A line for each message: its role and the types of its blocks.
fn outline(sent: &Value) -> Vec<String> {
    let messages = sent["messages"].as_array().unwrap().iter();
    let line = |message: &Value| {
        let blocks = message["content"].as_array().unwrap().iter();
        let blocks = blocks.map(|block| {
            let kept = if block["cache_control"].is_null() { "" } else { "*" };
            format!("{}{kept}", block["type"].as_str().unwrap())
        });
        let role = message["role"].as_str().unwrap();
        format!("{role}: {}", blocks.collect::<Vec<_>>().join(" "))
    };
    messages.map(line).collect()
}

#[tokio::test]
async fn anthropic_request_joins_neighbours_of_a_role_and_puts_results_first() {
    let user = Message::user;
    let table = [
        (vec![user("hi")], &["user: text"][..]),
        (vec![user("hi"), user("you")], &["user: text text"]),
        (
            vec![user("hi"), assistant(" ", &["1", "2"]), result("1"), result("2"), user("and?")],
            &["user: text", "assistant: tool_use tool_use*", "user: tool_result tool_result text"],
        ),
        (
            vec![user("hi"), assistant("a", &[]), assistant("b", &["1"]), result("1")],
            &["user: text*", "assistant: text text tool_use", "user: tool_result"],
        ),
        (vec![user("hi"), assistant("\n", &[]), user("you")], &["user: text text"]),
    ];
    for (messages, expected) in table {
        let mut sent = outline(&sent(messages).await);
        // The position of the cache marks has its own test.
        let mut expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
        for line in sent.iter_mut().chain(&mut expected) {
            *line = line.replace('*', "");
        }
        assert_eq!(sent, expected);
    }
}

#[tokio::test]
async fn anthropic_request_marks_a_failed_call_and_keeps_its_text() {
    let error = r#"{"error":"no such file"}"#;
    let failed = Message::ToolResult { call: "2".to_owned(), ok: false, result: error.to_owned() };
    let messages = vec![Message::user("hi"), assistant("", &["1", "2"]), result("1"), failed];
    let sent = sent(messages).await;
    let results = &sent["messages"][2]["content"];
    assert_eq!(results[0].get("is_error"), None);
    assert_eq!(results[1]["is_error"], true);
    assert_eq!(results[1]["content"], error);
}

#[tokio::test]
async fn anthropic_cache_covers_tools_instructions_and_all_but_the_newest_message() {
    let user = Message::user;
    let system = Message::System { text: "be kind".to_owned() };
    let in_turn =
        vec![system.clone(), user("hi"), assistant("", &["1", "2"]), result("1"), result("2")];
    let table = [
        (vec![system.clone(), user("hi")], &["user: text"][..]),
        (
            vec![system, user("a"), assistant("b", &[]), user("c")],
            &["user: text", "assistant: text*", "user: text"],
        ),
        (
            in_turn.clone(),
            &["user: text", "assistant: tool_use tool_use*", "user: tool_result tool_result"],
        ),
    ];
    for (messages, expected) in table {
        let sent = sent(messages).await;
        assert_eq!(outline(&sent), expected);
        let ephemeral = json!({ "type": "ephemeral" });
        assert_eq!(sent["system"][0]["cache_control"], ephemeral);
        assert_eq!(sent["tools"][0]["cache_control"], ephemeral);
    }
    let sent = sent_with(in_turn, |config| config.prompt_caching = false).await;
    assert!(!sent.to_string().contains("cache_control"), "{sent}");
}

#[tokio::test]
async fn f33_anthropic_request_begins_like_the_earlier_one() {
    let user = Message::user;
    let mut messages = vec![user("hi"), assistant("", &["1"]), result("1")];
    let unmarked = |mut sent: Value| {
        for message in sent["messages"].as_array_mut().unwrap() {
            for block in message["content"].as_array_mut().unwrap() {
                block.as_object_mut().unwrap().remove("cache_control");
            }
        }
        sent["messages"].as_array().unwrap().clone()
    };
    let mut earlier = unmarked(sent(messages.clone()).await);
    for more in [assistant("done", &[]), user("and?"), assistant("", &["2"]), result("2")] {
        messages.push(more);
        if matches!(messages.last(), Some(Message::Assistant { .. })) {
            continue;
        }
        let later = unmarked(sent(messages.clone()).await);
        assert_eq!(later[..earlier.len()], earlier);
        earlier = later;
    }
}

fn start(index: u64, block: &Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn text(index: u64, text: &str) -> Value {
    let delta = json!({ "type": "text_delta", "text": text });
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn input(index: u64, json: &str) -> Value {
    let delta = json!({ "type": "input_json_delta", "partial_json": json });
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn said() -> Value {
    start(0, &json!({ "type": "text", "text": "" }))
}

fn used(index: u64, name: &str, input: &Value) -> Value {
    start(index, &json!({ "type": "tool_use", "id": "toolu", "name": name, "input": input }))
}

/// The events of an answer with a normal end.
fn events(pieces: &[Value], stop_reason: &str) -> Vec<String> {
    let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
    let mut all = vec![json!({ "type": "message_start", "message": { "usage": usage } })];
    all.extend_from_slice(pieces);
    let delta = json!({ "stop_reason": stop_reason });
    all.push(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 9 } }));
    all.push(json!({ "type": "message_stop" }));
    all.iter().map(event).collect()
}

async fn reply_of(pieces: &[Value], stop_reason: &str) -> Result<ModelReply, ModelError> {
    ask_for(ModelAnswer::Events(events(pieces, stop_reason))).await.0.reply
}

#[tokio::test]
async fn f8_anthropic_reads_two_calls_with_the_same_index() {
    let none = json!({});
    let same_index = [
        used(0, "one", &none),
        input(0, "{\"x\": 1}"),
        used(0, "two", &none),
        input(0, "{\"y\": 2}"),
    ];
    let expected = [tool_call("one", &json!({"x": 1})), tool_call("two", &json!({"y": 2}))];
    assert_eq!(reply_of(&same_index, "tool_use").await.unwrap().calls, expected);
}

#[tokio::test]
async fn anthropic_stop_reason_decides_if_the_answer_is_truncated() {
    let pieces = [said(), text(0, "so")];
    let cases = [
        ("end_turn", false),
        ("stop_sequence", false),
        ("max_tokens", true),
        ("model_context_window_exceeded", true),
        ("refusal", false),
        ("something new", false),
    ];
    for (stop_reason, truncated) in cases {
        let reply = reply_of(&pieces, stop_reason).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.truncated), ("so", truncated), "{stop_reason}");
        assert_eq!(reply.filtered, stop_reason == "refusal", "{stop_reason}");
    }
    let error = reply_of(&[], "refusal").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("claude/{MODEL} refused the request: the model refuses to answer this (refusal)")
    );
    assert!(!error.is_transient());
}

#[tokio::test]
async fn anthropic_ignores_unknown_events_and_blocks() {
    let pieces = [
        json!({ "type": "news", "of": "the day" }),
        start(
            0,
            &json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": {} }),
        ),
        input(0, "{}"),
        start(1, &json!({ "type": "text", "text": "so " })),
        json!({ "type": "content_block_delta", "index": 1,
            "delta": { "type": "citations_delta", "citation": {} } }),
        text(1, "it is"),
        json!({ "type": "content_block_stop", "index": 1 }),
    ];
    let (asked, _) = ask_for(ModelAnswer::Events(events(&pieces, "end_turn"))).await;
    let reply = asked.reply.unwrap();
    assert_eq!((reply.text.as_str(), asked.shown.as_str()), ("so it is", "so it is"));
    assert_eq!(reply.usage(), Usage::new(1, 9));
}

#[tokio::test]
async fn anthropic_error_explains_refusals_in_the_words_of_the_api() {
    const FULL: &str = "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000";
    let table = [
        ("Your credit balance is too low", "refused the request: 400: Your credit balance"),
        ("prompt is too long: 213462 tokens > 200000 maximum", "start a new one with /new"),
        (FULL, "start a new one with /new"),
    ];
    for (message, says) in table {
        let error = json!({ "type": "invalid_request_error", "message": message });
        let error = json!({ "type": "error", "error": error });
        let refused = ModelAnswer::Status(400, Vec::new(), error.to_string());
        let broken_off = ModelAnswer::Events(vec![event(&said()), event(&error)]);
        for answer in [refused, broken_off] {
            let error = ask_for(answer).await.0.reply.unwrap_err();
            assert!(error.to_string().contains(says) && !error.is_transient(), "{error}");
        }
    }
}

#[tokio::test]
async fn anthropic_error_contains_the_refusals_of_the_fake_server() {
    let fake = AnthropicFake::start(|_| ModelAnswer::says("ok")).await;
    let mut config = config(fake.base_url());
    let ask_as = async |model: &str, config: &AnthropicConfig| {
        let model = AnthropicModel::new("claude", model, config, Arc::<ManualClock>::default());
        ask_model(&model).await.reply.unwrap_err().to_string()
    };
    let error = ask_as("claude-0", &config).await;
    assert_eq!(error, "claude/claude-0 refused the request: 404: model: claude-0");
    config.api_key = Some(Secret::new("sk-ant-other".to_owned()).into());
    let error = ask_as(MODEL, &config).await;
    assert!(error.contains("refused the key (401: invalid x-api-key)"), "{error}");
    config.api_key = None;
    let error = ask_as(MODEL, &config).await;
    assert!(error.contains("(401: x-api-key header is required)"), "{error}");
}

#[tokio::test]
async fn anthropic_piece_opens_its_block_unless_it_needs_a_name() {
    assert_eq!(reply_of(&[text(0, "whose?")], "end_turn").await.unwrap().text, "whose?");
    let error = reply_of(&[said(), input(0, "{}")], "end_turn").await.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("has not begun"), "{error}");
}

#[test]
fn f20_anthropic_ping_keeps_only_the_connection_alive() {
    use crate::endpoint::{AnswerPiece, StreamedAnswer};
    let mut answer = AnthropicAnswer::default();
    let begin = json!({ "type": "message_start", "message": {} });
    for event in [begin, json!({ "type": "ping" })] {
        assert_eq!(answer.take_event(&event.into()), Ok(AnswerPiece::KeepAlive));
    }
}

#[test]
fn anthropic_usage_saturates_at_impossible_counts() {
    let usage = json!({ "input_tokens": u64::MAX, "cache_read_input_tokens": u64::MAX });
    let whole = json!({ "type": "message", "content": [{ "type": "text", "text": "so" }],
        "stop_reason": "end_turn", "usage": usage });
    let said = crate::fuzzing::read_body::<AnthropicAnswer>(&whole.to_string()).unwrap();
    assert_eq!(said.usage.input, u64::MAX);
}

async fn shows(request: &ModelRequest) -> Value {
    let (fake, model) = serve(ModelAnswer::says("a beach")).await;
    model.complete(request, &|_| ()).await.unwrap();
    assert_eq!(fake.refusals(), [""; 0]);
    fake.requests()[0]["messages"][0]["content"].clone()
}

#[tokio::test]
async fn anthropic_request_has_images_in_the_format_of_the_api() {
    let jpeg = |size: usize| [&[0xFF, 0xD8, 0xFF, 0xE0][..], &vec![7; size - 4]].concat();
    let content = shows(&with_image(&jpeg(request::MAX_IMAGE_BYTES))).await;
    assert_eq!(content.as_array().map(Vec::len), Some(2), "the older one is a line of text only");
    assert_eq!(content[0], json!({ "type": "text", "text": "look" }));
    let source = &content[1]["source"];
    assert_eq!((&source["type"], &source["media_type"]), (&json!("base64"), &json!("image/jpeg")));
    assert!(source["data"].as_str().unwrap().starts_with("/9j/4Ac"));

    let content = shows(&with_image(&jpeg(request::MAX_IMAGE_BYTES + 1))).await;
    assert_eq!(content.as_array().map(Vec::len), Some(1), "one that is too large would refuse all");
}

#[tokio::test]
async fn anthropic_request_has_an_image_without_text() {
    let shown = ImageRef { path: "a.png".to_owned() };
    let image = Image { media_type: "image/png", bytes: (*b"\x89PNG\r\n\x1A\n").into() };
    let request = ModelRequest {
        messages: vec![Message::User { text: String::new(), images: vec![shown.clone()] }].into(),
        tools: Arc::new([]),
        deferred: [].into(),
        images: BTreeMap::from([(shown, image)]),
        ..ModelRequest::default()
    };
    assert_eq!(shows(&request).await[0]["type"], "image");
}
