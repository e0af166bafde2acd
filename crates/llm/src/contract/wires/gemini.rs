//! Google's Gemini. It sends complete calls: pieces are joined before they are sent.

use std::sync::Arc;

use avocet_protocol::model::{Model, Usage};
use avocet_testkit::ManualClock;
use avocet_testkit::gemini::{GeminiFake, KEY, MODEL, event, last_results};
use avocet_text::Secret;
use serde_json::{Map, Value, json};

use crate::contract::server::{Answering, WireServer};
use crate::contract::{AnswerBit, ModelSetup, ProviderWire, StreamEnd, given_arguments, suite};
use crate::{GeminiConfig, GeminiModel};

struct GenerateWire;

impl ProviderWire for GenerateWire {
    const NAME: &'static str = "google/gemini-3-test";
    const KEY: &'static str = KEY;
    /// The output includes reasoning.
    const USAGE: Usage = Usage { input: 12, output: 8, cached: 4, cache_written: 0 };

    async fn start(answer: Answering, _: &ModelSetup) -> WireServer {
        let fake = GeminiFake::start(answer).await;
        WireServer::new(fake, GeminiFake::base_url, GeminiFake::requests, GeminiFake::refusals)
    }

    fn create_model(
        base_url: String,
        setup: &ModelSetup,
        clock: Arc<ManualClock>,
    ) -> Arc<dyn Model> {
        let config = GeminiConfig {
            base_url,
            api_key: Some(Secret::new(setup.key.to_owned()).into()),
            max_retries: setup.retries,
            first_token_seconds: setup.first_token_seconds,
            max_output_tokens: setup.max_output_tokens,
            images: Some(setup.images),
            ..GeminiConfig::default()
        };
        Arc::new(GeminiModel::new("google", MODEL, &config, clock))
    }

    fn greeting_events() -> Vec<String> {
        vec![event(&answer_chunk(&[json!({ "text": "" })], None))]
    }

    fn keep_alive_event() -> String {
        ": alive\r\n\r\n".to_owned()
    }

    fn answer_events(bits: &[AnswerBit<'_>], end: StreamEnd<'_>) -> Vec<String> {
        let mut events = Self::greeting_events();
        let parts = bits.iter().filter_map(|bit| part_of_bit(bit, bits));
        events.extend(parts.map(|part| event(&answer_chunk(&[part], None))));
        events.extend(match end {
            StreamEnd::Done => Some(event(&answer_chunk(&[], Some("STOP")))),
            StreamEnd::Full => Some(event(&answer_chunk(&[], Some("MAX_TOKENS")))),
            StreamEnd::Filtered => Some(event(&answer_chunk(&[], Some("SAFETY")))),
            StreamEnd::Lost => None,
            StreamEnd::Failed(status, says) => Some(event(&Self::refusal_body(status, says))),
        });
        events
    }

    fn whole_answer(text: &str, call: Option<(&str, Value)>, usage: Option<Usage>) -> Value {
        let text = (!text.is_empty()).then(|| json!({ "text": text }));
        let call = call.map(
            |(name, arguments)| json!({ "functionCall": { "name": name, "args": arguments } }),
        );
        let parts: Vec<Value> = text.into_iter().chain(call).collect();
        let mut whole = answer_chunk(&parts, Some("STOP"));
        if let Some(usage) = usage {
            whole["usageMetadata"] = json!({ "promptTokenCount": usage.input,
                "candidatesTokenCount": usage.output, "cachedContentTokenCount": usage.cached });
        }
        whole
    }

    fn refusal_body(status: u16, says: &str) -> Value {
        json!({ "error": { "code": status, "message": says, "status": name(status) } })
    }

    fn results_of(request: &Value) -> Vec<String> {
        last_results(request).into_iter().map(result_text).collect()
    }
}

fn answer_chunk(parts: &[Value], finish: Option<&str>) -> Value {
    let content = json!({ "parts": parts, "role": "model" });
    json!({ "candidates": [{ "content": content, "finishReason": finish, "index": 0 }],
        "modelVersion": MODEL, "responseId": "r1" })
}

/// The part for a piece; `None` if the piece was sent with its call.
fn part_of_bit(bit: &AnswerBit<'_>, bits: &[AnswerBit<'_>]) -> Option<Value> {
    let called = |id: Option<&str>, name: &str, args: Option<Value>| {
        let id = id.map(|id| ("id".to_owned(), json!(id)));
        let args = args.map(|args| ("args".to_owned(), args));
        let call: Map<String, Value> =
            [("name".to_owned(), json!(name))].into_iter().chain(id).chain(args).collect();
        json!({ "functionCall": call })
    };
    match bit {
        AnswerBit::Text(text) => Some(json!({ "text": text })),
        AnswerBit::Thought(text) => Some(json!({ "text": text, "thought": true })),
        AnswerBit::Call(number, id, name) => {
            Some(called(*id, name, given_arguments(*number, bits)))
        }
        AnswerBit::Arguments(..) => None,
        AnswerBit::Whole(_, name, arguments) => Some(called(None, name, Some(arguments.clone()))),
    }
}

/// The text of a result. Other values than objects are wrapped in one.
fn result_text(response: &Value) -> String {
    match response.get("result").unwrap_or(response) {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The error name for a status (Google API design, "Error codes").
fn name(status: u16) -> &'static str {
    match status {
        400 | 413 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        500 => "INTERNAL",
        503 => "UNAVAILABLE",
        _ => "UNKNOWN",
    }
}

suite!(GenerateWire);
