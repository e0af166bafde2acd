//! Edits of the memory's files while the daemon dies: each is in the log once, and none is lost.

use std::fs;

use avocet_tests::{Home, program};
use serde_json::Value;

use crate::crash::{dies, doomed};
use crate::log::number;
use crate::patience::stop;

fn texts(home: &Home) -> Vec<String> {
    let ran = home.run(&["memory", "list", "--json"]);
    let listed: Value = serde_json::from_str(&ran.out).unwrap();
    let texts = listed.as_array().unwrap().iter().rev();
    texts.map(|memory| memory["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_at_each_step_of_an_edit_takes_it_in_once() {
    let points = [
        "take-in-memories:before",
        "take-in-memories:after",
        "exchange-memory-file:before",
        "exchange-memory-file:after",
    ];
    for point in points {
        let home = Home::new(program!());
        for text in ["one", "gone"] {
            let ran = home.run(&["memory", "add", text]);
            assert_eq!(ran.code, Some(0), "{ran:?}");
        }
        let file = home.data_dir().join("memory/everyone.md");
        let shown = fs::read_to_string(&file).unwrap();
        let kept = shown.lines().filter(|line| !line.ends_with("gone"));
        let kept = kept.map(|line| format!("{line}\n")).collect::<String>();
        fs::write(&file, kept.replace("--> one", "--> ONE is changed") + "- two\n").unwrap();
        dies(doomed(&home, point)).await;

        let daemon = home.daemon();
        assert_eq!(texts(&home), ["ONE is changed", "two"], "{point}");
        let changes = number(&home, "SELECT count(*) FROM memory_changes");
        assert_eq!(changes, 5, "{point}: two written, then one edit of each kind");
        stop(daemon).await;
        let shown = fs::read_to_string(&file).unwrap();
        assert!(shown.contains("ONE is changed\n") && shown.contains(" --> two\n"), "{shown}");
        let left = fs::read_dir(home.data_dir().join("memory")).unwrap().count();
        assert_eq!(left, 1, "{point}: nothing is left beside the file");
    }
}
