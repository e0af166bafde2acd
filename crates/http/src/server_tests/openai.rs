//! The APIs of OpenAI, with requests as the official clients send them.

use std::time::Duration;

use avocet_gateway::testing::session;
use avocet_protocol::bus::ProgramRequest;
use avocet_protocol::channel::{ForClient, Handover};
use avocet_protocol::chat::{ChatAddress, Content, Delivery, Outcome};
use avocet_protocol::ids::{DeliveryId, MessageId, TurnId};
use avocet_protocol::turn::{StartedMessage, TurnEvent, TurnEvents};
use avocet_testkit::http_client::{HttpConnection, RawHttpAnswer, exchange};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::world::{TOKEN, TestRequest, World};

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";

/// Reads a stream of chat completions to its end, and returns the text in it.
async fn read_text(stream: &mut HttpConnection) -> String {
    let (mut written, mut data) = (String::new(), String::new());
    while data != "[DONE]" {
        let chunk: Value = serde_json::from_str(&data).unwrap_or_default();
        written.push_str(chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default());
        data = stream.event().await.unwrap();
    }
    written
}

/// Sends a request with the head of the official Python client 2.x.
async fn python(world: &World, path: &str, more: &str, body: &Value) -> HttpConnection {
    let (server, body) = (world.server, body.to_string());
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {server}\r\nAccept-Encoding: gzip, deflate\r\n\
         Connection: keep-alive\r\nAccept: application/json\r\nContent-Type: application/json\r\n\
         User-Agent: OpenAI/Python 2.8.1\r\nX-Stainless-Lang: python\r\n\
         X-Stainless-Package-Version: 2.8.1\r\nX-Stainless-OS: Linux\r\nX-Stainless-Arch: x64\r\n\
         X-Stainless-Runtime: CPython\r\nX-Stainless-Runtime-Version: 3.12.3\r\n\
         Authorization: Bearer {TOKEN}\r\nX-Stainless-Async: false\r\n\
         x-stainless-retry-count: 0\r\nx-stainless-read-timeout: 600\r\n{more}\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut connection = HttpConnection::open(world.server).await;
    connection.write(request.as_bytes()).await;
    connection
}

async fn refused(world: &World, path: &str, body: &Value) -> RawHttpAnswer {
    python(world, path, "", body).await.answer().await
}

/// A request of the Python client for a chat completion.
fn chat(stream: bool) -> Value {
    let mut body = json!({
        "messages": [
            {"role": "system", "content": "You are brief."},
            {"role": "user", "content": "earlier"},
            {"role": "assistant", "content": "noted"},
            {"role": "user", "content": [{"type": "text", "text": "count"}, {"type": "text", "text": "to 2"}]},
        ],
        "model": "avocet", "temperature": 0.2, "max_completion_tokens": 100, "user": "jo",
    });
    if stream {
        body["stream"] = true.into();
        body["stream_options"] = json!({"include_usage": true});
    }
    body
}

fn started(message: i64) -> TurnEvent {
    let message =
        StartedMessage { id: MessageId(message), sender: "x".to_owned(), text: "x".to_owned() };
    TurnEvent::Started { turn: TurnId(1), messages: vec![message] }
}

fn text(delta: &str) -> TurnEvent {
    TurnEvent::Text { delta: delta.to_owned() }
}

fn ended() -> TurnEvent {
    TurnEvent::Ended {
        turn: Some(TurnId(1)),
        messages: vec![MessageId(1)],
        outcome: Outcome::Replied,
    }
}

/// Ends the turn, whose reply in the log is `the reply`.
fn end_turn(world: &World) {
    *world.daemon.outcome.lock() = Some(Outcome::Replied);
    world.daemon.emit(&session(), ended());
}

/// Waits until the request waits for the outcome, so that events reach it.
async fn until_asked(world: &World) {
    world.clock.sleeper(Duration::from_secs(600)).await;
}

#[tokio::test]
async fn chat_completion_answers_with_the_reply_in_the_log() {
    let world = World::new();
    *world.daemon.outcome.lock() = Some(Outcome::Replied);
    let answer = python(&world, CHAT, "", &chat(false)).await.answer().await;
    let reply = answer.json();
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(
        (&reply["id"], &reply["object"]),
        (&json!("chatcmpl-m1"), &json!("chat.completion"))
    );
    assert_eq!((&reply["model"], &reply["created"]), (&json!("avocet"), &json!(1_767_225_600)));
    let choice = &reply["choices"][0];
    assert_eq!(
        choice["message"],
        json!({"role": "assistant", "content": "the reply", "refusal": null})
    );
    assert_eq!(choice["finish_reason"], "stop");
    assert_eq!(reply["avocet"], json!({"message": "m1", "outcome": "replied"}));
    let asked = world.daemon.asked.lock()[0].clone();
    assert_eq!(asked.address, "terminal:local:api-jo".parse::<ChatAddress>().unwrap());
    let instructions = Some("You are brief.".to_owned());
    let program = Some(Box::new(ProgramRequest { instructions, ..ProgramRequest::default() }));
    let content = Content { program, ..Content::text("count\nto 2") };
    assert_eq!((asked.content, asked.sender.id.as_str()), (content, "http:phone"));
}

#[tokio::test]
async fn chat_completion_streams_chunks_that_end_with_the_logged_reply() {
    let world = World::new();
    let mut stream = python(&world, CHAT, "", &chat(true)).await;
    let head = stream.head().await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    until_asked(&world).await;
    let first = vec![
        started(7),
        text("another turn"),
        ended(),
        started(1),
        TurnEvent::Thinking { step: 0 },
        text("let me see"),
    ];
    let second = vec![
        TurnEvent::ToolStarted { name: "x".to_owned(), about: None, call: None },
        TurnEvent::Thinking { step: 1 },
        text("the "),
    ];
    let mut chunks = Vec::new();
    for (events, until) in [(first, 2), (second, 4)] {
        events.into_iter().for_each(|event| world.daemon.emit(&session(), event));
        while chunks.len() < until {
            chunks.push(serde_json::from_str::<Value>(&stream.event().await.unwrap()).unwrap());
        }
    }
    end_turn(&world);
    let mut data = stream.event().await.unwrap();
    while data != "[DONE]" {
        chunks.push(serde_json::from_str(&data).unwrap());
        data = stream.event().await.unwrap();
    }
    assert_eq!(stream.event().await, None);
    let usage = chunks.pop().unwrap();
    assert_eq!((&usage["choices"], &usage["usage"]["total_tokens"]), (&json!([]), &json!(0)));
    let deltas: Vec<Value> =
        chunks.iter().map(|chunk| chunk["choices"][0]["delta"].clone()).collect();
    let content = |text: &str| json!({"content": text});
    let expected = [
        json!({"role": "assistant", "content": ""}),
        content("let me see"),
        content("\n\n"),
        content("the "),
        content("reply"),
        json!({}),
    ];
    assert_eq!(deltas, expected);
    for chunk in &chunks {
        assert_eq!(
            (&chunk["id"], &chunk["object"]),
            (&json!("chatcmpl-m1"), &json!("chat.completion.chunk"))
        );
    }
    assert_eq!(chunks.last().unwrap()["choices"][0]["finish_reason"], "stop");
}

#[tokio::test]
async fn chat_completion_streams_json_in_one_piece_when_it_is_whole() {
    let world = World::new();
    let mut body = chat(true);
    body["response_format"] = json!({"type": "json_object"});
    let mut stream = python(&world, CHAT, "", &body).await;
    assert_eq!(stream.head().await.status, 200);
    until_asked(&world).await;
    let wrong = [started(1), text("no JSON"), TurnEvent::Thinking { step: 0 }, text("```json")];
    wrong.into_iter().for_each(|event| world.daemon.emit(&session(), event));
    world.daemon.answer.lock().reply = Some("```json\n{\"a\":1}\n```".to_owned());
    end_turn(&world);
    let written = read_text(&mut stream).await;
    assert_eq!(written, "{\"a\":1}");
}

/// The next turn of a chat can begin before this request has read its outcome.
#[tokio::test]
async fn chat_completion_ignores_the_turn_after_its_own() {
    let world = World::new();
    let mut stream = python(&world, CHAT, "", &chat(true)).await;
    assert_eq!(stream.head().await.status, 200);
    until_asked(&world).await;
    let thinking = TurnEvent::Thinking { step: 0 };
    let own = [started(1), thinking.clone(), text("the reply"), ended()];
    let next = [started(2), thinking, text("another text"), TurnEvent::Restarted];
    own.into_iter().chain(next).for_each(|event| world.daemon.emit(&session(), event));
    end_turn(&world);
    let written = read_text(&mut stream).await;
    assert_eq!(written, "the reply");
}

#[tokio::test]
async fn openai_session_is_that_of_the_header_the_user_or_the_client() {
    let world = World::new();
    *world.daemon.outcome.lock() = Some(Outcome::Replied);
    let table = [
        ("X-Avocet-Session: terminal:local:me\r\n", json!("jo"), "terminal:local:me"),
        ("", json!("jo"), "terminal:local:api-jo"),
    ];
    for (number, (header, user, chat)) in table.into_iter().enumerate() {
        let body = json!({"messages": [{"role": "user", "content": "hi"}], "model": "avocet", "user": user});
        // Only `m1` is known to the fake, so the second message has no status.
        python(&world, CHAT, header, &body).await.answer().await;
        let asked = world.daemon.asked.lock()[number].clone();
        assert_eq!(asked.address, chat.parse::<ChatAddress>().unwrap());
    }
}

#[tokio::test]
async fn openai_deliveries_to_its_own_chat_are_confirmed() {
    let world = World::new();
    let asking = python(&world, CHAT, "", &chat(false)).await;
    until_asked(&world).await;
    let attached = world.daemon.attached.lock()[0].clone();
    let deliver = async || {
        let address = "terminal:local:api-jo".parse().unwrap();
        let delivery = Delivery::new(DeliveryId(1), address, Content::text("the reply"));
        let (receipt, received) = oneshot::channel();
        attached
            .send_async(ForClient::Chunk(Box::new(Handover { delivery, receipt })))
            .await
            .ok()?;
        received.await.ok()
    };
    assert!(deliver().await.is_some());
    end_turn(&world);
    let mut asking = asking;
    assert_eq!(asking.answer().await.status, 200);
    assert!(deliver().await.is_some(), "a late delivery");
    world.clock.sleeper(Duration::from_secs(30)).await;
    world.clock.advance(Duration::from_mins(1));
    while world.live("deliveries") > 0 {
        tokio::task::yield_now().await;
    }
    assert!(deliver().await.is_none());
    let named = "X-Avocet-Session: terminal:local:me\r\n";
    drop(python(&world, CHAT, named, &chat(false)).await.answer().await);
    assert_eq!(world.daemon.attached.lock().len(), 1, "another chat keeps its deliveries");
}

#[tokio::test]
async fn openai_errors_have_the_form_that_its_clients_read() {
    let world = World::new();
    let user = json!([{"role": "user", "content": "hi"}]);
    let with = |name: &str, value: Value| {
        let mut body = json!({"messages": user, "model": "avocet"});
        body[name] = value;
        body
    };
    let video = json!([{"role": "user", "content": [{"type": "video_url"}]}]);
    let table = [
        (CHAT, json!({"model": "avocet"}), "`messages` is missing"),
        (CHAT, with("messages", json!([])), "the last message must be one of the role `user`"),
        (
            CHAT,
            with("messages", json!([{"role": "assistant", "content": "x"}])),
            "the last message",
        ),
        (CHAT, with("messages", video), "\"video_url\" is not supported"),
        (CHAT, with("tools", json!([{"type": "function"}])), "`tools`: a function needs `name`"),
        (CHAT, with("top_k", json!(3)), "there is no parameter `top_k`"),
        (CHAT, with("n", json!(2)), "`n` is not supported"),
        (CHAT, with("response_format", json!({"type": "grammar"})), "`response_format`"),
        (CHAT, with("user", json!("a:b")), "`user`: "),
        (RESPONSES, json!({"model": "avocet"}), "`input` is missing"),
        (RESPONSES, json!({"input": "x", "tools": [{"type": "web_search"}]}), "`tools`"),
        (RESPONSES, json!({"input": "x", "background": true}), "`background`"),
        (RESPONSES, json!({"input": "x", "text": "plain"}), "is not a table"),
        (
            RESPONSES,
            json!({"input": "x", "text": {"format": {"type": "json_schema"}}}),
            "`text.format`",
        ),
    ];
    for (path, body, says) in table {
        let answer = refused(&world, path, &body).await;
        let error = &answer.json()["error"];
        assert_eq!(
            (answer.status, &error["type"]),
            (400, &json!("invalid_request_error")),
            "{answer:?}"
        );
        assert!(error["message"].as_str().unwrap().contains(says), "{says}: {answer:?}");
    }
    assert!(world.daemon.asked.lock().is_empty());
}

#[tokio::test]
async fn openai_clients_can_read_errors_of_the_checks_in_front_of_all_paths() {
    let world = World::new();
    let table = [
        ("GET /v1/models", "Authorization: Bearer x", 401, "authentication_error"),
        ("POST /v1/embeddings", "Accept: */*", 404, "invalid_request_error"),
        ("GET /v1/responses", "Accept: */*", 405, "invalid_request_error"),
        ("GET /v1/models", "Origin: http://evil.example", 403, "permission_error"),
    ];
    for (line, header, status, kind) in table {
        let head = vec![
            format!("Host: {}", world.server),
            header.to_owned(),
            format!("Authorization: Bearer {TOKEN}"),
        ];
        let answer = exchange(world.server, &TestRequest { line, head, body: "" }.bytes()).await;
        let problem = answer.json();
        let expected = json!({"message": problem["detail"], "type": kind, "param": null, "code": problem["type"]});
        assert_eq!((answer.status, &problem["error"]), (status, &expected), "{answer:?}");
        assert!(!problem["detail"].as_str().unwrap().is_empty(), "{answer:?}");
    }
    let keys = "Idempotency-Key: a\r\nIdempotency-Key: b\r\n";
    for path in [CHAT, RESPONSES] {
        let answer = python(&world, path, keys, &chat(false)).await.answer().await;
        let message = answer.json()["error"]["message"].to_string();
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(message.contains("Idempotency-Key once"), "{answer:?}");
    }
}

#[tokio::test]
async fn openai_request_without_an_answer_is_not_repeated_by_its_clients() {
    let world = World::new();
    let (answer, ()) = tokio::join!(
        async { python(&world, CHAT, "", &chat(false)).await.answer().await },
        async {
            until_asked(&world).await;
            world.clock.advance(Duration::from_secs(600));
        }
    );
    assert_eq!((answer.status, answer.header("x-should-retry")), (504, Some("false")));
    assert!(answer.body.contains("read it later at /v1/messages/m1"), "{answer:?}");
}

#[tokio::test]
async fn response_answers_with_the_reply_in_the_log() {
    let inputs = [
        json!("count to 2"),
        json!([{"role": "user", "content": "count to 2"}]),
        json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "count to 2"}]}]),
    ];
    for input in inputs {
        let world = World::new();
        *world.daemon.outcome.lock() = Some(Outcome::Replied);
        let body = json!({"input": input, "model": "avocet", "user": "jo"});
        let answer = python(&world, RESPONSES, "", &body).await.answer().await;
        let reply = answer.json();
        assert_eq!((answer.status, &reply["status"]), (200, &json!("completed")), "{answer:?}");
        assert_eq!((&reply["id"], &reply["object"]), (&json!("resp_m1"), &json!("response")));
        let part =
            json!({"type": "output_text", "text": "the reply", "annotations": [], "logprobs": []});
        assert_eq!(reply["output"][0]["content"], json!([part]));
        assert_eq!(world.daemon.asked.lock()[0].content, Content::text("count to 2"));
    }
}

#[tokio::test]
async fn response_streams_typed_events_in_order() {
    let world = World::new();
    let body = json!({"input": "count", "model": "avocet", "stream": true, "user": "jo"});
    let mut stream = python(&world, RESPONSES, "", &body).await;
    assert_eq!(stream.head().await.status, 200);
    until_asked(&world).await;
    world.daemon.emit(&session(), started(1));
    world.daemon.emit(&session(), text("the"));
    end_turn(&world);
    let mut events = Vec::new();
    while let Some(data) = stream.event().await {
        events.push(serde_json::from_str::<Value>(&data).unwrap());
    }
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let expected = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(kinds, expected);
    let numbers: Vec<u64> =
        events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..10).collect::<Vec<_>>());
    assert_eq!(events[6]["text"], "the reply");
    assert_eq!(events[9]["response"]["output"][0]["content"][0]["text"], "the reply");
}
