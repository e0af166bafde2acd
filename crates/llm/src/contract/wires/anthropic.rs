//! Anthropic's Messages API.

use std::sync::Arc;

use avocet_protocol::model::{Model, Usage};
use avocet_testkit::ManualClock;
use avocet_testkit::anthropic::{AnthropicFake, KEY, MODEL, event, last_results, signature};
use avocet_text::Secret;
use serde_json::{Value, json};

use crate::contract::server::{Answering, WireServer};
use crate::contract::{AnswerBit, ModelSetup, ProviderWire, StreamEnd, suite};
use crate::{AnthropicConfig, AnthropicModel};

struct AnthropicMessages;

impl ProviderWire for AnthropicMessages {
    const NAME: &'static str = "claude/claude-test-4-5";
    const KEY: &'static str = KEY;
    /// The input includes tokens read from the cache and written to it.
    const USAGE: Usage = Usage { input: 12, output: 3, cached: 3, cache_written: 4 };

    async fn start(answer: Answering, _: &ModelSetup) -> WireServer {
        let fake = AnthropicFake::start(answer).await;
        WireServer::new(
            fake,
            AnthropicFake::base_url,
            AnthropicFake::requests,
            AnthropicFake::refusals,
        )
    }

    fn create_model(
        base_url: String,
        setup: &ModelSetup,
        clock: Arc<ManualClock>,
    ) -> Arc<dyn Model> {
        let default = AnthropicConfig::default().max_output_tokens;
        let config = AnthropicConfig {
            base_url,
            api_key: Some(Secret::new(setup.key.to_owned()).into()),
            max_retries: setup.retries,
            first_token_seconds: setup.first_token_seconds,
            max_output_tokens: setup.max_output_tokens.unwrap_or(default),
            images: Some(setup.images),
            thinking_tokens: Some(1024),
            ..AnthropicConfig::default()
        };
        Arc::new(AnthropicModel::new("claude", MODEL, &config, clock))
    }

    fn greeting_events() -> Vec<String> {
        vec![event(&json!({ "type": "message_start", "message": {} }))]
    }

    fn keep_alive_event() -> String {
        event(&json!({ "type": "ping" }))
    }

    fn answer_events(bits: &[AnswerBit<'_>], end: StreamEnd<'_>) -> Vec<String> {
        let mut events = Self::greeting_events();
        let mut begun = Vec::new();
        for bit in bits {
            let (index, block, delta) = block_of_bit(bit);
            if !begun.contains(&index) {
                begun.push(index);
                let start = json!({ "type": "content_block_start", "index": index, "content_block": block });
                events.push(event(&start));
            }
            if let Some(delta) = delta {
                let delta =
                    json!({ "type": "content_block_delta", "index": index, "delta": delta });
                events.push(event(&delta));
            }
        }
        events.extend(ending_events(bits, end).iter().map(event));
        events
    }

    fn whole_answer(text: &str, call: Option<(&str, Value)>, usage: Option<Usage>) -> Value {
        let text = (!text.is_empty()).then(|| json!({ "type": "text", "text": text }));
        let call = call.map(|(name, input)| {
            json!({ "type": "tool_use", "id": "toolu_1", "name": name, "input": input })
        });
        let content: Vec<Value> = text.into_iter().chain(call).collect();
        let usage = usage.map_or(json!({}), |usage| {
            json!({ "input_tokens": usage.input - usage.cached,
                "cache_read_input_tokens": usage.cached, "output_tokens": usage.output })
        });
        json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL,
            "content": content, "stop_reason": "end_turn", "usage": usage })
    }

    fn refusal_body(status: u16, says: &str) -> Value {
        json!({ "type": "error", "error": { "type": kind(status), "message": says } })
    }

    fn results_of(request: &Value) -> Vec<String> {
        last_results(request).into_iter().map(str::to_owned).collect()
    }
}

/// The index of a block, its initial content, and the delta for this piece.
fn block_of_bit(bit: &AnswerBit<'_>) -> (u64, Value, Option<Value>) {
    let called = |id: Option<&str>, name: &str, input: Value| json!({ "type": "tool_use", "id": id, "name": name, "input": input });
    match bit {
        AnswerBit::Thought(text) => {
            let block = json!({ "type": "thinking", "thinking": "", "signature": signature(text) });
            (0, block, Some(json!({ "type": "thinking_delta", "thinking": text })))
        }
        AnswerBit::Text(text) => {
            let delta = json!({ "type": "text_delta", "text": text });
            (1, json!({ "type": "text", "text": "" }), Some(delta))
        }
        AnswerBit::Call(number, id, name) => (number + 2, called(*id, name, json!({})), None),
        AnswerBit::Arguments(number, text) => {
            let delta = json!({ "type": "input_json_delta", "partial_json": text });
            (number + 2, Value::Null, Some(delta))
        }
        AnswerBit::Whole(number, name, input) => {
            (number + 2, called(Some("a"), name, input.clone()), None)
        }
    }
}

fn ending_events(bits: &[AnswerBit<'_>], end: StreamEnd<'_>) -> Vec<Value> {
    let calls = bits.iter().any(|bit| matches!(bit, AnswerBit::Call(..) | AnswerBit::Whole(..)));
    let stop = match end {
        StreamEnd::Done if calls => "tool_use",
        StreamEnd::Done => "end_turn",
        StreamEnd::Full => "max_tokens",
        StreamEnd::Filtered => "refusal",
        StreamEnd::Lost => return Vec::new(),
        StreamEnd::Failed(status, says) => {
            return vec![AnthropicMessages::refusal_body(status, says)];
        }
    };
    let delta = json!({ "stop_reason": stop, "stop_sequence": null });
    vec![json!({ "type": "message_delta", "delta": delta }), json!({ "type": "message_stop" })]
}

/// The error type for a status (Anthropic API reference, "Errors").
fn kind(status: u16) -> &'static str {
    match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        408 => "timeout_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    }
}

suite!(AnthropicMessages);
