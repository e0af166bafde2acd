use std::sync::Arc;

use avocet_protocol::model::{Message, Model, ModelRequest, Reasoning, SentCall};
use avocet_testkit::openai::responses::{
    MODEL, ResponsesFake, event, last_results, response, thought,
};
use avocet_testkit::{ManualClock, ModelAnswer};
use serde_json::{Map, Value, json};

use super::*;
use crate::testing::sample_request;
use crate::{OpenAi, OpenAiApi, OpenAiConfig};

const NAME: &str = "openai/gpt-5-test";

fn model_at(fake: &ResponsesFake) -> OpenAi {
    let config = OpenAiConfig {
        base_url: fake.base_url(),
        api: OpenAiApi::Responses,
        max_retries: 0,
        ..OpenAiConfig::default()
    };
    OpenAi::new("openai", MODEL, &config, Arc::<ManualClock>::default()).unwrap()
}

fn step(id: &str, state: Option<Value>) -> [Message; 2] {
    let call = SentCall { id: id.to_owned(), name: "f".to_owned(), arguments: Map::default() };
    let reasoning = state.map(|content| Reasoning::new(NAME, content));
    let step = Message::Assistant { text: format!("I look {id}"), calls: vec![call], reasoning };
    [step, Message::ToolResult { call: id.to_owned(), ok: true, result: "seen".to_owned() }]
}

/// Two turns, the second of which is open; each has a step with this state.
fn history(states: [Option<Value>; 2]) -> ModelRequest {
    let [first, second] = states;
    let mut messages = vec![Message::user("one")];
    messages.extend(step("c1", first));
    messages.extend([Message::assistant("done", Vec::new()), Message::user("two")]);
    messages.extend(step("c2", second));
    ModelRequest { messages: messages.into(), ..sample_request() }
}

/// The phases of the texts of a request, in order.
fn phases_of(request: &Value) -> Vec<Option<&str>> {
    let items = request["input"].as_array().unwrap().iter();
    items.filter(|item| item["role"] == "assistant").map(|item| item["phase"].as_str()).collect()
}

#[tokio::test]
async fn phases_of_earlier_answers_are_kept_or_follow_from_their_place() {
    let (comment, end) = (Some("commentary"), Some("final_answer"));
    let thinks = thought("rs_1", "hm");
    let table = [
        ([None, None], [None, None, None]),
        ([None, Some(json!([thinks, "message", "call"]))], [None, None, None]),
        ([None, Some(json!(["message:commentary", "call"]))], [comment, end, comment]),
        ([Some(json!([thinks, "message:final_answer", "call"])), None], [end, end, comment]),
        (
            [Some(json!(["message:final_answer"])), Some(json!(["message:commentary", "call"]))],
            [end, end, comment],
        ),
    ];
    for (states, expected) in table {
        let fake = ResponsesFake::start(|_| ModelAnswer::says("ok")).await;
        let shown = format!("{states:?}");
        model_at(&fake).complete(&history(states), &|_| ()).await.unwrap();
        assert_eq!(fake.refusals(), [""; 0]);
        assert_eq!(phases_of(&fake.requests()[0]), expected, "{shown}");
    }
}

/// The last event of an answer with a comment and a call.
fn commented_call() -> String {
    let part = json!({ "type": "output_text", "text": "I look" });
    let output = [
        json!({ "type": "message", "role": "assistant", "phase": "commentary", "content": [part] }),
        json!({ "type": "function_call", "call_id": "a", "name": "f", "arguments": "{}" }),
    ];
    let whole = response("completed", &output, &Value::Null);
    event(&json!({ "type": "response.completed", "response": whole }))
}

#[tokio::test]
async fn phase_of_an_answer_goes_back_with_its_call_and_later_with_each_text() {
    let fake = ResponsesFake::start(|request| match last_results(request)[..] {
        [] => ModelAnswer::Events(vec![commented_call()]),
        [..] => ModelAnswer::says("ok"),
    })
    .await;
    let model = model_at(&fake);
    let asks = ModelRequest { messages: vec![Message::user("one")].into(), ..sample_request() };
    let reply = model.complete(&asks, &|_| ()).await.unwrap();
    let state = reply.reasoning.map(|own| own.content);
    assert_eq!(state, Some(json!(["message:commentary", "call"])));
    // The model has sent phases, so a history without them gets them, too.
    let reply = model.complete(&history([None, None]), &|_| ()).await.unwrap();
    assert_eq!((fake.refusals(), reply.reasoning), (Vec::new(), None));
    let expected = [Some("commentary"), Some("final_answer"), Some("commentary")];
    assert_eq!(phases_of(&fake.requests()[1]), expected);
    let other = Reasoning::new("other/model", json!(["message:commentary", "call"]));
    assert!(!has_earlier_phase(&with_state(other), NAME));
}

fn with_state(reasoning: Reasoning) -> ModelRequest {
    let mut messages = step("c1", None);
    messages[0] =
        Message::Assistant { text: String::new(), calls: Vec::new(), reasoning: Some(reasoning) };
    ModelRequest { messages: messages.to_vec().into(), ..sample_request() }
}

#[tokio::test]
async fn phase_that_a_server_refuses_is_left_out_after_one_more_request() {
    let fake = ResponsesFake::start(|request| {
        if phases_of(request).iter().any(Option::is_some) {
            let says = "Unknown parameter: 'input[1].phase'.";
            let body = json!({ "error": { "message": says } }).to_string();
            return ModelAnswer::Status(400, Vec::new(), body);
        }
        ModelAnswer::says("ok")
    })
    .await;
    let model = model_at(&fake);
    let states = || [None, Some(json!(["message:commentary", "call"]))];
    for _ in 0..2 {
        assert_eq!(model.complete(&history(states()), &|_| ()).await.unwrap().text, "ok");
    }
    assert_eq!(fake.requests().len(), 3);
}

#[test]
fn read_phase_takes_short_texts_only() {
    let long = "x".repeat(MAX_PHASE + 1);
    let table = [
        (Some("commentary"), Some("commentary")),
        (Some("news"), Some("news")),
        (Some(""), None),
        (Some(&*long), None),
        (None, None),
    ];
    for (sent, expected) in table {
        assert_eq!(read_phase(sent), expected);
    }
    assert_eq!(phase_of_part(&keep_phase(Some("news"))), Some(Some("news")));
    assert_eq!(phase_of_part(&keep_phase(None)), Some(None));
    assert_eq!(phase_of_part(&json!("call")), None);
}
