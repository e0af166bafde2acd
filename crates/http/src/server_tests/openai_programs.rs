//! Requests of programs for OpenAI's APIs: whose conversation it is, what the agent gets of a request,
//! and what the program gets of an answer.

use std::time::Duration;

use avocet_gateway::testing::{FakeAnswer, session};
use avocet_protocol::bus::{ProgramCall, ProgramMessage};
use avocet_protocol::channel::{ClientFile, FetchError};
use avocet_protocol::chat::{AttachmentKind, Inbound, Outcome};
use avocet_protocol::model::Usage;
use avocet_protocol::turn::{AnswerEnding, CUT_OFF, TurnEvent, TurnEvents};
use avocet_testkit::http_client::RawHttpAnswer;
use serde_json::{Map, Value, json};

use super::world::{TABLET, TestRequest, World};

const CHAT: &str = "POST /v1/chat/completions";
const RESPONSES: &str = "POST /v1/responses";

/// A world whose message `m1` has this answer.
fn answered(outcome: Outcome, answer: FakeAnswer) -> World {
    let world = World::new();
    *world.daemon.outcome.lock() = Some(outcome);
    *world.daemon.answer.lock() = answer;
    world
}

fn plain() -> FakeAnswer {
    let usage = Usage { input: 30, output: 4, cached: 10, cache_written: 0 };
    FakeAnswer { usage: Some(usage), ..FakeAnswer::default() }
}

fn user(text: &str) -> Value {
    json!([{"role": "user", "content": text}])
}

async fn ask(world: &World, line: &str, body: Value) -> RawHttpAnswer {
    world.ask(line, &body.to_string()).await
}

/// Returns the data of all events of a stream.
async fn events(world: &World, line: &str, body: Value) -> Vec<String> {
    let answer = ask(world, line, body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let data = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(str::to_owned).collect()
}

fn asked(world: &World, number: usize) -> Inbound {
    world.daemon.asked.lock()[number].clone()
}

#[tokio::test]
async fn openai_usage_is_part_of_every_answer() {
    let world = answered(Outcome::Replied, plain());
    let chat = ask(&world, CHAT, json!({"messages": user("hi")})).await.json();
    let details = |reasoning| json!({"reasoning_tokens": reasoning, "audio_tokens": 0});
    let expected = json!({
        "prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34,
        "prompt_tokens_details": {"cached_tokens": 10, "audio_tokens": 0},
        "completion_tokens_details": details(0),
    });
    assert_eq!(chat["usage"], expected);
    let stream = json!({"messages": user("hi"), "stream": true, "stream_options": {"include_usage": true}, "user": "a"});
    let world = answered(Outcome::Replied, plain());
    let chunks = events(&world, CHAT, stream).await;
    let last: Value = serde_json::from_str(&chunks[chunks.len() - 2]).unwrap();
    assert_eq!((&last["usage"], &last["choices"]), (&expected, &json!([])));
    let first: Value = serde_json::from_str(&chunks[0]).unwrap();
    assert_eq!(first["usage"], Value::Null);
    let world = answered(Outcome::Replied, plain());
    let response = ask(&world, RESPONSES, json!({"input": "hi"})).await.json();
    let expected = json!({
        "input_tokens": 30, "output_tokens": 4, "total_tokens": 34,
        "input_tokens_details": {"cached_tokens": 10},
        "output_tokens_details": {"reasoning_tokens": 0},
    });
    assert_eq!(response["usage"], expected);
    let world = answered(Outcome::Replied, FakeAnswer::default());
    let response = ask(&world, RESPONSES, json!({"input": "/status"})).await.json();
    assert_eq!(response["usage"]["total_tokens"], 0, "a command has no turn");
}

#[tokio::test]
async fn openai_failed_turn_is_an_error_and_a_cut_answer_is_marked() {
    let failed = || {
        let reply = Some("I could not answer: the model is away.".to_owned());
        answered(Outcome::Error, FakeAnswer { reply, failed: true, ..plain() })
    };
    for (line, body) in
        [(CHAT, json!({"messages": user("hi")})), (RESPONSES, json!({"input": "hi"}))]
    {
        let answer = ask(&failed(), line, body).await;
        let error = &answer.json()["error"];
        assert_eq!((answer.status, &error["code"]), (502, &json!("turn_failed")), "{answer:?}");
        assert_eq!(answer.header("x-should-retry"), Some("false"));
        assert_eq!(error["message"], "I could not answer: the model is away.");
    }
    let chunks = events(&failed(), CHAT, json!({"messages": user("hi"), "stream": true})).await;
    let [.., end, error] = &chunks[..] else { panic!("{chunks:?}") };
    assert!(end.contains("\"finish_reason\":\"error\""), "{end}");
    assert!(error.contains("the model is away"), "{error}");
    let chunks = events(&failed(), RESPONSES, json!({"input": "hi", "stream": true})).await;
    let last: Value = serde_json::from_str(chunks.last().unwrap()).unwrap();
    assert_eq!(
        (&last["type"], &last["response"]["status"]),
        (&json!("response.failed"), &json!("failed"))
    );

    let cut = || {
        let reply = Some(format!("half\n\n{CUT_OFF}"));
        answered(Outcome::Replied, FakeAnswer { reply, ending: AnswerEnding::CutOff, ..plain() })
    };
    let choice =
        ask(&cut(), CHAT, json!({"messages": user("hi")})).await.json()["choices"][0].clone();
    assert_eq!(
        (&choice["message"]["content"], &choice["finish_reason"]),
        (&json!("half"), &json!("length"))
    );
    let response = ask(&cut(), RESPONSES, json!({"input": "hi"})).await.json();
    assert_eq!(
        (
            &response["status"],
            &response["incomplete_details"],
            &response["output"][0]["content"][0]["text"]
        ),
        (&json!("incomplete"), &json!({"reason": "max_output_tokens"}), &json!("half"))
    );
    let events = events(&cut(), RESPONSES, json!({"input": "hi", "stream": true})).await;
    assert!(events.last().unwrap().contains("\"type\":\"response.incomplete\""), "{events:?}");
}

#[tokio::test]
async fn openai_request_without_a_conversation_has_its_own_with_its_messages() {
    let world = answered(Outcome::Replied, plain());
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "earlier"},
        {"role": "assistant", "content": "noted"},
        {"role": "user", "content": "now"},
    ]);
    for _ in 0..2 {
        ask(&world, CHAT, json!({"messages": messages})).await;
    }
    let key = "Idempotency-Key: once";
    for _ in 0..2 {
        world.ask_with(RESPONSES, &[key], &json!({"input": "hi", "user": ""}).to_string()).await;
    }
    let sessions: Vec<String> =
        (0..4).map(|number| asked(&world, number).address.to_string()).collect();
    assert!(
        sessions.iter().all(|one| one.starts_with("terminal:local:once-phone-")),
        "{sessions:?}"
    );
    assert_ne!(sessions[0], sessions[1]);
    assert_eq!(sessions[2], sessions[3], "a repetition");
    let content = asked(&world, 0).content;
    let program = content.program.unwrap();
    let earlier = [
        ProgramMessage::User { text: "earlier".to_owned() },
        ProgramMessage::Assistant { text: "noted".to_owned(), calls: Vec::new() },
    ];
    assert_eq!((content.text.as_str(), &program.earlier[..]), ("now", &earlier[..]));
    assert_eq!(program.instructions.as_deref(), Some("Be brief."));
}

#[tokio::test]
async fn openai_response_continues_the_conversation_of_another() {
    let world = answered(Outcome::Replied, plain());
    let table = [
        (json!({"input": "hi", "previous_response_id": "resp_m1"}), "terminal:local:a"),
        (json!({"input": "hi", "conversation": "x"}), "terminal:local:api-x"),
        (json!({"input": "hi", "conversation": {"id": "y"}}), "terminal:local:api-y"),
    ];
    for (number, (body, expected)) in table.into_iter().enumerate() {
        ask(&world, RESPONSES, body).await;
        assert_eq!(asked(&world, number).address.to_string(), expected);
    }
    for id in ["resp_m9", "resp_x", "m1"] {
        let answer =
            ask(&world, RESPONSES, json!({"input": "hi", "previous_response_id": id})).await;
        assert_eq!(answer.status, 404, "{answer:?}");
        assert!(answer.body.contains("there is no response"), "{answer:?}");
    }
}

#[tokio::test]
async fn openai_stored_response_is_shown_and_deleted_only_with_its_own_conversation() {
    let world = answered(Outcome::Replied, plain());
    let shown = world.ask("GET /v1/responses/resp_m1", "").await.json();
    assert_eq!(
        (&shown["status"], &shown["created_at"], &shown["usage"]["total_tokens"]),
        (&json!("completed"), &json!(5), &json!(34))
    );
    assert_eq!(shown["output"][0]["content"][0]["text"], "the reply");
    *world.daemon.outcome.lock() = None;
    assert_eq!(world.ask("GET /v1/responses/resp_m1", "").await.json()["status"], "in_progress");
    *world.daemon.outcome.lock() = Some(Outcome::Error);
    assert_eq!(world.ask("GET /v1/responses/resp_m1", "").await.json()["status"], "failed");
    assert_eq!(world.ask("GET /v1/responses/resp_m2", "").await.status, 404);
    let refused = world.ask("DELETE /v1/responses/resp_m1", "").await;
    assert_eq!(refused.status, 400, "{refused:?}");
}

#[tokio::test]
async fn openai_model_is_the_profile_of_the_conversation() {
    let world = answered(Outcome::Replied, plain());
    let models = world.ask("GET /v1/models", "").await.json();
    let names: Vec<&str> =
        models["data"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(names, ["avocet", "default", "builder"]);
    assert_eq!(world.ask("GET /v1/models/builder", "").await.json(), models["data"][2]);
    ask(&world, CHAT, json!({"messages": user("hi"), "model": "builder"})).await;
    assert_eq!(asked(&world, 0).content.program.unwrap().agent.as_deref(), Some("builder"));
    for line in ["GET /v1/models/gpt-4o", CHAT] {
        let body = if line == CHAT {
            json!({"messages": user("hi"), "model": "gpt-4o"}).to_string()
        } else {
            String::new()
        };
        let unknown = world.ask(line, &body).await;
        let error = unknown.json()["error"].clone();
        assert_eq!(
            (unknown.status, &error["code"], &error["param"]),
            (404, &json!("model_not_found"), &json!("model"))
        );
        assert!(error["message"].as_str().unwrap().contains("avocet, default, builder"), "{error}");
    }
}

#[tokio::test]
async fn openai_tools_are_passed_to_the_agent_and_their_calls_to_the_client() {
    let call = ProgramCall {
        id: "t1s0c0".to_owned(),
        name: "weather".to_owned(),
        arguments: Map::from_iter([("city".to_owned(), json!("Oslo"))]),
    };
    let world = || {
        let reply = Some(String::new());
        answered(Outcome::Replied, FakeAnswer { reply, calls: vec![call.clone()], ..plain() })
    };
    let tool = json!({"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}});
    let body = json!({"messages": user("cold?"), "tools": [tool], "tool_choice": "required"});
    let chat = world();
    let choice = ask(&chat, CHAT, body.clone()).await.json()["choices"][0].clone();
    let function = json!({"name": "weather", "arguments": "{\"city\":\"Oslo\"}"});
    let expected = json!([{"id": "t1s0c0", "type": "function", "function": function}]);
    assert_eq!(
        (&choice["message"]["tool_calls"], &choice["finish_reason"]),
        (&expected, &json!("tool_calls"))
    );
    assert_eq!(choice["message"]["content"], Value::Null);
    let program = asked(&chat, 0).content.program.unwrap();
    assert_eq!(program.tools[0].name, "weather");
    assert!(program.instructions.unwrap().contains("this tool: weather"));
    let mut streamed = body;
    streamed["stream"] = true.into();
    let chunks = events(&world(), CHAT, streamed).await;
    let [.., delta, end, done] = &chunks[..] else { panic!("{chunks:?}") };
    assert!(delta.contains("\"index\":0,") && delta.contains("t1s0c0"), "{delta}");
    assert!(end.contains("\"finish_reason\":\"tool_calls\"") && done == "[DONE]", "{end}");
    let tool = json!({"type": "function", "name": "weather"});
    let body = json!({"input": "cold?", "tools": [tool], "stream": true});
    let events = events(&world(), RESPONSES, body).await;
    let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
    let item = &last["response"]["output"][1];
    assert_eq!((&item["type"], &item["call_id"]), (&json!("function_call"), &json!("t1s0c0")));
}

#[tokio::test]
async fn openai_files_are_handed_to_the_daemon_while_the_request_waits() {
    let world = World::new();
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID"}});
    let body = json!({"messages": [{"role": "user", "content": [image]}]}).to_string();
    let asking = world.ask(CHAT, &body);
    let serving = async {
        world.clock.sleeper(Duration::from_secs(600)).await;
        let inbound = asked(&world, 0);
        let attachment = inbound.content.attachments[0].clone();
        assert_eq!(attachment.kind, AttachmentKind::Image);
        let avocet_protocol::chat::AttachmentSource::Platform(reference) = attachment.source else {
            panic!("{attachment:?}")
        };
        let file = ClientFile::parse(&reference).unwrap();
        let clients = || world.daemon.attached.lock().clone();
        assert_eq!(file.read(clients(), 9).await, Ok(vec![1, 2, 3]));
        let other = ClientFile { name: "other".to_owned(), ..file };
        assert!(matches!(other.read(clients(), 9).await, Err(FetchError::Gone(_))));
        *world.daemon.outcome.lock() = Some(Outcome::Replied);
        let outcome = Outcome::Replied;
        world
            .daemon
            .emit(&session(), TurnEvent::Ended { turn: None, messages: Vec::new(), outcome });
    };
    let (answer, ()) = tokio::join!(asking, serving);
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[tokio::test]
async fn openai_answer_in_json_has_to_be_json() {
    let format =
        json!({"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}});
    let body = json!({"messages": user("who?"), "response_format": format});
    let reply = Some("```json\n{\"a\":1}\n```".to_owned());
    let world = answered(Outcome::Replied, FakeAnswer { reply, ..plain() });
    let answer = ask(&world, CHAT, body.clone()).await.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "{\"a\":1}");
    let program = asked(&world, 0).content.program.unwrap();
    assert_eq!(program.answer_schema, Some(json!({"type": "object"})));
    let refused = ask(&answered(Outcome::Replied, plain()), CHAT, body).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (502, &json!("invalid_answer")));
}

#[tokio::test]
async fn openai_request_of_a_token_for_one_chat_needs_a_chat_that_it_reaches() {
    let world = World::new();
    let head = vec![
        format!("Host: {}", world.server),
        format!("Authorization: Bearer {TABLET}"),
        "Content-Type: application/json".to_owned(),
    ];
    let body = json!({"messages": user("hi")}).to_string();
    let request = TestRequest { line: CHAT, head, body: &body };
    let answer = avocet_testkit::http_client::exchange(world.server, &request.bytes()).await;
    assert_eq!(answer.status, 403, "{answer:?}");
    assert!(world.daemon.asked.lock().is_empty());
}
