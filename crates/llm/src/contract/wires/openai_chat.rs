//! OpenAI's chat completions.

use std::sync::Arc;

use avocet_protocol::model::{Model, Usage};
use avocet_testkit::ManualClock;
use avocet_testkit::openai::{KEY, OpenAiFake, delta_event, event, last_results};
use avocet_text::Secret;
use serde_json::{Value, json};

use crate::contract::server::{Answering, WireServer};
use crate::contract::{AnswerBit, ModelSetup, ProviderWire, StreamEnd, suite};
use crate::{OpenAi, OpenAiConfig};

struct OpenAiChat;

impl ProviderWire for OpenAiChat {
    const NAME: &'static str = "local/qwen3";
    const KEY: &'static str = KEY;
    const USAGE: Usage = Usage { input: 12, output: 3, cached: 0, cache_written: 0 };
    async fn start(answer: Answering, _: &ModelSetup) -> WireServer {
        let fake = OpenAiFake::start_with_eyes(answer).await;
        WireServer::new(fake, OpenAiFake::base_url, OpenAiFake::requests, OpenAiFake::refusals)
    }

    fn create_model(
        base_url: String,
        setup: &ModelSetup,
        clock: Arc<ManualClock>,
    ) -> Arc<dyn Model> {
        let config = OpenAiConfig {
            base_url,
            api_key: Some(Secret::new(setup.key.to_owned()).into()),
            max_retries: setup.retries,
            first_token_seconds: setup.first_token_seconds,
            max_output_tokens: setup.max_output_tokens,
            images: Some(setup.images),
            ..OpenAiConfig::default()
        };
        Arc::new(OpenAi::new("local", "qwen3", &config, clock).unwrap())
    }

    fn greeting_events() -> Vec<String> {
        vec![delta_event(&json!({ "role": "assistant", "content": "" }), None)]
    }

    fn keep_alive_event() -> String {
        ": PROCESSING\n\n".to_owned()
    }

    fn answer_events(bits: &[AnswerBit<'_>], end: StreamEnd<'_>) -> Vec<String> {
        let mut events = Self::greeting_events();
        events.extend(bits.iter().map(|bit| delta_event(&delta_of_bit(bit), None)));
        let calls =
            bits.iter().any(|bit| matches!(bit, AnswerBit::Call(..) | AnswerBit::Whole(..)));
        let finish = match end {
            StreamEnd::Done if calls => "tool_calls",
            StreamEnd::Done => "stop",
            StreamEnd::Full => "length",
            StreamEnd::Filtered => "content_filter",
            StreamEnd::Lost => return events,
            StreamEnd::Failed(status, says) => {
                events.push(event(&Self::refusal_body(status, says).to_string()));
                return events;
            }
        };
        events.extend([delta_event(&json!({}), Some(finish)), event("[DONE]")]);
        events
    }

    fn whole_answer(text: &str, call: Option<(&str, Value)>, usage: Option<Usage>) -> Value {
        let calls = call.map(|(name, arguments)| {
            let function = json!({ "name": name, "arguments": arguments.to_string() });
            json!([{ "id": "a", "type": "function", "function": function }])
        });
        let message = json!({ "role": "assistant", "content": text, "tool_calls": calls });
        let usage = usage.map(|usage| {
            json!({ "prompt_tokens": usage.input, "completion_tokens": usage.output,
                "prompt_tokens_details": { "cached_tokens": usage.cached } })
        });
        json!({ "usage": usage, "choices":
            [{ "index": 0, "message": message, "finish_reason": "stop" }] })
    }

    /// OpenRouter's format: the code is a number. In the middle of a stream it is the only hint.
    fn refusal_body(status: u16, says: &str) -> Value {
        json!({ "error": { "message": says, "code": status } })
    }

    fn results_of(request: &Value) -> Vec<String> {
        last_results(request).into_iter().map(str::to_owned).collect()
    }
}

fn delta_of_bit(bit: &AnswerBit<'_>) -> Value {
    let call = match bit {
        AnswerBit::Text(text) => return json!({ "content": text }),
        AnswerBit::Thought(text) => return json!({ "reasoning_content": text }),
        AnswerBit::Call(number, id, name) => {
            let function = json!({ "name": name, "arguments": "" });
            json!({ "index": number, "id": id, "type": "function", "function": function })
        }
        AnswerBit::Arguments(number, text) => {
            json!({ "index": number, "function": { "arguments": text } })
        }
        AnswerBit::Whole(number, name, arguments) => {
            let function = json!({ "name": name, "arguments": arguments });
            json!({ "index": number, "id": "a", "function": function })
        }
    };
    json!({ "tool_calls": [call] })
}

suite!(OpenAiChat);
