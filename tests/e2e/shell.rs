//! Tests of `exec_shell` in the real program: its view of files, its refusals, its leftovers.

use std::fs;

use avocet_testkit::http::{ASK_PROXY, HttpFake, Piece, whole};
use avocet_testkit::{SystemPart, skip_without};
use avocet_tests::{Home, program};

use crate::support::{printed, run, stop, until};

#[test]
fn exec_shell_runs_in_the_workspace_and_sees_nothing_else() {
    let home = Home::new(program!());
    let mut daemon = home.daemon();
    if daemon.logged("exec_shell is off") > 0 {
        skip_without(SystemPart::ProgramSandbox);
        return stop(daemon);
    }
    let shell =
        |command: &str| printed(&home, &["ask", "me", &format!("exec_shell {command}"), "--wait"]);
    let outside = home.path("").display().to_string();
    let (fails, refused) = ("\"exit_code\":1", "permission denied");
    let table: [(String, &[&str]); 9] = [
        ("'echo hello > a.txt; cat a.txt'".to_owned(), &["hello", "\"exit_code\":0"]),
        ("'mkdir -p src; pwd'".to_owned(), &["workspace"]),
        ("'pwd' --working_dir src".to_owned(), &["workspace/src"]),
        ("'pwd' --working_dir ../..".to_owned(), &["invalid path"]),
        (format!("'cat {outside}/*.toml || exit 1'"), &[fails]),
        ("'echo error >&2; exit 7'".to_owned(), &["error", "\"exit_code\":7"]),
        ("'env | grep -c AVOCET; exit 1'".to_owned(), &["0", fails]),
        ("'sudo ls'".to_owned(), &[refused, "sudo becomes another user"]),
        (
            "'echo so far; sleep 100' --timeout 1".to_owned(),
            &["command timed out after 1s; the end of its output:", "so far"],
        ),
    ];
    for (command, expected) in table {
        let answer = shell(&command);
        for part in expected {
            assert!(answer.contains(part), "{command}: no {part:?} in {answer}");
        }
    }
    stop(daemon);
}

#[test]
fn background_program_outlives_its_turn_but_ends_at_a_restart() {
    let home = Home::new(program!());
    let mut daemon = home.daemon();
    if daemon.logged("exec_shell is off") > 0 {
        skip_without(SystemPart::ProgramSandbox);
        return stop(daemon);
    }
    let ask = |what: &str| printed(&home, &["ask", "me", what, "--wait"]);
    let script = "echo hello; while :; do sleep 1; done";
    let call = format!("exec_shell {{\"command\": \"{script}\", \"background\": true}}");
    let started = ask(&call);
    let id = started.split('"').find(|word| word.starts_with("p1.")).unwrap().to_owned();
    let polled = ask(&format!("process_poll {id} --wait 30"));
    assert!(polled.contains("hello") && polled.contains("\"running\":true"), "{polled}");
    let listed = ask("process_poll {}");
    assert!(listed.contains(&id) && listed.contains(script), "{listed}");
    let elsewhere = printed(&home, &["ask", "other", &format!("process_poll {id}"), "--wait"]);
    assert!(elsewhere.contains("not started in this conversation"), "{elsewhere}");

    stop(daemon);
    let daemon = home.daemon();
    let polled = ask(&format!("process_poll {id}"));
    assert!(polled.contains("it ended at a restart of the daemon"), "{polled}");
    assert!(ask("process_poll {}").contains("\"programs\":[]"));
    stop(daemon);
}

#[tokio::test(flavor = "multi_thread")]
async fn sandbox_hosts_are_reachable_by_a_program_and_logged() {
    let server = HttpFake::start(|_| {
        let mut pieces = whole(200, &[], "hello from outside");
        pieces.push(Piece::Close);
        pieces
    })
    .await;
    let address = server.address();
    let text = format!("[sandbox]\nhosts = [\"{address}\", \"registry.example:8443\"]\n");
    let home = Home::new(program!()).with_config(&text);
    let mut daemon = home.daemon();
    let shut = daemon.logged("[sandbox] hosts") > 0;
    let doctor = run(&home, &["doctor"]).out;
    if shut {
        assert!(doctor.contains("! network"), "{doctor}");
        skip_without(SystemPart::Namespaces);
        return stop(daemon);
    }
    let open = format!("✓ network        programs reach only {address}, registry.example:8443");
    assert!(doctor.contains(&open), "{doctor}");
    fs::write(home.workspace().join("ask"), ASK_PROXY).unwrap();
    let ask = |what: &str| {
        let command = format!("exec_shell 'bash ask \"{what}\"'");
        printed(&home, &["ask", "me", &command, "--wait"])
    };
    let refused = ask(&format!("CONNECT localhost:{}", address.port()));
    assert!(refused.contains("[sandbox] hosts does not open it; ask the operator"), "{refused}");
    let reached = ask(&format!("GET http://{address}/path?query"));
    assert!(reached.contains("hello from outside"), "{reached}");
    assert!(reached.contains(&format!("\"reached\":[\"{address}\"]")), "{reached}");
    // The agent has read untrusted text, so now an owner is asked.
    assert_eq!(printed(&home, &["approvals"]).matches("exec_shell").count(), 0);
    printed(&home, &["ask", "me", "exec_shell pwd"]);
    let open = || printed(&home, &["approvals"]);
    until("the question", || open().contains("exec_shell").then_some(()));
    for (says, host) in [
        ("a program connected to a host", address.to_string()),
        ("refused a program's connection to a host", format!("localhost:{}", address.port())),
    ] {
        assert_eq!(daemon.logged(&format!("{says} host=\"{host}\"")), 1, "{says}");
    }
    assert_eq!(daemon.logged("path?query"), 0);
    stop(daemon);
}
