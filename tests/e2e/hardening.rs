//! Tests against core dumps, and against an environment that other processes can read.

use std::fs;
use std::os::unix::fs::MetadataExt;

use avocet_tests::{DaemonProcess, Home, program};

use crate::support::{as_nobody, end, set_mode, start, stop};

#[test]
fn hardening_disables_core_dumps_and_hides_the_environment_from_its_user() {
    let home = Home::new(program!()).with("SOME_KEY", "a-key-in-the-environment");
    set_mode(&home, "", 0o777);
    let mut command = as_nobody(&home, &["run"]);
    set_mode(&home, "", 0o777);
    let mut daemon = DaemonProcess::spawn(&mut command);
    daemon.wait_until_ready();
    let proc = |name: &str| format!("/proc/{}/{name}", daemon.pid());
    let limits = fs::read_to_string(proc("limits")).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    let words: Vec<&str> = core.split_whitespace().collect();
    assert_eq!(words[4..6], ["0", "0"], "{core}");
    assert_eq!(fs::metadata(proc("environ")).unwrap().uid(), 0, "it is root's, not the daemon's");
    let read = start(as_nobody_with(&home, "cat", &proc("environ")), b"");
    assert_ne!(end(read).code, Some(0), "its own user cannot read it");

    // The daemon's work with files and programs is unaffected.
    let is_off = daemon.logged("exec_shell is off") > 0;
    let mut calls = vec![("write_file a.txt hello", "a.txt")];
    if !is_off {
        calls.push(("exec_shell 'cat a.txt; ulimit -c'", "hello"));
    }
    for (call, expected) in calls {
        let ran = end(start(as_nobody(&home, &["ask", "me", call, "--wait"]), b""));
        assert!(ran.out.contains(expected), "{call}: {ran:?}");
        set_mode(&home, "", 0o777);
    }
    stop(daemon);
}

/// Returns another program as the user `nobody`.
fn as_nobody_with(home: &Home, program: &str, argument: &str) -> std::process::Command {
    use std::os::unix::process::CommandExt;
    let mut command = std::process::Command::new(program);
    command.arg(argument).current_dir(home.path(""));
    if crate::support::is_root() {
        command.uid(65534).gid(65534);
    }
    command
}
