//! The provider against the strict fake, and against servers that break.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use avocet_protocol::{Arguments, Image, ImageRef, Message, Usage};
use avocet_testkit::anthropic::{AnthropicFake, KEY, MODEL, event};
use avocet_testkit::http::Piece;
use avocet_testkit::openai::stream_head;
use avocet_testkit::{ManualClock, ModelAnswer};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::testing::{
    Asked, SECOND, ask, ask_patiently, ask_through, ask_through_drops, call, cut_up, dripping,
    request, with_image,
};

fn config(base_url: String) -> AnthropicConfig {
    let api_key = Some(Secret::new(KEY.to_owned()));
    AnthropicConfig { base_url, api_key, ..AnthropicConfig::default() }
}

async fn serve(answers: Vec<ModelAnswer>, clock: &Arc<ManualClock>) -> (AnthropicFake, Anthropic) {
    let next = AtomicUsize::new(0);
    let fake = AnthropicFake::start(move |_| {
        answers[next.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1)].clone()
    })
    .await;
    let model = Anthropic::new("claude", MODEL, &config(fake.base_url()), clock.clone()).unwrap();
    (fake, model)
}

/// Asks a model that gives this answer. Time stands still.
async fn ask_for(answer: ModelAnswer) -> (Asked, AnthropicFake) {
    let (fake, mut model) = serve(vec![answer], &Arc::default()).await;
    model.endpoint.retries = 0;
    (ask(&model).await, fake)
}

/// What reaches the API of a request with these messages.
async fn sent(messages: Vec<Message>) -> Value {
    sent_with(messages, |_| {}).await
}

async fn sent_with(messages: Vec<Message>, change: impl Fn(&mut AnthropicConfig)) -> Value {
    let fake = AnthropicFake::start(|_| ModelAnswer::says("ok")).await;
    let mut config = config(fake.base_url());
    change(&mut config);
    let model = Anthropic::new("claude", MODEL, &config, Arc::<ManualClock>::default()).unwrap();
    let request = ModelRequest { messages, ..request() };
    model.complete(&request, &|_| ()).await.unwrap();
    assert_eq!(fake.refusals(), [""; 0]);
    fake.requests().remove(0)
}

#[tokio::test]
async fn a_request_is_what_the_api_wants() {
    let sent = sent(request().messages).await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&sent).unwrap());
}

fn assistant(text: &str, ids: &[&str]) -> Message {
    let Message::Assistant { calls, .. } = &request().messages[4] else { panic!() };
    let call = |id: &&str| avocet_protocol::SentCall { id: (*id).to_owned(), ..calls[0].clone() };
    Message::assistant(text, ids.iter().map(call).collect())
}

fn result(id: &str) -> Message {
    Message::ToolResult { call: id.to_owned(), result: format!("result {id}") }
}

/// Roles and the types of their blocks, as a line each.
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
async fn neighbours_of_a_role_are_one_message_and_results_stand_first_in_theirs() {
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
        // Where the cache ends has a test of its own.
        let mut expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
        for line in sent.iter_mut().chain(&mut expected) {
            *line = line.replace('*', "");
        }
        assert_eq!(sent, expected);
    }
}

#[tokio::test]
async fn tools_instructions_and_all_but_the_newest_message_are_kept_if_wanted() {
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
async fn f33_a_later_request_begins_as_the_earlier_one() {
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

#[tokio::test]
async fn text_is_streamed_and_counted() {
    let (asked, _) = ask_for(ModelAnswer::says("all of it, word for word")).await;
    let reply = asked.reply.unwrap();
    assert_eq!(
        (reply.text.as_str(), asked.shown.as_str()),
        ("all of it, word for word", reply.text.as_str())
    );
    let usage = Usage { cached: 3, cache_written: 4, ..Usage::new(12, 3) };
    assert_eq!(reply.usage(), usage, "what came from the cache counts");
    assert!(!reply.truncated && reply.calls.is_empty());
}

#[tokio::test]
async fn calls_are_put_together_from_their_pieces() {
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

/// The events of an answer, ending as it should.
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
async fn f8_calls_come_in_many_shapes() {
    let none = json!({});
    let interleaved = [
        used(1, "one", &none),
        used(2, "two", &none),
        input(1, "{\"x\""),
        input(2, "{\"y\": 2}"),
        input(1, ": 1}"),
    ];
    let all_at_once = [used(1, "one", &json!({"x": 1})), used(2, "two", &json!({"y": 2}))];
    let as_text = [used(1, "one", &json!("{\"x\": 1}")), used(2, "two", &json!("{\"y\": 2}"))];
    let same_index = [
        used(0, "one", &none),
        input(0, "{\"x\": 1}"),
        used(0, "two", &none),
        input(0, "{\"y\": 2}"),
    ];
    let expected = [call("one", &json!({"x": 1})), call("two", &json!({"y": 2}))];
    for pieces in [&interleaved[..], &all_at_once, &as_text, &same_index] {
        assert_eq!(reply_of(pieces, "tool_use").await.unwrap().calls, expected, "{pieces:?}");
    }
    for nothing in [&[used(0, "one", &none), input(0, "")][..], &[used(0, "one", &Value::Null)]] {
        assert_eq!(reply_of(nothing, "tool_use").await.unwrap().calls, [call("one", &none)]);
    }
    let half = [used(0, "one", &none), input(0, "{\"x\"")];
    let reply = reply_of(&half, "max_tokens").await.unwrap();
    assert_eq!(reply.calls[0].arguments, Arguments::Malformed("{\"x\"".to_owned()));
    assert!(reply.truncated);
}

#[tokio::test]
async fn why_an_answer_ends() {
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
    }
    let error = reply_of(&[], "refusal").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("claude/{MODEL} refused the request: it will not answer this (refusal)")
    );
    assert!(!error.is_transient());
}

#[tokio::test]
async fn what_is_new_in_the_api_is_read_over() {
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

fn json_answer(body: &Value) -> ModelAnswer {
    let headers = vec![("content-type", "application/json".to_owned())];
    ModelAnswer::Status(200, headers, body.to_string())
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL,
        "content": [{ "type": "text", "text": "hello" },
            { "type": "tool_use", "id": "toolu_1", "name": "one", "input": { "x": 1 } }],
        "stop_reason": "tool_use",
        "usage": { "input_tokens": 7, "cache_read_input_tokens": 3, "output_tokens": 2 },
    });
    let (asked, _) = ask_for(json_answer(&body)).await;
    let reply = asked.reply.unwrap();
    assert_eq!((reply.text.as_str(), asked.shown.as_str()), ("hello", "hello"));
    assert_eq!(reply.calls, [call("one", &json!({"x": 1}))]);
    assert_eq!(reply.usage(), Usage { cached: 3, ..Usage::new(10, 2) });
}

#[tokio::test]
async fn tokens_are_estimated_where_nobody_counts_them() {
    let content = json!([{ "type": "text", "text": "12345678" }]);
    let body = json!({ "type": "message", "content": content, "stop_reason": "end_turn" });
    let reply = ask_for(json_answer(&body)).await.0.reply.unwrap();
    assert!(reply.usage().output == 2 && reply.usage().input > 50, "{:?}", reply.usage());
}

fn refusal(status: u16, kind: &str, message: &str) -> ModelAnswer {
    let error = json!({ "type": kind, "message": message });
    let headers = vec![("content-type", "application/json".to_owned())];
    ModelAnswer::Status(status, headers, json!({ "type": "error", "error": error }).to_string())
}

/// The same in the middle of a stream.
fn broken_off(kind: &str, message: &str) -> ModelAnswer {
    let error = json!({ "type": kind, "message": message });
    let pieces = [said(), text(0, "so "), json!({ "type": "error", "error": error })];
    ModelAnswer::Events(pieces.iter().map(event).collect())
}

#[tokio::test]
async fn a_refusal_says_who_can_do_something_about_it_and_is_not_repeated() {
    const LONG: &str = "prompt is too long: 213462 tokens > 200000 maximum";
    const FULL: &str = "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000";
    let table = [
        (400, "invalid_request_error", "messages: Field required", "refused the request: 400"),
        (
            400,
            "invalid_request_error",
            "Your credit balance is too low",
            "refused the request: 400",
        ),
        (
            400,
            "invalid_request_error",
            LONG,
            "(400: prompt is too long: 213462 tokens > 200000 maximum); start afresh with /new",
        ),
        (400, "invalid_request_error", FULL, "start afresh with /new"),
        (
            401,
            "authentication_error",
            "invalid x-api-key",
            "refused the key (401: invalid x-api-key)",
        ),
        (402, "billing_error", "no credit", "refused the request: 402: no credit"),
        (403, "permission_error", "not yours", "refused the key (403: not yours)"),
        (404, "not_found_error", "model: claude-0", "refused the request: 404: model: claude-0"),
        (413, "request_too_large", "Request exceeds the maximum size", "start afresh with /new"),
    ];
    for (status, kind, message, says) in table {
        for answer in [refusal(status, kind, message), broken_off(kind, message)] {
            let (fake, model) = serve(vec![answer], &Arc::default()).await;
            let error = ask(&model).await.reply.unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            assert!(!error.is_transient(), "{error}");
            assert_eq!(fake.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn the_real_refusals_of_the_fake_reach_who_asked() {
    let fake = AnthropicFake::start(|_| ModelAnswer::says("ok")).await;
    let mut config = config(fake.base_url());
    let ask_as = async |model: &str, config: &AnthropicConfig| {
        let model = Anthropic::new("claude", model, config, Arc::<ManualClock>::default()).unwrap();
        ask(&model).await.reply.unwrap_err().to_string()
    };
    let error = ask_as("claude-0", &config).await;
    assert_eq!(error, "claude/claude-0 refused the request: 404: model: claude-0");
    config.api_key = Some(Secret::new("sk-ant-other".to_owned()));
    let error = ask_as(MODEL, &config).await;
    assert!(error.contains("refused the key (401: invalid x-api-key)"), "{error}");
    config.api_key = None;
    let error = ask_as(MODEL, &config).await;
    assert!(error.contains("(401: x-api-key header is required)"), "{error}");
}

#[tokio::test]
async fn f31_what_can_help_is_tried_again() {
    let cut = |events: &[Value]| ModelAnswer::Events(events.iter().map(event).collect());
    let half = cut(&[said(), text(0, "half an ")]);
    let mut not_ended = vec![stream_head(), Piece::chunk(event(&said()).as_bytes())];
    not_ended.extend([Piece::chunk(event(&text(0, "so ")).as_bytes()), Piece::Reset]);
    let orphan = cut(&[text(0, "whose?")]);
    let mixed = cut(&[said(), input(0, "{}")]);
    let table = [
        (refusal(429, "rate_limit_error", "slow down"), "good"),
        (refusal(500, "api_error", "oops"), "good"),
        (refusal(529, "overloaded_error", "Overloaded"), "good"),
        (broken_off("overloaded_error", "Overloaded"), "so <good"),
        (broken_off("rate_limit_error", "slow down"), "so <good"),
        (broken_off("api_error", ""), "so <good"),
        (broken_off("timeout_error", "too slow"), "so <good"),
        (half, "half an <good"),
        (ModelAnswer::Raw(not_ended), "so <good"),
        (ModelAnswer::Raw(vec![stream_head(), Piece::Reset]), "good"),
        (ModelAnswer::Events(vec!["data: no json\n\n".to_owned()]), "good"),
        (orphan, "good"),
        (mixed, "good"),
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

#[tokio::test]
async fn an_overloaded_model_is_busy_and_says_when_to_come_back() {
    let clock = Arc::<ManualClock>::default();
    let (_fake, model) = serve(vec![broken_off("overloaded_error", "Overloaded")], &clock).await;
    let error = ask_patiently(&model, &clock, 3).await.reply.unwrap_err();
    assert!(matches!(error, ModelError::Busy { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        format!("claude/{MODEL} is busy (529: Overloaded); try again later")
    );

    let headers = vec![("retry-after", "3600".to_owned())];
    let (asked, _) = ask_for(ModelAnswer::Status(429, headers, "{}".to_owned())).await;
    let Err(ModelError::Busy { retry_after, .. }) = asked.reply else { panic!() };
    assert_eq!(retry_after, Some(3600 * SECOND));
}

#[tokio::test]
async fn f20_a_silent_model_is_cut_although_the_connection_lives() {
    let chunk = |data: &Value| Piece::chunk(event(data).as_bytes());
    let ping = chunk(&json!({ "type": "ping" }));
    let begun = chunk(&json!({ "type": "message_start", "message": {} }));
    let first = [stream_head(), begun.clone(), ping.clone()];
    let said =
        [&first[..], &[chunk(&said()), chunk(&text(0, "one ")), ping.clone(), ping]].concat();
    let table = [
        (vec![], 120, "no answer began within 120 s", ""),
        (vec![stream_head()], 120, "no answer began within 120 s", ""),
        (first.to_vec(), 120, "no answer began within 120 s", ""),
        (said, 60, "it fell silent, no more came within 60 s", "one "),
    ];
    for (mut pieces, seconds, detail, shown) in table {
        pieces.push(Piece::Hang);
        let clock = Arc::<ManualClock>::default();
        let (_fake, mut model) = serve(vec![ModelAnswer::Raw(pieces)], &clock).await;
        model.endpoint.retries = 0;
        let asked = ask_through(&model, &clock, seconds * SECOND).await;
        let error = asked.reply.unwrap_err().to_string();
        assert_eq!(error, format!("claude/{MODEL} did not answer in time: {detail}"));
        assert_eq!(asked.shown, shown);
    }
}

#[test]
fn f20_a_ping_is_no_sign_of_life_of_the_model() {
    use crate::asking::{Answer, Piece};
    let mut answer = PartialAnswer::default();
    let begin = json!({ "type": "message_start", "message": {} }).to_string();
    assert_eq!(answer.take(&begin), Ok(Piece::Nothing));
    assert_eq!(answer.take(r#"{"type": "ping"}"#), Ok(Piece::KeepAlive));
    assert!(!answer.has_begun());
}

#[tokio::test]
async fn f20_a_slow_model_that_keeps_sending_is_not_cut() {
    let words = [&[said()][..], &vec![text(0, "word "); 20]].concat();
    let mut drops = events(&words, "end_turn");
    // The answer begins with its first word.
    let begin = drops.drain(..3).collect::<String>();
    drops.insert(0, begin);
    let (answer, permits) = dripping(&drops);
    let clock = Arc::<ManualClock>::default();
    let (_fake, mut model) = serve(vec![answer], &clock).await;
    model.endpoint.limits.first_token = 60 * SECOND;
    let asked = ask_through_drops(&model, &clock, &permits, 40, 20).await;
    assert_eq!(asked.reply.unwrap().text, "word ".repeat(20));
}

#[tokio::test]
async fn f15_the_key_is_in_no_error() {
    let answer = refusal(401, "authentication_error", &format!("invalid x-api-key: {KEY}"));
    let (_fake, model) = serve(vec![answer], &Arc::default()).await;
    let error = ask(&model).await.reply.unwrap_err();
    assert!(error.to_string().contains("[secret]"), "{error}");
    assert!(!format!("{error} {error:?} {model:?}").contains(KEY), "{error:?} {model:?}");
}

#[tokio::test]
async fn an_answer_cut_at_every_byte_is_the_same() {
    let pieces = [
        said(),
        text(0, "grün 😀 "),
        used(1, "one", &json!({})),
        input(1, "{\"ü\":"),
        input(1, "\"é\"}"),
    ];
    let stream = events(&pieces, "tool_use").concat();
    let (asked, _) = ask_for(cut_up(stream.as_bytes(), &[1])).await;
    let reply = asked.reply.unwrap();
    assert_eq!((reply.text.as_str(), asked.shown.as_str()), ("grün 😀 ", "grün 😀 "));
    assert_eq!(reply.calls, [call("one", &json!({"ü": "é"}))]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// However the network cuts a stream, the answer is the same; and one that it cuts off is none.
    #[test]
    fn a_stream_may_be_cut_anywhere(cuts in prop::collection::vec(1_usize..40, 1..30), end: prop::sample::Index) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let stream = events(&[said(), text(0, "grün 😀 "), text(0, "& blau")], "end_turn").concat();
            let (asked, _) = ask_for(cut_up(stream.as_bytes(), &cuts)).await;
            assert_eq!(asked.reply.unwrap().text, "grün 😀 & blau");
            let whole = stream.find("event: message_delta").unwrap();
            let (asked, _) = ask_for(cut_up(&stream.as_bytes()[..end.index(whole)], &cuts)).await;
            assert!(asked.reply.unwrap_err().is_transient());
        });
    }
}

#[tokio::test]
async fn f22_reasoning_in_tags_is_not_shown_either() {
    let (asked, _) = ask_for(ModelAnswer::says("<think>what now</think>\nThis.")).await;
    assert_eq!((asked.reply.unwrap().text.as_str(), asked.shown.as_str()), ("This.", "This."));
}

async fn shows(request: &ModelRequest) -> Value {
    let (fake, model) = serve(vec![ModelAnswer::says("a beach")], &Arc::default()).await;
    model.complete(request, &|_| ()).await.unwrap();
    assert_eq!(fake.refusals(), [""; 0]);
    fake.requests()[0]["messages"][0]["content"].clone()
}

#[tokio::test]
async fn pictures_go_along_as_the_api_wants_them() {
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
async fn a_picture_without_a_word_is_a_message_too() {
    let shown = ImageRef { path: "a.png".to_owned() };
    let image = Image { media_type: "image/png", bytes: (*b"\x89PNG\r\n\x1A\n").into() };
    let request = ModelRequest {
        messages: vec![Message::User { text: String::new(), images: vec![shown.clone()] }],
        tools: Arc::new([]),
        images: BTreeMap::from([(shown, image)]),
    };
    assert_eq!(shows(&request).await[0]["type"], "image");
}
