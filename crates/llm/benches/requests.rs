//! Measures the time to write a request, by provider and number of messages. Prints figures only.
//! Run with `cargo bench -p avocet-llm --bench requests`.

use std::collections::BTreeMap;
use std::sync::Arc;

use avocet_llm::benching::WritesRequests;
use avocet_llm::{
    AnthropicConfig, AnthropicModel, GeminiConfig, GeminiModel, OpenAi, OpenAiApi, OpenAiConfig,
};
use avocet_protocol::model::{Message, ModelRequest, SentCall};
use avocet_protocol::tool::ToolSpec;
use avocet_testkit::ManualClock;
use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use serde_json::{Map, json};

fn main() {
    divan::main();
}

/// Messages of a request.
const MESSAGES: [usize; 3] = [10, 100, 1000];

#[divan::bench(args = MESSAGES)]
fn openai_chat(bencher: Bencher<'_, '_>, messages: usize) {
    write(bencher, &open_ai(OpenAiApi::Chat), messages);
}

#[divan::bench(args = MESSAGES)]
fn openai_responses(bencher: Bencher<'_, '_>, messages: usize) {
    write(bencher, &open_ai(OpenAiApi::Responses), messages);
}

#[divan::bench(args = MESSAGES)]
fn anthropic(bencher: Bencher<'_, '_>, messages: usize) {
    let clock = Arc::new(ManualClock::default());
    let model = AnthropicModel::new("test", "model", &AnthropicConfig::default(), clock);
    write(bencher, &model, messages);
}

#[divan::bench(args = MESSAGES)]
fn gemini(bencher: Bencher<'_, '_>, messages: usize) {
    let clock = Arc::new(ManualClock::default());
    let model = GeminiModel::new("test", "model", &GeminiConfig::default(), clock);
    write(bencher, &model, messages);
}

fn open_ai(api: OpenAiApi) -> OpenAi {
    let config = OpenAiConfig { api, ..OpenAiConfig::default() };
    let clock = Arc::new(ManualClock::default());
    OpenAi::new("test", "model", &config, clock).expect("a model")
}

fn write(bencher: Bencher<'_, '_>, model: &dyn WritesRequests, messages: usize) {
    let request = request(messages);
    let bytes = model.write_request(&request).expect("a request").len();
    let bencher = bencher.counter(BytesCount::new(bytes));
    bencher.bench_local(|| model.write_request(black_box(&request)));
}

/// A conversation that reads a file in every other turn.
fn request(messages: usize) -> ModelRequest {
    let turn = |number: usize| {
        let id = format!("t{number}s0c0");
        let arguments = Map::from_iter([("path".to_owned(), json!("src/main.rs"))]);
        let call = SentCall { id: id.clone(), name: "read_file".to_owned(), arguments };
        let result = "fn main() {\n    println!(\"é\");\n}\n".repeat(10);
        [
            Message::user("What does \"main\" do?"),
            Message::assistant("Let me see.", vec![call]),
            Message::ToolResult { call: id, ok: true, result },
            Message::assistant("It prints an accented letter.\n".repeat(5), Vec::new()),
        ]
    };
    let system = Message::System { text: "Be kind. ".repeat(200) };
    let turns = (0..).flat_map(turn);
    ModelRequest {
        messages: [system].into_iter().chain(turns).take(messages).collect(),
        tools: (0..20).map(tool).collect(),
        deferred: [].into(),
        images: BTreeMap::new(),
        ..ModelRequest::default()
    }
}

fn tool(number: usize) -> ToolSpec {
    ToolSpec {
        name: if number == 0 { "read_file".to_owned() } else { format!("tool_{number}") },
        aliases: Vec::new(),
        group: String::new(),
        description: "Read a text file of the workspace. ".repeat(5),
        parameters: json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "Where.", "x-aliases": ["file"] },
                "lines": { "type": "integer", "minimum": 1, "description": "How many." },
            },
            "required": ["path"],
        }),
    }
}
