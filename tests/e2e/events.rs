//! `avocet events`, `avocet subscribers` and `avocet trace` with the real program.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use avocet_tests::{Home, program};
use serde_json::Value;

use crate::support::{assert_fails, assert_names, printed, printed_json, run, stop, until};

/// Asks the agent and waits for the reply. Returns the number of the message.
fn ask(home: &Home, text: &str) -> String {
    printed(home, &["ask", "--wait", "me", text]);
    let events = events(home, &["--kind", "message.queued"]);
    events.last().unwrap()["message"]["id"].as_str().unwrap().to_owned()
}

fn events(home: &Home, options: &[&str]) -> Vec<Value> {
    let out = printed(home, &[&["events"], options].concat());
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["kind"].as_str().unwrap()).collect()
}

#[test]
fn events_prints_the_same_lines_with_and_without_a_daemon() {
    let home = Home::new(program!());
    assert_eq!(printed(&home, &["events"]), "");
    let daemon = home.daemon();
    ask(&home, "count to 3");
    let delivered =
        ["--kind", "delivery.sending,delivery.sent,delivery.pending", "--session", "me"];
    let all = events(&home, &[]);
    let found = kinds(&all);
    for kind in ["daemon.started", "message.queued", "turn.running", "model.answered", "turn.done"]
    {
        assert!(found.contains(&kind), "{kind}: {found:?}");
    }
    assert_eq!(kinds(&events(&home, &delivered)), ["delivery.pending"]);
    let last = all.last().unwrap()["seq"].to_string();
    assert_eq!(events(&home, &["--from", &last]), Vec::<Value>::new());
    let done = events(&home, &["--kind", "turn.done"]);
    assert_eq!(done[0]["turn_info"]["answer"], "1, 2, 3.");
    stop(daemon);
    assert_eq!(events(&home, &[]), all);
    let error = run(&home, &["events", "--kind", "talk"]);
    assert_eq!(error.code, Some(2));
    assert!(
        error.err.contains("there is no kind \"talk\"; there are daemon.started, "),
        "{error:?}"
    );
    assert_eq!(run(&home, &["events", "--name", "x"]).code, Some(2));
}

/// A follower whose lines are read one by one.
struct Follower {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Follower {
    fn start(home: &Home, options: &[&str]) -> Self {
        let mut command = home.command(&[&["events", "--follow"], options].concat());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }

    /// Reads up to an event of this kind.
    fn next_of(&mut self, kind: &str) -> Value {
        loop {
            let event = self.next();
            if event["kind"] == kind {
                return event;
            }
        }
    }

    /// Kills the follower. Returns its stderr.
    fn kill(mut self) -> String {
        // It may have ended already.
        drop(self.child.kill());
        let ended = self.child.wait_with_output().unwrap();
        String::from_utf8(ended.stderr).unwrap()
    }
}

#[test]
fn events_follow_continues_over_restarts_of_either_side() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let mut follower = Follower::start(&home, &["--name", "me", "--from", "0"]);
    let first = follower.next();
    assert_eq!((&first["seq"], &first["kind"]), (&1.into(), &"daemon.started".into()));
    printed(&home, &["ask", "--wait", "me", "count to 2"]);
    let done = follower.next_of("message.done")["seq"].as_i64().unwrap();
    daemon.kill();
    let daemon = home.daemon();
    let started = follower.next_of("daemon.started")["seq"].as_i64().unwrap();
    assert!(started > done, "{started} {done}");
    let confirmed = || printed_json(&home, &["subscribers", "list"])[0]["seq"].as_i64().unwrap();
    until("the confirmation", || (confirmed() >= started).then_some(()));
    let warnings = follower.kill();
    assert_names_warning(&warnings, "no daemon runs; waiting for it");
    // New events wait for the follower.
    printed(&home, &["ask", "--wait", "me", "count to 3"]);
    let mut follower = Follower::start(&home, &["--name", "me"]);
    let next = follower.next();
    assert_eq!(next["seq"].as_i64().unwrap(), started + 1, "{next}");
    assert_eq!(next["kind"], "message.queued");
    assert_eq!(follower.kill(), "");
    let table = printed(&home, &["subscribers", "list"]);
    assert!(table.starts_with("name  confirmed up to  last confirmation\nme    "), "{table}");
    stop(daemon);
    assert_eq!(printed(&home, &["subscribers", "remove", "me"]), "me is removed\n");
    let none = printed(&home, &["subscribers", "list"]);
    assert_eq!(none, "No program follows the events under a name.\n");
    let refused = run(&home, &["subscribers", "remove", "me"]);
    assert_fails(&refused, 1, &["there is no subscriber \"me\""]);
}

#[test]
fn events_follow_ends_if_another_program_takes_its_name() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let mut first = Follower::start(&home, &["--name", "me", "--from", "0"]);
    first.next();
    let mut second = Follower::start(&home, &["--name", "me"]);
    let ended = until("the end of the first", || first.child.try_wait().unwrap());
    assert_eq!(ended.code(), Some(1));
    let message = "another connection follows the events under this name now";
    assert_names(&first.kill(), &[message]);
    printed(&home, &["ask", "--wait", "me", "count to 2"]);
    second.next_of("message.done");
    assert_eq!(second.kill(), "");
    stop(daemon);
}

/// The follower may notice the end of the daemon or of its connection first.
fn assert_names_warning(err: &str, text: &str) {
    assert!(err.is_empty() || err == format!("warning: {text}\n"), "{err}");
}

#[test]
fn trace_shows_the_way_of_a_message() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let message = ask(&home, "count to 3");
    let text = printed(&home, &["trace", &message]);
    for part in
        ["received", "from uid:", "“count to 3”", "queued", "model t1", "“1, 2, 3.”", "done"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains(" in all; model requests: 1, calls: 0, tokens: "), "{text}");
    stop(daemon);
    let spans = printed_json(&home, &["trace", &message]);
    let types: Vec<_> = spans.as_array().unwrap().iter().map(|span| &span["type"]).collect();
    assert_eq!(types[..3], ["received", "queued", "model"]);
    for id in ["t1", "o1"] {
        assert_eq!(printed_json(&home, &["trace", id]), spans, "{id}");
    }
    let odd = run(&home, &["trace", "x1"]);
    assert!(
        odd.err.contains("id \"x1\" is not a number with the prefix `m, t or o`"),
        "{}",
        odd.err
    );
    let missing = run(&home, &["trace", "m99"]);
    assert_names(&missing.err, &["there are no events of m99"]);
    assert_eq!(missing.code, Some(1));
}
