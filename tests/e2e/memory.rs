//! `avocet memory`, with a running daemon and with a stopped one.

use avocet_tests::{Home, program};
use serde_json::Value;

use crate::support::{printed, run, stop};

const KEY: &str = "the key is under the mat";

fn json_of(home: &Home, arguments: &[&str]) -> Value {
    let ran = run(home, &[&["memory"], arguments, &["--json"]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{arguments:?}: {ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn memory_commands_work_with_and_without_a_daemon() {
    let home = Home::new(program!());
    assert_eq!(json_of(&home, &["list"]), Value::Array(Vec::new()));
    let daemon = home.daemon();
    for text in ["remember the key is under the mat", "remember Anna likes tea"] {
        printed(&home, &["ask", "me", text, "--wait"]);
    }
    // The next turn gets the memory that fits.
    let prompt = printed(&home, &["prompt", "me", "--message", "does Anna drink coffee?"]);
    assert!(prompt.contains("recalled memories") && prompt.contains("- m2 (person"), "{prompt}");
    assert!(!prompt.contains("- m1 "), "{prompt}");

    let looks: [&[&str]; 4] =
        [&["list"], &["search", "keys"], &["show", "m1"], &["log", "--limit", "1"]];
    let running = looks.map(|look| json_of(&home, look));
    let [all, found, one, log] = &running;
    assert_eq!((all[0]["id"].as_str(), all[1]["text"].as_str()), (Some("m2"), Some(KEY)));
    assert_eq!((found[0]["id"].as_str(), found.as_array().unwrap().len()), (Some("m1"), 1));
    assert_eq!(one["changes"][0]["kind"], "written");
    assert_eq!(log[0]["memory"], "m2");
    let scope = all[0]["scope"].as_str().unwrap().to_owned();
    assert!(scope.starts_with("person terminal:local:"), "{scope}");
    assert_eq!(json_of(&home, &["list", "--scope", &scope]), *all);
    assert_eq!(json_of(&home, &["list", "--scope", "everyone"]), Value::Array(Vec::new()));

    printed(&home, &["memory", "forget", "m1"]);
    assert_eq!(json_of(&home, &["list"]).as_array().unwrap().len(), 1);
    let refused = run(&home, &["memory", "forget", "m1"]);
    assert_ne!(refused.code, Some(0));
    assert!(refused.err.contains("there is no memory m1"), "{refused:?}");
    stop(daemon);

    let refused = run(&home, &["memory", "undo", "c1"]);
    assert!(refused.err.contains("undo c3 before c1"), "{refused:?}");
    let undone = json_of(&home, &["undo", "c3"]);
    assert_eq!((undone["text"].as_str(), undone["revision"].as_u64()), (Some(KEY), Some(3)));
    let shown = printed(&home, &["memory", "show", "m1"]);
    for part in [KEY, "asked by terminal:local:", "c4 ", "m1 undone by process", "  + the key"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let exported = printed(&home, &["memory", "export"]);
    assert!(
        exported.starts_with(&format!("# Memory\n\n## {scope}\n\n- {KEY} (m1, ")),
        "{exported}"
    );
    let refused = run(&home, &["memory", "list", "--scope", "person me"]);
    assert!(refused.err.contains("is not of the form"), "{refused:?}");
}
