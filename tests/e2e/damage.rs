//! Tests of unusable logs: locked by another process, of a newer version, or damaged. The daemon
//! does not replace them with an empty log, and the old content is kept.

use std::fs;
use std::path::{Path, PathBuf};

use avocet_tests::{Home, program};
use rusqlite::Connection;

use crate::support::{
    Listener, assert_fails, log_status, printed, run, said_in, stop, until_all_is_delivered,
};

const PAGE: usize = 4096;

#[test]
fn second_daemon_names_the_process_that_holds_the_log() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let holder = format!("in use by process {} (daemon)", daemon.pid());
    for _ in 0..2 {
        let ran = run(&home, &["run"]);
        assert_fails(&ran, 75, &[&holder, "avocet", "stop it first", "another data_dir"]);
    }
    assert_eq!(printed(&home, &["ask", "me", "count to 1", "--wait"]), "1.\n");
    assert_eq!(log_status(&home)["epoch"], 1);
    daemon.kill();
    let _daemon = home.daemon();
    assert_eq!(said_in(&home, "me"), ["count to 1"], "a killed daemon holds no lock");
}

fn database(home: &Home) -> PathBuf {
    home.data_dir().join("avocet.db")
}

/// Sets the version of the schema. Returns the previous version.
fn set_version(home: &Home, version: i64) -> i64 {
    let connection = Connection::open(database(home)).unwrap();
    let before = connection.query_row("PRAGMA user_version", (), |row| row.get(0)).unwrap();
    connection.pragma_update(None, "user_version", version).unwrap();
    before
}

#[test]
fn f35_log_of_a_newer_version_is_refused_and_left_unchanged() {
    let home = Home::new(program!());
    printed(&home, &["ask", "me", "count to 2"]);
    let version = set_version(&home, 99);
    let before = fs::read(database(&home)).unwrap();
    let commands: [&[&str]; 7] = [
        &["run"],
        &["run", "--start-empty"],
        &["chat"],
        &["status"],
        &["sessions", "list"],
        &["ask", "me", "hi"],
        &["send", "me", "hi"],
    ];
    for arguments in commands {
        let names =
            ["avocet.db was written by a newer version", "schema 99", "install that version"];
        assert_fails(&run(&home, arguments), 65, &names);
    }
    assert_eq!(fs::read(database(&home)).unwrap(), before, "not a byte of it has changed");
    set_version(&home, version);
    let _daemon = home.daemon();
    until_all_is_answered(&home);
}

/// Checks that the message from before the damage is answered.
fn until_all_is_answered(home: &Home) {
    assert_eq!(printed(home, &["ask", "me", "count to 1", "--wait"]), "1.\n");
    let transcript = printed(home, &["sessions", "show", "me"]);
    assert!(transcript.contains("avocet: 1, 2.\n"), "{transcript}");
}

/// A way to damage a database, with its name.
type Mutation = (&'static str, fn(&mut Vec<u8>));

const DAMAGES: [Mutation; 6] = [
    ("a bit of every page but the first is flipped", |bytes| {
        bytes.iter_mut().skip(PAGE).step_by(PAGE).for_each(|byte| *byte ^= 4);
    }),
    ("pages are overwritten", |bytes| bytes[2 * PAGE..6 * PAGE].fill(0xA5)),
    ("the header is overwritten", |bytes| bytes[..100].fill(0)),
    ("it is another file", |bytes| *bytes = b"PK\x03\x04 this is no database at all".to_vec()),
    ("it is cut off", |bytes| bytes.truncate(bytes.len() / 2)),
    ("it is empty", Vec::clear),
];

#[test]
fn f35_damaged_log_is_moved_aside_and_never_silently_replaced() {
    for (what, damage) in DAMAGES {
        let home = Home::new(program!());
        printed(&home, &["ask", "me", "count to 2"]);
        let whole = fs::read(database(&home)).unwrap();
        let mut damaged = whole.clone();
        damage(&mut damaged);
        fs::write(database(&home), &damaged).unwrap();
        let ran = run(&home, &["run"]);
        let aside = moved_aside(&home);
        let name = aside.display().to_string();
        let names = [
            "avocet.db is damaged",
            &name,
            "avocet recover",
            "avocet restore FILE",
            "avocet run --start-empty",
        ];
        assert_fails(&ran, 65, &names);
        assert_eq!(fs::read(&aside).unwrap(), damaged, "{what}: the copy is as it was found");
        refuses_to_start_empty(&home, &name);
        assert_eq!(fs::read(&aside).unwrap(), damaged, "{what}");

        // Restored from a copy, the log is complete.
        fs::write(database(&home), whole).unwrap();
        let _daemon = home.daemon();
        until_all_is_answered(&home);
        assert!(aside.exists(), "{what}");
    }
}

/// Returns the one database that was moved aside.
fn moved_aside(home: &Home) -> PathBuf {
    assert!(!database(home).exists());
    let files = fs::read_dir(home.data_dir()).unwrap().map(|entry| entry.unwrap().path());
    let is_aside = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("avocet.db.damaged-") && !name.ends_with("-wal") && !name.ends_with("-shm")
    };
    let found: Vec<PathBuf> = files.filter(is_aside).collect();
    let [one] = found.as_slice() else { panic!("{found:?}") };
    one.clone()
}

/// Checks that every command that would need a log names the one that was moved aside.
#[track_caller]
fn refuses_to_start_empty(home: &Home, aside: &str) {
    let commands: [&[&str]; 4] = [&["run"], &["chat"], &["ask", "me", "hi"], &["send", "me", "hi"]];
    for arguments in commands {
        let ran = run(home, arguments);
        assert_fails(&ran, 65, &["there is no ", aside, "avocet run --start-empty"]);
        assert!(!database(home).exists(), "{arguments:?}");
    }
}

#[test]
fn start_empty_replaces_a_damaged_log_with_an_empty_one() {
    let home = Home::new(program!());
    printed(&home, &["ask", "me", "count to 2"]);
    fs::write(database(&home), "damaged").unwrap();
    assert_eq!(run(&home, &["run"]).code, Some(65));
    let aside = moved_aside(&home);
    let mut daemon = home.spawn(&["run", "--start-empty"]);
    daemon.wait_until_ready();
    assert_eq!(log_status(&home)["messages"], 0);
    assert_eq!(printed(&home, &["ask", "me", "count to 1", "--wait"]), "1.\n");
    stop(daemon);
    // The decision to start empty is remembered.
    let daemon = home.daemon();
    assert_eq!(said_in(&home, "me"), ["count to 1"]);
    stop(daemon);
    assert_eq!(fs::read(aside).unwrap(), b"damaged");
}

#[tokio::test(flavor = "multi_thread")]
async fn f35_damaged_log_is_moved_aside_with_its_wal() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let listener = Listener::attach(&home, "terminal:local:me").await;
    printed(&home, &["ask", "me", "count to 2"]);
    assert_eq!(listener.hear_text().await, "1, 2.");
    until_all_is_delivered(&home);
    daemon.kill();
    let beside = |path: &Path, suffix: &str| PathBuf::from(format!("{}{suffix}", path.display()));
    let path = database(&home);
    let [wal, shm] = ["-wal", "-shm"].map(|suffix| fs::read(beside(&path, suffix)).unwrap());
    assert!(!wal.is_empty());
    let whole = fs::read(&path).unwrap();
    fs::write(&path, vec![0; whole.len()]).unwrap();
    assert_eq!(run(&home, &["run"]).code, Some(65));
    let aside = moved_aside(&home);
    assert_eq!(fs::read(beside(&aside, "-wal")).unwrap(), wal);
    assert_eq!(fs::read(beside(&aside, "-shm")).unwrap(), shm);
    for suffix in ["-wal", "-shm"] {
        assert!(!beside(&path, suffix).exists(), "a stale file would damage a restored copy");
    }
    // With the database repaired, the messages that were only in its -wal are back.
    fs::write(&path, whole).unwrap();
    fs::copy(beside(&aside, "-wal"), beside(&path, "-wal")).unwrap();
    let _daemon = home.daemon();
    assert_eq!(said_in(&home, "me"), ["count to 2"]);
}

#[test]
fn damaged_log_is_reported_and_unchanged_by_read_only_commands() {
    let home = Home::new(program!());
    printed(&home, &["ask", "me", "count to 2"]);
    let mut bytes = fs::read(database(&home)).unwrap();
    bytes[2 * PAGE..].fill(0xA5);
    fs::write(database(&home), &bytes).unwrap();
    for arguments in [&["status"][..], &["sessions", "list"], &["sessions", "show", "me"]] {
        assert_fails(
            &run(&home, arguments),
            65,
            &["avocet.db is damaged", "the next start of the daemon checks it"],
        );
    }
    assert_eq!(fs::read(database(&home)).unwrap(), bytes);
}

#[test]
fn damaged_log_moved_aside_is_named_by_read_only_commands() {
    let home = Home::new(program!());
    printed(&home, &["ask", "me", "count to 2"]);
    fs::write(database(&home), "damaged").unwrap();
    assert_eq!(run(&home, &["run"]).code, Some(65));
    let aside = moved_aside(&home).display().to_string();
    for arguments in [&["status"][..], &["sessions", "list"], &["sessions", "show", "me"]] {
        assert_fails(&run(&home, arguments), 65, &[&aside, "avocet run --start-empty"]);
    }
}
