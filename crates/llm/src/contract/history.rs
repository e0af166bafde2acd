//! Conversation history in a form that the API accepts (F1).

use avocet_protocol::{Message, Model, ModelRequest, Reasoning, SentCall};
use avocet_testkit::ModelAnswer;
use serde_json::{Map, Value, json};

use super::server::Served;
use super::{Ability, Wire, can};
use crate::testing::request;
use crate::{Dialected, ToolStyle};

fn call(id: &str) -> SentCall {
    let arguments = Map::from_iter([("path".to_owned(), json!("ä\n\"b\""))]);
    SentCall { id: id.to_owned(), name: "read_file".to_owned(), arguments }
}

fn result(id: &str, result: &str) -> Message {
    Message::ToolResult { call: id.to_owned(), ok: true, result: result.to_owned() }
}

/// A step with these calls and their results.
fn step(text: &str, ids: &[String], reasoning: Option<Reasoning>) -> Vec<Message> {
    let calls = ids.iter().map(|id| call(id)).collect();
    let step = Message::Assistant { text: text.to_owned(), calls, reasoning };
    let results = ids.iter().map(|id| result(id, &json!({ "read": id }).to_string()));
    [step].into_iter().chain(results).collect()
}

/// The accepted request for these messages. Fails if the fake refuses anything.
async fn sent<W: Wire>(messages: Vec<Message>) -> Value {
    let served = Served::<W>::new(vec![ModelAnswer::says("ok")]).await;
    let request = ModelRequest { messages: messages.into(), ..request() };
    let reply = served.model.complete(&request, &|_| ()).await;
    assert_eq!(served.server.refusals(), [""; 0]);
    assert_eq!(reply.unwrap().text, "ok");
    served.server.requests().remove(0)
}

pub(super) async fn f1_complete_sends_a_long_history_that_the_api_accepts<W: Wire>() {
    let mut messages = vec![Message::System { text: "be kind".to_owned() }];
    for turn in 0..40 {
        messages.push(Message::user(format!("question {turn}")));
        for number in 0..turn % 4 {
            let ids: Vec<String> =
                (0..=turn % 3).map(|c| format!("t{turn}s{number}c{c}")).collect();
            let text = ["", "I look", " "][(turn + number) % 3];
            messages.extend(step(text, &ids, None));
            if turn % 5 == 0 {
                messages.push(Message::user("and look there"));
            }
        }
        messages.push(Message::assistant(format!("answer {turn}"), Vec::new()));
    }
    messages.push(Message::user("the newest"));
    let sent = sent::<W>(messages).await.to_string();
    for said in ["be kind", "question 0", "answer 39", "t39s2c0", "and look there", "the newest"] {
        assert!(sent.contains(said), "{said} is missing");
    }
}

pub(super) async fn complete_sends_a_tool_result_with_any_content<W: Wire>() {
    let results = [
        r#"{"content":"grün\n\"quoted\" </tool> 😀"}"#,
        r#"{"error":"there is no file \"a\""}"#,
        "[]",
        "null",
        "just text",
    ];
    let ids: Vec<String> = (0..results.len()).map(|number| format!("t1s0c{number}")).collect();
    let mut messages = vec![Message::user("read"), step("", &ids, None).remove(0)];
    messages.extend(ids.iter().zip(results).map(|(id, text)| result(id, text)));
    assert_eq!(W::results(&sent::<W>(messages).await), results);
}

/// The messages of a turn after a step with this reasoning.
fn after(thought: Reasoning) -> Vec<Message> {
    let first = step("I look", &["t1s0c0".to_owned(), "t1s0c1".to_owned()], Some(thought));
    [&[Message::user("hi")][..], &first].concat()
}

pub(super) async fn complete_sends_reasoning_back_unchanged_with_its_calls<W: Wire>() {
    if !can::<W>(Ability::KeptThoughts) {
        return;
    }
    let thinks = ModelAnswer::thinks(
        "what \"ä\" says",
        ModelAnswer::call("read_file", json!({ "path": "a" })),
    );
    let served = Served::<W>::new(vec![thinks]).await;
    let reply = served.model.complete(&request(), &|_| ()).await.unwrap();
    let thought = reply.reasoning.unwrap();
    assert_eq!(thought.model, W::NAME);
    assert!(!format!("{thought:?}").contains("says"), "not even to the log");
    let parts = parts(&thought.content);
    let request = sent::<W>(after(thought)).await;
    assert!(!parts.is_empty());
    for part in parts {
        assert!(holds(&request, &part), "{part} is not in {request}");
    }
}

pub(super) async fn complete_sends_a_step_back_without_its_ending_call<W: Wire>() {
    if !can::<W>(Ability::KeptThoughts) {
        return;
    }
    let read = ("read_file".to_owned(), json!({ "path": "a" }));
    let ends = ("attempt_completion".to_owned(), json!({ "result": "Done." }));
    for calls in [[ends.clone(), read.clone()], [read, ends]] {
        let answer = ModelAnswer::thinks("hm", ModelAnswer::Calls(calls.to_vec()));
        let served = Served::<W>::new(vec![answer]).await;
        let model = Dialected::new(served.model.clone(), ToolStyle::Native);
        let reply = model.complete(&request(), &|_| ()).await.unwrap();
        assert_eq!(reply.calls.len(), 1);
        let first = step("I look", &["t1s0c0".to_owned()], reply.reasoning);
        sent::<W>([&[Message::user("hi")][..], &first].concat()).await;
    }
}

pub(super) async fn complete_does_not_send_reasoning_of_another_model_or_host<W: Wire>() {
    let list = json!([{ "type": "thinking", "thinking": "SECRET" }, { "thought": "SECRET" }]);
    let text = json!({ "reasoning_content": "SECRET" });
    let object = json!({ "message": text, "calls": [{ "extra_content": "SECRET" }] });
    for content in [list, object, json!({ "calls": ["SECRET"] }), json!("SECRET")] {
        let of_model = Reasoning::new("other/model", content.clone());
        let host = Some("api.example.org".to_owned());
        let of_host = Reasoning { host, ..Reasoning::new(W::NAME, content) };
        for thought in [of_model, of_host] {
            let sent = sent::<W>(after(thought)).await;
            assert!(!sent.to_string().contains("SECRET"), "{sent}");
        }
    }
}

/// The parts of stored reasoning that reach the API: objects between our placeholders, or strings
/// in our own structure.
fn parts(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(parts) if parts.iter().any(Value::is_object) => {
            parts.iter().filter(|part| part.is_object()).cloned().collect()
        }
        Value::Array(parts) => parts.iter().flat_map(self::parts).collect(),
        Value::Object(map) => map.values().flat_map(parts).collect(),
        Value::String(_) => vec![content.clone()],
        _ => Vec::new(),
    }
}

/// Returns `true` if `whole` contains `part` anywhere.
fn holds(whole: &Value, part: &Value) -> bool {
    whole == part
        || match whole {
            Value::Array(values) => values.iter().any(|value| holds(value, part)),
            Value::Object(map) => map.values().any(|value| holds(value, part)),
            _ => false,
        }
}
