//! Conversation history in a form that the API accepts (F1).

use avocet_protocol::model::{Message, Model, ModelRequest, Reasoning, SentCall};
use avocet_testkit::ModelAnswer;
use serde_json::{Map, Value, json};

use super::server::WireModel;
use super::{ProviderWire, WireAbility, has_ability};
use crate::testing::sample_request;
use crate::{DialectModel, ToolStyle};

fn sent_call(id: &str) -> SentCall {
    let arguments = Map::from_iter([("path".to_owned(), json!("ä\n\"b\""))]);
    SentCall { id: id.to_owned(), name: "read_file".to_owned(), arguments }
}

fn tool_result(id: &str, result: &str) -> Message {
    Message::ToolResult { call: id.to_owned(), ok: true, result: result.to_owned() }
}

/// A step with these calls and their results.
fn step_messages(text: &str, ids: &[String], reasoning: Option<Reasoning>) -> Vec<Message> {
    let calls = ids.iter().map(|id| sent_call(id)).collect();
    let step = Message::Assistant { text: text.to_owned(), calls, reasoning };
    let results = ids.iter().map(|id| tool_result(id, &json!({ "read": id }).to_string()));
    [step].into_iter().chain(results).collect()
}

/// The accepted request for these messages. Fails if the fake refuses anything.
async fn accepted_request<W: ProviderWire>(messages: Vec<Message>) -> Value {
    let served = WireModel::<W>::new(vec![ModelAnswer::says("ok")]).await;
    let request = ModelRequest { messages: messages.into(), ..sample_request() };
    let reply = served.model.complete(&request, &|_| ()).await;
    assert_eq!(served.server.refusal_reasons(), [""; 0]);
    assert_eq!(reply.unwrap().text, "ok");
    served.server.accepted_requests().remove(0)
}

pub(super) async fn f1_complete_sends_a_long_history_that_the_api_accepts<W: ProviderWire>() {
    let mut messages = vec![Message::System { text: "be kind".to_owned() }];
    for turn in 0..40 {
        messages.push(Message::user(format!("question {turn}")));
        for number in 0..turn % 4 {
            let ids: Vec<String> =
                (0..=turn % 3).map(|c| format!("t{turn}s{number}c{c}")).collect();
            let text = ["", "I look", " "][(turn + number) % 3];
            messages.extend(step_messages(text, &ids, None));
            if turn % 5 == 0 {
                messages.push(Message::user("and look there"));
            }
        }
        messages.push(Message::assistant(format!("answer {turn}"), Vec::new()));
    }
    messages.push(Message::user("the newest"));
    let sent = accepted_request::<W>(messages).await.to_string();
    for said in ["be kind", "question 0", "answer 39", "t39s2c0", "and look there", "the newest"] {
        assert!(sent.contains(said), "{said} is missing");
    }
}

pub(super) async fn complete_sends_a_tool_result_with_any_content<W: ProviderWire>() {
    let results = [
        r#"{"content":"grün\n\"quoted\" </tool> 😀"}"#,
        r#"{"error":"there is no file \"a\""}"#,
        "[]",
        "null",
        "just text",
    ];
    let ids: Vec<String> = (0..results.len()).map(|number| format!("t1s0c{number}")).collect();
    let mut messages = vec![Message::user("read"), step_messages("", &ids, None).remove(0)];
    messages.extend(ids.iter().zip(results).map(|(id, text)| tool_result(id, text)));
    assert_eq!(W::results_of(&accepted_request::<W>(messages).await), results);
}

/// The messages of a turn after a step with this reasoning.
fn turn_after(thought: Reasoning) -> Vec<Message> {
    let first = step_messages("I look", &["t1s0c0".to_owned(), "t1s0c1".to_owned()], Some(thought));
    [&[Message::user("hi")][..], &first].concat()
}

pub(super) async fn complete_sends_reasoning_back_unchanged_with_its_calls<W: ProviderWire>() {
    if !has_ability::<W>(WireAbility::KeptThoughts) {
        return;
    }
    let thinks = ModelAnswer::thinks(
        "what \"ä\" says",
        ModelAnswer::call("read_file", json!({ "path": "a" })),
    );
    let served = WireModel::<W>::new(vec![thinks]).await;
    let reply = served.model.complete(&sample_request(), &|_| ()).await.unwrap();
    let thought = reply.reasoning.unwrap();
    assert_eq!(thought.model, W::NAME);
    assert!(!format!("{thought:?}").contains("says"), "not even to the log");
    let parts = reasoning_parts(&thought.content);
    let request = accepted_request::<W>(turn_after(thought)).await;
    assert!(!parts.is_empty());
    for part in parts {
        assert!(holds_part(&request, &part), "{part} is not in {request}");
    }
}

pub(super) async fn complete_sends_a_step_back_without_its_ending_call<W: ProviderWire>() {
    if !has_ability::<W>(WireAbility::KeptThoughts) {
        return;
    }
    let read = ("read_file".to_owned(), json!({ "path": "a" }));
    let ends = ("attempt_completion".to_owned(), json!({ "result": "Done." }));
    for calls in [[ends.clone(), read.clone()], [read, ends]] {
        let answer = ModelAnswer::thinks("hm", ModelAnswer::Calls(calls.to_vec()));
        let served = WireModel::<W>::new(vec![answer]).await;
        let model = DialectModel::new(served.model.clone(), ToolStyle::Native);
        let reply = model.complete(&sample_request(), &|_| ()).await.unwrap();
        assert_eq!(reply.calls.len(), 1);
        let first = step_messages("I look", &["t1s0c0".to_owned()], reply.reasoning);
        accepted_request::<W>([&[Message::user("hi")][..], &first].concat()).await;
    }
}

pub(super) async fn complete_does_not_send_reasoning_of_another_model_or_host<W: ProviderWire>() {
    let list = json!([{ "type": "thinking", "thinking": "SECRET" }, { "thought": "SECRET" }]);
    let text = json!({ "reasoning_content": "SECRET" });
    let object = json!({ "message": text, "calls": [{ "extra_content": "SECRET" }] });
    for content in [list, object, json!({ "calls": ["SECRET"] }), json!("SECRET")] {
        let of_model = Reasoning::new("other/model", content.clone());
        let host = Some("api.example.org".to_owned());
        let of_host = Reasoning { host, ..Reasoning::new(W::NAME, content) };
        for thought in [of_model, of_host] {
            let sent = accepted_request::<W>(turn_after(thought)).await;
            assert!(!sent.to_string().contains("SECRET"), "{sent}");
        }
    }
}

/// The parts of stored reasoning that reach the API: objects between our placeholders, or strings
/// in our own structure.
fn reasoning_parts(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(parts) if parts.iter().any(Value::is_object) => {
            parts.iter().filter(|part| part.is_object()).cloned().collect()
        }
        Value::Array(parts) => parts.iter().flat_map(reasoning_parts).collect(),
        Value::Object(map) => map.values().flat_map(reasoning_parts).collect(),
        Value::String(_) => vec![content.clone()],
        _ => Vec::new(),
    }
}

/// Returns `true` if `whole` contains `part` anywhere.
fn holds_part(whole: &Value, part: &Value) -> bool {
    whole == part
        || match whole {
            Value::Array(values) => values.iter().any(|value| holds_part(value, part)),
            Value::Object(map) => map.values().any(|value| holds_part(value, part)),
            _ => false,
        }
}
