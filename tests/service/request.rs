//! Tests of the size of a request: a core of tools with their schemas, and the others by name.

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results};
use avocet_tests::{Home, program};
use avocet_tools::BUILT_IN;
use serde_json::{Value, json};

use crate::chat::AttachedChat;
use crate::model::config;
use crate::patience::stop;

/// The most bytes of the request for "hi" with the default configuration.
const MAX_BYTES: usize = 4_000;
const CORE: [&str; 12] = [
    "ask_user",
    "edit_file",
    "exec_shell",
    "list_directory",
    "memory_search",
    "memory_write",
    "message",
    "read_file",
    "use_skill",
    "web_fetch",
    "write_file",
    "use_tools",
];

fn offered(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_for_hi_has_at_most_4000_bytes_and_names_every_tool() {
    let model = OpenAiFake::start(|_| ModelAnswer::says("hello")).await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let daemon = home.daemon();
    let asked = home.run(&["ask", "me", "hi", "--wait"]);
    assert_eq!(asked.out, "hello\n", "{asked:?}");
    let request = &model.requests()[0];
    let bytes = request.to_string().len();
    println!("bytes of the request for hi: {bytes}");
    assert!(bytes <= MAX_BYTES, "{bytes}: {request}");
    assert_eq!(offered(request), CORE);

    let prompt = home.run(&["prompt", "me", "--json"]);
    let prompt: Value = serde_json::from_str(&prompt.out).unwrap();
    let names = |key: &str| {
        let tools = prompt[key].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("tools"), CORE);
    let mut all = [names("tools"), names("deferred_tools")].concat();
    all.retain(|name| name != "use_tools");
    all.sort_unstable();
    // Plans are for sessions of editors.
    let expected: Vec<&str> =
        BUILT_IN.iter().copied().filter(|name| *name != "update_plan").collect();
    assert_eq!(all, expected);
    let sizes = ["tools", "deferred_tools"].map(|key| prompt[key][0]["bytes"].as_u64().unwrap());
    assert!(sizes.iter().all(|bytes| *bytes > 0), "{sizes:?}");
    let shown = home.run(&["prompt", "me"]).out;
    for part in ["tools: 12, deferred: 23", "deferred tools, by group", "git_status"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    stop(daemon).await;
    assert_eq!(model.refusals(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deferred_tool_runs_by_name_and_a_loaded_group_stays_in_later_requests() {
    let model = OpenAiFake::start(|request| match &last_results(request)[..] {
        [] => ModelAnswer::call("search_files", json!({ "patern": "x" })),
        [fault] if fault.contains("patern") => {
            ModelAnswer::call("search_files", json!({ "pattern": "x" }))
        }
        [_] => ModelAnswer::says("done"),
        more => panic!("{more:?}"),
    })
    .await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("search").await;
    assert_eq!(chat.reply().await.text, "done");
    let requests = model.requests();
    let fault = last_results(&requests[1]).concat();
    assert!(fault.contains("Expected: {") && fault.contains("\\\"pattern\\\": string"), "{fault}");
    let first = requests[0]["tools"].as_array().unwrap();
    for request in &requests[1..] {
        let tools = request["tools"].as_array().unwrap();
        assert_eq!(tools[..first.len()], first[..], "the first tools stay as they are");
        assert_eq!(offered(request)[first.len()..], ["search_files", "search_history"]);
        assert_eq!(request["messages"][0], requests[0]["messages"][0]);
    }
    stop(daemon).await;
    assert_eq!(model.refusals(), [""; 0]);
}
