//! Tests that are specific to chat completions and to servers that deviate from them. Tests for all
//! providers are in `contract`.

use std::collections::BTreeMap;
use std::ops::Range;

use avocet_protocol::model::{
    Arguments, Message, MessageBlock, MessagePart, Messages, Reasoning, SentCall, SharedMessage,
    Usage,
};
use avocet_testkit::ManualClock;
use avocet_testkit::http::Piece;
use avocet_testkit::openai::{KEY, ModelAnswer, OpenAiFake, delta_event, event, stream_head};
use serde_json::{Map, Value, json};

use super::*;
use crate::endpoint::StreamedAnswer;
use crate::testing::{
    SECOND, ShownReply, WritingServer, ask_model, sample_request, tool_call, with_image,
};

async fn start(
    answer: ModelAnswer,
    change: impl Fn(OpenAiConfig) -> OpenAiConfig,
) -> (OpenAiFake, OpenAi) {
    let fake = OpenAiFake::start_with_eyes(move |_| answer.clone()).await;
    let api_key = Some(Secret::new(KEY.to_owned()).into());
    let config = OpenAiConfig {
        base_url: fake.base_url(),
        api_key,
        max_retries: 0,
        ..OpenAiConfig::default()
    };
    let clock = Arc::<ManualClock>::default();
    let model = OpenAi::new("local", "qwen3", &change(config), clock).unwrap();
    (fake, model)
}

async fn ask_for(answer: ModelAnswer) -> Result<ModelReply, ModelError> {
    let (_fake, model) = start(answer, |config| config).await;
    ask_model(&model).await.reply
}

#[tokio::test]
async fn openai_request_has_the_format_of_the_api() {
    let (fake, model) = start(ModelAnswer::says("hello"), |config| config).await;
    ask_model(&model).await.reply.unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&fake.requests()[0]).unwrap());
    assert_eq!(fake.refusals(), [""; 0]);
}

/// The events of an answer with a normal end.
fn events(deltas: &[Value], finish: &str) -> Vec<String> {
    let mut events: Vec<String> = deltas.iter().map(|delta| delta_event(delta, None)).collect();
    events.push(delta_event(&json!({}), Some(finish)));
    events.push(event("[DONE]"));
    events
}

async fn reply_of(events: Vec<String>) -> ModelReply {
    ask_for(ModelAnswer::Events(events)).await.unwrap()
}

#[tokio::test]
async fn f8_openai_adds_call_pieces_without_an_index_to_the_call_before_them() {
    let piece = |call: Value| json!({ "tool_calls": [call] });
    let without_index = [
        piece(json!({"id": "a", "function": {"name": "one", "arguments": "{\"x\""}})),
        piece(json!({"function": {"arguments": ": 1}"}})),
        piece(json!({"id": "b", "function": {"name": "two", "arguments": "{\"y\": 2}"}})),
    ];
    let all_at_once = [json!({"tool_calls": [
        {"index": 0, "id": "a", "function": {"name": "one", "arguments": "{\"x\": 1}"}},
        {"index": 1, "id": "a", "function": {"name": "two", "arguments": "{\"y\": 2}"}},
    ]})];
    let expected = [tool_call("one", &json!({"x": 1})), tool_call("two", &json!({"y": 2}))];
    for deltas in [&without_index[..], &all_at_once] {
        assert_eq!(reply_of(events(deltas, "tool_calls")).await.calls, expected, "{deltas:?}");
    }
}

#[tokio::test]
async fn f8_openai_distinguishes_calls_for_each_numbering_of_their_pieces() {
    let expected = [tool_call("one", &json!({"x": 1})), tool_call("two", &json!({"y": 2}))];
    let tables = [
        // All calls have the same index.
        json!([
            {"index": 0, "id": "a", "function": {"name": "one", "arguments": "{\"x\": 1}"}},
            {"index": 0, "id": "b", "function": {"name": "two", "arguments": "{\"y\": "}},
            {"index": 0, "id": "b", "function": {"arguments": "2}"}},
        ]),
        json!([
            {"index": 0, "function": {"name": "one", "arguments": "{\"x\": 1}"}},
            {"index": 0, "function": {"name": "two", "arguments": "{\"y\": 2}"}},
        ]),
        // Names and ids are repeated in every piece.
        json!([
            {"index": 0, "id": "a", "function": {"name": "one", "arguments": "{\"x\""}},
            {"index": 0, "id": "a", "function": {"name": "one", "arguments": ": 1}"}},
            {"id": "b", "function": {"name": "two", "arguments": "{\"y\""}},
            {"id": "b", "function": {"name": "two", "arguments": ": 2}"}},
        ]),
        // Every piece has its own id.
        json!([
            {"index": 0, "id": "a", "function": {"name": "one", "arguments": ""}},
            {"index": 0, "id": "b", "function": {"arguments": "{\"x\": 1}"}},
            {"index": 1, "id": "c", "function": {"name": "two"}},
            {"index": 1, "id": "d", "function": {"name": null, "arguments": "{\"y\": 2}"}},
        ]),
        // Only the ids connect the pieces.
        json!([
            {"id": "a", "function": {"name": "one"}},
            {"id": "b", "function": {"name": "two"}},
            {"id": "a", "function": {"arguments": "{\"x\": 1}"}},
            {"id": "b", "function": {"arguments": "{\"y\": 2}"}},
        ]),
        // Only the names separate the calls.
        json!([
            {"id": "", "function": {"name": "one", "arguments": "{\"x\":"}},
            {"id": "", "function": {"name": "", "arguments": "1}"}},
            {"function": {"name": "two", "arguments": "{\"y\": 2}"}},
        ]),
    ];
    for pieces in tables {
        let pieces = pieces.as_array().unwrap();
        let deltas: Vec<Value> =
            pieces.iter().map(|piece| json!({ "tool_calls": [piece] })).collect();
        assert_eq!(reply_of(events(&deltas, "tool_calls")).await.calls, expected, "{pieces:?}");
    }
}

#[tokio::test]
async fn openai_reads_text_in_content_parts() {
    let thought = json!({ "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] });
    let parts = [
        thought,
        json!({ "type": "text", "text": "hel" }),
        json!({ "type": "text", "text": "lo" }),
        json!({ "type": "reference", "reference_ids": [1] }),
    ];
    let streamed = parts.clone().map(|part| json!({ "content": [part] }));
    assert_eq!(reply_of(events(&streamed, "stop")).await.text, "hello");
    let message = json!({ "content": parts });
    let whole = json!({ "choices": [{ "message": message, "finish_reason": "stop" }] });
    let json = vec![("content-type", "application/json".to_owned())];
    let reply = ask_for(ModelAnswer::Status(200, json, whole.to_string())).await.unwrap();
    assert_eq!(reply.text, "hello");
}

#[tokio::test]
async fn f20_openai_keeps_an_ended_answer_if_the_connection_breaks() {
    let mut body = events(&[json!({ "content": "so" })], "stop");
    body.pop();
    for end in [Piece::Close, Piece::Reset, Piece::chunk(b"data: {\n\n"), Piece::end()] {
        let pieces = vec![stream_head(), Piece::chunk(body.concat().as_bytes()), end];
        assert_eq!(ask_for(ModelAnswer::Raw(pieces)).await.unwrap().text, "so");
    }
}

#[tokio::test]
async fn openai_reads_null_as_a_missing_value() {
    let usage = json!({ "prompt_tokens": 7, "completion_tokens": null,
        "prompt_tokens_details": { "cached_tokens": null } });
    let said = json!({ "choices": [{ "delta": { "content": "so", "tool_calls": null },
        "finish_reason": null }], "usage": null, "error": null });
    let end = json!({ "choices": [{ "delta": null, "finish_reason": "stop" }] });
    let spent = json!({ "choices": null, "usage": usage });
    let events = [said, end, spent].map(|value| event(&value.to_string()));
    let reply = reply_of(events.to_vec()).await;
    assert_eq!((reply.text.as_str(), reply.spent[0].usage.input), ("so", 7));
}

#[tokio::test]
async fn f8_openai_repairs_arguments_only_if_they_are_complete() {
    let function = json!({"name": "one", "arguments": "{'x': 1,"});
    let open = [json!({ "tool_calls": [{ "index": 0, "function": function }] })];
    for (finish, filtered) in [("length", false), ("content_filter", true)] {
        let reply = reply_of(events(&open, finish)).await;
        assert_eq!(reply.calls[0].arguments, Arguments::Malformed("{'x': 1,".to_owned()));
        assert_eq!((reply.truncated, reply.filtered), (!filtered, filtered));
    }
    assert_eq!(reply_of(events(&open, "stop")).await.calls, [tool_call("one", &json!({"x": 1}))]);
}

#[tokio::test]
async fn openai_finish_reason_decides_if_the_answer_is_truncated_or_filtered() {
    let ends = async |said: &[Value], reason: &str| {
        ask_for(ModelAnswer::Events(events(said, reason))).await.map(|reply| {
            let text = reply.text;
            (text, reply.truncated, reply.filtered)
        })
    };
    let so = [json!({ "content": "so" })];
    let table = [
        (&["stop", "tool_calls", "function_call", "eos", "end_turn", "STOP"][..], false, false),
        (&["length", "max_tokens", "model_length", "MAX_TOKENS"], true, false),
        (&["content_filter", "SAFETY", "sensitive"], false, true),
        (&["something_new"], false, false),
    ];
    for (reasons, truncated, filtered) in table {
        for reason in reasons {
            let end = ends(&so, reason).await.unwrap();
            assert_eq!(end, ("so".to_owned(), truncated, filtered), "{reason}");
        }
    }
    let failed = ["error", "abort", "network_error", "insufficient_system_resource"];
    let nothing = (&[][..], "something_new");
    for (said, reason) in failed.map(|reason| (&so[..], reason)).into_iter().chain([nothing]) {
        let error = ends(said, reason).await.unwrap_err();
        assert!(error.is_transient() && error.to_string().contains(reason), "{error}");
    }
}

#[tokio::test]
async fn f20_openai_waits_for_usage_after_the_end_but_not_for_ever() {
    let clock = Arc::<ManualClock>::default();
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 7, "completion_tokens": 2 } });
    let mut body = events(&[json!({ "content": "so" })], "stop");
    body.pop();
    let pieces = vec![stream_head(), Piece::chunk(body.concat().as_bytes())];
    let (answer, mut written) = WritingServer::begin_answer(pieces);
    let fake = OpenAiFake::start(move |_| answer.clone()).await;
    let config = OpenAiConfig { base_url: fake.base_url(), ..OpenAiConfig::default() };
    let model = OpenAi::new("local", "qwen3", &config, clock.clone()).unwrap();
    let passing = async {
        written.write_all().await;
        clock.sleeper_within(10 * SECOND..=10 * SECOND).await;
        clock.advance(9 * SECOND);
        written.write_more(vec![Piece::chunk(event(&usage.to_string()).as_bytes())]).await;
        written.write_all().await;
        clock.advance(10 * SECOND);
    };
    let reply = tokio::join!(ask_model(&model), passing).0.reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage()), ("so", Usage::new(7, 2)));
}

/// Asks a model whose answer pauses for 30 s after its first piece.
async fn ask_with_pause(first: &[String], rest: &[String]) -> ShownReply {
    let clock = Arc::<ManualClock>::default();
    let pieces = vec![stream_head(), Piece::chunk(first.concat().as_bytes())];
    let (answer, mut written) = WritingServer::begin_answer(pieces);
    let fake = OpenAiFake::start(move |_| answer.clone()).await;
    let config = OpenAiConfig { base_url: fake.base_url(), ..OpenAiConfig::default() };
    let model = OpenAi::new("local", "qwen3", &config, clock.clone()).unwrap();
    let passing = async {
        written.write_all().await;
        clock.sleeper_within(60 * SECOND..=60 * SECOND).await;
        clock.advance(30 * SECOND);
        written.write_more(vec![Piece::chunk(rest.concat().as_bytes())]).await;
        written.write_all().await;
    };
    tokio::join!(ask_model(&model), passing).0
}

#[tokio::test]
async fn openai_answer_that_grows_with_its_finish_reason_goes_on_after_a_pause() {
    let said = |text: &str| delta_event(&json!({ "content": text }), Some("stop"));
    let rest = [said("the rest"), event("[DONE]")];
    let reply = ask_with_pause(&[said("half, ")], &rest).await.reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.truncated), ("half, the rest", false));

    let end = delta_event(&json!({}), Some("stop"));
    let more = delta_event(&json!({ "content": "more, " }), None);
    let first = [delta_event(&json!({ "content": "half, " }), None), end, more];
    let reply = ask_with_pause(&first, &rest).await.reply.unwrap();
    assert_eq!(reply.text, "half, more, the rest");
}

#[test]
fn openai_empty_finish_reason_is_not_an_end() {
    let chunk = json!({ "choices": [{ "delta": { "content": "half" }, "finish_reason": "" }] });
    let mut answer = OpenAiChatAnswer::default();
    answer.take_event(&chunk.into()).unwrap();
    assert!(answer.finish_answer().is_err());
}

#[tokio::test]
async fn openai_answer_may_end_without_done() {
    let mut without_done = events(&[json!({"content": "hello"})], "stop");
    without_done.pop();
    assert_eq!(reply_of(without_done).await.text, "hello");
}

#[tokio::test]
async fn openai_error_means_the_same_before_and_within_a_stream() {
    let busy = "try again";
    let table = [
        (429, json!({ "code": "insufficient_quota" }), "refused the request"),
        (429, json!({ "type": "insufficient_quota", "code": null }), "refused the request"),
        (429, json!({ "code": "billing_hard_limit_reached" }), "refused the request"),
        (429, json!({ "code": "rate_limit_exceeded" }), busy),
        (429, json!({ "type": "tokens", "code": "rate_limit_exceeded" }), busy),
        (400, json!({ "code": "context_length_exceeded" }), "too long"),
        (400, json!({ "code": 400, "type": "exceed_context_size_error" }), "too long"),
        (500, json!({ "code": 500, "type": "exceed_context_size_error" }), "too long"),
        (401, json!({ "code": "invalid_api_key" }), "refused the key"),
        (401, json!({ "type": "authentication_error" }), "refused the key"),
        (404, json!({ "code": "model_not_found" }), "refused the request"),
        (400, json!({ "type": "invalid_request_error" }), "refused the request"),
        (500, json!({ "code": "server_error" }), busy),
        (503, json!({ "code": 503, "type": "unavailable_error" }), busy),
        (429, json!({ "code": "429" }), busy),
    ];
    for (status, mut error, means) in table {
        error["message"] = json!("no");
        let error = json!({ "error": error }).to_string();
        let middle = [delta_event(&json!({ "content": "so" }), None), event(&error)];
        let beginning = ModelAnswer::Status(status, Vec::new(), error.clone());
        for answer in [beginning, ModelAnswer::Events(middle.to_vec())] {
            let says = ask_for(answer).await.unwrap_err();
            assert!(says.to_string().contains(means), "{error}: {says}");
            assert_eq!(says.is_transient(), means == busy, "{error}: {says}");
        }
    }
}

#[tokio::test]
async fn openai_error_without_a_status_within_a_stream_is_transient() {
    for error in [json!({ "message": "CUDA out of memory" }), json!("CUDA out of memory")] {
        let failed = vec![event(&json!({ "error": error }).to_string())];
        let error = ask_for(ModelAnswer::Events(failed)).await.unwrap_err();
        assert!(error.is_transient() && error.to_string().contains("out of memory"), "{error}");
    }
}

#[tokio::test]
async fn openai_request_has_images_as_data_urls() {
    let (fake, model) = start(ModelAnswer::says("a beach"), |config| config).await;
    let jpeg = [0xFF, 0xD8, 0xFF, 0xE0, 7];
    model.complete(&with_image(&jpeg), &|_| ()).await.unwrap();
    assert_eq!(fake.refusals(), [""; 0]);
    let content = fake.requests()[0]["messages"][0]["content"].clone();
    assert_eq!(content[0], json!({ "type": "text", "text": "look" }));
    assert_eq!(content[1]["image_url"]["url"], "data:image/jpeg;base64,/9j/4Ac=");
}

#[test]
fn f33_openai_request_has_the_same_bytes_if_its_messages_keep_their_json() {
    let looks = with_image(&[0xFF, 0xD8, 0xFF, 0xE0, 7]);
    let mut messages = sample_request().messages;
    messages.extend(looks.messages);
    let state = json!({ "message": { "reasoning_content": "hm" } });
    let call =
        SentCall { id: "t2s0c0".to_owned(), name: "read_file".to_owned(), arguments: Map::new() };
    messages.extend([
        Message::assistant("nice", Vec::new()),
        Message::user("read it"),
        Message::Assistant {
            text: String::new(),
            calls: vec![call],
            reasoning: Some(Reasoning::new("local/qwen3", state)),
        },
        Message::ToolResult { call: "t2s0c0".to_owned(), ok: true, result: "b".to_owned() },
    ]);
    let lasting =
        |message| Arc::new(SharedMessage::with_cached_json(SharedMessage::into_message(message)));
    let single: Messages = messages.clone().into_iter().map(lasting).collect();
    let blocks = [1..3, 1..6, 1..7, 3..6, 4..6, 8..11].map(|of: Range<usize>| {
        let block = MessageBlock::new(messages.iter().skip(of.start).take(of.len()).cloned());
        let mut kept: Messages = messages.iter().take(of.start).cloned().collect();
        kept.push_part(MessagePart::Block(Arc::new(block)));
        kept.extend(messages.iter().skip(of.end).cloned());
        assert_eq!(kept, messages);
        kept
    });
    let seen = ModelRequest { messages, images: looks.images, ..sample_request() };
    let blind = ModelRequest { images: BTreeMap::new(), ..seen.clone() };
    let kept: Vec<(&ModelRequest, ModelRequest)> = [&seen, &blind, &blind, &seen]
        .into_iter()
        .flat_map(|one| {
            let all = [&single].into_iter().chain(&blocks);
            all.map(move |kept| (one, ModelRequest { messages: kept.clone(), ..one.clone() }))
        })
        .collect();
    let extra_body = BTreeMap::from([("top_k".to_owned(), json!(7))]);
    let chat = OpenAiConfig::default;
    let configs = [
        OpenAiConfig { api: OpenAiApi::Responses, ..chat() },
        chat(),
        OpenAiConfig { system_role: SystemRole::Developer, ..chat() },
        OpenAiConfig { system_role: SystemRole::User, ..chat() },
        OpenAiConfig { extra_body, ..chat() },
        OpenAiConfig { api: OpenAiApi::Responses, ..chat() },
    ];
    // The reasoning goes back to its own model only.
    for (config, name) in configs.iter().flat_map(|config| [(config, "qwen3"), (config, "renamed")])
    {
        let model = OpenAi::new("local", name, config, Arc::<ManualClock>::default()).unwrap();
        for (anew, kept) in &kept {
            let [anew, kept] = [*anew, kept]
                .map(|request| String::from_utf8(model.request_body(request).unwrap()).unwrap());
            assert_eq!(kept, anew, "{name}: {config:?}");
            let is_chat = config.api != OpenAiApi::Responses;
            assert_eq!(kept.contains("\"hm\""), is_chat && name == "qwen3", "{kept}");
        }
    }
}
