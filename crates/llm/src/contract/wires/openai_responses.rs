//! OpenAI's Responses API.

use std::sync::Arc;

use avocet_protocol::model::{Model, Usage};
use avocet_testkit::ManualClock;
use avocet_testkit::openai::KEY;
use avocet_testkit::openai::responses::{MODEL, ResponsesFake, event, last_results, response};
use avocet_text::Secret;
use serde_json::{Value, json};

use crate::contract::server::{Answering, WireServer};
use crate::contract::{AnswerBit, ModelSetup, ProviderWire, StreamEnd, suite};
use crate::{OpenAi, OpenAiApi, OpenAiConfig};

struct ResponsesWire;

impl ProviderWire for ResponsesWire {
    const NAME: &'static str = "openai/gpt-5-test";
    const KEY: &'static str = KEY;
    const USAGE: Usage = Usage { input: 12, output: 3, cached: 4, cache_written: 0 };

    async fn start(answer: Answering, _: &ModelSetup) -> WireServer {
        let fake = ResponsesFake::start(answer).await;
        WireServer::new(
            fake,
            ResponsesFake::base_url,
            ResponsesFake::requests,
            ResponsesFake::refusals,
        )
    }

    fn create_model(
        base_url: String,
        setup: &ModelSetup,
        clock: Arc<ManualClock>,
    ) -> Arc<dyn Model> {
        let config = OpenAiConfig {
            base_url,
            api: OpenAiApi::Responses,
            api_key: Some(Secret::new(setup.key.to_owned()).into()),
            max_retries: setup.retries,
            first_token_seconds: setup.first_token_seconds,
            max_output_tokens: setup.max_output_tokens,
            images: Some(setup.images),
            ..OpenAiConfig::default()
        };
        Arc::new(OpenAi::new("openai", MODEL, &config, clock).unwrap())
    }

    fn greeting_events() -> Vec<String> {
        let started = response("in_progress", &[], &Value::Null);
        let message = json!({ "id": "msg_1", "type": "message", "content": [] });
        vec![
            event(&json!({ "type": "response.created", "response": started })),
            event(&json!({ "type": "response.output_item.added", "output_index": 1,
                "item": message })),
        ]
    }

    fn keep_alive_event() -> String {
        event(&json!({ "type": "keepalive", "sequence_number": 3 }))
    }

    fn answer_events(bits: &[AnswerBit<'_>], end: StreamEnd<'_>) -> Vec<String> {
        let mut events = Self::greeting_events();
        events.extend(bits.iter().map(|bit| event(&event_of_bit(bit))));
        let (status, kind) = match end {
            StreamEnd::Lost => return events,
            StreamEnd::Done => ("completed", "response.completed"),
            StreamEnd::Full | StreamEnd::Filtered => ("incomplete", "response.incomplete"),
            StreamEnd::Failed(..) => ("failed", "response.failed"),
        };
        let mut whole = response(status, &[], &Value::Null);
        match end {
            StreamEnd::Full => {
                whole["incomplete_details"] = json!({ "reason": "max_output_tokens" });
            }
            StreamEnd::Filtered => {
                whole["incomplete_details"] = json!({ "reason": "content_filter" });
            }
            StreamEnd::Failed(status, says) => {
                whole["error"] = Self::refusal_body(status, says)["error"].take();
            }
            StreamEnd::Done | StreamEnd::Lost => {}
        }
        events.push(event(&json!({ "type": kind, "response": whole })));
        events
    }

    fn whole_answer(text: &str, call: Option<(&str, Value)>, usage: Option<Usage>) -> Value {
        let part = json!({ "type": "output_text", "text": text });
        let mut output = vec![json!({ "type": "message", "role": "assistant", "content": [part] })];
        output.extend(call.map(|(name, arguments)| {
            json!({ "type": "function_call", "call_id": "a", "name": name,
                "arguments": arguments.to_string() })
        }));
        let usage = usage.map(|usage| {
            json!({ "input_tokens": usage.input, "output_tokens": usage.output,
                "input_tokens_details": { "cached_tokens": usage.cached } })
        });
        response("completed", &output, &json!(usage))
    }

    fn refusal_body(status: u16, says: &str) -> Value {
        let code = match status {
            402 => "insufficient_quota",
            413 => "context_length_exceeded",
            429 => "rate_limit_exceeded",
            500 => "server_error",
            503 | 529 => "server_is_overloaded",
            _ => "invalid_prompt",
        };
        json!({ "error": { "code": code, "message": says, "param": null } })
    }

    fn results_of(request: &Value) -> Vec<String> {
        last_results(request).into_iter().map(str::to_owned).collect()
    }
}

fn event_of_bit(bit: &AnswerBit<'_>) -> Value {
    let called = |number: &u64, id: Option<&str>, name: &str, arguments: Value| {
        json!({ "type": "response.output_item.added", "output_index": number + 2,
            "item": { "type": "function_call", "call_id": id, "name": name,
                "arguments": arguments } })
    };
    match bit {
        AnswerBit::Text(text) => {
            json!({ "type": "response.output_text.delta", "output_index": 1, "delta": text })
        }
        AnswerBit::Thought(text) => {
            json!({ "type": "response.reasoning_text.delta", "output_index": 0, "delta": text })
        }
        AnswerBit::Call(number, id, name) => called(number, *id, name, json!("")),
        AnswerBit::Arguments(number, text) => {
            json!({ "type": "response.function_call_arguments.delta",
                "output_index": number + 2, "delta": text })
        }
        AnswerBit::Whole(number, name, arguments) => {
            called(number, Some("a"), name, arguments.clone())
        }
    }
}

suite!(ResponsesWire);
