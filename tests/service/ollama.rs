//! Tests the program with models of Ollama, with and without tools: a call and the answer; and the
//! reply before any model is set up.

use avocet_testkit::ModelAnswer;
use avocet_testkit::ollama::{Card, MODEL, OllamaFake, last_results};
use avocet_tests::{Home, program};
use serde_json::{Value, json};

use crate::chat::AttachedChat;
use crate::patience::stop;

fn home(base_url: &str, name: &str) -> Home {
    let config = format!(
        "[providers.home]\nkind = \"ollama\"\nbase_url = \"{base_url}\"\nmax_retries = 0\n\
         [agents.defaults]\nmodel = \"home/{name}\"\n"
    );
    let home = Home::new(program!()).with_config(&config);
    std::fs::create_dir_all(home.workspace()).unwrap();
    std::fs::write(home.workspace().join("a"), "hello").unwrap();
    home
}

/// Returns the answer to a question about the content of a file.
async fn answer(home: &Home) -> String {
    let daemon = home.daemon();
    let chat = AttachedChat::join(home, "ann").await;
    chat.ask("What is in a?").await;
    let said = chat.reply().await.text;
    assert!(stop(daemon).await.0.success());
    said
}

fn looks_first(request: &Value) -> ModelAnswer {
    match last_results(request)[..] {
        [] => ModelAnswer::thinks("Hm.", ModelAnswer::call("read_file", json!({ "path": "a" }))),
        [read] => ModelAnswer::says(format!("It says: {read}")),
        [..] => ModelAnswer::says("How many files?"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ollama_runs_a_tool_call_and_answers() {
    let model = OllamaFake::start(looks_first).await;
    let said = answer(&home(&model.base_url(), MODEL)).await;
    assert!(said.starts_with("It says: ") && said.contains("hello"), "{said}");
    assert_eq!(model.refusals(), [""; 0]);
    assert_eq!(model.shown(), 1, "the daemon asks once for the facts of a model");
    let [first, second] = &model.requests()[..] else { panic!() };
    assert_eq!((&first["tools"], &first["options"]), (&second["tools"], &second["options"]));
    assert_eq!(first["options"]["num_ctx"], 32_768);
    let called = second["messages"].as_array().unwrap().iter().rev().nth(1).unwrap();
    assert_eq!(called["thinking"], "Hm.");
}

fn looks_in_text(request: &Value) -> ModelAnswer {
    let messages = request["messages"].as_array().unwrap();
    match messages.last().unwrap()["content"].as_str().unwrap() {
        result if result.contains("hello") => ModelAnswer::says("It says hello."),
        _ => ModelAnswer::says(
            "```json\n{\"tool\": \"read_file\", \"params\": {\"path\": \"a\"}}\n```",
        ),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ollama_model_without_tool_support_calls_tools_in_text() {
    let card = Card { capabilities: Some(vec!["completion"]), ..Card::default() };
    let model = OllamaFake::start_as(card, looks_in_text).await;
    assert_eq!(answer(&home(&model.base_url(), MODEL)).await, "It says hello.");
    assert_eq!(model.refusals(), [""; 0]);
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f36_ollama_reports_missing_setup_with_the_fix() {
    let model = OllamaFake::start(looks_first).await;
    let said = answer(&home(&model.base_url(), "llama0")).await;
    assert!(said.contains("not found") && said.contains("ollama pull llama0"), "{said}");
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let said = answer(&home(&format!("http://{unused}"), MODEL)).await;
    assert!(said.contains("is Ollama running? Start it: ollama serve"), "{said}");
}
