//! OpenAI's chat completions.

use std::sync::Arc;

use avocet_protocol::{Model, Secret, Usage};
use avocet_testkit::ManualClock;
use avocet_testkit::openai::{KEY, OpenAiFake, delta_event, event, last_results};
use serde_json::{Value, json};

use crate::contract::server::{Answering, Server};
use crate::contract::{Bit, Setup, StreamEnd, Wire, suite};
use crate::{OpenAi, OpenAiConfig};

struct OpenAiChat;

impl Wire for OpenAiChat {
    const NAME: &'static str = "local/qwen3";
    const KEY: &'static str = KEY;
    const USAGE: Usage = Usage { input: 12, output: 3, cached: 0, cache_written: 0 };
    async fn start(answer: Answering, _: &Setup) -> Server {
        let fake = OpenAiFake::start_with_eyes(answer).await;
        Server::new(fake, OpenAiFake::base_url, OpenAiFake::requests, OpenAiFake::refusals)
    }

    fn model(base_url: String, setup: &Setup, clock: Arc<ManualClock>) -> Arc<dyn Model> {
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

    fn greeting() -> Vec<String> {
        vec![delta_event(&json!({ "role": "assistant", "content": "" }), None)]
    }

    fn alive() -> String {
        ": PROCESSING\n\n".to_owned()
    }

    fn events(bits: &[Bit<'_>], end: StreamEnd<'_>) -> Vec<String> {
        let mut events = Self::greeting();
        events.extend(bits.iter().map(|bit| delta_event(&delta(bit), None)));
        let calls = bits.iter().any(|bit| matches!(bit, Bit::Call(..) | Bit::Whole(..)));
        let finish = match end {
            StreamEnd::Done if calls => "tool_calls",
            StreamEnd::Done => "stop",
            StreamEnd::Full => "length",
            StreamEnd::Filtered => "content_filter",
            StreamEnd::Lost => return events,
            StreamEnd::Failed(status, says) => {
                events.push(event(&Self::refusal(status, says).to_string()));
                return events;
            }
        };
        events.extend([delta_event(&json!({}), Some(finish)), event("[DONE]")]);
        events
    }

    fn whole(text: &str, call: Option<(&str, Value)>, usage: Option<Usage>) -> Value {
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
    fn refusal(status: u16, says: &str) -> Value {
        json!({ "error": { "message": says, "code": status } })
    }

    fn results(request: &Value) -> Vec<String> {
        last_results(request).into_iter().map(str::to_owned).collect()
    }
}

fn delta(bit: &Bit<'_>) -> Value {
    let call = match bit {
        Bit::Text(text) => return json!({ "content": text }),
        Bit::Thought(text) => return json!({ "reasoning_content": text }),
        Bit::Call(number, id, name) => {
            let function = json!({ "name": name, "arguments": "" });
            json!({ "index": number, "id": id, "type": "function", "function": function })
        }
        Bit::Arguments(number, text) => {
            json!({ "index": number, "function": { "arguments": text } })
        }
        Bit::Whole(number, name, arguments) => {
            let function = json!({ "name": name, "arguments": arguments });
            json!({ "index": number, "id": "a", "function": function })
        }
    };
    json!({ "tool_calls": [call] })
}

suite!(OpenAiChat);
