//! The provider against the strict fake, and against faulty servers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use avocet_protocol::model::{Image, ImageRef, Message, Messages, ToolCall, Usage};
use avocet_protocol::tool::ToolSpec;
use avocet_testkit::gemini::{GeminiFake, KEY, MODEL, event};
use avocet_testkit::{ManualClock, ModelAnswer};
use serde_json::{Value, json};

use super::*;
use crate::endpoint::StreamedAnswer;
use crate::fuzzing::read_body;
use crate::testing::{
    SECOND, ShownReply, ask_model, ask_through, ask_with_retries, sample_request, tool_call,
    with_image,
};

#[path = "error_tests.rs"]
mod errors;

fn config(base_url: String) -> GeminiConfig {
    let api_key = Some(Secret::new(KEY.to_owned()).into());
    GeminiConfig { base_url, api_key, ..GeminiConfig::default() }
}

async fn serve(answers: Vec<ModelAnswer>, clock: &Arc<ManualClock>) -> (GeminiFake, GeminiModel) {
    let next = AtomicUsize::new(0);
    let fake = GeminiFake::start(move |_| {
        answers[next.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1)].clone()
    })
    .await;
    let model = GeminiModel::new("google", MODEL, &config(fake.base_url()), clock.clone());
    (fake, model)
}

/// Asks a model that gives this answer. The clock stands still.
async fn ask_for(answer: ModelAnswer) -> (ShownReply, GeminiFake) {
    let (fake, mut model) = serve(vec![answer], &Arc::default()).await;
    model.endpoint.retries = 0;
    (ask_model(&model).await, fake)
}

/// The request body for these messages.
async fn sent(messages: impl Into<Messages>) -> Value {
    sent_with(messages, |_| {}).await
}

async fn sent_with(messages: impl Into<Messages>, change: impl Fn(&mut GeminiConfig)) -> Value {
    let fake = GeminiFake::start(|_| ModelAnswer::says("ok")).await;
    let mut config = config(fake.base_url());
    change(&mut config);
    let model = GeminiModel::new("google", MODEL, &config, Arc::<ManualClock>::default());
    let request = ModelRequest { messages: messages.into(), ..sample_request() };
    model.complete(&request, &|_| ()).await.unwrap();
    assert_eq!(fake.refusals(), [""; 0]);
    fake.requests().remove(0)
}

#[tokio::test]
async fn gemini_request_has_the_format_of_the_api() {
    let sent = sent(sample_request().messages).await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&sent).unwrap());
}

#[tokio::test]
async fn gemini_tool_with_any_object_is_offered_and_receives_one() {
    let given = ModelAnswer::call("set", json!({ "of": "{\"a\": 1}", "mode": "all" }));
    let (fake, model) = serve(vec![given], &Arc::default()).await;
    let parameters = json!({ "type": "object", "properties": { "of": { "type": "object" },
        "mode": { "type": "string", "enum": ["", "all"] } } });
    let tool = ToolSpec {
        name: "set".to_owned(),
        aliases: Vec::new(),
        group: String::new(),
        description: "sets".to_owned(),
        parameters,
    };
    let asked = ModelRequest { tools: Arc::new([tool]), ..sample_request() };
    let reply = model.complete(&asked, &|_| ()).await;
    assert_eq!(fake.refusals(), [""; 0]);
    assert_eq!(
        reply.unwrap().calls,
        [tool_call("set", &json!({ "of": { "a": 1 }, "mode": "all" }))]
    );
}

#[test]
fn gemini_url_names_a_model_with_or_without_its_collection() {
    let expected = "http://a/v1beta/models/m:streamGenerateContent?alt=sse";
    assert_eq!(request_url("http://a/", "m"), expected);
    assert_eq!(request_url("http://a", "models/m"), expected);
    let tuned = "http://a/v1beta/tunedModels/m:streamGenerateContent?alt=sse";
    assert_eq!(request_url("http://a", "tunedModels/m"), tuned);
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

/// A line for each content: its role and the kinds of its parts.
fn outline(sent: &Value) -> Vec<String> {
    let line = |content: &Value| {
        let parts = content["parts"].as_array().unwrap().iter();
        let kinds = parts.map(|part| {
            let kinds = part.as_object().unwrap().keys().filter(|key| *key != "thoughtSignature");
            kinds.cloned().collect::<String>()
        });
        let role = content["role"].as_str().unwrap();
        format!("{role}: {}", kinds.collect::<Vec<_>>().join(" "))
    };
    sent["contents"].as_array().unwrap().iter().map(line).collect()
}

#[tokio::test]
async fn gemini_request_alternates_roles_and_puts_results_first() {
    let user = Message::user;
    let table = [
        (vec![user("hi"), user("you")], &["user: text text"][..]),
        (
            vec![user("hi"), assistant(" ", &["1", "2"]), result("1"), result("2"), user("and?")],
            &[
                "user: text",
                "model: functionCall functionCall",
                "user: functionResponse functionResponse text",
            ],
        ),
        (
            vec![user("hi"), assistant("a", &[]), assistant("b", &["1"]), result("1")],
            &["user: text", "model: text text functionCall", "user: functionResponse"],
        ),
        (vec![user("hi"), assistant("\n", &[]), user("you")], &["user: text text"]),
    ];
    for (messages, expected) in table {
        assert_eq!(outline(&sent(messages).await), expected);
    }
}

#[tokio::test]
async fn gemini_request_wraps_any_result_in_an_object() {
    let table = [
        (true, r#"{"a": 1}"#, json!({ "a": 1 })),
        (true, r#""seen""#, json!({ "result": "seen" })),
        (true, "[1, 2]", json!({ "result": [1, 2] })),
        (true, "no JSON", json!({ "result": "no JSON" })),
        (false, r#"{"error": "gone"}"#, json!({ "error": "gone" })),
        (false, r#"{"a": 1}"#, json!({ "error": { "a": 1 } })),
        (false, "no JSON", json!({ "error": "no JSON" })),
    ];
    for (ok, result, expected) in table {
        let result = Message::ToolResult { call: "1".to_owned(), ok, result: result.to_owned() };
        let sent = sent(vec![Message::user("hi"), assistant("", &["1"]), result]).await;
        let response = &sent["contents"][2]["parts"][0]["functionResponse"];
        assert_eq!(response["response"], expected);
        assert_eq!((&response["id"], &response["name"]), (&json!("1"), &json!("read_file")));
    }
}

#[tokio::test]
async fn gemini_request_adds_thinking_tokens_to_the_output_limit() {
    let hi = || vec![Message::user("hi")];
    assert!(sent(hi()).await["generationConfig"].is_null());
    let limits = |output: Option<u32>, thinking: Option<u32>| {
        sent_with(hi(), move |config| {
            (config.max_output_tokens, config.thinking_tokens) = (output, thinking);
        })
    };
    let budget = |tokens: u32| json!({ "thinkingBudget": tokens });
    let both = limits(Some(1000), Some(200)).await;
    let expected = json!({ "maxOutputTokens": 1200, "thinkingConfig": budget(200) });
    assert_eq!(both["generationConfig"], expected);
    let none = limits(None, Some(0)).await;
    assert_eq!(none["generationConfig"], json!({ "thinkingConfig": budget(0) }));
    let output = limits(Some(1000), None).await;
    assert_eq!(output["generationConfig"], json!({ "maxOutputTokens": 1000 }));
}

#[tokio::test]
async fn f33_gemini_request_begins_like_the_earlier_one() {
    let mut messages = vec![Message::user("hi"), assistant("", &["1"]), result("1")];
    let mut earlier = sent(messages.clone()).await;
    for more in
        [&[assistant("done", &[]), Message::user("and?")], &[assistant("", &["2"]), result("2")]]
    {
        messages.extend_from_slice(more);
        let later = sent(messages.clone()).await;
        let contents = |sent: &Value| sent["contents"].as_array().unwrap().clone();
        let before = contents(&earlier);
        assert_eq!(contents(&later)[..before.len()], before);
        earlier = later;
    }
}

fn parts(parts: &[Value]) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": parts } }] })
}

fn text(text: &str) -> Value {
    parts(&[json!({ "text": text })])
}

fn ends(reason: &str) -> Value {
    json!({ "candidates": [{ "finishReason": reason, "finishMessage": "because" }] })
}

fn streams(chunks: &[Value]) -> ModelAnswer {
    ModelAnswer::Events(chunks.iter().map(event).collect())
}

#[tokio::test]
async fn f8_gemini_reads_two_calls_in_one_chunk() {
    let called = |args: Value| json!({ "functionCall": { "name": "one", "args": args } });
    let together = parts(&[called(json!({ "x": 1 })), called(json!({ "y": 2 }))]);
    let reply = ask_for(streams(&[together, ends("STOP")])).await.0.reply.unwrap();
    assert_eq!(
        reply.calls,
        [tool_call("one", &json!({ "x": 1 })), tool_call("one", &json!({ "y": 2 }))]
    );
}

#[tokio::test]
async fn f8_gemini_repairs_arguments_as_text_only_if_they_are_complete() {
    let object = json!({ "x": 1 });
    for (args, reason, expected) in [
        (json!("{x: 1,}"), "STOP", Some(&object)),
        (json!("{\"x\": 1"), "MAX_TOKENS", None),
        (json!([1]), "STOP", None),
    ] {
        let called = json!({ "functionCall": { "name": "one", "args": args } });
        let reply = ask_for(streams(&[parts(&[called]), ends(reason)])).await.0.reply.unwrap();
        let text = args.as_str().map_or_else(|| args.to_string(), str::to_owned);
        let malformed = ToolCall { name: "one".to_owned(), arguments: Arguments::Malformed(text) };
        assert_eq!(reply.calls, [expected.map_or(malformed, |object| tool_call("one", object))]);
    }
}

#[tokio::test]
async fn gemini_finish_reason_decides_if_the_answer_is_truncated() {
    const DECLINES: [&str; 6] =
        ["SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"];
    let cases = [("STOP", false), ("MAX_TOKENS", true), ("OTHER", false), ("NEW", false)];
    for (reason, truncated) in cases.into_iter().chain(DECLINES.map(|reason| (reason, false))) {
        let reply = ask_for(streams(&[text("so"), ends(reason)])).await.0.reply.unwrap();
        assert_eq!((reply.text.as_str(), reply.truncated), ("so", truncated), "{reason}");
        assert_eq!(reply.filtered, DECLINES.contains(&reason), "{reason}");
    }
    for reason in DECLINES {
        let error = ask_for(streams(&[ends(reason)])).await.0.reply.unwrap_err();
        let says = format!("refused the request: the model refuses to answer this ({reason})");
        assert!(error.to_string().contains(&says) && !error.is_transient(), "{error}");
    }
    for reason in ["OTHER", "NEW"] {
        let error = ask_for(streams(&[ends(reason)])).await.0.reply.unwrap_err();
        let says = format!("it said nothing ({reason}) because");
        assert!(error.to_string().contains(&says) && error.is_transient(), "{error}");
    }
}

#[tokio::test]
async fn gemini_retries_a_malformed_call() {
    for reason in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"] {
        let clock = Arc::<ManualClock>::default();
        let failed = streams(&[text("I look. "), ends(reason)]);
        let (_fake, model) = serve(vec![failed, ModelAnswer::says("good")], &clock).await;
        let asked = ask_with_retries(&model, &clock, 1).await;
        assert_eq!(asked.reply.unwrap().text, "good");
        assert_eq!(asked.shown, "I look. <good");
    }
}

#[tokio::test]
async fn gemini_refusal_of_a_blocked_request_names_the_reason() {
    let blocked = json!({ "promptFeedback": { "blockReason": "PROHIBITED_CONTENT" },
        "usageMetadata": { "promptTokenCount": 7 } });
    let error = ask_for(streams(&[blocked])).await.0.reply.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "google/{MODEL} refused the request: the model refuses to read this \
                (PROHIBITED_CONTENT)"
        )
    );
    assert!(!error.is_transient());
}

#[tokio::test]
async fn gemini_ignores_unknown_fields_and_parts() {
    let chunks = [
        json!({ "news": 1, "candidates": [] }),
        parts(&[json!({ "executableCode": { "code": "1" } }), json!({ "text": "so " })]),
        parts(&[json!({ "text": "it is", "partMetadata": {} })]),
        ends("STOP"),
    ];
    let (asked, _) = ask_for(streams(&chunks)).await;
    assert_eq!(
        (asked.reply.unwrap().text.as_str(), asked.shown.as_str()),
        ("so it is", "so it is")
    );
}

fn json_answer(status: u16, body: &Value) -> ModelAnswer {
    let headers = vec![("content-type", "application/json; charset=UTF-8".to_owned())];
    ModelAnswer::Status(status, headers, body.to_string())
}

#[tokio::test]
async fn gemini_reads_a_list_of_all_chunks() {
    let mut last = ends("STOP");
    last["usageMetadata"] = json!({ "promptTokenCount": 7, "candidatesTokenCount": 2 });
    let (asked, _) = ask_for(json_answer(200, &json!([text("hel"), text("lo"), last]))).await;
    let reply = asked.reply.unwrap();
    assert_eq!((reply.text.as_str(), asked.shown.as_str()), ("hello", "hello"));
    assert_eq!(reply.usage(), Usage::new(7, 2));
}

#[test]
fn gemini_usage_saturates_at_impossible_counts() {
    let most = u64::MAX;
    let mut end = ends("STOP");
    end["usageMetadata"] = json!({ "promptTokenCount": most, "toolUsePromptTokenCount": 1,
        "candidatesTokenCount": 1, "thoughtsTokenCount": most });
    let said = read_body::<GeminiAnswer>(&end.to_string()).unwrap();
    assert_eq!(said.usage, Usage::new(most, most));
}

#[test]
fn f20_gemini_answer_begins_with_a_thought_or_text_or_call() {
    let thought = parts(&[json!({ "text": "hm", "thought": true })]);
    let called = parts(&[json!({ "functionCall": { "name": "one" } })]);
    let opened = [json!({ "responseId": "r1" }), parts(&[]), text("")];
    let begun = [text("so"), thought, called].map(|chunk| (chunk, true));
    for (chunk, expected) in opened.map(|chunk| (chunk, false)).into_iter().chain(begun) {
        let mut answer = GeminiAnswer::default();
        let piece = answer.take_event(&chunk.clone().into()).unwrap();
        assert_eq!(piece != crate::endpoint::AnswerPiece::KeepAlive, expected, "{chunk}");
    }
}

async fn shows(request: &ModelRequest) -> Value {
    let (fake, model) = serve(vec![ModelAnswer::says("a beach")], &Arc::default()).await;
    assert!(model.facts().await.images);
    model.complete(request, &|_| ()).await.unwrap();
    assert_eq!(fake.refusals(), [""; 0]);
    fake.requests()[0]["contents"][0]["parts"].clone()
}

#[tokio::test]
async fn gemini_request_has_images_in_the_format_of_the_api() {
    let parts = shows(&with_image(&[0xFF, 0xD8, 0xFF, 0xE0])).await;
    let picture = json!({ "inlineData": { "mimeType": "image/jpeg", "data": "/9j/4A==" } });
    assert_eq!(parts, json!([{ "text": "look" }, picture]), "the older one is a line of text only");
}

#[tokio::test]
async fn gemini_request_replaces_an_unsupported_image_with_a_line_of_text() {
    let shown = ImageRef { path: "a.gif".to_owned() };
    let image = Image { media_type: "image/gif", bytes: (*b"GIF89a").into() };
    let request = ModelRequest {
        messages: vec![Message::User { text: "look".to_owned(), images: vec![shown.clone()] }]
            .into(),
        tools: Arc::new([]),
        deferred: [].into(),
        images: BTreeMap::from([(shown, image)]),
        ..ModelRequest::default()
    };
    assert_eq!(shows(&request).await, json!([{ "text": "look" }]));
}
