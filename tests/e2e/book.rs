//! The programs that the book shows, run as they stand there.

use std::process::Command;

use avocet_tests::{Home, program};

use crate::support::stop;

const SOCKET: &str = include_str!("../../docs/src/build/socket.md");

#[test]
fn book_socket_client_asks_and_prints_the_answer() {
    let (_, rest) = SOCKET.split_once("```python\n").unwrap();
    let (client, _) = rest.split_once("```\n").unwrap();
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
