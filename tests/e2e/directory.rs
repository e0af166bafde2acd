//! The directory channel: a file in, an answer file out, once, also across a crash.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use avocet_tests::{DaemonProcess, FAIL_POINT, Home, program};

use crate::support::{assert_fails, printed, stop, until, until_all_is_delivered};

const CONFIG: &str = "[channels.directory]\npath = \"~/files\"\n";
const PAGE: &str = include_str!("../../docs/src/use/directory.md");

fn home() -> Home {
    Home::new(program!()).with_config(CONFIG)
}

/// Puts a message into the inbox, as the book says.
fn put(home: &Home, name: &str, text: &str) {
    let temporary = home.path("files/inbox/.new.tmp");
    fs::write(&temporary, text).unwrap();
    fs::rename(&temporary, home.path("files/inbox").join(name)).unwrap();
}

/// Waits for the folders of the channel. The one for refused files is made last.
fn wait_for_folders(home: &Home) {
    until("the folders", || home.path("files/refused").is_dir().then_some(()));
}

fn files(home: &Home, below: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.path("files").join(below)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Waits until there are as many answers, and returns their texts.
fn answers(home: &Home, count: usize) -> Vec<String> {
    let is_complete = |path: &PathBuf| path.extension() == Some("txt".as_ref());
    until("the answer", || {
        (files(home, "outbox").iter().filter(|path| is_complete(path)).count() >= count)
            .then_some(())
    });
    files(home, "outbox").iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn directory_answers_files_in_their_order_and_refuses_others() {
    let home = home();
    let mut daemon = home.daemon();
    wait_for_folders(&home);
    for (name, text) in [("1.txt", "count to 3\n"), ("2.txt", "count to 2"), ("3.txt", "\n")] {
        put(&home, name, text);
    }
    assert_eq!(answers(&home, 2), ["1, 2, 3.\n", "1, 2.\n"]);
    let line = daemon.wait_for("cannot accept a file");
    assert!(line.contains("3.txt") && line.contains("empty"), "{line}");
    until("the refused file", || home.path("files/refused/3.txt").exists().then_some(()));
    let reason = fs::read_to_string(home.path("files/refused/3.txt.error")).unwrap();
    assert!(reason.starts_with("the message is empty"), "{reason}");
    let status = printed(&home, &["status"]);
    assert!(status.contains("directory:main"), "{status}");
    stop(daemon);
    assert!(files(&home, "inbox").is_empty() && files(&home, "taken").is_empty());
}

#[test]
fn crash_at_each_point_leaves_exactly_one_answer() {
    for point in [
        "accept:before",
        "accept:after",
        "settle:before",
        "settle:after",
        "finish-send:before",
        "finish-send:after",
    ] {
        let home = home();
        let mut daemon = DaemonProcess::spawn(home.command(&["run"]).env(FAIL_POINT, point));
        daemon.wait_until_ready();
        wait_for_folders(&home);
        put(&home, "a.txt", "count to 3");
        let (status, log) = daemon.wait();
        assert!(!status.success(), "{point}: {log}");

        let daemon = home.daemon();
        answers(&home, 1);
        until("the end of the message", || files(&home, "taken").is_empty().then_some(()));
        until_all_is_delivered(&home);
        assert_eq!(answers(&home, 1), ["1, 2, 3.\n"], "{point}");
        stop(daemon);
    }
}

#[test]
fn directory_that_the_agent_can_reach_is_an_error_of_the_configuration() {
    let config = "[channels.directory]\npath = \"~/work/files\"\n[agents.defaults]\nworkspace = \"~/work\"\n";
    let home = Home::new(program!()).with_config(config);
    let words = ["`channels.directory.path`", "work/files and ", "name a separate directory"];
    assert_fails(&home.run(&["run"]), 78, &words);
    assert_fails(&home.run(&["config", "check"]), 78, &words);
    let home = Home::new(program!()).with_config("[channels.directory]\n");
    assert_fails(&home.run(&["run"]), 78, &["[channels.directory]: there is no path"]);
}

#[test]
fn directory_that_others_can_write_to_is_refused_in_the_log_and_by_doctor() {
    let home = home();
    fs::create_dir_all(home.path("files")).unwrap();
    fs::set_permissions(home.path("files"), fs::Permissions::from_mode(0o777)).unwrap();
    let mut daemon = home.daemon();
    let line = daemon.wait_for("the channel was interrupted");
    assert!(line.contains("has mode 0777") && line.contains("run: chmod 700 "), "{line}");
    let doctor = home.run(&["doctor"]);
    assert!(doctor.out.contains("has mode 0777"), "{doctor:?}");
    stop(daemon);
}

#[test]
fn book_script_asks_and_prints_the_answer() {
    let (_, rest) = PAGE.split_once("```sh\n").unwrap();
    let (script, _) = rest.split_once("```\n").unwrap();
    let (_, rest) = PAGE.split_once("```toml\n").unwrap();
    let (config, _) = rest.split_once("```\n").unwrap();
    let home = Home::new(program!()).with_config(config);
    let daemon = home.daemon();
    until("the inbox", || home.path("avocet-files/inbox").is_dir().then_some(()));
    fs::write(home.path("message"), "count to 3\n").unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).env("HOME", home.path(""));
    let ran = shell.stdin(fs::File::open(home.path("message")).unwrap()).output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    assert_eq!((ran.status.code(), out.as_ref()), (Some(0), "1, 2, 3.\n"), "{ran:?}");
    stop(daemon);
}
