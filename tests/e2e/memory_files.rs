//! The memory's Markdown files: edits with a running daemon and with a stopped one, and the tools
//! of the agent, which cannot reach them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use avocet_tests::{Home, program};
use serde_json::Value;

use crate::support::{printed, run, stop, until};

const SECRET: &str = "the safe opens with 4711";

fn file(home: &Home) -> PathBuf {
    home.data_dir().join("memory/everyone.md")
}

fn edit(home: &Home, from: &str, to: &str) {
    let text = fs::read_to_string(file(home)).unwrap();
    assert!(text.contains(from), "{text}");
    save(home, &text.replacen(from, to, 1));
}

/// Saves the file at once, as editors do.
fn save(home: &Home, text: &str) {
    let new = home.data_dir().join("memory/editor~");
    fs::write(&new, text).unwrap();
    fs::rename(new, file(home)).unwrap();
}

fn shown(home: &Home, text: &str) {
    until(text, || fs::read_to_string(file(home)).ok().filter(|file| file.contains(text)));
}

fn texts(home: &Home) -> Vec<String> {
    let ran = run(home, &["memory", "list", "--json"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    let listed: Value = serde_json::from_str(&ran.out).unwrap();
    let texts = listed.as_array().unwrap().iter().rev();
    texts.map(|memory| memory["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn edits_of_memory_files_are_taken_in_with_and_without_a_daemon() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    assert_eq!(printed(&home, &["memory", "add", SECRET]), "remembered as m1 (everyone)\n");
    assert_eq!(
        printed(&home, &["memory", "add", "The SAFE opens with 4711."]),
        "already known as m1 (everyone)\n"
    );
    shown(&home, SECRET);
    edit(&home, "4711", "4712");
    // The next turn recalls the new text.
    printed(&home, &["ask", "me", "memory_search safe", "--wait"]);
    let log = printed(&home, &["memory", "log"]);
    assert!(
        log.contains("m1 edited by a person, in the memory file")
            && log.contains("+ the safe opens with 4712"),
        "{log}"
    );
    stop(daemon);

    edit(&home, "4712", "4713\n- the door is open");
    assert_eq!(texts(&home), ["the safe opens with 4713", "the door is open"]);
    shown(&home, "<!-- m2 r1 full ");
    printed(&home, &["memory", "forget", "m1"]);
    let text = fs::read_to_string(file(&home)).unwrap();
    assert!(!text.contains("4713") && text.contains("the door is open"), "{text}");
    fs::write(file(&home), b"- \xff").unwrap();
    let ran = run(&home, &["memory", "list"]);
    assert!(ran.out.contains("the door is open"), "{ran:?}");
    assert!(ran.err.contains("everyone.md: it is not UTF-8 (at byte 2)"), "{ran:?}");
    fs::remove_file(file(&home)).unwrap();

    let mut daemon = home.daemon();
    // The daemon has compared all files before it answers.
    assert_eq!(texts(&home), ["the door is open"]);
    save(&home, "1. one");
    let checked = run(&home, &["doctor", "--offline"]);
    assert!(checked.out.contains("lines that are not part of the memory (1)"), "{checked:?}");
    assert_eq!(daemon.logged("memory file needs a correction"), 1);
    stop(daemon);
}

#[test]
fn memory_without_files_leaves_the_directory_alone() {
    let home = Home::new(program!()).with_config("[memory]\nmirror = false\n");
    let daemon = home.daemon();
    printed(&home, &["memory", "add", SECRET]);
    printed(&home, &["ask", "me", "memory_search safe", "--wait"]);
    stop(daemon);
    assert_eq!(texts(&home), [SECRET]);
    assert!(!file(&home).exists());
}

/// The workspace may be beside the files, or contain them.
#[test]
fn tools_of_the_agent_cannot_reach_memory_files() {
    for is_inside in [false, true] {
        let mut home = Home::new(program!());
        if is_inside {
            let workspace = home.data_dir().display().to_string();
            home = home.with_config(&format!("[agents.defaults]\nworkspace = \"{workspace}\"\n"));
        }
        let mut daemon = home.daemon();
        printed(&home, &["memory", "add", SECRET]);
        shown(&home, SECRET);
        let before = fs::read(file(&home)).unwrap();
        let workspace = if is_inside { home.data_dir() } else { home.workspace() };
        let made = Command::new("git").args(["init", "-q"]).current_dir(&workspace).status();
        assert!(made.unwrap().success());
        let has_shell = daemon.logged("exec_shell is off") == 0;
        assert!(!(is_inside && has_shell), "programs could read the data directory");

        let absolute = file(&home).display().to_string();
        let below = if is_inside { "memory/everyone.md" } else { "../memory/everyone.md" };
        let mut calls = Vec::new();
        for path in [absolute.as_str(), below] {
            let directory = path.strip_suffix("/everyone.md").unwrap();
            calls.extend([
                format!("read_file {path}"),
                format!("list_directory {directory}"),
                format!("search_files opens --path {directory}"),
                format!("write_file {{\"path\": \"{path}\", \"content\": \"- mine\"}}"),
                format!(
                    "edit_file {{\"path\": \"{path}\", \"find\": \"opens\", \"replace\": \"is\"}}"
                ),
                format!("delete_file {path}"),
                format!("exec_shell 'cat {path}; grep -r opens {directory}; echo mine > {path}'"),
                format!("git_add {{\"paths\": [\"{path}\"]}}"),
                format!("git_diff {{\"path\": \"{path}\", \"staged\": true}}"),
            ]);
        }
        calls.extend(
            [
                "search_files opens",
                "git_add {\"all\": true}",
                "git_diff {\"staged\": true}",
                "git_diff {}",
            ]
            .map(str::to_owned),
        );
        calls.push(
            "exec_shell 'grep -r opens / 2>/dev/null; git add -A; git diff --cached'".to_owned(),
        );
        for call in calls {
            let answer = printed(&home, &["ask", "me", &call, "--wait"]);
            assert!(!answer.contains("4711"), "{call}: {answer}");
        }
        assert_eq!(fs::read(file(&home)).unwrap(), before);
        stop(daemon);
    }
}
