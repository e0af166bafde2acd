//! The provider against the strict fake, and against servers that break.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use avocet_protocol::{Arguments, Image, ImageRef, Message, Reasoning, SentCall, Usage};
use avocet_testkit::http::Piece;
use avocet_testkit::ollama::{Card as Known, MODEL, OllamaFake, line};
use avocet_testkit::{ManualClock, ModelAnswer};
use serde_json::{Value, json};

use super::*;
use crate::testing::{Asked, SECOND, ask, ask_patiently, ask_through, call, request, with_image};

pub(super) fn config(base_url: String) -> OllamaConfig {
    OllamaConfig { base_url, ..OllamaConfig::default() }
}

pub(super) fn model_of(fake: &OllamaFake, clock: &Arc<ManualClock>) -> Ollama {
    Ollama::new("home", MODEL, &config(fake.base_url()), clock.clone()).unwrap()
}

async fn serve(answers: Vec<ModelAnswer>, clock: &Arc<ManualClock>) -> (OllamaFake, Ollama) {
    let next = AtomicUsize::new(0);
    let fake = OllamaFake::start(move |_| {
        answers[next.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1)].clone()
    })
    .await;
    let model = model_of(&fake, clock);
    // The time that passes in a test is not that of the question what the model can do.
    model.facts().await;
    (fake, model)
}

/// Asks a model that gives this answer. Time stands still.
async fn ask_for(answer: ModelAnswer) -> (Asked, OllamaFake) {
    let (fake, mut model) = serve(vec![answer], &Arc::default()).await;
    model.endpoint.retries = 0;
    (ask(&model).await, fake)
}

/// What reaches a model of which this is known.
async fn sent(known: Known, request: &ModelRequest, change: impl Fn(&mut OllamaConfig)) -> Value {
    let fake = OllamaFake::start_as(known, |_| ModelAnswer::says("ok")).await;
    let mut config = config(fake.base_url());
    change(&mut config);
    let model = Ollama::new("home", MODEL, &config, Arc::<ManualClock>::default()).unwrap();
    model.complete(request, &|_| ()).await.unwrap();
    assert_eq!(fake.refusals(), [""; 0]);
    fake.requests().remove(0)
}

#[tokio::test]
async fn a_request_is_what_the_api_wants() {
    let sent = sent(Known::default(), &request(), |_| {}).await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&sent).unwrap());
}

#[tokio::test]
async fn limits_and_wishes_are_sent_if_there_are_any() {
    let plain = sent(Known::default(), &request(), |_| {}).await;
    assert!(plain["think"].is_null() && plain["keep_alive"].is_null(), "{plain}");
    let request = request();
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
async fn a_model_that_cannot_think_is_not_told_to() {
    for think in [true, false] {
        let known = Known { capabilities: Some(vec!["completion", "tools"]), ..Known::default() };
        let sent = sent(known, &request(), |config| config.think = Some(think)).await;
        assert!(sent["think"].is_null(), "{sent}");
    }
}

#[tokio::test]
async fn anything_in_a_schema_is_spelt_out() {
    let anything = json!({ "x": true, "y": { "anyOf": [true, { "type": "string" }] },
        "z": { "properties": { "x": true } } });
    let mut request = request();
    request.tools = Arc::new([avocet_protocol::ToolSpec {
        name: "f".to_owned(),
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
    ModelRequest { messages, ..request() }
}

#[tokio::test]
async fn a_long_conversation_reaches_the_model_whole() {
    let sent = sent(Known::default(), &long(), |_| {}).await;
    assert_eq!(sent["messages"].as_array().unwrap().len(), 7);
}

#[tokio::test]
async fn what_is_too_long_is_refused_and_not_silently_cut() {
    let fake = OllamaFake::start(|_| ModelAnswer::says("ok")).await;
    let config = OllamaConfig { context_tokens: Some(4096), ..config(fake.base_url()) };
    let model = Ollama::new("home", MODEL, &config, Arc::<ManualClock>::default()).unwrap();
    let error = model.complete(&long(), &|_| ()).await.unwrap_err();
    assert!(matches!(error, ModelError::TooLong { .. }), "{error:?}");
    assert!(error.to_string().contains("start afresh with /new"), "{error}");
    assert_eq!(fake.requests().len(), 0);
}

#[tokio::test]
async fn f33_a_later_request_begins_as_the_earlier_one() {
    let mut messages = long().messages;
    let of = async |messages: &[Message]| {
        let request = ModelRequest { messages: messages.to_vec(), ..request() };
        sent(Known::default(), &request, |_| {}).await
    };
    let earlier = of(&messages).await;
    messages.extend([Message::assistant("done", Vec::new()), Message::user("and?")]);
    let later = of(&messages).await;
    let before = earlier["messages"].as_array().unwrap();
    assert_eq!(&later["messages"].as_array().unwrap()[..before.len()], before);
    assert_eq!(earlier["tools"], later["tools"]);
}

#[tokio::test]
async fn text_is_streamed_and_counted() {
    let (asked, _) = ask_for(ModelAnswer::says("all of it, word for word")).await;
    let reply = asked.reply.unwrap();
    assert_eq!(
        (reply.text.as_str(), asked.shown.as_str()),
        ("all of it, word for word", reply.text.as_str())
    );
    assert_eq!(reply.usage(), Usage::new(12, 3));
    assert!(!reply.truncated && reply.calls.is_empty());
}

#[tokio::test]
async fn calls_come_whole() {
    let calls = vec![
        ("read_file".to_owned(), json!({"path": "ä", "start_line": 3})),
        ("list_directory".to_owned(), json!({})),
    ];
    let (asked, _) = ask_for(ModelAnswer::Calls(calls)).await;
    let expected = [
        call("read_file", &json!({"path": "ä", "start_line": 3})),
        call("list_directory", &json!({})),
    ];
    assert_eq!(asked.reply.unwrap().calls, expected);
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
async fn f8_calls_come_in_many_shapes() {
    let called =
        |arguments: Value| json!({ "function": { "name": "one", "arguments": arguments } });
    let calls = |calls: &[Value]| json!({ "message": { "content": null, "tool_calls": calls } });
    let (x, y) = (called(json!({ "x": 1 })), called(json!({ "y": 2 })));
    let as_text = [called(json!("{\"x\": 1}")), called(json!("{\"y\": 2}"))];
    let expected = [call("one", &json!({"x": 1})), call("one", &json!({"y": 2}))];
    let mut last = calls(&[x.clone(), y.clone()]);
    last["done"] = json!(true);
    for lines in [
        vec![calls(&[x.clone(), y.clone()]), done("stop")],
        vec![calls(&[x]), calls(&[y]), done("stop")],
        vec![calls(&as_text), done("stop")],
        vec![last],
    ] {
        assert_eq!(ask_for(streams(&lines)).await.0.reply.unwrap().calls, expected);
    }
    for nothing in [json!({ "name": "one" }), json!({ "name": "one", "arguments": null })] {
        let lines = [calls(&[json!({ "function": nothing })]), done("stop")];
        let reply = ask_for(streams(&lines)).await.0.reply.unwrap();
        assert_eq!(reply.calls, [call("one", &json!({}))]);
    }
    let reply = ask_for(streams(&[calls(&[called(json!([1]))]), done("stop")])).await.0.reply;
    assert_eq!(reply.unwrap().calls[0].arguments, Arguments::Malformed("[1]".to_owned()));
}

#[tokio::test]
async fn why_an_answer_ends() {
    for (reason, truncated) in [("stop", false), ("length", true), ("something new", false)] {
        let reply = ask_for(streams(&[says("so"), done(reason)])).await.0.reply.unwrap();
        assert_eq!((reply.text.as_str(), reply.truncated), ("so", truncated), "{reason}");
    }
    let old = json!({ "message": { "content": "" }, "done": true });
    assert_eq!(ask_for(streams(&[says("so"), old])).await.0.reply.unwrap().text, "so");
}

#[tokio::test]
async fn tokens_are_estimated_where_nobody_counts_them() {
    let reply = ask_for(streams(&[says("12345678"), done("stop")])).await.0.reply.unwrap();
    assert!(reply.usage().output == 2 && reply.usage().input > 50, "{:?}", reply.usage());
    // What the server still has from the last request, it does not read and does not count.
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
async fn a_server_that_does_not_stream_is_understood() {
    let mut body = says("hello");
    for (key, value) in [("done", json!(true)), ("prompt_eval_count", json!(7))] {
        body[key] = value;
    }
    body["eval_count"] = json!(2);
    let (asked, _) = ask_for(json_answer(200, &body)).await;
    let reply = asked.reply.unwrap();
    assert_eq!((reply.text.as_str(), asked.shown.as_str()), ("hello", "hello"));
    assert_eq!(reply.usage(), Usage::new(7, 2));
}

#[tokio::test]
async fn thoughts_are_not_shown_and_go_back_with_their_calls_to_who_had_them() {
    let then = ModelAnswer::call("f", json!({}));
    let asked = ask_for(ModelAnswer::thinks("What do they want?", then)).await.0;
    let reply = asked.reply.unwrap();
    assert_eq!((reply.text.as_str(), asked.shown.as_str()), ("", ""));
    let thought =
        |model: &str| Reasoning { model: model.to_owned(), content: json!("What do they want?") };
    let ours = thought(&format!("home/{MODEL}"));
    assert_eq!(reply.reasoning, Some(ours.clone()));

    let step = |reasoning: Reasoning| {
        let call =
            SentCall { id: "1".to_owned(), name: "f".to_owned(), arguments: Default::default() };
        let text = String::new();
        let step = Message::Assistant { text, calls: vec![call], reasoning: Some(reasoning) };
        let result =
            Message::ToolResult { call: "1".to_owned(), ok: true, result: "seen".to_owned() };
        ModelRequest { messages: vec![Message::user("hi"), step, result], ..request() }
    };
    let back = sent(Known::default(), &step(ours), |_| {}).await;
    assert_eq!(back["messages"][1]["thinking"], "What do they want?");
    assert_eq!(back["messages"][2]["tool_name"], "f");
    let others = sent(Known::default(), &step(thought("other/model")), |_| {}).await;
    assert!(others["messages"][1]["thinking"].is_null(), "{others}");
}

#[tokio::test]
async fn f40_a_reply_that_is_only_a_thought_is_empty() {
    let asked = ask_for(ModelAnswer::thinks("hm", ModelAnswer::says(""))).await.0;
    let reply = asked.reply.unwrap();
    assert!(reply.text.is_empty() && reply.calls.is_empty() && asked.shown.is_empty());
    assert_eq!(reply.reasoning, None);
}

#[tokio::test]
async fn a_refusal_says_what_to_do_about_it_and_is_not_repeated() {
    let table = [
        (400, "invalid options", "refused the request: 400: invalid options"),
        (
            400,
            "registry.ollama.ai/library/gemma:latest does not support tools",
            "does not support tools; set tools = \"json\" in the provider's table",
        ),
        (400, "the input length exceeds the context length", "start afresh with /new"),
        (401, "unauthorized", "refused the key (401: unauthorized); check api_key"),
        (
            404,
            "model 'x' not found",
            "refused the request: 404: model 'x' not found; fetch it: ollama pull qwen-test:8b",
        ),
    ];
    for (status, message, says) in table {
        let whole = json!({ "error": message });
        let line = json!({ "error": message, "status": status });
        for answer in [json_answer(status, &whole), streams(&[line])] {
            let (fake, model) = serve(vec![answer], &Arc::default()).await;
            let error = ask(&model).await.reply.unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            assert!(!error.is_transient(), "{error}");
            assert_eq!(fake.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn f36_the_first_error_names_the_fix() {
    let clock = Arc::<ManualClock>::default();
    let fake = OllamaFake::start(|_| ModelAnswer::says("ok")).await;
    let ask_as = async |model: &str, base_url: String| {
        let config = OllamaConfig { max_retries: 0, ..config(base_url) };
        let model = Ollama::new("home", model, &config, clock.clone()).unwrap();
        ask(&model).await.reply.unwrap_err().to_string()
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
async fn f31_what_can_help_is_tried_again() {
    let busy =
        json!({ "error": "server busy, please try again. maximum pending requests exceeded" });
    let table = [
        (json_answer(503, &busy), "good"),
        (json_answer(500, &json!({ "error": "llama runner process has terminated" })), "good"),
        (streams(&[says("so "), busy]), "so <good"),
        (streams(&[says("half an ")]), "half an <good"),
        (streams(&[done("load")]), "good"),
        (streams(&[]), "good"),
        (ModelAnswer::Events(vec!["no json\n".to_owned()]), "good"),
        (ModelAnswer::Events(vec!["{\"message\": {\"content\"".to_owned()]), "good"),
        (ModelAnswer::Raw(vec![head(), Piece::chunk(b"\xFF\n"), Piece::end()]), "good"),
        (ModelAnswer::Raw(vec![head(), Piece::Reset]), "good"),
    ];
    for (first, shown) in table {
        let clock = Arc::<ManualClock>::default();
        let (fake, model) = serve(vec![first, ModelAnswer::says("good")], &clock).await;
        let asked = ask_patiently(&model, &clock, 1).await;
        assert_eq!(asked.reply.unwrap().text, "good");
        assert_eq!(asked.shown, shown);
        assert_eq!(fake.requests().len(), 2);
    }
}

fn head() -> Piece {
    Piece::head(200, &[("content-type", "application/x-ndjson")])
}

#[tokio::test]
async fn f20_a_silent_model_is_cut_and_one_that_is_loaded_has_time() {
    let thinks = json!({ "message": { "content": "", "thinking": "hm" } });
    let begun = vec![head(), Piece::chunk(line(&thinks).as_bytes())];
    let table = [
        (vec![], 300, "no answer began within 300 s"),
        (vec![head()], 300, "no answer began within 300 s"),
        (begun, 60, "it fell silent, no more came within 60 s"),
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
async fn an_answer_cut_at_every_byte_is_the_same() {
    let called = json!([{ "function": { "name": "one", "arguments": { "ü": "é" } } }]);
    let lines = [says("grün "), says("😀 "), json!({ "message": { "tool_calls": called } })];
    let lines: String = lines.iter().chain([&done("stop")]).map(line).collect();
    let windows = lines.replace('\n', "\r\n\r\n");
    let endless = lines.trim_end().to_owned();
    for stream in [lines, windows, endless] {
        let mut pieces = vec![head()];
        pieces.extend(stream.as_bytes().chunks(1).map(Piece::chunk));
        pieces.push(Piece::end());
        let (asked, _) = ask_for(ModelAnswer::Raw(pieces)).await;
        let reply = asked.reply.unwrap();
        assert_eq!((reply.text.as_str(), asked.shown.as_str()), ("grün 😀 ", "grün 😀 "));
        assert_eq!(reply.calls, [call("one", &json!({"ü": "é"}))]);
    }
    let (asked, _) = ask_for(ModelAnswer::Raw(vec![
        head(),
        Piece::chunk(
            [says("a"), says("b"), done("stop")].iter().map(line).collect::<String>().as_bytes(),
        ),
        Piece::end(),
    ]))
    .await;
    assert_eq!(asked.reply.unwrap().text, "ab", "several lines in one piece");
}

#[tokio::test]
async fn f15_the_key_is_sent_and_is_in_no_error() {
    const KEY: &str = "ollama-test-key";
    let answer = json_answer(401, &json!({ "error": format!("invalid key {KEY}") }));
    let fake = OllamaFake::start(move |_| answer.clone()).await;
    let api_key = Some(Secret::new(KEY.to_owned()));
    let config = OllamaConfig { api_key, ..config(fake.base_url()) };
    let model = Ollama::new("home", MODEL, &config, Arc::<ManualClock>::default()).unwrap();
    let error = ask(&model).await.reply.unwrap_err();
    assert!(error.to_string().contains("[secret]"), "{error}");
    assert!(!format!("{error} {error:?} {model:?}").contains(KEY), "{error:?} {model:?}");
    let sent = headers(config.api_key.as_ref());
    assert_eq!(sent, [("authorization", format!("Bearer {KEY}"))]);
}

#[tokio::test]
async fn pictures_go_along_as_the_api_wants_them() {
    let picture = with_image(&[0xFF, 0xD8, 0xFF, 0xE0]);
    let message = sent(Known::default(), &picture, |_| {}).await["messages"][0].clone();
    assert_eq!(message["images"], json!(["/9j/4A=="]), "the older one is a line of text only");
    assert_eq!(message["content"], "look");

    let shown = ImageRef { path: "a.gif".to_owned() };
    let image = Image { media_type: "image/gif", bytes: (*b"GIF89a").into() };
    let request = ModelRequest {
        messages: vec![Message::User { text: "look".to_owned(), images: vec![shown.clone()] }],
        tools: Arc::new([]),
        images: BTreeMap::from([(shown, image)]),
    };
    let message = sent(Known::default(), &request, |_| {}).await["messages"][0].clone();
    assert_eq!(message, json!({ "role": "user", "content": "look" }));
}
