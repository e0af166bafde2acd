//! Tests of models that write tool calls as text: the tools run, and chats never see the calls.

use std::fs;

use avocet_testkit::openai::{ModelAnswer, OpenAiFake};
use avocet_testkit::telegram::{SentMessage, TelegramFake};
use serde_json::Value;

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
