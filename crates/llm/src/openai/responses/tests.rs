//! Tests that are specific to the Responses API. Tests for all providers are in `contract`.

use std::sync::Arc;

use avocet_protocol::model::{
    Effort, Message, Model, ModelReply, ModelRequest, Reasoning, RequestOptions, SentCall,
};
use avocet_testkit::http::Piece;
use avocet_testkit::openai::responses::{
    MODEL, PLAIN, ResponsesFake, TOOL_SEARCH, event, response, thought,
};
use avocet_testkit::openai::{KEY, stream_head};
use avocet_testkit::{ManualClock, ModelAnswer};
use avocet_text::Secret;
use serde_json::{Value, json};

use super::thoughts;
use crate::openai::thinking::is_reasoning;
use crate::testing::{
    ShownReply, ask_model, grouped_request, sample_request, tool_call, with_image,
};
use crate::{OpenAi, OpenAiApi, OpenAiConfig};

async fn start(
    answer: ModelAnswer,
    model: &str,
    change: impl Fn(&mut OpenAiConfig),
) -> (ResponsesFake, OpenAi) {
    let fake = ResponsesFake::start(move |_| answer.clone()).await;
    let mut config = OpenAiConfig {
        base_url: fake.base_url(),
        api_key: Some(Secret::new(KEY.to_owned()).into()),
        api: OpenAiApi::Responses,
        max_retries: 0,
        ..OpenAiConfig::default()
    };
    change(&mut config);
    let clock = Arc::<ManualClock>::default();
    let model = OpenAi::new("openai", model, &config, clock).unwrap();
    (fake, model)
}

async fn asked(events: &[Value]) -> ShownReply {
    let events = events.iter().map(event).collect();
    let (_fake, model) = start(ModelAnswer::Events(events), MODEL, |_| ()).await;
    ask_model(&model).await
}

async fn reply_of(events: &[Value]) -> ModelReply {
    asked(events).await.reply.unwrap()
}

/// The request body for a request.
async fn sent(request: &ModelRequest) -> Value {
    let (fake, model) = start(ModelAnswer::says("ok"), MODEL, |_| ()).await;
    let reply = model.complete(request, &|_| ()).await;
    assert_eq!(fake.refusals(), [""; 0]);
    reply.unwrap();
    fake.requests().remove(0)
}

#[tokio::test]
async fn responses_request_has_the_format_of_the_api() {
    let sent = sent(&sample_request()).await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&sent).unwrap());
}

#[tokio::test]
async fn responses_request_has_the_configured_output_limit_and_effort() {
    let (fake, model) = start(ModelAnswer::says("ok"), MODEL, |config| {
        config.max_output_tokens = Some(1000);
        config.reasoning_effort = Some("low".to_owned());
    })
    .await;
    ask_model(&model).await.reply.unwrap();
    let sent = fake.requests().remove(0);
    assert_eq!(
        (&sent["max_output_tokens"], &sent["reasoning"]["effort"]),
        (&json!(1000 + 4096), &json!("low"))
    );
}

#[tokio::test]
async fn responses_request_asks_for_reasoning_only_of_a_reasoning_model() {
    let (fake, model) = start(ModelAnswer::says("ok"), PLAIN, |_| ()).await;
    assert_eq!(ask_model(&model).await.reply.unwrap().text, "ok");
    assert_eq!(fake.refusals(), [""; 0]);
    let thinks = [
        "gpt-5",
        "gpt-5.1-codex",
        "openai/gpt-5-mini",
        "gpt-10",
        "o3",
        "o4-mini",
        "gpt-oss-20b",
        "codex-mini-latest",
    ];
    let does_not =
        ["gpt-4.1", "gpt-4o-mini", "gpt-5-chat-latest", "chatgpt-4o", "omni", "qwen3", ""];
    for model in thinks {
        assert!(is_reasoning(model), "{model}");
    }
    for model in does_not {
        assert!(!is_reasoning(model), "{model}");
    }
}

#[tokio::test]
async fn responses_request_has_images_as_data_urls() {
    let sent = sent(&with_image(&[0xFF, 0xD8, 0xFF, 0xE0, 7])).await;
    let expected = json!([{ "type": "input_text", "text": "look" },
        { "type": "input_image", "image_url": "data:image/jpeg;base64,/9j/4Ac=" }]);
    assert_eq!(sent["input"][0]["content"], expected);
}

/// The items that are sent for a step with two calls, between a question and the results.
async fn step(text: &str, thoughts: Value) -> Vec<String> {
    let call = |id: &str| SentCall {
        id: id.to_owned(),
        name: "f".to_owned(),
        arguments: Default::default(),
    };
    let result =
        |id: &str| Message::ToolResult { call: id.to_owned(), ok: true, result: "seen".to_owned() };
    let model = format!("openai/{MODEL}");
    let reasoning = Some(Reasoning::new(model, thoughts));
    let calls = vec![call("c1"), call("c2")];
    let step = Message::Assistant { text: text.to_owned(), calls, reasoning };
    let messages = vec![Message::user("hi"), step, result("c1"), result("c2")];
    let sent = sent(&ModelRequest { messages: messages.into(), ..sample_request() }).await;
    let items = sent["input"].as_array().unwrap();
    let shown = |item: &Value| {
        let parts = [&item["id"], &item["content"], &item["call_id"]];
        parts.into_iter().find_map(Value::as_str).unwrap().to_owned()
    };
    items[1..items.len() - 2].iter().map(shown).collect()
}

#[tokio::test]
async fn responses_request_puts_reasoning_before_its_text_and_calls() {
    let [one, two] = [thought("rs_1", "hm"), thought("rs_2", "aha")];
    let table = [
        ("I look", json!([one, "message", "call", "call"]), &["rs_1", "I look", "c1", "c2"][..]),
        ("", json!([one, "call", two, "call"]), &["rs_1", "c1", "rs_2", "c2"]),
        ("so", json!([one, "message", two, "call"]), &["rs_1", "so", "rs_2", "c1", "c2"]),
        // The text consisted of control tokens and is missing in the history.
        ("", json!([one, "message", "call", "call"]), &["rs_1", "c1", "c2"]),
        // The calls were read from the text, so the stored text has changed.
        ("I look", json!([one, "message"]), &["rs_1", "I look", "c1", "c2"]),
        // Reasoning that was cut off led to nothing.
        ("", json!(["call", "call", one]), &["c1", "c2"]),
        ("", json!([one]), &["rs_1", "c1", "c2"]),
    ];
    for (text, thoughts, expected) in table {
        assert_eq!(step(text, thoughts.clone()).await, expected, "{thoughts}");
    }
}

#[test]
fn thoughts_without_removes_reasoning_with_the_last_call_that_it_led_to() {
    let [one, two] = [json!({ "id": "rs_1" }), json!({ "id": "rs_2" })];
    let table = [
        (json!([one, "call", "call"]), &[0][..], json!([one, "call"])),
        (json!([one, "call", "call"]), &[1], json!([one, "call"])),
        (json!([one, "call", "call"]), &[0, 1], json!([])),
        (json!([one, "call", two, "call"]), &[0], json!([two, "call"])),
        (json!([one, "call", two, "call"]), &[1], json!([one, "call"])),
        (json!([one, "message", "call"]), &[0], json!([one, "message"])),
        (json!([one, "message", two, "call"]), &[0], json!([one, "message"])),
        (json!([one, two, "call"]), &[0], json!([])),
        (json!(["call", "call", one]), &[1], json!(["call", one])),
        (json!([one, two]), &[0], json!([one, two])),
    ];
    for (parts, places, expected) in table {
        let kept = thoughts::without_calls(parts.as_array().unwrap().clone(), places);
        assert_eq!(Value::from(kept), expected, "{parts} without {places:?}");
    }
}

fn done(index: u64, item: &Value) -> Value {
    json!({ "type": "response.output_item.done", "output_index": index, "item": item })
}

fn message(part: &Value) -> Value {
    json!({ "type": "message", "role": "assistant", "content": [part] })
}

fn completed(output: &[Value]) -> Value {
    let whole = response("completed", output, &Value::Null);
    json!({ "type": "response.completed", "response": whole })
}

#[tokio::test]
async fn responses_keep_the_order_of_reasoning_text_and_calls() {
    let called = json!({ "type": "function_call", "call_id": "a", "name": "f", "arguments": "{}" });
    let said = message(&json!({ "type": "output_text", "text": "so" }));
    let thoughts = [thought("rs_1", "hm"), thought("rs_2", "aha")];
    let unsealed = json!({ "type": "reasoning", "id": "rs_3", "summary": [] });
    let searched = json!({ "type": "web_search_call", "id": "ws_1" });
    let items = [&thoughts[0], &said, &thoughts[1], &unsealed, &searched, &called];
    let events: Vec<Value> = (0..).zip(items).map(|(index, item)| done(index, item)).collect();
    let reply = reply_of(&[&events[..], &[completed(&[])]].concat()).await;
    let expected = json!([thoughts[0], "message", thoughts[1], "call"]);
    assert_eq!(reply.reasoning.map(|reasoning| reasoning.content), Some(expected));
    assert_eq!((reply.text.as_str(), reply.calls), ("so", vec![tool_call("f", &json!({}))]));
}

#[tokio::test]
async fn responses_read_items_that_come_without_deltas() {
    let said = message(&json!({ "type": "output_text", "text": "hello" }));
    let declined = message(&json!({ "type": "refusal", "refusal": "hello" }));
    let index = |value: Value| {
        let mut value = value;
        value.as_object_mut().unwrap().remove("output_index");
        value
    };
    let pieces = json!({ "type": "response.refusal.delta", "output_index": 0, "delta": "hello" });
    let tables = [
        vec![done(0, &said), completed(&[])],
        vec![done(0, &declined), completed(&[])],
        vec![completed(std::slice::from_ref(&said))],
        vec![index(done(0, &said)), completed(&[])],
        vec![pieces.clone(), done(0, &declined), completed(&[declined])],
        vec![index(pieces), completed(&[])],
        vec![done(0, &said), completed(&[]), json!({ "type": "news" })],
    ];
    for events in tables {
        let asked = asked(&events).await;
        let text = asked.reply.unwrap().text;
        assert_eq!((text.as_str(), asked.shown.as_str()), ("hello", "hello"), "{events:?}");
    }
}

#[tokio::test]
async fn f20_responses_end_at_the_completed_event_and_keep_its_content() {
    let said = message(&json!({ "type": "output_text", "text": "all of it" }));
    let last = event(&completed(&[said]));
    let pieces = vec![stream_head(), Piece::chunk(last.as_bytes()), Piece::Hang];
    let (_fake, model) = start(ModelAnswer::Raw(pieces), MODEL, |_| ()).await;
    assert_eq!(ask_model(&model).await.reply.unwrap().text, "all of it");
}

#[tokio::test]
async fn responses_prefer_the_complete_arguments_of_a_call_to_its_deltas() {
    let begun = json!({ "type": "response.output_item.added", "output_index": 0,
        "item": { "type": "function_call", "name": "f", "arguments": "" } });
    let delta = json!({ "type": "response.function_call_arguments.delta", "output_index": 0,
        "delta": "{\"x\"" });
    let all = json!({ "type": "response.function_call_arguments.done", "output_index": 0,
        "arguments": "{\"x\": 1}" });
    let item = json!({ "type": "function_call", "name": "f", "arguments": { "x": 1 } });
    for last in [all, done(0, &item)] {
        let reply = reply_of(&[begun.clone(), delta.clone(), last, completed(&[])]).await;
        assert_eq!(reply.calls, [tool_call("f", &json!({ "x": 1 }))]);
    }
    let error = asked(&[delta, completed(&[])]).await.reply.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("has not begun"), "{error}");
}

#[tokio::test]
async fn responses_refuse_a_filtered_answer_and_keep_a_truncated_one() {
    let mut filtered = response("incomplete", &[], &Value::Null);
    filtered["incomplete_details"] = json!({ "reason": "content_filter" });
    let filtered = json!({ "type": "response.incomplete", "response": filtered });
    let error = asked(std::slice::from_ref(&filtered)).await.reply.unwrap_err();
    assert!(error.to_string().contains("content_filter") && !error.is_transient(), "{error}");
    let said = message(&json!({ "type": "output_text", "text": "half" }));
    let mut odd = filtered.clone();
    odd["response"]["incomplete_details"]["reason"] = json!("something_new");
    let error = asked(&[done(0, &said), odd]).await.reply.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("something_new"), "{error}");
    let reply = reply_of(&[done(0, &said), filtered]).await;
    assert_eq!((reply.text.as_str(), reply.truncated, reply.filtered), ("half", false, true));
}

#[tokio::test]
async fn responses_read_null_as_a_missing_value() {
    let said = message(&json!({ "type": "output_text", "text": "so" }));
    let usage = json!({ "input_tokens": 7, "output_tokens": null, "input_tokens_details": null });
    let end = json!({ "type": "response.completed", "response": { "status": "completed",
        "output": null, "usage": usage, "error": null, "incomplete_details": null } });
    let reply = reply_of(&[done(0, &said), end]).await;
    assert_eq!((reply.text.as_str(), reply.spent[0].usage.input), ("so", 7));
}

#[tokio::test]
async fn responses_read_errors_in_two_formats() {
    let error = json!({ "code": "rate_limit_exceeded", "message": "slow down" });
    let flat = json!({ "type": "error", "code": error["code"], "message": error["message"] });
    let nested = json!({ "type": "error", "error": error });
    for event in [flat, nested] {
        let error = asked(&[event]).await.reply.unwrap_err().to_string();
        assert!(error.contains("is busy (429: slow down)"), "{error}");
    }
    let word = json!({ "type": "insufficient_quota", "code": null, "message": "no" });
    let number = json!({ "code": 400, "message": "no" });
    for error in [word, number] {
        let failed = json!({ "type": "response.failed",
            "response": { "status": "failed", "error": error.clone() } });
        for event in [json!({ "type": "error", "error": error }), failed] {
            let error = asked(&[event]).await.reply.unwrap_err();
            assert!(!error.is_transient() && error.to_string().ends_with(": no"), "{error}");
        }
    }
    let silent = json!({ "type": "response.failed", "response": { "status": "failed" } });
    let error = asked(&[silent]).await.reply.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("it failed"), "{error}");
}

#[tokio::test]
async fn responses_request_follows_the_effort_of_the_request() {
    let table = [
        (MODEL, Some(Effort::Off), json!("minimal"), 1000),
        (MODEL, Some(Effort::High), json!("high"), 33_768),
        (MODEL, None, Value::Null, 17_384),
        (PLAIN, Some(Effort::High), Value::Null, 1000),
    ];
    for (name, effort, word, most) in table {
        let limited = |config: &mut OpenAiConfig| config.max_output_tokens = Some(1000);
        let (fake, model) = start(ModelAnswer::says("ok"), name, limited).await;
        let options = RequestOptions { effort, ..RequestOptions::default() };
        model.complete(&ModelRequest { options, ..sample_request() }, &|_| ()).await.unwrap();
        assert_eq!(fake.refusals(), [""; 0]);
        let sent = fake.requests().remove(0);
        assert_eq!(sent["reasoning"]["effort"], word, "{name} {effort:?}");
        assert_eq!(sent["max_output_tokens"], most, "{name} {effort:?}");
    }
}

#[tokio::test]
async fn deferred_tools_follow_the_call_that_loads_them() {
    let git = json!({ "group": "git" });
    let calls = [
        ("use_tools", git, true),
        ("git_log", json!({}), true),
        ("use_tools", json!({ "group": "guit" }), false),
    ];
    let request = grouped_request(&calls, &["git_log", "git_status"]);
    let (fake, model) = start(ModelAnswer::says("ok"), MODEL, |config| {
        config.deferred_tools = true;
    })
    .await;
    model.complete(&request, &|_| ()).await.unwrap();
    assert_eq!(fake.refusals(), [""; 0]);
    let sent = fake.requests().remove(0);
    let parameters = json!({ "type": "object", "properties": {} });
    let function = |name: &str| {
        json!({ "type": "function", "name": name, "description": format!("does {name}"),
            "parameters": parameters, "strict": false })
    };
    let search = json!({ "type": "tool_search", "execution": "client",
        "description": "does use_tools", "parameters": parameters });
    assert_eq!(sent["tools"], json!([function("read_file"), search]));
    let deferred = |name: &str| {
        let mut tool = function(name);
        tool["defer_loading"] = json!(true);
        tool
    };
    let searched = |id: &str, group: &str| {
        json!({ "type": "tool_search_call", "call_id": id, "execution": "client",
            "status": "completed", "arguments": { "group": group } })
    };
    let found = |id: &str, tools: &[Value]| {
        json!({ "type": "tool_search_output", "call_id": id, "execution": "client",
            "status": "completed", "tools": tools })
    };
    let expected = [
        searched("c0", "git"),
        found("c0", &[deferred("git_log"), deferred("git_status")]),
        json!({ "type": "function_call", "call_id": "c1", "name": "git_log",
            "namespace": "git_log", "arguments": "{}" }),
        json!({ "type": "function_call_output", "call_id": "c1", "output": "You can call: tools" }),
        searched("c2", "guit"),
        found("c2", &[]),
    ];
    assert_eq!(sent["input"].as_array().unwrap()[1..], expected);
}

#[tokio::test]
async fn tool_search_is_a_call_of_use_tools() {
    let answer = ModelAnswer::call(TOOL_SEARCH, json!({ "group": "git" }));
    let answer = ModelAnswer::thinks("hm", answer);
    let (_fake, model) = start(answer, MODEL, |_| ()).await;
    let ShownReply { reply, shown, .. } = ask_model(&model).await;
    let calls = reply.unwrap().calls;
    let called: Vec<_> =
        calls.iter().map(|call| (call.name.as_str(), call.arguments.to_object())).collect();
    let arguments = json!({ "group": "git" }).as_object().unwrap().clone();
    assert_eq!(called, [("use_tools", arguments)]);
    assert_eq!(shown, "");
}

#[tokio::test]
async fn tool_search_of_the_server_is_no_call() {
    let searched = json!({ "type": "tool_search_call", "execution": "server", "call_id": null,
        "status": "completed", "arguments": { "paths": ["crm"] } });
    let said = json!({ "type": "message", "content": [{ "type": "output_text", "text": "ok" }] });
    let whole = response("completed", &[searched, said], &Value::Null);
    let reply = reply_of(&[json!({ "type": "response.completed", "response": whole })]).await;
    assert_eq!((reply.calls.len(), reply.text.as_str()), (0, "ok"));
}
