//! Tests the program with a model of Anthropic: a call, the reasoning before it, and the answer,
//! across a crash.

use avocet_protocol::model::without_marks;
use avocet_testkit::ModelAnswer;
use avocet_testkit::anthropic::{AnthropicFake, KEY, MODEL, last_results, signature};
use avocet_tests::{Home, program};
use serde_json::{Value, json};

use crate::chat::AttachedChat;
use crate::crash::{dies, doomed};
use crate::patience::stop;

const THOUGHT: &str = "I should look first.";

fn looks_first(request: &Value) -> ModelAnswer {
    match last_results(request)[..] {
        [] => ModelAnswer::thinks(THOUGHT, ModelAnswer::call("read_file", json!({ "path": "a" }))),
        [read] => ModelAnswer::thinks("Aha.", ModelAnswer::says(format!("It says: {read}"))),
        [..] => ModelAnswer::says("How many files?"),
    }
}

fn home(model: &AnthropicFake, more: &str) -> Home {
    let config = format!(
        "[providers.claude]\nkind = \"anthropic\"\nbase_url = \"{}\"\napi_key = \"${{KEY}}\"\n{more}\
         [agents.defaults]\nmodel = \"claude/{MODEL}\"\n",
        model.base_url()
    );
    let home = Home::new(program!()).with_config(&config).with("KEY", KEY);
    std::fs::create_dir_all(home.workspace()).unwrap();
    std::fs::write(home.workspace().join("a"), "hello").unwrap();
    home
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn anthropic_runs_a_tool_call_and_answers() {
    let model = AnthropicFake::start(looks_first).await;
    let home = home(&model, "");
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("What is in a?").await;
    let said = chat.reply().await;
    assert!(said.text.starts_with("It says: ") && said.text.contains("hello"), "{}", said.text);
    let (status, log) = stop(daemon).await;
    assert!(status.success() && !log.contains(KEY), "{log}");
    assert_eq!(model.refusals(), [""; 0]);
    let [first, second] = &model.requests()[..] else { panic!() };
    assert_eq!((&first["tools"], &first["system"]), (&second["tools"], &second["system"]));
    let asked = first["messages"][0]["content"][0]["text"].as_str().unwrap();
    assert_eq!(without_marks(asked), "What is in a?");
    assert!(first["thinking"].is_null());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn anthropic_deferred_tools_are_loaded_by_reference_and_then_called() {
    let model = AnthropicFake::start(|request| match last_results(request)[..] {
        [] => ModelAnswer::call("use_tools", json!({ "group": "search" })),
        // References instead of a text.
        [""] => ModelAnswer::call("search_files", json!({ "pattern": "hello" })),
        [..] => ModelAnswer::says("done"),
    })
    .await;
    let home = home(&model, "deferred_tools = true\n");
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("Where is hello?").await;
    assert_eq!(chat.reply().await.text, "done");
    stop(daemon).await;
    assert_eq!(model.refusals(), [""; 0]);
    let requests = model.requests();
    let [first, .., last] = &requests[..] else { panic!() };
    let at_the_beginning = |request: &Value| {
        let tools = request["tools"].as_array().unwrap().iter();
        tools.filter(|tool| tool["defer_loading"] != true).cloned().collect::<Vec<_>>()
    };
    assert_eq!(at_the_beginning(first), at_the_beginning(last));
    let references = last["messages"][2]["content"][0]["content"].to_string();
    assert!(references.contains(r#""tool_name":"search_files""#), "{references}");
    let found = last_results(last).concat();
    assert!(found.contains("hello"), "{found}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn anthropic_thinking_before_a_call_survives_a_crash_and_is_never_shown() {
    let model = AnthropicFake::start(looks_first).await;
    let home = home(&model, "thinking_tokens = 2048\n");
    let mut daemon = doomed(&home, "finish-call:after");
    daemon.wait_until_ready();
    // The daemon accepts the message, but may die before it confirms.
    drop(AttachedChat::join(&home, "ann").await.try_ask("What is in a?", None).await);
    dies(daemon).await;

    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    let said = chat.reply().await;
    assert!(said.text.starts_with("It says: ") && said.text.contains("hello"), "{}", said.text);
    let (status, log) = stop(daemon).await;
    assert!(status.success() && !log.contains(THOUGHT), "{log}");
    assert_eq!(model.refusals(), [""; 0]);
    let requests = model.requests();
    let expected =
        json!({ "type": "thinking", "thinking": THOUGHT, "signature": signature(THOUGHT) });
    assert_eq!(requests[1]["messages"][1]["content"][0], expected);
    let shown = home.run(&["sessions", "show", "terminal:local:ann", "--json"]);
    assert!(shown.out.contains("It says:") && !shown.out.contains(THOUGHT), "{shown:?}");
}
