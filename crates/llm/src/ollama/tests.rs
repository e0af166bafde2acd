//! The provider against the strict fake, and against faulty servers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use avocet_protocol::model::{
    Arguments, Image, ImageRef, Message, Messages, Reasoning, RequestOptions, SentCall, ToolCall,
};
use avocet_testkit::http::Piece;
use avocet_testkit::ollama::{Card as Known, MODEL, OllamaFake, line};
use avocet_testkit::{ManualClock, ModelAnswer};
use serde_json::{Value, json};

use super::*;
use crate::testing::{
    SECOND, ShownReply, ask_model, ask_through, cut_up, sample_request, tool_call, with_image,
};

pub(super) fn config(base_url: String) -> OllamaConfig {
    OllamaConfig { base_url, ..OllamaConfig::default() }
}

pub(super) fn model_of(fake: &OllamaFake, clock: &Arc<ManualClock>) -> OllamaModel {
    OllamaModel::new("home", MODEL, &config(fake.base_url()), clock.clone())
}

async fn serve(answers: Vec<ModelAnswer>, clock: &Arc<ManualClock>) -> (OllamaFake, OllamaModel) {
    let next = AtomicUsize::new(0);
    let fake = OllamaFake::start(move |_| {
        answers[next.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1)].clone()
    })
    .await;
    let model = model_of(&fake, clock);
    // Fetch the facts now, so that the test's clock measures only the request.
    model.facts().await;
    (fake, model)
}

/// Asks a model that gives this answer. The clock stands still.
async fn ask_for(answer: ModelAnswer) -> (ShownReply, OllamaFake) {
    let (fake, mut model) = serve(vec![answer], &Arc::default()).await;
    model.endpoint.retries = 0;
    (ask_model(&model).await, fake)
}

/// The request body for a model with these known facts.
async fn sent(known: Known, request: &ModelRequest, change: impl Fn(&mut OllamaConfig)) -> Value {
    let fake = OllamaFake::start_as(known, |_| ModelAnswer::says("ok")).await;
    let mut config = config(fake.base_url());
    change(&mut config);
    let model = OllamaModel::new("home", MODEL, &config, Arc::<ManualClock>::default());
    model.complete(request, &|_| ()).await.unwrap();
    assert_eq!(fake.refusals(), [""; 0]);
    fake.requests().remove(0)
}

#[tokio::test]
async fn ollama_request_has_the_format_of_the_api() {
    let sent = sent(Known::default(), &sample_request(), |_| {}).await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&sent).unwrap());
}

#[tokio::test]
async fn ollama_request_has_limits_and_options_only_if_configured() {
    let plain = sent(Known::default(), &sample_request(), |_| {}).await;
    assert!(plain["think"].is_null() && plain["keep_alive"].is_null(), "{plain}");
    let request = sample_request();
    let wishes = sent(Known::default(), &request, |config| {
        config.max_output_tokens = Some(500);
        config.think = Some(true);
        config.keep_alive_seconds = Some(-1);
    });
    let wishes = wishes.await;
    assert_eq!(wishes["options"], json!({ "num_ctx": 32_768, "num_predict": 500 }));
    assert_eq!((&wishes["think"], &wishes["keep_alive"]), (&json!(true), &json!(-1)));
}

#[tokio::test]
async fn ollama_request_omits_think_for_a_model_that_cannot_think() {
    for think in [true, false] {
        let known = Known { capabilities: Some(vec!["completion", "tools"]), ..Known::default() };
        let sent = sent(known, &sample_request(), |config| config.think = Some(think)).await;
        assert!(sent["think"].is_null(), "{sent}");
    }
}

#[tokio::test]
async fn ollama_request_writes_a_true_schema_as_an_empty_object() {
    let anything = json!({ "x": true, "y": { "anyOf": [true, { "type": "string" }] },
        "z": { "properties": { "x": true } } });
    let mut request = sample_request();
    request.tools = Arc::new([avocet_protocol::tool::ToolSpec {
        name: "f".to_owned(),
        group: String::new(),
        description: "d".to_owned(),
        parameters: json!({ "type": "object", "properties": anything }),
        aliases: Vec::new(),
    }]);
    let sent = sent(Known::default(), &request, |_| {}).await;
    let spelt = json!({ "x": {}, "y": { "anyOf": [{}, { "type": "string" }] },
        "z": { "properties": { "x": {} } } });
    assert_eq!(sent["tools"][0]["function"]["parameters"]["properties"], spelt);
}

fn long() -> ModelRequest {
    let words = "word ".repeat(2000);
    let turns = [Message::user(&words), Message::assistant(&words, Vec::new())];
    let messages = [&turns[..], &turns, &turns, &[Message::user("and?")]].concat();
    ModelRequest { messages: messages.into(), ..sample_request() }
}

#[tokio::test]
async fn ollama_request_contains_a_long_conversation_whole() {
    let sent = sent(Known::default(), &long(), |_| {}).await;
    assert_eq!(sent["messages"].as_array().unwrap().len(), 7);
}

#[tokio::test]
async fn ollama_refuses_a_request_that_exceeds_the_context_before_sending() {
    let fake = OllamaFake::start(|_| ModelAnswer::says("ok")).await;
    let config = OllamaConfig { context_tokens: Some(4096), ..config(fake.base_url()) };
    let model = OllamaModel::new("home", MODEL, &config, Arc::<ManualClock>::default());
    let error = model.complete(&long(), &|_| ()).await.unwrap_err();
    assert!(matches!(error, ModelError::TooLong { .. }), "{error:?}");
    assert!(error.to_string().contains("start a new one with /new"), "{error}");
    assert_eq!(fake.requests().len(), 0);
}

#[tokio::test]
async fn f33_ollama_request_begins_like_the_earlier_one() {
    let mut messages = long().messages;
    let of = async |messages: &Messages| {
        let request = ModelRequest { messages: messages.clone(), ..sample_request() };
        sent(Known::default(), &request, |_| {}).await
    };
    let earlier = of(&messages).await;
    messages.extend([Message::assistant("done", Vec::new()), Message::user("and?")]);
    let later = of(&messages).await;
    let before = earlier["messages"].as_array().unwrap();
    assert_eq!(&later["messages"].as_array().unwrap()[..before.len()], before);
    assert_eq!(earlier["tools"], later["tools"]);
}

fn says(content: &str) -> Value {
    json!({ "message": { "role": "assistant", "content": content }, "done": false })
}

fn done(reason: &str) -> Value {
    json!({ "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": reason })
}

fn streams(lines: &[Value]) -> ModelAnswer {
    ModelAnswer::Events(lines.iter().map(line).collect())
}

#[tokio::test]
async fn f8_ollama_reads_two_calls_in_one_line_even_in_the_last() {
    let called =
        |arguments: Value| json!({ "function": { "name": "one", "arguments": arguments } });
    let both = [called(json!({ "x": 1 })), called(json!({ "y": 2 }))];
    let together = json!({ "message": { "content": null, "tool_calls": both } });
    let mut last = together.clone();
    last["done"] = json!(true);
    for lines in [vec![together, done("stop")], vec![last]] {
        let calls = ask_for(streams(&lines)).await.0.reply.unwrap().calls;
        assert_eq!(
            calls,
            [tool_call("one", &json!({ "x": 1 })), tool_call("one", &json!({ "y": 2 }))]
        );
    }
}

#[tokio::test]
async fn f8_ollama_repairs_arguments_as_text_only_if_they_are_complete() {
    let object = json!({ "x": 1 });
    for (arguments, reason, expected) in [
        (json!("{x: 1,}"), "stop", Some(&object)),
        (json!("{\"x\": 1"), "length", None),
        (json!([1]), "stop", None),
    ] {
        let called = json!([{ "function": { "name": "one", "arguments": arguments } }]);
        let lines = [json!({ "message": { "tool_calls": called } }), done(reason)];
        let reply = ask_for(streams(&lines)).await.0.reply.unwrap();
        let text = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
        let malformed = ToolCall { name: "one".to_owned(), arguments: Arguments::Malformed(text) };
        assert_eq!(reply.calls, [expected.map_or(malformed, |object| tool_call("one", object))]);
    }
}

#[tokio::test]
async fn ollama_done_reason_decides_if_the_answer_is_truncated() {
    for (reason, truncated) in [("stop", false), ("length", true), ("something new", false)] {
        let reply = ask_for(streams(&[says("so"), done(reason)])).await.0.reply.unwrap();
        assert_eq!((reply.text.as_str(), reply.truncated), ("so", truncated), "{reason}");
    }
    let old = json!({ "message": { "content": "" }, "done": true });
    assert_eq!(ask_for(streams(&[says("so"), old])).await.0.reply.unwrap().text, "so");
}

#[tokio::test]
async fn ollama_estimates_the_cached_input_that_the_server_does_not_count() {
    let mut cached = done("stop");
    cached["eval_count"] = json!(7);
    let reply = ask_for(streams(&[says("12345678"), cached])).await.0.reply.unwrap();
    assert!(reply.usage().output == 7 && reply.usage().input > 50, "{:?}", reply.usage());
}

fn json_answer(status: u16, body: &Value) -> ModelAnswer {
    let headers = vec![("content-type", "application/json; charset=utf-8".to_owned())];
    ModelAnswer::Status(status, headers, body.to_string())
}

#[tokio::test]
async fn ollama_request_has_reasoning_in_the_message_of_its_calls() {
    let call = SentCall { id: "1".to_owned(), name: "f".to_owned(), arguments: Default::default() };
    let thought = Reasoning::new(format!("home/{MODEL}"), json!("hm"));
    let step =
        Message::Assistant { text: String::new(), calls: vec![call], reasoning: Some(thought) };
    let result = Message::ToolResult { call: "1".to_owned(), ok: true, result: "seen".to_owned() };
    let request = ModelRequest {
        messages: vec![Message::user("hi"), step, result].into(),
        ..sample_request()
    };
    let back = sent(Known::default(), &request, |_| {}).await;
    assert_eq!(back["messages"][1]["thinking"], "hm");
    assert_eq!(back["messages"][2]["tool_name"], "f");
}

#[tokio::test]
async fn ollama_drops_reasoning_that_led_to_no_call() {
    let asked = ask_for(ModelAnswer::thinks("hm", ModelAnswer::says("Hello."))).await.0;
    assert_eq!(asked.reply.unwrap().reasoning, None);
}

#[tokio::test]
async fn ollama_refusal_names_the_remedy() {
    let table = [
        (
            400,
            "registry.ollama.ai/library/gemma:latest does not support tools",
            "does not support tools; set tools = \"json\" in the provider's table",
        ),
        (
            404,
            "model 'x' not found",
            "refused the request: 404: model 'x' not found; fetch it: ollama pull qwen-test:8b",
        ),
    ];
    for (status, message, says) in table {
        let refusal = json_answer(status, &json!({ "error": message }));
        let error = ask_for(refusal).await.0.reply.unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert!(!error.is_transient(), "{error}");
    }
}

#[tokio::test]
async fn f36_ollama_first_error_names_the_fix() {
    let clock = Arc::<ManualClock>::default();
    let fake = OllamaFake::start(|_| ModelAnswer::says("ok")).await;
    let ask_as = async |model: &str, base_url: String| {
        let config = OllamaConfig { max_retries: 0, ..config(base_url) };
        let model = OllamaModel::new("home", model, &config, clock.clone());
        ask_model(&model).await.reply.unwrap_err().to_string()
    };
    assert_eq!(
        ask_as("llama0", fake.base_url()).await,
        "home/llama0 refused the request: 404: model \"llama0\" not found, try pulling it first; \
         fetch it: ollama pull llama0"
    );
    let error = ask_as(MODEL, format!("{}/ollama", fake.base_url())).await;
    assert!(error.ends_with("404 page not found; is base_url the address of an Ollama server?"));
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = ask_as(MODEL, format!("http://{port}")).await;
    assert!(error.ends_with("; is Ollama running? Start it: ollama serve)"), "{error}");
}

#[tokio::test]
async fn ollama_distinguishes_transient_from_lasting_errors() {
    let busy =
        json!({ "error": "server busy, please try again. maximum pending requests exceeded" });
    let error = ask_for(streams(&[says("so "), busy])).await.0.reply.unwrap_err();
    assert!(matches!(error, ModelError::Busy { .. }), "an error without a status: {error:?}");
    let error = ask_for(streams(&[done("load")])).await.0.reply.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("was not asked (load)"), "{error}");
}

fn head() -> Piece {
    Piece::head(200, &[("content-type", "application/x-ndjson")])
}

#[tokio::test]
async fn f20_ollama_waits_longer_for_a_loading_model_and_counts_thinking_as_activity() {
    let thinks = json!({ "message": { "content": "", "thinking": "hm" } });
    let begun = vec![head(), Piece::chunk(line(&thinks).as_bytes())];
    let table = [
        (vec![], 300, "no answer began within 300 s"),
        (begun, 60, "no data arrived any more within 60 s"),
    ];
    for (mut pieces, seconds, detail) in table {
        pieces.push(Piece::Hang);
        let clock = Arc::<ManualClock>::default();
        let (_fake, mut model) = serve(vec![ModelAnswer::Raw(pieces)], &clock).await;
        model.endpoint.retries = 0;
        let asked = ask_through(&model, &clock, seconds * SECOND).await;
        let error = asked.reply.unwrap_err().to_string();
        assert_eq!(error, format!("home/{MODEL} did not answer in time: {detail}"));
    }
}

#[tokio::test]
async fn f20_ollama_ends_at_the_last_line_and_keeps_its_content() {
    let mut last = done("stop");
    last["message"]["content"] = json!("all of it");
    let pieces = vec![head(), Piece::chunk(line(&last).as_bytes()), Piece::Hang];
    let clock = Arc::<ManualClock>::default();
    let (_fake, model) = serve(vec![ModelAnswer::Raw(pieces)], &clock).await;
    let reply = ask_through(&model, &clock, 2 * SECOND).await.reply.unwrap();
    assert_eq!(reply.text, "all of it");
}

#[tokio::test]
async fn ollama_answer_that_goes_on_after_a_last_line_is_read_to_its_end() {
    let mut first = done("stop");
    first["message"]["content"] = json!("all ");
    let mut second = says("of it");
    second["done"] = json!(true);
    for lines in [
        vec![says("all "), done("stop"), says("of it"), done("stop")],
        vec![first.clone(), second.clone()],
        vec![first, says("of it"), done("stop")],
        vec![done("load"), says("all "), second],
    ] {
        let ShownReply { reply, shown, .. } = ask_for(streams(&lines)).await.0;
        assert_eq!((reply.unwrap().text.as_str(), &*shown), ("all of it", "all of it"));
    }
}

#[tokio::test]
async fn ollama_splits_lines_with_any_line_ends_and_pieces() {
    let lines: String = [says("grün "), says("😀 "), done("stop")].iter().map(line).collect();
    let windows = lines.replace('\n', "\r\n\r\n");
    let endless = lines.trim_end().to_owned();
    for stream in [lines, windows, endless] {
        for length in [1, stream.len()] {
            let reply =
                ask_for(cut_up(head(), stream.as_bytes(), &[length])).await.0.reply.unwrap();
            assert_eq!(reply.text, "grün 😀 ", "{stream:?} in pieces of {length}");
        }
    }
}

#[tokio::test]
async fn ollama_request_has_images_in_the_format_of_the_api() {
    let picture = with_image(&[0xFF, 0xD8, 0xFF, 0xE0]);
    let message = sent(Known::default(), &picture, |_| {}).await["messages"][0].clone();
    assert_eq!(message["images"], json!(["/9j/4A=="]), "the older one is a line of text only");
    assert_eq!(message["content"], "look");

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
    let message = sent(Known::default(), &request, |_| {}).await["messages"][0].clone();
    assert_eq!(message, json!({ "role": "user", "content": "look" }));
}

#[tokio::test]
async fn ollama_request_follows_the_effort_of_the_request() {
    let thinks = Known { capabilities: Some(vec!["completion", "thinking"]), ..Known::default() };
    let cannot = Known { capabilities: Some(vec!["completion"]), ..Known::default() };
    let table = [
        (thinks.clone(), Effort::Off, json!(false), 500),
        (thinks, Effort::Low, json!(true), 4596),
        (cannot, Effort::High, Value::Null, 500),
    ];
    for (known, effort, think, most) in table {
        let options = RequestOptions { effort: Some(effort), ..RequestOptions::default() };
        let request = ModelRequest { tools: Arc::new([]), options, ..sample_request() };
        let limited = |config: &mut OllamaConfig| {
            (config.max_output_tokens, config.think) = (Some(500), Some(true));
        };
        let sent = sent(known, &request, limited).await;
        assert_eq!((&sent["think"], &sent["options"]["num_predict"]), (&think, &json!(most)));
    }
    let levels = [(Effort::Off, "low"), (Effort::Medium, "medium"), (Effort::High, "high")];
    for (effort, level) in levels {
        assert_eq!(json!(ThinkField::from_effort("gpt-oss:20b", effort)), json!(level));
    }
}
