//! Tests the program with a model behind OpenAI's Responses: a call, the reasoning before it, and
//! the answer, across a crash.

use avocet_testkit::ModelAnswer;
use avocet_testkit::openai::KEY;
use avocet_testkit::openai::responses::{MODEL, ResponsesFake, last_results, thought};
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_reasoning_goes_back_encrypted_after_a_crash_and_is_never_shown() {
    let model = ResponsesFake::start(looks_first).await;
    let config = format!(
        "[providers.openai]\nkind = \"openai\"\napi = \"responses\"\nbase_url = \"{}\"\n\
         api_key = \"${{KEY}}\"\n[agents.defaults]\nmodel = \"openai/{MODEL}\"\n",
        model.base_url()
    );
    let home = Home::new(program!()).with_config(&config).with("KEY", KEY);
    std::fs::create_dir_all(home.workspace()).unwrap();
    std::fs::write(home.workspace().join("a"), "hello").unwrap();
    let mut daemon = doomed(&home, "close-step:after");
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
