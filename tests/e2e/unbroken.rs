//! Tests that a restart or SIGKILL keeps keys, waits, conversations and accepted messages.

use avocet_tests::{Home, program};
use serde_json::json;

use crate::support::{
    Listener, end, printed, printed_json, said_in, start, stop, until_all_is_delivered,
};

/// The end of the daemon in a test.
#[derive(Debug, Clone, Copy)]
enum Goes {
    /// The daemon keeps running.
    Not,
    InOrder,
    Killed,
}

/// Sends the same messages again, which were accepted before.
fn repeat_prompts(home: &Home, goes: Goes) {
    assert_eq!(printed(home, &ASK), "m1 was accepted before\n", "{goes:?}");
    assert_eq!(printed(home, &SEND), "o2 was accepted before\n", "{goes:?}");
}

const ASK: [&str; 5] = ["ask", "me", "count to 1", "--key", "k"];
const SEND: [&str; 5] = ["send", "me", "hello", "--key", "k"];

#[tokio::test(flavor = "multi_thread")]
async fn same_key_is_one_message_even_if_the_daemon_restarts() {
    for goes in [Goes::Not, Goes::InOrder, Goes::Killed] {
        let home = Home::new(program!());
        let mut daemon = home.daemon();
        let mut listener = Listener::attach(&home, "terminal:local:me").await;
        assert_eq!(printed(&home, &ASK), "m1 is in the log\n");
        assert_eq!(listener.hear_text().await, "1.");
        assert_eq!(printed(&home, &SEND), "queued for terminal:local:me (o2)\n");
        assert_eq!(listener.hear_text().await, "hello");
        until_all_is_delivered(&home);
        if !matches!(goes, Goes::Not) {
            match goes {
                Goes::Killed => drop(daemon.kill()),
                Goes::InOrder | Goes::Not => stop(daemon),
            }
            repeat_prompts(&home, goes);
            daemon = home.daemon();
            listener = Listener::attach(&home, "terminal:local:me").await;
        }
        repeat_prompts(&home, goes);
        let asked = printed_json(&home, &ASK);
        assert_eq!(asked, json!({ "message": "m1", "duplicate": true }));
        printed(&home, &["send", "me", "the end"]);
        assert_eq!(listener.hear_text().await, "the end", "nothing is said twice: {goes:?}");
        assert_eq!(said_in(&home, "me"), ["count to 1"]);
        stop(daemon);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ask_and_chat_receive_their_answer_across_a_kill_of_the_daemon() {
    for command in [&["ask", "me", "-", "--wait"][..], &["chat"]] {
        let home = Home::new(program!());
        let daemon = home.daemon();
        let listener = Listener::attach(&home, "terminal:local:me").await;
        let waiting = start(home.command(command), b"count to 4\n");
        listener.see("text").await;
        drop(daemon.kill());
        let daemon = home.daemon();
        let answered = end(waiting);
        assert_eq!(answered.code, Some(0), "{answered:?}");
        assert_eq!(answered.out.lines().last(), Some("1, 2, 3, 4."), "{answered:?}");
        assert_eq!(said_in(&home, "me"), ["count to 4"], "it is not asked twice");
        stop(daemon);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_of_the_daemon_finishes_a_streaming_answer_first() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let listener = Listener::attach(&home, "terminal:local:me").await;
    printed(&home, &["ask", "me", "count to 4"]);
    listener.see("text").await;
    daemon.signal(rustix::process::Signal::TERM);
    assert_eq!(listener.hear_text().await, "1, 2, 3, 4.");
    stop(daemon);
    let turns = printed_json(&home, &["sessions", "show", "me"]);
    assert_eq!(turns[0]["state"], "done");
}
