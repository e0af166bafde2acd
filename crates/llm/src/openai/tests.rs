//! The provider against the strict fake, and against servers that break.

use std::sync::atomic::{AtomicUsize, Ordering};

use avocet_protocol::{Arguments, Usage};
use avocet_testkit::ManualClock;
use avocet_testkit::http::{HttpFake, Piece};
use avocet_testkit::openai::{KEY, ModelAnswer, OpenAiFake, delta_event, event, stream_head};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::testing::{
    Asked, SECOND, ask, ask_patiently, ask_through, ask_through_drops, call, cut_up, dripping,
    with_image,
};

fn provider(base_url: String, clock: &Arc<ManualClock>) -> OpenAi {
    let api_key = Some(Secret::new(KEY.to_owned()));
    let config = OpenAiConfig { base_url, api_key, ..OpenAiConfig::default() };
    OpenAi::new("local", "qwen3", &config, clock.clone()).unwrap()
}

/// Asks a model that gives these answers, one a request. Time stands still.
async fn ask_for(answers: Vec<ModelAnswer>) -> (Asked, OpenAiFake) {
    let clock = Arc::new(ManualClock::default());
    let (fake, model) = serve(answers, &clock).await;
    (ask(&model).await, fake)
}

async fn serve(answers: Vec<ModelAnswer>, clock: &Arc<ManualClock>) -> (OpenAiFake, OpenAi) {
    let next = AtomicUsize::new(0);
    let fake = OpenAiFake::start(move |_| {
        answers[next.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1)].clone()
    })
    .await;
    let model = provider(fake.base_url(), clock);
    (fake, model)
}

#[tokio::test]
async fn a_request_is_what_the_api_wants() {
    let (asked, fake) = ask_for(vec![ModelAnswer::says("hello")]).await;
    asked.reply.unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&fake.requests()[0]).unwrap());
    assert_eq!(fake.refusals(), [""; 0]);
}

#[tokio::test]
async fn text_is_streamed_and_counted() {
    let (asked, _) = ask_for(vec![ModelAnswer::says("all of it, word for word")]).await;
    let reply = asked.reply.unwrap();
    assert_eq!(
        (reply.text.as_str(), asked.shown.as_str()),
        ("all of it, word for word", reply.text.as_str())
    );
    assert_eq!(reply.usage(), Usage::new(12, 3));
    assert!(!reply.truncated && reply.calls.is_empty());
}

#[tokio::test]
async fn calls_are_put_together_from_their_pieces() {
    let calls = vec![
        ("read_file".to_owned(), json!({"path": "a", "start_line": 3})),
        ("list_directory".to_owned(), json!({})),
    ];
    let (asked, _) = ask_for(vec![ModelAnswer::Calls(calls)]).await;
    let expected = [
        call("read_file", &json!({"path": "a", "start_line": 3})),
        call("list_directory", &json!({})),
    ];
    assert_eq!(asked.reply.unwrap().calls, expected);
}

/// The events of an answer, ending as it should.
fn events(deltas: &[Value], finish: &str) -> Vec<String> {
    let mut events: Vec<String> = deltas.iter().map(|delta| delta_event(delta, None)).collect();
    events.push(delta_event(&json!({}), Some(finish)));
    events.push(event("[DONE]"));
    events
}

async fn reply_of(events: Vec<String>) -> ModelReply {
    ask_for(vec![ModelAnswer::Events(events)]).await.0.reply.unwrap()
}

#[tokio::test]
async fn f8_calls_come_in_many_shapes() {
    let piece = |call: Value| json!({ "tool_calls": [call] });
    let interleaved = [
        piece(json!({"index": 0, "id": "a", "function": {"name": "one", "arguments": "{\"x\""}})),
        piece(json!({"index": 1, "id": "b", "function": {"name": "two", "arguments": ""}})),
        piece(json!({"index": 0, "function": {"arguments": ": 1}"}})),
        piece(json!({"index": 1, "function": {"arguments": "{\"y\": 2}"}})),
    ];
    let without_index = [
        piece(json!({"id": "a", "function": {"name": "one", "arguments": "{\"x\""}})),
        piece(json!({"function": {"arguments": ": 1}"}})),
        piece(json!({"id": "b", "function": {"name": "two", "arguments": "{\"y\": 2}"}})),
    ];
    let as_object = [
        piece(json!({"index": 0, "id": "a", "function": {"name": "one", "arguments": {"x": 1}}})),
        piece(json!({"index": 1, "id": "a", "function": {"name": "two", "arguments": {"y": 2}}})),
    ];
    let all_at_once = [json!({"tool_calls": [
        {"index": 0, "id": "a", "function": {"name": "one", "arguments": "{\"x\": 1}"}},
        {"index": 1, "id": "a", "function": {"name": "two", "arguments": "{\"y\": 2}"}},
    ]})];
    let expected = [call("one", &json!({"x": 1})), call("two", &json!({"y": 2}))];
    for deltas in [&interleaved[..], &without_index, &as_object, &all_at_once] {
        assert_eq!(reply_of(events(deltas, "tool_calls")).await.calls, expected, "{deltas:?}");
    }
    let half = [piece(json!({"index": 0, "function": {"name": "one", "arguments": "{\"x\""}}))];
    let reply = reply_of(events(&half, "length")).await;
    assert_eq!(reply.calls[0].arguments, Arguments::Malformed("{\"x\"".to_owned()));
    assert!(reply.truncated);
    let open = [piece(json!({"index": 0, "function": {"name": "one", "arguments": "{'x': 1,"}}))];
    let reply = reply_of(events(&open, "length")).await;
    assert_eq!(reply.calls[0].arguments, Arguments::Malformed("{'x': 1,".to_owned()));
    assert_eq!(reply_of(events(&open, "stop")).await.calls, [call("one", &json!({"x": 1}))]);
    let none = [piece(json!({"index": 0, "function": {"name": "one", "arguments": null}}))];
    assert_eq!(reply_of(events(&none, "stop")).await.calls, [call("one", &json!({}))]);
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let message = json!({ "role": "assistant", "content": "hello", "tool_calls": [
        { "id": "a", "type": "function", "function": { "name": "one", "arguments": "{}" } },
    ] });
    let body = json!({
        "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }],
        "usage": { "prompt_tokens": 7, "completion_tokens": 2 },
    });
    let headers = vec![("content-type", "application/json; charset=utf-8".to_owned())];
    let (asked, _) = ask_for(vec![ModelAnswer::Status(200, headers, body.to_string())]).await;
    let reply = asked.reply.unwrap();
    assert_eq!((reply.text.as_str(), asked.shown.as_str()), ("hello", "hello"));
    assert_eq!((reply.usage().input, reply.calls), (7, vec![call("one", &json!({}))]));
}

#[tokio::test]
async fn tokens_are_estimated_where_nobody_counts_them() {
    let reply = reply_of(events(&[json!({"content": "12345678"})], "stop")).await;
    assert_eq!(reply.usage().output, 2);
    assert!(reply.usage().input > 50);
}

#[tokio::test]
async fn the_end_need_not_be_announced_twice() {
    let mut without_done = events(&[json!({"content": "hello"})], "stop");
    without_done.pop();
    assert_eq!(reply_of(without_done).await.text, "hello");
}

fn status(status: u16, message: &str) -> ModelAnswer {
    let body = json!({ "error": { "message": message, "code": null } }).to_string();
    ModelAnswer::Status(status, Vec::new(), body)
}

#[tokio::test]
async fn a_refusal_says_who_can_do_something_about_it_and_is_not_repeated() {
    let quota =
        json!({"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}});
    let table = [
        (
            status(401, "Incorrect API key"),
            "local/qwen3 refused the key (401: Incorrect API key); check api_key in the configuration",
        ),
        (
            status(403, "no"),
            "local/qwen3 refused the key (403: no); check api_key in the configuration",
        ),
        (status(404, "model not found"), "local/qwen3 refused the request: 404: model not found"),
        (
            status(402, "Insufficient credits"),
            "local/qwen3 refused the request: 402: Insufficient credits",
        ),
        (
            ModelAnswer::Status(429, Vec::new(), quota.to_string()),
            "local/qwen3 refused the request: 429: You exceeded your quota",
        ),
        (
            status(400, "This model's maximum context length is 8192 tokens."),
            "the conversation is too long for local/qwen3 (400: This model's maximum context length is 8192 tokens.); start afresh with /new",
        ),
        (
            ModelAnswer::Status(400, Vec::new(), "<html>\n  Bad gateway?\n</html>".to_owned()),
            "local/qwen3 refused the request: 400: <html> Bad gateway? </html>",
        ),
    ];
    for (answer, text) in table {
        let (asked, fake) = ask_for(vec![answer]).await;
        assert_eq!(asked.reply.unwrap_err().to_string(), text);
        assert_eq!(fake.requests().len(), 1);
    }
}

#[tokio::test]
async fn f31_what_can_help_is_tried_again() {
    let cut = {
        let mut events = events(&[json!({"content": "half an "})], "stop");
        events.truncate(1);
        ModelAnswer::Events(events)
    };
    let reset = ModelAnswer::Raw(vec![stream_head(), Piece::Reset]);
    let failed = ModelAnswer::Events(vec![
        delta_event(&json!({"content": "so "}), None),
        event(r#"{"error": {"message": "CUDA out of memory"}}"#),
    ]);
    let table = [
        (status(429, "slow down"), "good"),
        (status(500, "oops"), "good"),
        (status(529, "overloaded"), "good"),
        (cut, "half an <good"),
        (reset, "good"),
        (failed, "so <good"),
        (ModelAnswer::Events(vec![event("no json")]), "good"),
    ];
    for (first, shown) in table {
        let clock = Arc::new(ManualClock::default());
        let (fake, model) = serve(vec![first, ModelAnswer::says("good")], &clock).await;
        let asked = ask_patiently(&model, &clock, 1).await;
        assert_eq!(asked.reply.unwrap().text, "good");
        assert_eq!(asked.shown, shown);
        assert_eq!(fake.requests().len(), 2);
    }
}

#[tokio::test]
async fn it_is_not_tried_for_ever() {
    let clock = Arc::new(ManualClock::default());
    let (fake, model) = serve(vec![status(503, "loading model")], &clock).await;
    let asked = ask_patiently(&model, &clock, 3).await;
    let error = asked.reply.unwrap_err().to_string();
    assert_eq!(error, "local/qwen3 is busy (503: loading model); try again later");
    assert_eq!(fake.requests().len(), 4);
}

#[tokio::test]
async fn retry_after_is_obeyed_and_a_long_one_is_not_waited_for() {
    let after = |seconds: &str| {
        let headers = vec![("retry-after", seconds.to_owned())];
        ModelAnswer::Status(429, headers, "{}".to_owned())
    };
    let clock = Arc::new(ManualClock::default());
    let (_fake, model) = serve(vec![after("30"), ModelAnswer::says("good")], &clock).await;
    let asked = ask_through(&model, &clock, 30 * SECOND).await;
    assert_eq!(asked.reply.unwrap().text, "good");

    let (asked, fake) = ask_for(vec![after("3600")]).await;
    let Err(ModelError::Busy { retry_after, .. }) = asked.reply else { panic!() };
    assert_eq!((retry_after, fake.requests().len()), (Some(3600 * SECOND), 1));
}

/// A provider that does not try again.
async fn once(answer: ModelAnswer, clock: &Arc<ManualClock>) -> (OpenAiFake, OpenAi) {
    let (fake, mut model) = serve(vec![answer], clock).await;
    model.endpoint.retries = 0;
    (fake, model)
}

#[tokio::test]
async fn f20_a_silent_model_is_cut() {
    let begun = delta_event(&json!({"content": "one "}), None);
    let mut then_silent = vec![stream_head(), Piece::chunk(begun.as_bytes())];
    then_silent.push(Piece::Hang);
    let role = delta_event(&json!({"role": "assistant", "content": ""}), None);
    let only_role = vec![stream_head(), Piece::chunk(role.as_bytes()), Piece::Hang];
    let table = [
        (vec![Piece::Hang], 120, "no answer began within 120 s", ""),
        (vec![stream_head(), Piece::Hang], 120, "no answer began within 120 s", ""),
        (only_role, 120, "no answer began within 120 s", ""),
        (then_silent, 60, "it fell silent, no more came within 60 s", "one "),
    ];
    for (pieces, seconds, detail, shown) in table {
        let clock = Arc::new(ManualClock::default());
        let (_fake, model) = once(ModelAnswer::Raw(pieces), &clock).await;
        let limit = seconds * SECOND;
        let asked = ask_through(&model, &clock, limit).await;
        let error = asked.reply.unwrap_err().to_string();
        assert_eq!(error, format!("local/qwen3 did not answer in time: {detail}"));
        assert_eq!(asked.shown, shown);
    }
}

#[tokio::test]
async fn f20_a_slow_model_that_keeps_sending_is_not_cut_before_its_total() {
    let events = events(&vec![json!({"content": "word "}); 20], "stop");
    let (answer, permits) = dripping(&events);
    let drip = async |seconds: u32, drops: usize| {
        let clock = Arc::new(ManualClock::default());
        let (_fake, mut model) = once(answer.clone(), &clock).await;
        model.endpoint.limits.first_token = 60 * SECOND;
        ask_through_drops(&model, &clock, &permits, seconds, drops).await.reply
    };
    assert_eq!(drip(40, 20).await.unwrap().text, "word ".repeat(20));
    let error = drip(50, 18).await.unwrap_err().to_string();
    assert_eq!(error, "local/qwen3 did not answer in time: it did not come to an end within 900 s");
}

#[tokio::test]
async fn f15_the_key_is_in_no_error() {
    let (asked, _) = ask_for(vec![status(401, &format!("Incorrect API key: {KEY}"))]).await;
    let error = asked.reply.unwrap_err();
    assert!(!format!("{error} {error:?}").contains(KEY), "{error}");
    assert!(error.to_string().contains("[secret]"));

    let closed = HttpFake::start(|_| vec![Piece::Close]).await.address();
    let refused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [closed.to_string(), refused.to_string(), "no host".to_owned()] {
        let clock = Arc::new(ManualClock::default());
        let with_key = format!("http://{address}/{KEY}/v1");
        let mut model = provider(with_key, &clock);
        model.endpoint.retries = 0;
        let error = ask(&model).await.reply.unwrap_err();
        assert!(!format!("{error} {error:?} {model:?}").contains(&format!("Bearer {KEY}")));
        assert!(!error.to_string().contains(KEY), "{error}");
        assert!(error.to_string().starts_with("local/qwen3 "), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// However the network cuts a stream, the answer is the same.
    #[test]
    fn a_stream_may_be_cut_anywhere(cuts in prop::collection::vec(1_usize..40, 1..30)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let deltas = [
                json!({"content": "grün 😀 "}),
                json!({"tool_calls": [{"index": 0, "function": {"name": "one", "arguments": "{\"ü\":"}}]}),
                json!({"tool_calls": [{"index": 0, "function": {"arguments": "\"é\"}"}}]}),
            ];
            let bytes = events(&deltas, "tool_calls").concat().into_bytes();
            let (asked, _) = ask_for(vec![cut_up(&bytes, &cuts)]).await;
            let reply = asked.reply.unwrap();
            assert_eq!((reply.text.as_str(), reply.calls), ("grün 😀 ", vec![call("one", &json!({"ü": "é"}))]));
        });
    }
}

#[tokio::test]
async fn f22_reasoning_is_neither_shown_nor_part_of_the_reply_but_paid_for() {
    let words = ["I ", "reason.</thi", "nk>\n\nIt is `<thi", "nk>`.<|im_", "end|>"];
    let deltas: Vec<Value> = words.iter().map(|word| json!({ "content": word })).collect();
    let (asked, _) = ask_for(vec![ModelAnswer::Events(events(&deltas, "stop"))]).await;
    let reply = asked.reply.unwrap();
    assert_eq!(reply.text, "It is `<think>`.");
    assert_eq!(asked.shown, "I reason.<It is `<think>`.", "taken back once it was known");
    assert_eq!(reply.usage().output, words.concat().len() as u64 / 4);

    let whole = json!({ "choices": [{ "message": { "content": words.concat() },
        "finish_reason": "stop" }] });
    let headers = vec![("content-type", "application/json".to_owned())];
    let (asked, _) = ask_for(vec![ModelAnswer::Status(200, headers, whole.to_string())]).await;
    assert_eq!(asked.reply.unwrap().text, "It is `<think>`.");
    assert_eq!(asked.shown, "It is `<think>`.");
}

#[tokio::test]
async fn f40_a_reply_that_is_only_reasoning_is_empty() {
    let (asked, _) = ask_for(vec![ModelAnswer::says("<think>what now</think>\n")]).await;
    let reply = asked.reply.unwrap();
    assert_eq!((reply.text.as_str(), asked.shown.as_str()), ("", ""));
}

#[tokio::test]
async fn pictures_go_along_as_the_api_wants_them_and_cost_what_a_picture_costs() {
    let says = delta_event(&json!({ "content": "a beach" }), Some("stop"));
    let uncounted = ModelAnswer::Events(vec![says, event("[DONE]")]);
    let fake = OpenAiFake::start_with_eyes(move |_| uncounted.clone()).await;
    let config =
        OpenAiConfig { base_url: fake.base_url(), images: Some(true), ..OpenAiConfig::default() };
    let clock = Arc::new(ManualClock::default());
    let model = OpenAi::new("local", "qwen3", &config, clock).unwrap();
    assert!(model.facts().await.images);
    let bytes = [&[0xFF, 0xD8, 0xFF, 0xE0][..], &[7; 1_000_000]].concat();
    let reply = model.complete(&with_image(&bytes), &|_| ()).await.unwrap();
    assert_eq!(fake.refusals(), [""; 0]);
    let content = fake.requests()[0]["messages"][0]["content"].clone();
    assert_eq!(content.as_array().map(Vec::len), Some(2), "the older one is a line of text only");
    assert_eq!(content[0], json!({ "type": "text", "text": "look" }));
    let url = content[1]["image_url"]["url"].as_str().unwrap();
    assert!(url.starts_with("data:image/jpeg;base64,/9j/4Ac"), "{}", &url[..40]);
    assert!((1000..2000).contains(&reply.usage().input), "{:?}", reply.usage());
}
