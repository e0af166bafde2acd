//! Tests of `avocet chat` in a pipe: answers only, without configuration or network.

use std::fs;

use avocet_tests::{Home, ProgramOutput, program};

use crate::support::{log_status, printed, run_with, said_in, stop};

#[track_caller]
fn chat(home: &Home, lines: &str) -> String {
    let ProgramOutput { code, out, err } = run_with(home, &["chat"], lines.as_bytes());
    assert_eq!((code, err.as_str()), (Some(0), ""), "{lines}: {out}");
    out
}

fn with_files() -> Home {
    let home = Home::new(program!());
    fs::create_dir_all(home.workspace().join("src")).unwrap();
    fs::write(home.workspace().join("hello.txt"), "good morning\n").unwrap();
    fs::write(home.workspace().join("src/lib.rs"), "mod a;\n").unwrap();
    home
}

#[test]
fn chat_in_an_empty_home_answers_help() {
    let home = Home::new(program!());
    let out = chat(&home, "help\n");
    assert!(out.starts_with("No language model is configured, so I understand"), "{out}");
    assert!(out.contains("`read_file PATH"), "{out}");
    assert!(!home.socket().exists(), "the daemon inside ends with the chat");
}

#[test]
fn chat_is_the_default_command() {
    let home = Home::new(program!());
    let ran = run_with(&home, &[], b"help\n");
    assert_eq!((ran.code, ran.out), (Some(0), chat(&home, "help\n")));
}

#[test]
fn chat_recalls_memories_of_an_earlier_process() {
    let home = Home::new(program!());
    let text = "remember the key is under the mat\nwhat do you know about key\n";
    let said = chat(&home, text);
    assert!(said.starts_with("remembered (person): the key is under the mat\n- m1"), "{said}");
    let said = chat(&home, "what do you know about key?\n");
    assert!(said.starts_with("- m1 (person, "), "{said}");
    assert!(said.ends_with("): the key is under the mat\n"), "{said}");
}

#[test]
fn chat_answers_lines_in_order_until_the_end_or_quit() {
    let home = with_files();
    let table = [
        ("\n\ncount to 1\n\ncount to 2\ncount to 1", "1.\n1, 2.\n1.\n"),
        ("count to 1\n/quit\ncount to 2\n", "1.\n"),
        ("count to 1\r\n/exit\r\ncount to 2\r\n", "1.\n"),
        ("read_file hello.txt\n", "     1\tgood morning\n"),
        ("", ""),
    ];
    for (lines, answers) in table {
        assert_eq!(chat(&home, lines), answers, "{lines:?}");
    }
}

#[test]
fn chat_read_file_suggests_names_for_a_missing_file() {
    let out = chat(&with_files(), "read_file lib.rs\nread_file helo.txt\n");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        lines,
        [
            "That did not work: file not found: lib.rs does not exist; did you mean src/lib.rs?",
            "That did not work: file not found: helo.txt does not exist; did you mean hello.txt?",
        ]
    );
}

#[test]
fn chat_connects_to_a_running_daemon() {
    let home = with_files();
    let daemon = home.daemon();
    assert_eq!(chat(&home, "read_file hello.txt\n"), "     1\tgood morning\n");
    let named = run_with(&home, &["chat", "--chat", "work"], b"count to 1\n");
    assert_eq!(named.out, "1.\n");
    let log = log_status(&home);
    assert_eq!((&log["epoch"], &log["messages"]), (&1.into(), &2.into()), "no other was started");
    assert_eq!(said_in(&home, "me"), ["read_file hello.txt"]);
    assert_eq!(said_in(&home, "work"), ["count to 1"]);
    stop(daemon);
    assert!(printed(&home, &["sessions", "show", "me"]).contains("good morning"));
}

#[test]
fn chat_reports_a_refused_message_and_exits_with_1() {
    let home = Home::new(program!());
    let long = format!("{}\ncount to 1\n", "x".repeat(300_000));
    let ran = run_with(&home, &["chat"], long.as_bytes());
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert!(ran.err.starts_with("not sent: ") && ran.err.contains("300000"), "{}", ran.err);
    assert_eq!(ran.out, "1.\n", "the next line is answered all the same");
    assert_eq!(said_in(&home, "me"), ["count to 1"]);
}
