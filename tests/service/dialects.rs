//! Tests of models that write tool calls as text: the tools run, and chats never see the calls.

use std::fs;

use avocet_testkit::http::Piece;
use avocet_testkit::ollama::{self, OllamaFake};
use avocet_testkit::openai::{
    ModelAnswer, OpenAiFake, delta_event, event, last_results, last_user_text,
};
use avocet_testkit::telegram::{SentMessage, TelegramFake};
use avocet_tests::{Home, program};
use serde_json::{Value, json};

use crate::chat::AttachedChat;
use crate::model::first_and_then;
use crate::patience::{stop, with_timeout};
use crate::telegram::{ANN, TOKEN, home};

const ANSWER: &str = "It is written.";

/// A call, with text before it and an invented result behind it.
const CALL: &str = "One moment.\n\n```json\n{\"tool\": \"write_file\", \"params\": \
    {\"path\": \"notes/a.txt\", \"content\": \"hello\"}}\n```\n\nResult: written 5 bytes.\n\nDone!";

/// Parts of the call and of the text behind it, which no chat may see.
const MARKS: [&str; 5] = ["```", "tool", "params", "Result", "Done"];

/// Returns the requests to a model that writes a call as text, and then answers. Its provider's
/// table contains `lines`.
async fn asked_to_write(lines: &str) -> Vec<Value> {
    let platform = TelegramFake::start(TOKEN).await;
    let model = written_call().await;
    let home = home(&platform, &model);
    let config = fs::read_to_string(home.path(".config/avocet/config.toml")).unwrap();
    let provider = format!("[providers.fake]\n{lines}\n");
    let home = home.with_config(&config.replace("[providers.fake]\n", &provider));
    let daemon = home.daemon();
    platform.private_text(ANN, "Write hello into notes/a.txt, please.");
    let answered = |sent: &[SentMessage]| sent.iter().any(|one| one.text == ANSWER);
    with_timeout("the answer", platform.wait_for(answered)).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!(fs::read_to_string(home.workspace().join("notes/a.txt")).unwrap(), "hello");
    for call in ["sendMessage", "editMessageText"].iter().flat_map(|it| platform.requests(it)) {
        let said = format!("{call:?}");
        assert!(!MARKS.iter().any(|mark| said.contains(mark)), "{said}");
    }
    assert_eq!((platform.refusals(), model.refusals()), (vec![], vec![]));
    model.requests()
}

async fn written_call() -> OpenAiFake {
    first_and_then(|_| ModelAnswer::says(CALL), |_| ModelAnswer::says(ANSWER)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f7_dialect_json_runs_tools_and_shows_no_markup() {
    let requests = asked_to_write("tools = \"json\"").await;
    for request in &requests {
        assert!(request["tools"].is_null(), "{request}");
        let system = request["messages"][0]["content"].as_str().unwrap();
        assert!(system.contains("## write_file") && system.contains("```json"), "{system}");
    }
    let messages = requests[1]["messages"].as_array().unwrap();
    let said = |place: usize| messages[place]["content"].as_str().unwrap();
    assert!(
        said(2).starts_with("One moment.\n\n```json\n{\"tool\": \"write_file\""),
        "{}",
        said(2)
    );
    assert!(said(3).starts_with("write_file succeeded:\n"), "{}", said(3));
    assert_eq!(messages.len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f7_dialect_native_with_text_calls_runs_tools_and_shows_no_markup() {
    let requests = asked_to_write("tools = \"native\"\ntext_calls = \"run\"").await;
    assert!(requests.iter().all(|request| request["tools"].is_array()));
    let called = &requests[1]["messages"][2]["tool_calls"][0]["function"]["name"];
    assert_eq!(called, "write_file");
}

/// Calls of `read_file` in the formats of families, with text before them.
const WRITTEN: [(&str, &str); 3] = [
    (
        "deepseek",
        "I look it up.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>\
         {\"path\": \"a\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        "glm",
        "I look it up.\n<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n\
         </tool_call>",
    ),
    (
        "qwen",
        "I look it up.\n\n<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n\
         </function>\n</tool_call>",
    ),
];

/// Parts of the calls that no chat may see.
const WRITTEN_MARKS: [&str; 5] = ["tool", "<", "arg_", "parameter", "read_file"];

/// Returns an answer whose body arrives byte by byte.
fn in_bytes(media_type: &str, events: &[String]) -> ModelAnswer {
    let mut pieces = vec![Piece::head(200, &[("content-type", media_type)])];
    pieces.extend(events.concat().as_bytes().chunks(1).map(Piece::chunk));
    pieces.push(Piece::end());
    ModelAnswer::Raw(pieces)
}

/// Returns the events of OpenAI's API, with a delta for each character.
fn openai_events(text: &str) -> Vec<String> {
    let delta = |letter: char| delta_event(&json!({ "content": letter }), None);
    let end = [delta_event(&json!({}), Some("stop")), event("[DONE]")];
    text.chars().map(delta).chain(end).collect()
}

/// Returns the lines of Ollama's API, with one for each character.
fn ollama_lines(text: &str) -> Vec<String> {
    let line = |content: &str, is_done: bool| {
        ollama::line(&json!({
            "model": ollama::MODEL, "created_at": "2026-01-01T00:00:00Z",
            "message": { "role": "assistant", "content": content }, "done": is_done,
        }))
    };
    let letters = text.chars().map(|letter| line(&letter.to_string(), false));
    letters.chain([line("", true)]).collect()
}

/// Returns the text that a request to read with a family asks for: `deepseek in bytes`.
fn asked_for(text: &str) -> (&'static str, bool) {
    let found = WRITTEN.iter().find(|(family, _)| text.starts_with(family)).unwrap();
    (found.1, text.ends_with("in bytes"))
}

/// Starts a daemon with a provider of this kind, and asks for a call in each format, in words and
/// in single bytes.
async fn reads_each_format(kind: &str, base_url: &str, model: &str) {
    let config = format!(
        "[providers.fake]\nkind = \"{kind}\"\nbase_url = \"{base_url}\"\nmax_retries = 0\n\
         tools = \"auto\"\n[agents.defaults]\nmodel = \"fake/{model}\"\n\
         [models.\"fake/*\"]\ncontext = 60_000\n"
    );
    let home = Home::new(program!()).with_config(&config);
    fs::create_dir_all(home.workspace()).unwrap();
    fs::write(home.workspace().join("a"), "the content").unwrap();
    let daemon = home.daemon();
    for (family, _) in WRITTEN {
        for cut in ["words", "bytes"] {
            let case = format!("{family} in {cut}");
            let chat = AttachedChat::join(&home, &format!("{family}-{cut}")).await;
            chat.ask(&case).await;
            let reply = chat.reply().await.text;
            assert_eq!(reply, "It says: the content", "{case}");
            let shown = home.run(&["sessions", "show", &format!("terminal:local:{family}-{cut}")]);
            assert!(shown.out.contains("I look it up."), "{case}: {}", shown.out);
            let answers = shown.out.lines().filter(|line| line.contains("I look it up."));
            for line in answers {
                assert!(!WRITTEN_MARKS.iter().any(|mark| line.contains(mark)), "{case}: {line}");
            }
        }
    }
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
}

/// Answers with the result of the call, which is in the last message or the results of a request.
fn says_result(results: &[&str]) -> Option<ModelAnswer> {
    let result = results.last()?;
    Some(ModelAnswer::says(match result {
        result if result.contains("the content") => "It says: the content".to_owned(),
        other => format!("Unexpected: {other}"),
    }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dialect_auto_runs_calls_of_model_families_at_every_cut_with_openai() {
    let model = OpenAiFake::start(|request| {
        says_result(&last_results(request)).unwrap_or_else(|| {
            match asked_for(last_user_text(request)) {
                (text, false) => ModelAnswer::says(text),
                (text, true) => in_bytes("text/event-stream", &openai_events(text)),
            }
        })
    })
    .await;
    reads_each_format("openai", &model.base_url(), "any").await;
    assert_eq!(model.refusals(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dialect_auto_runs_calls_of_model_families_at_every_cut_with_ollama() {
    let model = OllamaFake::start(|request| {
        says_result(&ollama::last_results(request)).unwrap_or_else(|| {
            match asked_for(last_user_text(request)) {
                (text, false) => ModelAnswer::says(text),
                (text, true) => in_bytes("application/x-ndjson", &ollama_lines(text)),
            }
        })
    })
    .await;
    reads_each_format("ollama", &model.base_url(), ollama::MODEL).await;
    assert_eq!(model.refusals(), [""; 0]);
}
