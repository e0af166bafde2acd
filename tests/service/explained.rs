//! Tests of calls that a model with native tool calls writes as text. An explanation of a call is
//! an answer; a real call runs once an owner has approved it.

use std::fs;
use std::path::Path;

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use avocet_testkit::telegram::{SentMessage, TelegramFake};
use avocet_tests::{Home, now, program};
use serde_json::Value;

use crate::crash::{dies, doomed};
use crate::log::number;
use crate::model::config;
use crate::patience::{stop, with_timeout};
use crate::telegram::{ANN, TOKEN, home};

/// Chats of owners, one for each reply.
const OWNERS: i64 = 1000;
const TOOLS: [&str; 7] = [
    "create_directory",
    "delete_file",
    "edit_file",
    "exec_shell",
    "memory_write",
    "message",
    "write_file",
];
/// A reply that consists of a call with its introduction.
const CALL: &str = "I write it down.\n\n```json\n{\"tool\": \"write_file\", \"params\": \
    {\"path\": \"made.md\", \"content\": \"hello\"}}\n```";

/// The replies of `tests/corpus/explained`.
fn replies() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/explained");
    let mut replies = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            let file = format!("\n{}", fs::read_to_string(&path).unwrap());
            let cases = file.split("\n=== ").skip(1).map(|case| case.split_once('\n').unwrap().1);
            replies.extend(cases.map(|reply| reply.trim_end().to_owned()));
        }
    }
    replies
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_calls_explained_in_100_replies_have_no_effect_and_ask_nothing() {
    let (platform, replies) = (TelegramFake::start(TOKEN).await, replies());
    let (count, written) = (replies.len(), replies.clone());
    assert!(count >= 100, "{count} replies");
    let model = OpenAiFake::start_forgetful(move |request| {
        let asked = last_user_text(request);
        let number = asked.split_whitespace().find_map(|word| word.parse::<usize>().ok()).unwrap();
        ModelAnswer::says(&written[number])
    })
    .await;
    platform.set_now(now());
    let owners: Vec<String> = (0..count).map(|number| chat(number).to_string()).collect();
    let telegram = format!(
        "[channels.telegram]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nowners = [{}]\n\
         preview_seconds = 0\n",
        platform.base_url(),
        owners.join(", ")
    );
    let home = Home::new(program!()).with_config(&config(&model, &telegram)).with("TOKEN", TOKEN);
    fs::create_dir_all(home.workspace()).unwrap();
    fs::write(home.workspace().join("notes.md"), "keep").unwrap();
    let daemon = home.daemon();
    for number in 0..count {
        platform.private_text(chat(number), &format!("explain {number}"));
    }
    let answered = |sent: &[SentMessage]| {
        (0..count).all(|number| sent.iter().any(|one| one.chat == chat(number)))
    };
    let sent = with_timeout("the answers", platform.wait_for(answered)).await;
    for one in &sent {
        assert!(one.keyboard.is_none(), "no approval is requested: {one:?}");
        assert!(TOOLS.iter().any(|tool| one.text.contains(tool)), "the words stay: {one:?}");
    }
    assert_eq!(sent.len(), count);
    assert_eq!(number(&home, "SELECT count(*) FROM calls"), 0);
    assert_eq!(number(&home, "SELECT count(*) FROM memories"), 0);
    assert_eq!(fs::read_to_string(home.workspace().join("notes.md")).unwrap(), "keep");
    let made = fs::read_dir(home.workspace()).unwrap();
    let made = made.map(|entry| entry.unwrap().file_name()).filter(|name| name != "notes.md");
    assert_eq!(made.count(), 0);
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!((platform.refusals(), model.refusals()), (vec![], vec![]));
}

fn chat(number: usize) -> i64 {
    OWNERS + i64::try_from(number).unwrap()
}

/// A model that writes the call first, and then reports the result.
fn writes(request: &Value) -> ModelAnswer {
    match last_results(request)[..] {
        [] => ModelAnswer::says(CALL),
        _ => ModelAnswer::says("So be it."),
    }
}

/// Waits for the message at this place in Ann's chat.
async fn told(platform: &TelegramFake, place: usize) -> SentMessage {
    let here = |sent: &[SentMessage]| sent.iter().filter(|one| one.chat == ANN).nth(place).cloned();
    let sent = platform.wait_for(|sent| here(sent).is_some());
    here(&with_timeout(&format!("message {place}"), sent).await).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_call_needs_approval_and_runs_or_stays_in_the_answer() {
    for (says, is_written, answer) in [
        ("/approve", true, "So be it."),
        ("/deny", false, "I write it down.\n\n{\"tool\": \"write_file\", \"params\": "),
    ] {
        let platform = TelegramFake::start(TOKEN).await;
        let model = OpenAiFake::start(writes).await;
        let home = home_without_preview(&platform, &model);
        let daemon = home.daemon();
        platform.private_text(ANN, "Write hello into made.md.");
        let question = told(&platform, 0).await;
        assert!(question.text.contains("the model wrote this call as text"), "{}", question.text);
        assert!(question.text.contains("+hello"), "{}", question.text);
        assert!(!home.workspace().join("made.md").exists());
        platform.private_text(ANN, says);
        let said = told(&platform, 1).await.text;
        assert!(said.starts_with(answer) && said.ends_with("So be it."), "{says}: {said}");
        assert_eq!(home.workspace().join("made.md").exists(), is_written, "{says}");
        stop(daemon).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_call_needs_approval_after_a_crash_before_its_start() {
    for point in ["record-step:after", "wait:before", "start-call:before"] {
        let platform = TelegramFake::start(TOKEN).await;
        let model = OpenAiFake::start(writes).await;
        let home = home_without_preview(&platform, &model);
        let mut daemon = doomed(&home, point);
        daemon.wait_until_ready();
        platform.private_text(ANN, "Write hello into made.md.");
        if point == "start-call:before" {
            told(&platform, 0).await;
            platform.private_text(ANN, "/approve");
        }
        dies(daemon).await;
        assert!(!home.workspace().join("made.md").exists(), "{point}");

        let daemon = home.daemon();
        let SentMessage { text, edits, .. } = told(&platform, 0).await;
        // The question may have become its outcome.
        let question = edits.first().unwrap_or(&text);
        assert!(question.contains("the model wrote this call as text"), "{question}");
        if point != "start-call:before" {
            platform.private_text(ANN, "/approve");
        }
        let is_over = |sent: &[SentMessage]| sent.iter().any(|one| one.text == "So be it.");
        with_timeout("the answer", platform.wait_for(is_over)).await;
        let written = fs::read_to_string(home.workspace().join("made.md")).unwrap();
        assert_eq!(written, "hello", "{point}");
        assert_eq!(
            number(&home, "SELECT count(*) FROM audit WHERE kind = 'started'"),
            1,
            "{point}"
        );
        stop(daemon).await;
    }
}

fn home_without_preview(platform: &TelegramFake, model: &OpenAiFake) -> Home {
    let home = home(platform, model);
    let config = fs::read_to_string(home.path(".config/avocet/config.toml")).unwrap();
    home.with_config(&format!("{config}\npreview_seconds = 0\n"))
}
