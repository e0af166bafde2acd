use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::model::Usage;
use avocet_testkit::tool_context;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::*;
use crate::calls::{EnteredCall, RunningCalls};

/// Repeats the last message. Each answer takes 110 tokens.
#[derive(Debug, Default)]
struct FakeModels {
    requests: Mutex<Vec<SampleRequest>>,
    is_broke: bool,
}

#[async_trait]
impl SampleModel for FakeModels {
    async fn sample(&self, request: SampleRequest) -> Result<Sample, NoSample> {
        if self.is_broke {
            return Err(NoSample("the budget of the day is used up".to_owned()));
        }
        let text = text_in(request.messages.last().unwrap()).to_owned();
        self.requests.lock().push(request);
        let (model, truncated, usage) = ("test/cheap".to_owned(), false, Usage::new(100, 10));
        Ok(Sample { model, text, truncated, usage })
    }
}

const LIMITS: SamplingLimits = SamplingLimits { max_requests: 3, max_tokens: 300 };

fn params(messages: &Value) -> CreateMessageRequestParams {
    serde_json::from_value(json!({"messages": messages, "maxTokens": 50})).unwrap()
}

fn says(role: &str, text: &str) -> Value {
    json!({"role": role, "content": {"type": "text", "text": text}})
}

struct World {
    models: FakeModels,
    calls: Arc<RunningCalls>,
}

impl World {
    fn new() -> Self {
        Self { models: FakeModels::default(), calls: Arc::default() }
    }

    fn enter(&self) -> EnteredCall<'_> {
        self.calls.enter_call(&tool_context(), "web__a".to_owned())
    }

    async fn ask(
        &self,
        call: &EnteredCall<'_>,
        limits: SamplingLimits,
        params: CreateMessageRequestParams,
    ) -> Result<Value, String> {
        let result = answer_sampling(&self.models, limits, &call.call, params).await;
        result.map(|result| json!(result)).map_err(|NoSample(why)| why)
    }
}

#[tokio::test]
async fn sample_asks_the_model_without_tools_and_lowers_the_trust_of_the_call() {
    let world = World::new();
    let call = world.enter();
    let messages = json!([says("assistant", "a"), says("user", "b\u{202e}"), says("user", "c")]);
    let mut asked = params(&messages);
    asked.system_prompt = Some("Be short.".to_owned());
    let answer = world.ask(&call, LIMITS, asked).await.unwrap();
    assert_eq!(answer["content"], json!({"type": "text", "text": "b\n\nc"}));
    assert_eq!((&answer["role"], &answer["model"]), (&json!("assistant"), &json!("test/cheap")));
    assert_eq!(answer["stopReason"], "endTurn");
    assert_eq!(call.call.read.get(), Trust::Low);
    let requests = world.models.requests.lock();
    let texts: Vec<&str> = requests[0].messages.iter().map(text_in).collect();
    assert!(texts[0].contains("Answer in at most 50 tokens.") && texts[0].ends_with("Be short."));
    assert_eq!(texts[1..], ["(begin)", "a", "b\n\nc"]);
}

#[tokio::test]
async fn sample_refuses_more_than_the_limits_of_a_call() {
    let user = params(&json!([says("user", "a")]));
    let few = SamplingLimits { max_requests: 2, ..LIMITS };
    let little = SamplingLimits { max_tokens: 220, ..LIMITS };
    for (limits, why) in [
        (few, "a call may ask the model 2 times"),
        (little, "the 220 tokens of the call are used up"),
    ] {
        let world = World::new();
        let call = world.enter();
        for _ in 0..2 {
            assert!(world.ask(&call, limits, user.clone()).await.is_ok());
        }
        assert_eq!(world.ask(&call, limits, user.clone()).await, Err(why.to_owned()));
        // The next call has its own limits.
        let next = world.enter();
        assert!(world.ask(&next, limits, user.clone()).await.is_ok());
        assert_eq!(world.models.requests.lock().len(), 3);
    }
}

#[tokio::test]
async fn sample_reports_a_used_up_budget_to_the_server() {
    let models = FakeModels { is_broke: true, ..FakeModels::default() };
    let world = World { models, ..World::new() };
    let call = world.enter();
    let answer = world.ask(&call, LIMITS, params(&json!([says("user", "a")]))).await;
    assert_eq!(answer, Err("the budget of the day is used up".to_owned()));
}

#[tokio::test]
async fn sample_refuses_tools_and_unusable_messages() {
    let world = World::new();
    let call = world.enter();
    let mut with_tools = params(&json!([says("user", "a")]));
    let tool = json!({"name": "t", "inputSchema": {"type": "object"}});
    with_tools.tools = Some(vec![serde_json::from_value(tool).unwrap()]);
    let picture = |data: &str| json!([{"role": "user", "content": {"type": "image", "mimeType": "image/png", "data": data}}]);
    let sound = json!([{"role": "user", "content": {"type": "audio", "mimeType": "audio/wav", "data": ""}}]);
    for (asked, why) in [
        (with_tools, "tools in sampling are not supported"),
        (params(&json!([])), "the last message is not a user's"),
        (params(&json!([says("assistant", "a")])), "the last message is not a user's"),
        (
            params(&json!([says("user", &"a".repeat(MOST_TEXT))])),
            "a request has at most 256 KB of text",
        ),
        (
            params(&json!(vec![says("user", ""); 501])),
            "a request has at most 1000 messages and parts",
        ),
        (params(&picture("!")), "a picture is no Base64"),
        (params(&picture("AAAA")), "a picture has a format that models refuse"),
        (params(&sound), "only texts and pictures are supported"),
    ] {
        assert_eq!(world.ask(&call, LIMITS, asked).await, Err(why.to_owned()));
    }
    assert!(world.models.requests.lock().is_empty());
}

#[tokio::test]
async fn sample_sends_pictures_along() {
    let world = World::new();
    let call = world.enter();
    let data = STANDARD.encode(b"\x89PNG\r\n\x1a\n rest");
    let picture = json!({"type": "image", "mimeType": "image/gif", "data": data});
    let content = json!([{"type": "text", "text": "See:"}, picture]);
    let asked = params(&json!([{"role": "user", "content": content}]));
    let answer = world.ask(&call, LIMITS, asked).await.unwrap();
    assert_eq!(answer["content"]["text"], "See:\n[image: image/png, 13 bytes]");
    let requests = world.models.requests.lock();
    let Some(Message::User { images, .. }) = requests[0].messages.last() else { panic!() };
    assert_eq!(requests[0].images.keys().collect::<Vec<_>>(), images.iter().collect::<Vec<_>>());
}

#[tokio::test]
async fn sample_refuses_further_requests_while_others_wait_and_those_of_an_ended_call() {
    let world = World::new();
    let entered = world.enter();
    let (call, user) = (entered.call.clone(), params(&json!([says("user", "a")])));
    let spent = call.sampled_tokens.lock().await;
    let ask = || answer_sampling(&world.models, LIMITS, &call, user.clone());
    let (one, two, three) = (ask(), ask(), ask());
    let waiting = async { tokio::join!(one, two, three) };
    let rest = async {
        let error = ask().await.unwrap_err();
        assert_eq!(error, NoSample("a call may ask the model 3 times".to_owned()));
        drop(entered);
        drop(spent);
    };
    let ((one, two, three), ()) = tokio::join!(biased; waiting, rest);
    for refused in [one, two, three] {
        assert_eq!(refused.unwrap_err(), NoSample("the call has ended".to_owned()));
    }
    assert!(world.models.requests.lock().is_empty());
}
