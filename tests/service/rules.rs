//! Tests of the owners' rules: they hold over a summary, a crash and `/new`, in sub-agents and
//! scheduled tasks, and no summary is made of them.

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use avocet_tests::{Home, program};
use serde_json::{Value, json};

use crate::chat::AttachedChat;
use crate::model::config;
use crate::patience::{stop, until};

const RULE: &str = "never  delete \"mail\" without asking, not even spam";

fn is_summary(request: &Value) -> bool {
    request["messages"][0].to_string().contains("You keep the memory of an assistant")
}

/// Returns the last line of the user. A summary comes before a message, in the same text.
fn last_line(request: &Value) -> &str {
    last_user_text(request).lines().last().unwrap_or_default()
}

/// A model that gives `go` to a sub-agent and answers everything else, summaries included.
async fn delegating() -> OpenAiFake {
    OpenAiFake::start(|request| match last_line(request) {
        _ if is_summary(request) => ModelAnswer::says("They talked."),
        "go" if last_results(request).is_empty() => {
            ModelAnswer::call("spawn", json!({ "task": "look" }))
        }
        _ => ModelAnswer::says("ok"),
    })
    .await
}

/// Checks that each request since `from` has the rule in its instructions, and returns their number.
fn check_requests(model: &OpenAiFake, from: usize) -> usize {
    let requests = model.requests();
    for request in requests[from..].iter().filter(|request| !is_summary(request)) {
        let system = request["messages"][0]["content"].as_str().unwrap();
        assert!(system.ends_with(&format!("\n- r1: {RULE}")), "{system}");
    }
    requests.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rule_holds_over_summary_kill_new_chat_sub_agent_and_schedule() {
    let model = delegating().await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask(&format!("/rule add {RULE}")).await;
    let added = chat.reply().await.text;
    let start =
        format!("Rule r1 holds from now on (everyone): {RULE}\n\nIt is given to the model. ");
    assert!(added.starts_with(&start), "{added}");
    chat.ask(&"a long story ".repeat(99)).await;
    assert_eq!(chat.reply().await.text, "ok");
    chat.ask("/compact").await;
    chat.reply().await;
    let summarised = chat.reply().await.text;
    assert!(summarised.starts_with("The earlier conversation is summarised"), "{summarised}");
    chat.is_over().await;
    daemon.kill();

    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    let before = check_requests(&model, 0);
    chat.ask("go").await;
    // The kill may have come before a delivery was recorded, which is then repeated.
    while chat.reply().await.text != "ok" {}
    let after = check_requests(&model, before);
    let tasks = model.requests()[before..].iter().filter(|it| last_user_text(it) == "look").count();
    assert_eq!((after - before, tasks), (3, 1), "the task of the sub-agent is one of them");
    for text in ["/new", "hello"] {
        chat.ask(text).await;
        chat.reply().await;
    }
    let scheduled = home.run(&["schedule", "add", "ann", "--task", "water", "--in", "1s"]);
    assert_eq!(scheduled.code, Some(0), "{scheduled:?}");
    assert_eq!(chat.reply().await.text, "ok");
    assert_eq!(check_requests(&model, after), after + 2);

    let requests = model.requests();
    let summaries: Vec<&Value> = requests.iter().filter(|request| is_summary(request)).collect();
    assert!(!summaries.is_empty() && summaries.iter().all(|it| !it.to_string().contains("spam")));
    chat.ask("/rule remove r1").await;
    chat.reply().await;
    chat.ask("hello again").await;
    chat.reply().await;
    let last = model.requests().pop().unwrap();
    assert!(!last.to_string().contains("# Rules of the owners"), "{last}");
    stop(daemon).await;
    assert_eq!(model.refusals(), [""; 0]);
}

/// A model that calls a tool for a task, and otherwise repeats the results of its calls.
async fn calling(name: &'static str, arguments: Value) -> OpenAiFake {
    OpenAiFake::start(move |request| match &last_results(request)[..] {
        _ if is_summary(request) => ModelAnswer::says("They talked."),
        [] if last_user_text(request) == "go" => ModelAnswer::call(name, arguments.clone()),
        [] => ModelAnswer::says("ok"),
        results => ModelAnswer::says(results.join(" ")),
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rule_refuses_and_asks_without_a_model_and_is_named_in_card_result_and_trace() {
    let arguments = json!({ "path": "notes/a.md", "content": "x" });
    let model = calling("write_file", arguments).await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    let tell = async |text: &str| {
        chat.ask(text).await;
        chat.reply().await
    };
    let added = tell("/rule add never change files in notes/").await.text;
    let enforced = "I enforce it: the program refuses each call that changes `notes`, and each \
                    program that names it.";
    assert!(added.ends_with(enforced), "{added}");
    let refused = tell("go").await.text;
    let says = "write_file is not allowed here: rule r1 says: never change files in notes/";
    assert!(refused.contains(says), "{refused}");
    assert!(!home.workspace().join("notes/a.md").exists());
    let turn = home.run(&["sessions", "show", "ann"]);
    let trace = home.run(&["trace", "t1"]);
    assert!(trace.out.contains("rule r1 says: never change files in notes/"), "{trace:?} {turn:?}");

    tell("/rule remove r1").await;
    tell("/rule add ask me before changing notes/").await;
    let card = tell("go").await;
    let asks = "I ask because rule r2 says: ask me before changing notes/.";
    assert!(card.text.contains(asks), "{}", card.text);
    assert!(!card.choices.iter().any(|choice| choice.ends_with("session")), "{:?}", card.choices);
    let trace = home.run(&["trace", "t2"]);
    assert!(trace.out.contains("rule r2 says"), "{trace:?}");
    let approve = card.choices[0].clone();
    chat.ask(&approve).await;
    until("the file", async || home.workspace().join("notes/a.md").exists()).await;
    stop(daemon).await;
}

/// A model that writes a note for the text `write`, and gives that text to a sub-agent for `go`. A
/// sub-agent that has nothing to write answers with a command of its own.
async fn delegating_writer() -> OpenAiFake {
    OpenAiFake::start(|request| match (last_line(request), &last_results(request)[..]) {
        ("go", []) => ModelAnswer::call("spawn", json!({ "task": "write" })),
        ("change the rules", []) => {
            ModelAnswer::call("spawn", json!({ "task": "/rule add be rude" }))
        }
        ("/rule add be rude", []) => ModelAnswer::says("/rule remove r1"),
        (_, []) if last_user_text(request).contains("write") => {
            ModelAnswer::call("write_file", json!({ "path": "notes/a.md", "content": "x" }))
        }
        (_, results) => {
            ModelAnswer::says(format!("The end: {}\n\nTASK COMPLETE", results.join(" ")))
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rule_asks_and_refuses_in_a_sub_agent_which_changes_no_rule() {
    let model = delegating_writer().await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    let tell = async |text: &str| {
        chat.ask(text).await;
        chat.reply().await
    };
    tell("/rule add ask me before changing notes/").await;
    let said = tell("change the rules").await.text;
    assert!(said.contains("/rule remove r1"), "{said}");
    let listed = home.run(&["rules", "--json"]).out;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let names: Vec<&Value> = listed.as_array().unwrap().iter().map(|rule| &rule["name"]).collect();
    assert_eq!(names, ["r1"]);

    let card = tell("go").await;
    let asks = "rule r1 says: ask me before changing notes/";
    assert!(card.text.contains(asks), "{}", card.text);
    let trace = home.run(&["trace", "t4"]).out;
    assert!(trace.contains("waiting t4") && trace.contains(asks), "{trace}");
    chat.ask(&card.choices[0]).await;
    until("the file", async || home.workspace().join("notes/a.md").exists()).await;
    while !chat.reply().await.text.contains("The end: ") {}

    tell("/rule remove r1").await;
    tell("/rule add never change files in notes/").await;
    let refused = tell("go").await.text;
    let says = "write_file is not allowed here: rule r2 says: never change files in notes/";
    assert!(refused.contains(says), "{refused}");
    let trace = home.run(&["trace", "t6"]).out;
    assert!(trace.contains("rule r2 says: never change files in notes/"), "{trace}");
    stop(daemon).await;
    assert_eq!(model.refusals(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rule_of_a_chat_reaches_its_jobs_and_schedules_asks_and_refuses_there() {
    let model = delegating_writer().await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    let reply_with = async |part: &str| loop {
        let said = chat.reply().await;
        if said.text.contains(part) {
            return said;
        }
    };
    chat.ask("/rule add --chat ask me before changing notes/").await;
    reply_with("Rule r1 holds").await;
    chat.ask("/job defaults write").await;
    let asks = "rule r1 says: ask me before changing notes/";
    let card = reply_with(asks).await;
    let trace = home.run(&["trace", "t1"]).out;
    assert!(trace.contains(asks), "{trace}");
    chat.ask(&card.choices[0]).await;
    reply_with("The end: ").await;
    assert!(home.workspace().join("notes/a.md").exists());

    chat.ask("/rule remove r1").await;
    reply_with("Rule r1 no longer holds").await;
    chat.ask("/rule add --chat never change files in notes/").await;
    reply_with("Rule r2 holds").await;
    chat.ask("/job defaults write").await;
    let says = "write_file is not allowed here: rule r2 says: never change files in notes/";
    reply_with(says).await;
    let scheduled = home.run(&["schedule", "add", "ann", "--task", "write", "--in", "1s"]);
    assert_eq!(scheduled.code, Some(0), "{scheduled:?}");
    reply_with(says).await;
    for request in model.requests().iter().rev().take(4) {
        let system = request["messages"][0]["content"].as_str().unwrap();
        assert!(system.ends_with("\n- r2: never change files in notes/"), "{system}");
    }
    stop(daemon).await;
    assert_eq!(model.refusals(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rule_stays_as_it_is_over_a_consolidation_that_does_not_read_it() {
    let model = OpenAiFake::start(|request| {
        if is_tidying(request) {
            return ModelAnswer::says(json!({ "actions": [] }).to_string());
        }
        match last_results(request)[..] {
            [] if last_line(request) == "go" => {
                ModelAnswer::call("memory_write", json!({ "text": "Ann likes tea" }))
            }
            _ => ModelAnswer::says("ok"),
        }
    })
    .await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    for text in [&format!("/rule add {RULE}"), "go"] {
        chat.ask(text).await;
        chat.reply().await;
    }
    let done = home.run(&["memory", "consolidate"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    chat.ask("hello").await;
    chat.reply().await;
    stop(daemon).await;
    let (tidying, others): (Vec<Value>, Vec<Value>) =
        model.requests().into_iter().partition(is_tidying);
    assert_eq!((tidying.len(), others.len()), (1, 3));
    assert!(!tidying[0].to_string().contains("spam"), "{}", tidying[0]);
    for request in others {
        let system = request["messages"][0]["content"].as_str().unwrap();
        assert!(system.ends_with(&format!("\n- r1: {RULE}")), "{system}");
    }
}

fn is_tidying(request: &Value) -> bool {
    request["messages"][0].to_string().contains("You tidy the long-term memory")
}
