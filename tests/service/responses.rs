//! Tests the program with a model behind OpenAI's Responses API: a call, the reasoning before it,
//! and the answer, across a crash.

use avocet_testkit::ModelAnswer;
use avocet_testkit::openai::KEY;
use avocet_testkit::openai::responses::{MODEL, ResponsesFake, TOOL_SEARCH, last_results, thought};
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

fn home(model: &ResponsesFake, more: &str) -> Home {
    let config = format!(
        "[providers.openai]\nkind = \"openai\"\napi = \"responses\"\nbase_url = \"{}\"\n\
         api_key = \"${{KEY}}\"\n{more}[agents.defaults]\nmodel = \"openai/{MODEL}\"\n",
        model.base_url()
    );
    let home = Home::new(program!()).with_config(&config).with("KEY", KEY);
    std::fs::create_dir_all(home.workspace()).unwrap();
    std::fs::write(home.workspace().join("a"), "hello").unwrap();
    home
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_reasoning_goes_back_encrypted_after_a_crash_and_is_never_shown() {
    let model = ResponsesFake::start(looks_first).await;
    let home = home(&model, "");
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
    let sealed = thought("rs_1", THOUGHT);
    let secret = sealed["encrypted_content"].as_str().unwrap();
    assert!(status.success() && !log.contains(secret) && !log.contains(KEY), "{log}");
    assert_eq!(model.refusals(), [""; 0]);
    let [first, second] = &model.requests()[..] else { panic!() };
    assert_eq!(
        (&first["tools"], &first["instructions"]),
        (&second["tools"], &second["instructions"])
    );
    assert_eq!((&first["store"], &first["input"][0]), (&json!(false), &second["input"][0]));
    assert_eq!(second["input"][1], sealed);
    assert_eq!(second["input"][2]["type"], "function_call");
    let shown = home.run(&["sessions", "show", "terminal:local:ann", "--json"]);
    assert!(shown.out.contains("It says:") && !shown.out.contains(secret), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_deferred_tools_are_found_by_a_search_and_then_called() {
    let model = ResponsesFake::start(|request| {
        let items = request["input"].as_array().unwrap();
        match (items.last().unwrap()["type"].as_str(), &last_results(request)[..]) {
            (Some("tool_search_output"), _) => {
                ModelAnswer::call("search_files", json!({ "pattern": "hello" }))
            }
            (_, []) => ModelAnswer::call(TOOL_SEARCH, json!({ "group": "search" })),
            _ => ModelAnswer::says("done"),
        }
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
    let [first, _, last] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!(first["tools"], last["tools"]);
    let (before, after) = (first["input"].as_array().unwrap(), last["input"].as_array().unwrap());
    assert_eq!(before[..], after[..before.len()], "the conversation only grows");
    let found = last_results(last).concat();
    assert!(found.contains("hello"), "{found}");
}
