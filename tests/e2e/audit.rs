//! Tests of `avocet audit`: it records what was done, detects tampering, and its head is kept
//! outside.

use std::fs;
use std::os::unix::fs::MetadataExt;

use avocet_tests::{Home, program};
use rusqlite::Connection;

use crate::support::{assert_fails, log_status, printed, printed_json, run, stop, until};

const HEAD: &str = ".local/state/avocet.audit-head";

/// Creates a home in which a file was written, and whose daemon has stopped.
fn worked() -> Home {
    let home = Home::new(program!());
    let daemon = home.daemon();
    printed(&home, &["ask", "me", "write_file a.txt hello", "--wait"]);
    printed(&home, &["ask", "me", "read_file a.txt", "--wait"]);
    printed(&home, &["ask", "other", "write_file a.pem hello", "--wait"]);
    stop(daemon);
    home
}

fn tamper(home: &Home, sql: &str) {
    Connection::open(home.data_dir().join("avocet.db")).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn audit_lists_and_searches_calls() {
    let home = worked();
    let all = printed(&home, &["audit"]);
    let rows: Vec<&str> = all.lines().skip(1).collect();
    assert_eq!(rows.len(), 3, "{all}");
    for (row, words) in rows.iter().zip([
        ["started", "terminal:local:me", "t1s0c0", "write_file {\"path\""],
        ["finished: ok", "terminal:local:me", "t1s0c0", "write_file {\"path\""],
        ["refused", "terminal:local:other", "t3s0c0", "write_file {\"path\""],
    ]) {
        assert!(words.iter().all(|word| row.contains(word)), "{words:?}: {row}");
    }
    let count = |arguments: &[&str]| printed_json(&home, arguments).as_array().unwrap().len();
    let table: [(&[&str], usize); 7] = [
        (&["audit"], 3),
        (&["audit", "--session", "me"], 2),
        (&["audit", "--kind", "refused"], 1),
        (&["audit", "--since", "1h"], 3),
        (&["audit", "--since", "2020-01-01"], 3),
        (&["audit", "--since", "2999-01-01"], 0),
        (&["audit", "--limit", "1"], 1),
    ];
    for (arguments, expected) in table {
        assert_eq!(count(arguments), expected, "{arguments:?}");
    }
    assert_fails(&run(&home, &["audit", "--since", "soon"]), 1, &["--since", "soon", "2h"]);
    let unknown = run(&home, &["audit", "--kind", "nothing"]);
    assert!(unknown.code == Some(2) && unknown.err.contains("struck-off"), "{unknown:?}");
}

#[test]
fn audit_head_is_noted_outside_of_the_data_directory() {
    let home = worked();
    let file = home.path(HEAD);
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    let verified = printed_json(&home, &["audit", "verify"]);
    let noted = fs::read_to_string(&file).unwrap();
    let hash = verified["head"]["hash"].as_str().unwrap();
    assert_eq!(noted, format!("3 {hash}\n"));
    let says = printed(&home, &["audit", "verify"]);
    assert!(says.starts_with("3 rows, all unchanged; row 3 is"), "{says}");
    let (status, log) = home.daemon().stop();
    assert!(status.success() && log.contains("audit head") && log.contains(hash), "{log}");
}

#[test]
fn audit_tampering_is_reported_everywhere_and_stops_no_work() {
    let table = [
        ("UPDATE audit SET summary = 'nothing' WHERE sequence = 2", "row 2 was changed"),
        ("DELETE FROM audit WHERE sequence = 1", "rows 1 to 1 are missing"),
        (
            "DELETE FROM audit; DELETE FROM sqlite_sequence WHERE name = 'audit'",
            "there was a row 3",
        ),
    ];
    for (sql, fault) in table {
        let home = worked();
        let noted = fs::read_to_string(home.path(HEAD)).unwrap();
        tamper(&home, sql);
        assert_fails(&run(&home, &["audit", "verify"]), 65, &[fault, HEAD]);
        let status = run(&home, &["status"]);
        assert!(status.out.contains(fault), "{status:?}");
        let mut daemon = home.daemon();
        until("the warning", || (daemon.logged("the audit table was changed") > 0).then_some(()));
        assert!(daemon.logged(fault) > 0, "{fault}");
        assert!(printed(&home, &["status"]).contains(fault));
        printed(&home, &["ask", "me", "write_file b.txt hello", "--wait"]);
        assert_eq!(log_status(&home)["queued"], 0);
        stop(daemon);
        assert_eq!(
            fs::read_to_string(home.path(HEAD)).unwrap(),
            noted,
            "the noted head stays as proof"
        );
    }
}

#[test]
fn audit_verify_succeeds_before_the_first_daemon() {
    let home = Home::new(program!());
    assert_eq!(printed(&home, &["audit"]), "The audit table has no such rows.\n");
    let says = printed(&home, &["audit", "verify"]);
    assert!(says.starts_with("0 rows, all unchanged; no head was noted"), "{says}");
}
