//! Tests of read-only commands: `status`, `sessions list`, `sessions show`, `usage`; with a running
//! daemon, with a stopped one, and before the first start.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use avocet_tests::{DaemonProcess, Home, program};
use serde_json::Value;

use crate::support::{assert_fails, printed, run, stop};

/// The state of the home.
#[derive(Debug, Clone, Copy, PartialEq)]
enum World {
    /// The daemon runs, and has answered two messages in one session and one in another.
    Running,
    /// The daemon has stopped and left its log.
    Stopped,
    /// The program has never run here.
    Empty,
}

fn home(world: World) -> (Home, Option<DaemonProcess>) {
    let home = Home::new(program!());
    if world == World::Empty {
        return (home, None);
    }
    let daemon = home.daemon();
    let said = [("other", "help"), ("me", "remember the key is under the mat"), ("me", "hm")];
    for (session, text) in said {
        printed(&home, &["ask", session, text, "--wait"]);
    }
    if world == World::Running {
        return (home, Some(daemon));
    }
    stop(daemon);
    (home, None)
}

#[test]
fn status_with_watch_prints_the_state_again_until_its_reader_is_gone() {
    let (home, daemon) = home(World::Running);
    for (arguments, beginning) in [
        (&["status", "--watch", "1"][..], "daemon "),
        (&["status", "--json", "--watch", "1"], "{\"version\":"),
    ] {
        let mut watching = home.command(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(watching.stdout.take().unwrap()).lines();
        let pages = lines.map(Result::unwrap).filter(|line| line.starts_with(beginning));
        assert_eq!(pages.take(2).count(), 2, "{arguments:?}");
        assert!(watching.wait().unwrap().success(), "it ends without a reader");
    }
    stop(daemon.unwrap());
}

#[test]
fn sessions_export_prints_whole_conversations_and_delete_removes_them() {
    let (home, daemon) = home(World::Running);
    let exported = printed(&home, &["sessions", "export", "me"]);
    for part in [
        "# terminal:local:me\n",
        ", done\n",
        "remember the key is under the mat",
        "\nResult:\n\n```\n",
        "**avocet:**\n\nremembered",
    ] {
        assert!(exported.contains(part), "{part:?} is not in:\n{exported}");
    }
    let turns = printed(&home, &["sessions", "export", "me", "--format", "json"]);
    assert_eq!(turns, printed(&home, &["sessions", "show", "me", "--json"]));

    let refused = run(&home, &["sessions", "delete", "me"]);
    assert_fails(&refused, 1, &["there is no terminal to ask on; give --yes"]);
    let deleted = printed(&home, &["sessions", "delete", "me", "--yes"]);
    assert_eq!(deleted, "terminal:local:me is deleted: 2 turns\n");
    assert_fails(&run(&home, &["sessions", "export", "me"]), 1, &["has no messages yet"]);
    assert_eq!(
        printed(&home, &["ask", "me", "hm", "--wait"]),
        printed(&home, &["ask", "new", "hm", "--wait"])
    );
    stop(daemon.unwrap());
    let deleted = printed(&home, &["sessions", "delete", "other", "--yes"]);
    assert_eq!(deleted, "terminal:local:other is deleted: 1 turn\n", "without a daemon");
    let gone = run(&home, &["sessions", "delete", "other", "--yes"]);
    assert_fails(&gone, 1, &["there is no session terminal:local:other"]);
}

#[test]
fn read_only_commands_print_the_state_and_exit_as_documented() {
    use World::{Empty, Running, Stopped};
    let there_is = "error: terminal:local:nobody has no messages yet";
    let none = "There are no sessions yet.";
    let me = "terminal:local:me ";
    #[rustfmt::skip]
    let table: [(World, &[&str], i32, &[&str]); 20] = [
        (Running, &["status"], 0, &["daemon          process ", "version 0.1.0", "start 1",
            "messages        3 in 2 sessions, 0 queued", "disk            up: ", "terminal:local  up"]),
        (Stopped, &["status"], 69, &["daemon       not running", "messages     3 in 2 sessions, 0 queued",
            "undelivered  1 for terminal:local:other since "]),
        (Empty, &["status"], 69, &["not running"]),
        (Running, &["sessions", "list"], 0, &[me, "terminal:local:other "]),
        (Stopped, &["sessions", "list"], 0, &[me, "terminal:local:other "]),
        (Empty, &["sessions", "list"], 0, &[none]),
        (Running, &["sessions", "show", "me"], 0, &["remember the key", "avocet: remembered"]),
        (Stopped, &["sessions", "show", "terminal:local:me"], 0, &["✓ remembered", "done"]),
        (Empty, &["sessions", "show", "me"], 1, &["terminal:local:me has no messages yet"]),
        (Running, &["sessions", "show", "nobody"], 1, &[there_is]),
        (Stopped, &["sessions", "show", "nobody"], 1, &[there_is]),
        (Empty, &["sessions", "show", "nobody"], 1, &[there_is]),
        (Running, &["usage"], 0, &["No costs in the last 30 days."]),
        (Stopped, &["usage", "--days", "7"], 0, &["No costs in the last 7 days."]),
        (Running, &["prompt", "me", "--message", "and?"], 0, &["offline/commands: about ",
            "instructions: built-in", "tools: ", "earlier turns: 2", "── user ──\nand?\n\n[It is ",
            "── tool read_file, "]),
        (Stopped, &["prompt", "me"], 0, &["(the next message)", "remember the key is under the mat"]),
        (Stopped, &["prompt", "nobody"], 1, &[there_is]),
        (Empty, &["prompt", "me"], 1, &["terminal:local:me has no messages yet"]),
        (Running, &["top"], 2, &["error: avocet top needs a terminal"]),
        (Empty, &["usage", "--days", "1"], 0, &["No costs today (UTC)."]),
    ];
    let worlds = [Running, Stopped, Empty].map(|world| (world, home(world)));
    let mut wrong = Vec::new();
    for (world, arguments, code, shown) in table {
        let (_, (home, _)) = worlds.iter().find(|(name, _)| *name == world).unwrap();
        let ran = run(home, arguments);
        let text = format!("{}{}", ran.out, ran.err);
        let shows = shown.iter().all(|part| text.contains(part));
        if ran.code != Some(code) || !shows || ran.err.is_empty() == [1, 2].contains(&code) {
            wrong.push(format!("{world:?} {arguments:?}: not {code} and {shown:?}: {ran:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn json_of(home: &Home, arguments: &[&str], code: i32) -> Value {
    let ran = run(home, &[arguments, &["--json"]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (Some(code), ""), "{arguments:?}: {ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn status_json_is_the_same_with_and_without_a_daemon() {
    let (home, daemon) = home(World::Running);
    let mut running = json_of(&home, &["status"], 0);
    let daemon = daemon.unwrap();
    assert_eq!(running["pid"], daemon.pid());
    assert_eq!(running["channels"][0]["account"], "terminal:local");
    assert_eq!(running["log"]["messages"], 3);
    stop(daemon);
    let mut stopped = json_of(&home, &["status"], 69);
    assert_eq!(stopped["pid"], Value::Null);
    for status in [&mut running, &mut stopped] {
        for key in ["pid", "uptime_seconds", "channels", "disk"] {
            status.as_object_mut().unwrap().remove(key).unwrap();
        }
    }
    assert_eq!(running, stopped);
}

#[test]
fn sessions_json_is_the_same_with_and_without_a_daemon() {
    let (home, daemon) = home(World::Running);
    let looks: [&[&str]; 4] = [
        &["sessions", "list"],
        &["sessions", "list", "--limit", "1"],
        &["sessions", "show", "me"],
        &["sessions", "show", "me", "--turns", "1"],
    ];
    let running = looks.map(|look| json_of(&home, look, 0));
    stop(daemon.unwrap());
    assert_eq!(looks.map(|look| json_of(&home, look, 0)), running);
    let [all, last_used, turns, last_turn] = running;
    assert_eq!(all.as_array().unwrap().len(), 2);
    assert_eq!(all[0]["session"], "terminal:local:me", "the last used comes first");
    assert_eq!((all[0]["turns"].clone(), all[1]["turns"].clone()), (2.into(), 1.into()));
    assert_eq!(last_used.as_array().unwrap().as_slice(), &all.as_array().unwrap()[..1]);
    let call = &turns[0]["steps"][0]["calls"][0];
    assert_eq!(call["call"]["name"], "memory_write");
    assert_eq!(last_turn.as_array().unwrap().as_slice(), &turns.as_array().unwrap()[1..]);
}

#[test]
fn read_only_commands_print_empty_json_before_the_first_daemon() {
    let home = Home::new(program!());
    let nothing = Value::Array(Vec::new());
    assert_eq!(json_of(&home, &["sessions", "list"], 0), nothing);
    assert_eq!(json_of(&home, &["sessions", "show", "me"], 0), nothing);
    let status = json_of(&home, &["status"], 69);
    assert_eq!((status["pid"].clone(), status["log"]["messages"].clone()), (Value::Null, 0.into()));
}

#[test]
fn read_only_commands_leave_the_log_unchanged() {
    let (home, daemon) = home(World::Running);
    // A message to a chat without a listener waits in the outbox.
    printed(&home, &["send", "me", "hello"]);
    let log = || json_of(&home, &["status"], 0)["log"].take();
    let before = log();
    for look in [&["sessions", "list"][..], &["sessions", "show", "me"], &["status"]] {
        assert_eq!(run(&home, look).code, Some(0));
    }
    assert_eq!(log(), before);
    drop(daemon);
    let mut next = home.daemon();
    assert_eq!(json_of(&home, &["status"], 0)["log"]["epoch"], 2);
    next.signal(rustix::process::Signal::TERM);
    assert!(next.wait().0.success());
}
