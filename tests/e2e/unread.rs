//! Tests of a standard error without a reader: the daemon continues, and reports the dropped lines
//! later.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use avocet_tests::{Home, program};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{run, run_with, until};

/// Starts a daemon whose standard error is a pipe, and waits until it answers.
fn daemon(home: &Home) -> Child {
    let mut command = home.command(&["run", "--log", "trace,avocet_store=info"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    until("the daemon", || (run(home, &["status"]).code == Some(0)).then_some(()));
    child
}

/// Makes the daemon log far more than a pipe and its own queue hold: each path that is read is
/// logged.
fn make_it_log(home: &Home) {
    let asked = format!("read_file {}", "a".repeat(150_000));
    for number in 0..12 {
        let chat = format!("chat-{number}");
        let ran = run_with(home, &["ask", &chat, "-", "--wait"], asked.as_bytes());
        assert!(ran.out.contains("invalid path"), "{:?} {}", ran.code, ran.err);
    }
}

#[track_caller]
fn stops(mut daemon: Child) {
    let pid = Pid::from_raw(i32::try_from(daemon.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let ended = until("the end of the daemon", || daemon.try_wait().unwrap());
    assert!(ended.success(), "{ended}");
}

#[test]
fn unread_stderr_does_not_block_answers_or_the_stop() {
    let home = Home::new(program!());
    let daemon = daemon(&home);
    make_it_log(&home);
    stops(daemon);
}

#[test]
fn unread_stderr_reports_dropped_lines_once_it_is_read() {
    let home = Home::new(program!());
    let mut daemon = daemon(&home);
    make_it_log(&home);
    let mut lines = BufReader::new(daemon.stderr.take().unwrap()).lines().map_while(Result::ok);
    let dropped = lines.find(|line| line.contains("WARN avocet::stderr: dropped ")).unwrap();
    assert!(dropped.ends_with(" log lines: stderr is not read"), "{dropped}");
    stops(daemon);
    assert!(lines.any(|line| line.contains("stopped")), "what comes later is logged again");
}
