//! Tests of `avocet job` with and without a daemon.

use avocet_tests::{Home, program};
use serde_json::Value;

use crate::support::{assert_fails, printed, printed_json, run, stop, until};

const ASKS: &str = r#"ask_user {"question": "Which colour?"}"#;

fn state(home: &Home, job: &str) -> String {
    printed_json(home, &["job", "show", job])["state"].as_str().unwrap().to_owned()
}

fn reaches(home: &Home, job: &str, wanted: &str) {
    until(wanted, || (state(home, job) == wanted).then_some(()));
}

#[test]
fn job_submitted_without_a_daemon_runs_at_the_next_start() {
    let home = Home::new(program!());
    let submit = ["job", "submit", "defaults", "list_directory {}", "--key", "k1"];
    let said = printed(&home, &submit);
    assert_eq!(said, "j1 is in the log; watch it with: avocet job logs -f j1\n");
    assert_eq!(printed(&home, &submit), "j1 was submitted before\n");
    assert_eq!(state(&home, "j1"), "queued");
    let daemon = home.daemon();
    let followed = run(&home, &["job", "logs", "-f", "j1"]);
    assert_eq!((followed.code, followed.err.as_str()), (Some(0), ""), "{followed:?}");
    for part in ["command: list_directory {}", "· list_directory {} ✓", "j1 completed"] {
        assert!(followed.out.contains(part), "{part:?} is not in {}", followed.out);
    }
    let job = printed_json(&home, &["job", "show", "j1"]);
    assert!(job["result"].as_str().unwrap().contains("**Summary**"), "{job}");
    let list = printed_json(&home, &["job", "list"]);
    assert_eq!((&list[0]["id"], &list[0]["agent"]), (&job["id"], &Value::from("defaults")));
    stop(daemon);
}

#[test]
fn job_that_waits_survives_a_restart_and_can_be_cancelled_once() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    printed(&home, &["job", "submit", "defaults", ASKS]);
    reaches(&home, "j1", "waiting");
    stop(daemon);
    let daemon = home.daemon();
    assert_eq!(state(&home, "j1"), "waiting");
    assert_eq!(printed(&home, &["job", "cancel", "j1"]), "j1 is cancelled\n");
    assert_eq!(state(&home, "j1"), "cancelled");
    let again = run(&home, &["job", "cancel", "j1"]);
    assert_fails(&again, 1, &["j1 is cancelled and cannot be cancelled"]);
    let followed = run(&home, &["job", "logs", "-f", "j1"]);
    assert_eq!(followed.code, Some(1), "{followed:?}");
    assert!(followed.out.ends_with("j1 cancelled\n"), "{followed:?}");
    stop(daemon);
}

#[test]
fn job_works_in_the_directory_that_it_names() {
    let home = Home::new(program!());
    let directory = tempfile::TempDir::new().unwrap();
    std::fs::write(directory.path().join("plan.txt"), "42").unwrap();
    let _daemon = home.daemon();
    let place = directory.path().to_str().unwrap();
    let task = r#"read_file {"path": "plan.txt"}"#;
    let submit = ["job", "submit", "builder", task, "--workspace", place, "-f"];
    let ran = run(&home, &submit);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("· read_file") && ran.out.contains("42"), "{}", ran.out);
    assert!(ran.out.contains("Branch: none, because the workspace is not a git"), "{}", ran.out);
    // The daemon's own directory is closed to jobs.
    let own = home.data_dir();
    let submit = ["job", "submit", "builder", task, "--workspace", own.to_str().unwrap()];
    assert_fails(&run(&home, &submit), 1, &["belongs to the daemon itself"]);
    assert_eq!(printed_json(&home, &["job", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn job_submitted_with_direct_runs_without_a_daemon() {
    let home = Home::new(program!());
    let submit = ["job", "submit", "defaults", "list_directory {}", "--direct"];
    let ran = run(&home, &submit);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.ends_with("j1 completed\n"), "{}", ran.out);
    let _daemon = home.daemon();
    let again = run(&home, &["job", "submit", "defaults", "x", "--direct"]);
    assert_fails(&again, 1, &["a daemon runs already; leave out --direct"]);
}

#[test]
fn job_commands_name_the_mistake_in_their_arguments() {
    let home = Home::new(program!());
    let _daemon = home.daemon();
    let table: [(&[&str], &[&str]); 4] = [
        (&["submit", "defalts", "x"], &["there is no agent \"defalts\"; did you mean default?"]),
        (&["submit", "defaults", "x", "--workspace", "/nowhere"], &["/nowhere cannot be used"]),
        (&["submit", "defaults", ""], &["the message is empty"]),
        (&["show", "j7"], &["there is no job j7; `avocet job list` shows them"]),
    ];
    for (arguments, names) in table {
        assert_fails(&run(&home, &[&["job"], arguments].concat()), 1, names);
    }
    assert_eq!(printed(&home, &["job", "list"]), "There are no jobs.\n");
}
