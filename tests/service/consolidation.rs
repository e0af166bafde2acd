//! Consolidation of memories in the real program: only when asked (F19), with a daemon and without
//! one.

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use avocet_tests::{FAIL_POINT, Home, program};
use serde_json::{Value, json};

use crate::log::number;
use crate::model::config;
use crate::patience::stop;

const MERGED: &str = "Anna lives in Lisbon, in the Rua Augusta";

/// A model that stores each message as a memory, and merges the first two memories if it is asked
/// to tidy.
fn answer(request: &Value) -> ModelAnswer {
    if is_tidying(request) {
        let merge = json!({ "actions": [{ "merge": ["m1", "m2"], "text": MERGED }] });
        return ModelAnswer::says(merge.to_string());
    }
    match last_user_text(request).strip_prefix("remember ") {
        Some(fact) if last_results(request).is_empty() => {
            let fact = fact.lines().next().unwrap_or_default();
            ModelAnswer::call("memory_write", json!({ "text": fact }))
        }
        _ => ModelAnswer::says("ok"),
    }
}

fn is_tidying(request: &Value) -> bool {
    request["messages"][0].to_string().contains("You tidy the long-term memory")
}

fn printed(home: &Home, arguments: &[&str]) -> String {
    let ran = home.run(arguments);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{arguments:?}");
    ran.out
}

fn memories(home: &Home) -> Vec<String> {
    let listed = printed(home, &["memory", "list", "--json"]);
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    listed.iter().map(|memory| memory["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f19_memories_are_consolidated_only_when_the_operator_asks() {
    let model = OpenAiFake::start(answer).await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let daemon = home.daemon();
    for fact in ["Anna lives in Lisbon", "Anna lives in the Rua Augusta"] {
        printed(&home, &["ask", "me", &format!("remember {fact}"), "--wait"]);
    }
    let tidying = || model.requests().iter().filter(|request| is_tidying(request)).count();
    assert_eq!((model.requests().len(), tidying()), (4, 0), "two turns of two requests");
    let shown = printed(&home, &["memory", "consolidate", "--dry-run"]);
    assert!(shown.contains("merge (proposed)"), "{shown}");
    assert!(shown.contains(&format!("    + m2 {MERGED}")), "{shown}");
    assert_eq!((memories(&home).len(), tidying()), (2, 1));
    stop(daemon).await;

    let done = printed(&home, &["memory", "consolidate"]);
    assert!(done.contains("merge (c3, c4)"), "{done}");
    assert_eq!(memories(&home), [MERGED]);
    let log = printed(&home, &["memory", "log", "m2"]);
    assert!(log.contains("m2 edited by consolidation\n  - Anna lives in the Rua"), "{log}");
    let again = printed(&home, &["memory", "consolidate"]);
    assert_eq!(again, "There are no new memories to consolidate.\n");
    assert_eq!(tidying(), 2);
    let usage = printed(&home, &["usage", "--by", "purpose", "--json"]);
    let usage: Value = serde_json::from_str(&usage).unwrap();
    let rows: Vec<(&str, u64)> = usage["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["purpose"].as_str().unwrap(), row["answers"].as_u64().unwrap()))
        .collect();
    assert_eq!(rows, [("answer", 4), ("consolidation", 2)]);
    let status = home.run(&["status"]).out;
    assert!(status.contains("last consolidation") && status.contains("1 edits"), "{status}");

    for change in ["c4", "c3"] {
        printed(&home, &["memory", "undo", change]);
    }
    assert_eq!(memories(&home).len(), 2);
    let again = printed(&home, &["memory", "consolidate"]);
    assert_eq!(
        again, "There are no new memories to consolidate.\n",
        "an undone change stays undone"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_at_each_step_of_a_consolidation_applies_its_edits_once() {
    let model = OpenAiFake::start(answer).await;
    for write in ["begin-consolidation", "end-consolidation"] {
        for moment in ["before", "after"] {
            let point = format!("{write}:{moment}");
            let home = Home::new(program!()).with_config(&config(&model, ""));
            for fact in ["Anna lives in Lisbon", "Anna lives in the Rua Augusta"] {
                printed(&home, &["memory", "add", fact]);
            }
            let mut command = home.command(&["memory", "consolidate"]);
            let died = command.env(FAIL_POINT, &point).output().unwrap();
            assert_eq!(died.status.code(), None, "{point}: {died:?}");
            printed(&home, &["memory", "consolidate"]);
            assert_eq!(memories(&home), [MERGED], "{point}");
            let changes = number(&home, "SELECT count(*) FROM memory_changes");
            assert_eq!(changes, 4, "{point}: two written, one edited, one forgotten");
        }
    }
}
