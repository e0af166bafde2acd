//! The example of the book, with its fake.

use std::sync::Arc;

use avocet_protocol::model::{Model, Usage};
use avocet_testkit::http::{HttpFake, HttpRequest, Piece, whole};
use avocet_testkit::{ManualClock, ModelAnswer};
use avocet_text::Secret;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::SourcedFacts;
use crate::acme::AcmeConfig;
use crate::contract::server::{Answering, WireServer};
use crate::contract::{
    AnswerBit, ModelSetup, ProviderWire, StreamEnd, WireAbility, given_arguments, suite, wire_head,
};
use crate::testing::serve_model;

struct AcmeLines;

/// Acme's API on loopback.
struct AcmeFake {
    server: HttpFake,
    requests: Arc<Mutex<Vec<Value>>>,
    refusals: Arc<Mutex<Vec<String>>>,
}

impl AcmeFake {
    async fn start(answer: Answering) -> Self {
        let (requests, refusals) = <(Arc<Mutex<Vec<_>>>, Arc<Mutex<Vec<_>>>)>::default();
        let (accepted, refused) = (requests.clone(), refusals.clone());
        let server = HttpFake::start(move |request| match check_request(&request) {
            Ok(body) => {
                accepted.lock().push(body.clone());
                answer_pieces(answer(&body))
            }
            Err((status, says)) => {
                refused.lock().push(says.to_owned());
                let body = AcmeLines::refusal_body(status, says).to_string();
                whole(status, &[("content-type", "application/json")], &body)
            }
        });
        Self { server: server.await, requests, refusals }
    }
}

/// Checks a request as the API does.
fn check_request(request: &HttpRequest) -> Result<Value, (u16, &'static str)> {
    if (request.method.as_str(), request.path.as_str()) != ("POST", "/answer") {
        return Err((404, "there is no such page"));
    }
    if request.header("x-api-key") != Some(AcmeLines::KEY) {
        return Err((401, "the key is wrong"));
    }
    let body: Value =
        serde_json::from_slice(&request.body).map_err(|_| (400, "the body is no JSON"))?;
    if body["model"] != "roadrunner" || !body["messages"].is_array() {
        return Err((400, "the model or the messages are missing"));
    }
    Ok(body)
}

/// The answer of the fake, as bytes.
fn answer_pieces(answer: ModelAnswer) -> Vec<Piece> {
    let words = |text: &str| text.split_inclusive(' ').map(str::to_owned).collect::<Vec<_>>();
    let (mut thoughts, mut answer) = (Vec::new(), answer);
    if let ModelAnswer::Thinks(text, then) = answer {
        (thoughts, answer) = (words(&text), *then);
    }
    let (texts, calls) = match answer {
        ModelAnswer::Says(text) => (words(&text), Vec::new()),
        ModelAnswer::Calls(calls) => (Vec::new(), calls),
        ModelAnswer::Events(lines) => return stream_pieces(&lines),
        ModelAnswer::Raw(pieces) => return pieces,
        ModelAnswer::Status(status, headers, body) => {
            let headers: Vec<(&str, &str)> =
                headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            return whole(status, &headers, &body);
        }
        other => panic!("the suite has no case with {other:?}"),
    };
    let mut bits: Vec<AnswerBit<'_>> =
        thoughts.iter().map(|text| AnswerBit::Thought(text)).collect();
    bits.extend(texts.iter().map(|text| AnswerBit::Text(text)));
    let calls = (0..).zip(&calls);
    bits.extend(calls.map(|(number, (name, given))| AnswerBit::Whole(number, name, given.clone())));
    let mut lines = AcmeLines::answer_events(&bits, StreamEnd::Lost);
    lines.push(json_line(&json!({ "end": "complete", "input_tokens": 12, "output_tokens": 3 })));
    stream_pieces(&lines)
}

fn stream_pieces(lines: &[String]) -> Vec<Piece> {
    let mut pieces = vec![wire_head::<AcmeLines>()];
    pieces.extend(lines.iter().map(|line| Piece::chunk(line.as_bytes())));
    pieces.push(Piece::end());
    pieces
}

impl ProviderWire for AcmeLines {
    const NAME: &'static str = "acme/roadrunner";
    const KEY: &'static str = "acme-test-1234567890";
    const USAGE: Usage = Usage { input: 12, output: 3, cached: 0, cache_written: 0 };
    const MEDIA_TYPE: &'static str = "application/x-ndjson";
    const CANNOT: &'static [WireAbility] = &[
        WireAbility::AnswerSchema,
        WireAbility::CountedCache,
        WireAbility::Filters,
        WireAbility::KeptThoughts,
        WireAbility::ShownThoughts,
    ];

    async fn start(answer: Answering, _: &ModelSetup) -> WireServer {
        let base_url = |fake: &AcmeFake| format!("http://{}", fake.server.address());
        let requests = |fake: &AcmeFake| fake.requests.lock().clone();
        let refusals = |fake: &AcmeFake| fake.refusals.lock().clone();
        WireServer::new(AcmeFake::start(answer).await, base_url, requests, refusals)
    }

    fn create_model(
        base_url: String,
        setup: &ModelSetup,
        clock: Arc<ManualClock>,
    ) -> Arc<dyn Model> {
        let config = AcmeConfig {
            base_url,
            api_key: Some(Secret::new(setup.key.to_owned()).into()),
            first_token_seconds: setup.first_token_seconds,
            max_retries: setup.retries,
            max_output_tokens: setup.max_output_tokens,
            images: setup.images,
        };
        serve_model(config, Self::NAME, SourcedFacts::default(), clock)
    }

    fn greeting_events() -> Vec<String> {
        vec![json_line(&json!({ "thought": "" }))]
    }

    fn keep_alive_event() -> String {
        "\n".to_owned()
    }

    fn answer_events(bits: &[AnswerBit<'_>], end: StreamEnd<'_>) -> Vec<String> {
        let mut lines = Self::greeting_events();
        lines.extend(
            bits.iter().filter_map(|bit| line_of_bit(bit, bits)).map(|bit| json_line(&bit)),
        );
        lines.extend(match end {
            StreamEnd::Done => Some(json_line(&json!({ "end": "complete" }))),
            StreamEnd::Full => Some(json_line(&json!({ "end": "truncated" }))),
            StreamEnd::Filtered | StreamEnd::Lost => None,
            StreamEnd::Failed(status, says) => Some(json_line(&Self::refusal_body(status, says))),
        });
        lines
    }

    fn whole_answer(text: &str, call: Option<(&str, Value)>, usage: Option<Usage>) -> Value {
        let usage = usage.unwrap_or_default();
        let call = call.map(|(tool, given)| json!({ "tool": tool, "arguments": given }));
        json!({ "text": text, "call": call, "end": "complete", "input_tokens": usage.input,
            "output_tokens": usage.output })
    }

    fn refusal_body(status: u16, says: &str) -> Value {
        json!({ "error": { "status": status, "message": says } })
    }

    fn results_of(request: &Value) -> Vec<String> {
        let messages = request["messages"].as_array().unwrap().iter();
        let results = messages.filter(|message| message["from"] == "tool");
        results.map(|message| message["text"].as_str().unwrap().to_owned()).collect()
    }
}

fn json_line(line: &Value) -> String {
    format!("{line}\n")
}

/// The line for a piece; `None` if the piece was sent with its call.
fn line_of_bit(bit: &AnswerBit<'_>, bits: &[AnswerBit<'_>]) -> Option<Value> {
    let called =
        |tool: &str, arguments: Value| json!({ "call": { "tool": tool, "arguments": arguments } });
    match bit {
        AnswerBit::Text(text) => Some(json!({ "text": text })),
        AnswerBit::Thought(text) => Some(json!({ "thought": text })),
        AnswerBit::Call(number, _, name) => {
            Some(called(name, given_arguments(*number, bits).unwrap_or_default()))
        }
        AnswerBit::Arguments(..) => None,
        AnswerBit::Whole(_, name, arguments) => Some(called(name, arguments.clone())),
    }
}

suite!(AcmeLines);
