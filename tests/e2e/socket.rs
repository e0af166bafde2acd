//! Tests of the socket and its commands: `ask` and `send`, with a daemon and without one.

use avocet_tests::{Home, program};
use serde_json::json;

use crate::support::{
    Listener, assert_fails, log_status, printed, printed_json, run, run_with, said_in, stop,
};

#[test]
fn ask_prints_the_reply_with_wait_and_otherwise_the_message_id() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    assert_eq!(printed(&home, &["ask", "me", "count to 2", "--wait"]), "1, 2.\n");
    assert_eq!(printed(&home, &["ask", "me", "count to 2"]), "m2 is in the log\n");
    let asked = printed_json(&home, &["ask", "me", "count to 1"]);
    assert_eq!(asked, json!({ "message": "m3", "duplicate": false }));
    let answered = printed_json(&home, &["ask", "terminal:local:me", "count to 1", "--wait"]);
    assert_eq!(answered["reply"], "1.");
    assert_eq!((&answered["id"], &answered["outcome"]), (&json!("m4"), &json!("replied")));
    assert_eq!(said_in(&home, "me").len(), 4);
    stop(daemon);
}

#[test]
fn ask_answers_chat_commands() {
    let home = Home::new(program!());
    let _daemon = home.daemon();
    let table = [
        ("/help", "/stop, /stop all: stop the current work"),
        ("/status", "I am not doing anything."),
    ];
    for (command, answer) in table {
        let out = printed(&home, &["ask", "me", command, "--wait"]);
        assert!(out.contains(answer), "{command}: {out:?}");
    }
}

#[test]
fn ask_and_send_read_stdin_without_a_text() {
    let home = Home::new(program!());
    let _daemon = home.daemon();
    let forms: [&[&str]; 2] = [&["me", "--wait"], &["me", "-", "--wait"]];
    for form in forms {
        let ran = run_with(&home, &[&["ask"], form].concat(), b"count to 3\n");
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "1, 2, 3.\n"), "{form:?}");
    }
    let forms: [&[&str]; 2] = [&["me"], &["me", "-"]];
    for form in forms {
        let ran = run_with(&home, &[&["send"], form].concat(), "two\nlines ☂\r\n".as_bytes());
        assert_eq!(ran.code, Some(0), "{form:?}: {ran:?}");
    }
    assert_eq!(said_in(&home, "me"), ["count to 3"; 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn send_reaches_listeners_of_the_chat() {
    let home = Home::new(program!());
    let _daemon = home.daemon();
    let (me, other) = (Listener::attach(&home, "terminal:local:me").await, "other:topic");
    let other = Listener::attach(&home, &format!("terminal:local:{other}")).await;
    assert_eq!(
        printed(&home, &["send", "me", "good morning"]),
        "queued for terminal:local:me (o1)\n"
    );
    let heard = me.hear().await;
    assert_eq!((&heard["text"], &heard["id"]), (&json!("good morning"), &json!("o1")));
    assert_eq!((&heard["turn"], &heard["repeat"]), (&json!(null), &json!(false)));
    printed(&home, &["send", "terminal:local:other:topic", "two\nlines"]);
    assert_eq!(other.hear_text().await, "two\nlines");
    printed(&home, &["ask", "me", "count to 1"]);
    assert_eq!(me.see("text").await["delta"], "1.");
    assert_eq!(me.hear_text().await, "1.", "a reply to another connection reaches the listener");
}

#[tokio::test(flavor = "multi_thread")]
async fn ask_and_send_without_a_daemon_are_kept_for_its_next_start() {
    let home = Home::new(program!());
    let later = "; no daemon runs; its next start delivers the message";
    assert_eq!(
        printed(&home, &["send", "me", "one"]),
        format!("queued for terminal:local:me (o1){later}\n")
    );
    let sent = printed_json(&home, &["send", "me", "two"]);
    assert_eq!(sent, json!({ "delivery": "o2", "duplicate": false }));
    let later = "; no daemon runs; its next start answers the message";
    assert_eq!(printed(&home, &["ask", "me", "count to 2"]), format!("m1 is in the log{later}\n"));
    for start in ["first", "second"] {
        let daemon = home.daemon();
        let listener = Listener::attach(&home, "terminal:local:me").await;
        if start == "first" {
            let heard = [listener.hear_text().await, listener.hear_text().await];
            assert_eq!(heard, ["one", "two"]);
            assert_eq!(listener.hear_text().await, "1, 2.");
        }
        printed(&home, &["send", "me", start]);
        assert_eq!(listener.hear_text().await, start, "the daemon sends a confirmed text once");
        stop(daemon);
    }
}

#[test]
fn ask_with_wait_fails_without_a_daemon() {
    let home = Home::new(program!());
    let ran = run(&home, &["ask", "me", "help", "--wait"]);
    assert_fails(&ran, 69, &["no daemon runs", "start one with `avocet run`", "leave out --wait"]);
    let _daemon = home.daemon();
    assert_eq!(log_status(&home)["messages"], 0, "the refused message stays out of the log");
}

#[tokio::test(flavor = "multi_thread")]
async fn ask_after_its_timeout_leaves_the_answer_to_the_chat() {
    let home = Home::new(program!());
    let _daemon = home.daemon();
    let listener = Listener::attach(&home, "terminal:local:me").await;
    let ran = run(&home, &["ask", "me", "count to 4", "--wait", "--timeout", "0"]);
    assert_fails(&ran, 75, &["m1 has no answer yet; it comes to the chat"]);
    assert_eq!(listener.hear_text().await, "1, 2, 3, 4.");
}

#[test]
fn ask_and_send_name_an_unknown_channel_and_the_configured_ones() {
    let home = Home::new(program!());
    let places = ["discord:work:general is on no configured channel", "terminal:local"];
    let check = || {
        for command in ["send", "ask"] {
            let ran = run(&home, &[command, "discord:work:general", "hi"]);
            assert_fails(&ran, 1, &places);
        }
    };
    check();
    let _daemon = home.daemon();
    check();
    assert_eq!(log_status(&home)["messages"], 0);
}

#[test]
fn send_to_a_word_without_a_chat_fails_and_names_near_chats() {
    let home = Home::new(program!());
    let check = |word: &str, names: &[&str]| {
        let how = "give a chat as channel:account:chat";
        let ran = run(&home, &["send", word, "hi"]);
        assert_fails(&ran, 1, &[&[&*format!("there is no chat {word:?}")], names].concat());
        assert!(ran.err.to_lowercase().contains(how), "{ran:?}");
    };
    check("ann", &["terminal:local:ann is a new conversation of the terminal"]);
    check("term", &[]);
    let daemon = home.daemon();
    check("ann", &["terminal:local:ann is a new conversation of the terminal"]);
    check("term", &["did you mean terminal:local:CHAT?"]);
    assert_eq!(log_status(&home)["pending"], 0, "the refused texts stay out of the outbox");
    printed(&home, &["ask", "anna", "count to 1", "--wait"]);
    check("ann", &["did you mean terminal:local:anna?"]);
    // A chat with a message is known: one that was asked, and one that got a text.
    assert!(printed(&home, &["send", "anna", "hi"]).starts_with("queued for terminal:local:anna"));
    printed(&home, &["send", "terminal:local:ann", "hi"]);
    assert!(printed(&home, &["send", "ann", "hi"]).starts_with("queued for terminal:local:ann ("));
    stop(daemon);
    check("nna", &["did you mean terminal:local:anna?"]);
    assert!(printed(&home, &["send", "ann", "hi"]).starts_with("queued for terminal:local:ann ("));
}

#[test]
fn ask_with_a_word_alone_says_that_it_is_the_conversation() {
    let home = Home::new(program!());
    let words = ["there is no text: \"hello\" was taken for the conversation", "avocet ask me"];
    assert_fails(&run(&home, &["ask", "hello"]), 1, &words);
    let _daemon = home.daemon();
    assert_fails(&run(&home, &["ask", "hello"]), 1, &words);
    assert_eq!(printed(&home, &["ask", "hello", "count to 1", "--wait"]), "1.\n");
}

#[test]
fn ask_and_send_refuse_an_empty_text() {
    let home = Home::new(program!());
    let _daemon = home.daemon();
    for command in ["send", "ask"] {
        for text in ["", " \n", "\u{202e}\u{200b}"] {
            assert_fails(&run(&home, &[command, "me", text]), 1, &["the message is empty"]);
        }
    }
}
