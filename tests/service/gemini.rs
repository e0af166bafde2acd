//! Tests the program with a model of Google: a call, its signature, and the answer, across a crash.

use avocet_protocol::model::without_marks;
use avocet_testkit::ModelAnswer;
use avocet_testkit::gemini::{GeminiFake, KEY, MODEL, last_results, signature};
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

fn home(model: &GeminiFake, key: &str) -> Home {
    let config = format!(
        "[providers.google]\nkind = \"gemini\"\nbase_url = \"{}\"\napi_key = \"${{KEY}}\"\n\
         [agents.defaults]\nmodel = \"google/{MODEL}\"\n",
        model.base_url()
    );
    let home = Home::new(program!()).with_config(&config).with("KEY", key);
    std::fs::create_dir_all(home.workspace()).unwrap();
    std::fs::write(home.workspace().join("a"), "hello").unwrap();
    home
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gemini_accepts_every_tool_declaration_and_runs_a_call() {
    let model = GeminiFake::start(looks_first).await;
    let home = home(&model, KEY);
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("What is in a?").await;
    let said = chat.reply().await;
    assert!(said.text.starts_with("It says: ") && said.text.contains("hello"), "{}", said.text);
    let (status, log) = stop(daemon).await;
    assert!(status.success() && !log.contains(KEY), "{log}");
    assert_eq!(model.refusals(), [""; 0]);
    let [first, second] = &model.requests()[..] else { panic!() };
    assert_eq!(
        (&first["tools"], &first["systemInstruction"]),
        (&second["tools"], &second["systemInstruction"])
    );
    let declared = first["tools"][0]["functionDeclarations"].as_array().unwrap();
    assert!(declared.len() > 3, "{declared:?}");
    let asked = first["contents"][0]["parts"][0]["text"].as_str().unwrap();
    assert_eq!(without_marks(asked), "What is in a?");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gemini_call_signature_survives_a_crash() {
    let model = GeminiFake::start(looks_first).await;
    let home = home(&model, KEY);
    let mut daemon = doomed(&home, "finish-call:after");
    daemon.wait_until_ready();
    // The daemon accepts the message, but may die before it confirms.
    drop(AttachedChat::join(&home, "ann").await.try_ask("What is in a?", None).await);
    dies(daemon).await;

    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    let said = chat.reply().await;
    assert!(said.text.starts_with("It says: ") && said.text.contains("hello"), "{}", said.text);
    assert!(stop(daemon).await.0.success());
    assert_eq!(model.refusals(), [""; 0]);
    let call = &model.requests()[1]["contents"][1]["parts"][0];
    assert_eq!(call["thoughtSignature"], signature(THOUGHT));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gemini_reports_a_wrong_key() {
    let model = GeminiFake::start(looks_first).await;
    let home = home(&model, "AIza-wrong");
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("hi").await;
    let said = chat.reply().await.text;
    assert!(said.contains("refused the key") && said.contains("check api_key"), "{said}");
    let (status, log) = stop(daemon).await;
    assert!(status.success() && !log.contains("AIza-wrong"), "{log}");
}
