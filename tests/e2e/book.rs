//! The programs that the book shows, run as they stand there.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use avocet_tests::{Home, program};

use crate::support::{Listener, printed, printed_json, stop, until};

const EVENTS: &str = include_str!("../../docs/src/build/events.md");
const SOCKET: &str = include_str!("../../docs/src/build/socket.md");

#[test]
fn book_socket_client_asks_and_prints_the_answer() {
    let client = program_of(SOCKET);
    assert!(client.lines().count() <= 20, "the book promises a short client");
    let home = Home::new(program!());
    let daemon = home.daemon();
    let ask = |session: &str| {
        let mut python = Command::new("python3");
        python.args(["-c", client]).arg(home.socket()).args([session, "count to 3"]);
        python.output().unwrap()
    };
    let ran = ask("terminal:local:me");
    let out = String::from_utf8_lossy(&ran.stdout);
    assert_eq!((ran.status.code(), out.as_ref()), (Some(0), "1, 2, 3.\n"), "{ran:?}");
    let refused = ask("nowhere");
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(1) && error.starts_with("ask: "), "{refused:?}");
    stop(daemon);
}

/// A killed program continues where it stopped.
#[tokio::test]
async fn book_events_client_continues_behind_its_last_answer() {
    let program = program_of(EVENTS);
    let home = Home::new(program!());
    let daemon = home.daemon();
    let listener = Listener::attach(&home, "terminal:local:me").await;
    let position = || printed_json(&home, &["subscribers", "list"])[0]["seq"].as_i64();
    for number in 1..=2 {
        let text = format!("hello {number}");
        printed(&home, &["send", "terminal:local:me", &text]);
        assert_eq!(listener.hear_text().await, text);
        let mut python = Command::new("python3");
        python.args(["-c", program]).arg(home.socket()).stdout(Stdio::piped());
        let mut python = python.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(python.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (seq, printed) = line.trim_end().split_once(' ').unwrap();
        assert_eq!(printed, format!("terminal:local:me {text}"));
        let seq: i64 = seq.parse().unwrap();
        until("the answer of the program", || (position() >= Some(seq)).then_some(()));
        python.kill().unwrap();
        python.wait().unwrap();
    }
    stop(daemon);
}

/// Returns the program on a page of the book.
fn program_of(page: &'static str) -> &'static str {
    let (_, rest) = page.split_once("```python\n").unwrap();
    rest.split_once("```\n").unwrap().0
}
