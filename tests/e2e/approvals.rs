//! Tests of `avocet approvals`: calls that wait for approval are listed and decided, with a running
//! daemon and without one; and of the terminal's prompts.

use avocet_tests::{Home, program};
use serde_json::json;

use crate::support::{Listener, assert_fails, printed, printed_json, run, stop, until};

const CHAT: &str = "terminal:local:me";
const CONFIG: &str = "[tools.policy]\nwrite_file = \"ask\"\n";

fn home() -> Home {
    Home::new(program!()).with_config(CONFIG)
}

#[tokio::test]
async fn approval_in_a_terminal_is_asked_and_answered_in_words() {
    let home = home();
    let daemon = home.daemon();
    let listener = Listener::attach(&home, CHAT).await;
    printed(&home, &["ask", "me", "write_file a.txt hello"]);
    let asked = listener.hear().await;
    let shown = asked["text"].as_str().unwrap();
    insta::assert_snapshot!("terminal", shown);
    assert_eq!(asked["choices"].as_array().unwrap().len(), 3);
    printed(&home, &["ask", "me", "/deny not there"]);
    assert_eq!(listener.hear_text().await, "Denied.");
    let answer = listener.hear_text().await;
    assert!(answer.contains("denied by the owner; the reason: not there"), "{answer}");
    assert!(!home.workspace().join("a.txt").exists());

    printed(&home, &["ask", "me", "write_file a.txt hello"]);
    listener.hear().await;
    printed(&home, &["ask", "me", "/approve"]);
    assert_eq!(listener.hear_text().await, "Allowed.");
    listener.hear().await;
    assert!(home.workspace().join("a.txt").exists());
    stop(daemon);
}

#[test]
fn approvals_lists_and_decides_calls_with_and_without_a_daemon() {
    let home = home();
    let mut daemon = Some(home.daemon());
    for (number, runs) in [(1, true), (3, false)] {
        let [allowed, denied] = [number, number + 1].map(|number| format!("w{number}"));
        let [one, two] = [&allowed, &denied].map(|wait| format!("{wait}.txt"));
        for (file, session) in [(&one, "one"), (&two, "two")] {
            printed(&home, &["ask", session, &format!("write_file {file} hello")]);
            let open = || printed_json(&home, &["approvals"]).to_string();
            until("the question", || open().contains(file).then_some(()));
        }
        if !runs {
            stop(daemon.take().unwrap());
        }
        let open = printed_json(&home, &["approvals"]);
        assert_eq!(open[0]["id"], json!(allowed));
        assert_eq!(open[0]["session"], "terminal:local:one");
        assert_eq!(open[0]["tool"], "write_file");
        assert_eq!(open[0]["arguments"], json!({ "path": one, "content": "hello" }));
        let listed = printed(&home, &["approvals"]);
        let expected = [
            format!("{allowed}  write_file  in terminal:local:one"),
            "**May I use `write_file`?** I ask because [tools.policy] \"write_file\" = \"ask\"."
                .to_owned(),
            "    +hello\n".to_owned(),
            format!("    Allow once: avocet approvals approve {allowed}\n"),
            format!(
                "    Allow and trust this file: avocet approvals approve {allowed} --session\n"
            ),
            format!("    Deny: avocet approvals deny {denied} [REASON]\n"),
        ];
        for shown in expected {
            assert!(listed.contains(&shown), "{shown}: {listed}");
        }
        let says = printed(&home, &["approvals", "approve", &allowed]);
        assert_eq!(says, format!("{allowed} is allowed\n"));
        let says = printed(&home, &["approvals", "deny", &denied, "not there"]);
        assert_eq!(says, format!("{denied} is denied\n"));
        assert_fails(&run(&home, &["approvals", "approve", &denied]), 1, &[&denied]);
        assert_eq!(printed_json(&home, &["approvals"]), json!([]));
        if !runs {
            daemon = Some(home.daemon());
        }
        until("the file", || home.workspace().join(&one).exists().then_some(()));
        let answer = || printed(&home, &["sessions", "show", "two"]);
        let why = "denied by the owner; the reason: not there";
        let times = if runs { 1 } else { 2 };
        until("the denial", || (answer().matches(why).count() >= times).then_some(()));
        assert!(!home.workspace().join(&two).exists());
    }
    assert_eq!(printed(&home, &["approvals"]), "No calls wait for approval.\n");
    stop(daemon.unwrap());
}
