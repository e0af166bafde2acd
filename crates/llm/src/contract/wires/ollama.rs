//! Ollama's own API, in the hosted version that requires a key. It sends complete calls: pieces are
//! joined before they are sent.

use std::sync::Arc;

use avocet_protocol::model::{Model, Usage};
use avocet_testkit::ManualClock;
use avocet_testkit::ollama::{Card, KEY, MODEL, OllamaFake, last_results, line};
use avocet_text::Secret;
use serde_json::{Map, Value, json};

use crate::contract::server::{Answering, WireServer};
use crate::contract::{
    AnswerBit, ModelSetup, ProviderWire, StreamEnd, WireAbility, given_arguments, suite,
};
use crate::{OllamaConfig, OllamaModel};

struct OllamaChat;

impl ProviderWire for OllamaChat {
    const NAME: &'static str = "home/qwen-test:8b";
    const KEY: &'static str = KEY;
    const USAGE: Usage = Usage { input: 12, output: 3, cached: 0, cache_written: 0 };
    const MEDIA_TYPE: &'static str = "application/x-ndjson";
    const CANNOT: &'static [WireAbility] =
        &[WireAbility::CountedCache, WireAbility::Filters, WireAbility::LateStatus];

    /// The card of the fake, instead of the configuration, decides if the model sees pictures.
    async fn start(answer: Answering, setup: &ModelSetup) -> WireServer {
        let eyes = setup.images.then_some("vision");
        let able = ["completion", "tools", "thinking"].into_iter().chain(eyes).collect();
        let card = Card { capabilities: Some(able), key: Some(KEY), ..Card::default() };
        let fake = OllamaFake::start_as(card, answer).await;
        WireServer::new(fake, OllamaFake::base_url, OllamaFake::requests, OllamaFake::refusals)
    }

    fn create_model(
        base_url: String,
        setup: &ModelSetup,
        clock: Arc<ManualClock>,
    ) -> Arc<dyn Model> {
        let config = OllamaConfig {
            base_url,
            api_key: Some(Secret::new(setup.key.to_owned()).into()),
            max_retries: setup.retries,
            first_token_seconds: setup.first_token_seconds,
            max_output_tokens: setup.max_output_tokens,
            ..OllamaConfig::default()
        };
        Arc::new(OllamaModel::new("home", MODEL, &config, clock))
    }

    fn greeting_events() -> Vec<String> {
        vec![line(&message_of_bit(&AnswerBit::Text(""), &[]).unwrap_or_default())]
    }

    fn keep_alive_event() -> String {
        "\n".to_owned()
    }

    fn answer_events(bits: &[AnswerBit<'_>], end: StreamEnd<'_>) -> Vec<String> {
        let mut lines = Self::greeting_events();
        lines.extend(
            bits.iter().filter_map(|bit| message_of_bit(bit, bits)).map(|said| line(&said)),
        );
        lines.extend(match end {
            StreamEnd::Done => Some(line(&done_line("stop"))),
            StreamEnd::Full => Some(line(&done_line("length"))),
            StreamEnd::Filtered | StreamEnd::Lost => None,
            StreamEnd::Failed(_, says) => Some(line(&json!({ "error": says }))),
        });
        lines
    }

    fn whole_answer(text: &str, call: Option<(&str, Value)>, usage: Option<Usage>) -> Value {
        let call = call.map(
            |(name, arguments)| json!([{ "function": { "name": name, "arguments": arguments } }]),
        );
        let mut whole = done_line("stop");
        whole["message"] = json!({ "role": "assistant", "content": text, "tool_calls": call });
        if let Some(usage) = usage {
            whole["prompt_eval_count"] = json!(usage.input);
            whole["eval_count"] = json!(usage.output);
        }
        whole
    }

    fn refusal_body(_: u16, says: &str) -> Value {
        json!({ "error": says })
    }

    fn results_of(request: &Value) -> Vec<String> {
        last_results(request).into_iter().map(str::to_owned).collect()
    }
}

/// The message for a piece; `None` if the piece was sent with its call.
fn message_of_bit(bit: &AnswerBit<'_>, bits: &[AnswerBit<'_>]) -> Option<Value> {
    let called = |id: Option<&str>, name: &str, arguments: Option<Value>| {
        let arguments = arguments.map(|arguments| ("arguments".to_owned(), arguments));
        let function: Map<String, Value> =
            [("name".to_owned(), json!(name))].into_iter().chain(arguments).collect();
        json!({ "content": "", "tool_calls": [{ "id": id, "function": function }] })
    };
    let mut message = match bit {
        AnswerBit::Text(text) => json!({ "content": text }),
        AnswerBit::Thought(text) => json!({ "content": "", "thinking": text }),
        AnswerBit::Call(number, id, name) => called(*id, name, given_arguments(*number, bits)),
        AnswerBit::Arguments(..) => return None,
        AnswerBit::Whole(_, name, arguments) => called(Some("a"), name, Some(arguments.clone())),
    };
    message["role"] = json!("assistant");
    Some(json!({ "model": MODEL, "message": message, "done": false }))
}

fn done_line(reason: &str) -> Value {
    json!({ "model": MODEL, "message": { "role": "assistant", "content": "" }, "done": true,
        "done_reason": reason })
}

suite!(OllamaChat);
