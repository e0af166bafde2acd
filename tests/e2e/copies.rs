//! Tests of `avocet backup`, `avocet restore`, `avocet recover`, and copies at intervals.

use std::fs;
use std::path::{Path, PathBuf};

use avocet_tests::{Home, program};
use serde_json::Value;

use crate::support::{
    Listener, assert_fails, log_status, printed, printed_json, run, said_in, stop, until,
};

fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn database(home: &Home) -> PathBuf {
    home.data_dir().join("avocet.db")
}

/// Returns the databases that were moved aside with `infix` in their names, without their -wal and
/// -shm.
fn beside(home: &Home, infix: &str) -> Vec<PathBuf> {
    let all = files(&home.data_dir()).into_iter();
    let is_piece = |name: &str| name.ends_with("-wal") || name.ends_with("-shm");
    let wanted = |name: &str| name.contains(infix) && !is_piece(name);
    all.filter(|path| wanted(path.to_str().unwrap())).collect()
}

fn rolled_back(home: &Home) -> String {
    log_status(home)["rolled_back"]["why"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn backup_of_a_running_daemon_is_restored_once_it_has_stopped() {
    let home = Home::new(program!());
    assert_fails(&run(&home, &["backup", "copy.db"]), 1, &["there is no log in "]);
    let daemon = home.daemon();
    assert_eq!(printed(&home, &["ask", "me", "count to 2", "--wait"]), "1, 2.\n");
    let said = printed(&home, &["backup", "copy.db"]);
    assert!(
        said.contains("/copy.db: 1 messages in ") && said.ends_with("kB, checked.\n"),
        "{said}"
    );
    let copy = fs::read(home.path("copy.db")).unwrap();
    assert_fails(&run(&home, &["backup", "copy.db"]), 1, &["/copy.db exists already"]);
    assert_eq!(printed(&home, &["ask", "me", "count to 1", "--wait"]), "1.\n");
    for arguments in [&["restore", "copy.db"][..], &["recover", "copy.db"]] {
        assert_fails(&run(&home, arguments), 75, &["is in use by process ", "stop it first"]);
    }
    stop(daemon);
    let there = fs::read(database(&home)).unwrap();

    let said = printed(&home, &["restore", "copy.db"]);
    assert!(said.starts_with("Restored 1 messages from "), "{said}");
    let [kept] = &beside(&home, ".replaced-")[..] else { panic!("{said}") };
    assert!(said.contains(&format!("The previous database is now {}.", kept.display())));
    assert_eq!((fs::read(kept).unwrap(), fs::read(home.path("copy.db")).unwrap()), (there, copy));
    let _daemon = home.daemon();
    assert_eq!(said_in(&home, "me"), ["count to 2"]);
    assert!(rolled_back(&home).contains("/copy.db, a copy of "), "{}", rolled_back(&home));
    assert!(printed(&home, &["status"]).contains("it was restored from "));
    assert_eq!(printed(&home, &["ask", "me", "count to 3", "--wait"]), "1, 2, 3.\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_of_a_stopped_daemon_has_everything() {
    let home = Home::new(program!());
    printed(&home, &["ask", "me", "count to 2"]);
    let copied = printed_json(&home, &["backup", "copy.db"]);
    assert_eq!(copied["messages"], 1);
    assert_eq!(copied["bytes"], fs::metadata(home.path("copy.db")).unwrap().len());
    fs::remove_dir_all(home.data_dir()).unwrap();
    let restored = printed_json(&home, &["restore", "copy.db"]);
    assert_eq!((&restored["messages"], &restored["moved"]), (&Value::from(1), &Value::Null));
    // The message may have been answered since the copy was made, so the chat gets a notice.
    assert_eq!(restored["ended"]["messages"], 1);
    let _daemon = home.daemon();
    let listener = Listener::attach(&home, "terminal:local:me").await;
    let notice = listener.hear_text().await;
    assert!(notice.contains("your message: /retry answers again"), "{notice}");
    assert_eq!(said_in(&home, "me"), ["count to 2"]);
}

#[test]
fn restore_refuses_a_file_that_is_not_a_complete_database() {
    let home = Home::new(program!());
    printed(&home, &["ask", "me", "count to 2"]);
    printed(&home, &["backup", "copy.db"]);
    let mut bytes = fs::read(home.path("copy.db")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 12_000].fill(0x5a);
    fs::write(home.path("damaged.db"), bytes).unwrap();
    fs::write(home.path("other.db"), "no database").unwrap();
    let there = fs::read(database(&home)).unwrap();
    for name in ["damaged.db", "other.db", "missing.db"] {
        assert_fails(&run(&home, &["restore", name]), 65, &[name, " is not a whole log: "]);
        assert_eq!(fs::read(database(&home)).unwrap(), there, "{name}");
    }
}

#[test]
fn recover_saves_the_readable_rows_of_a_damaged_database() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    for text in ["count to 1", "count to 2", "count to 3"] {
        printed(&home, &["ask", "me", text, "--wait"]);
    }
    stop(daemon);
    assert_fails(&run(&home, &["recover"]), 1, &["no damaged log is known", "avocet recover FILE"]);
    let mut bytes = fs::read(database(&home)).unwrap();
    bytes[..100].fill(0);
    fs::write(database(&home), &bytes).unwrap();
    assert_fails(&run(&home, &["run"]), 65, &["is damaged", "avocet recover"]);
    let [aside] = &beside(&home, ".damaged-")[..] else { panic!("{:?}", beside(&home, "")) };
    let aside_name = aside.display().to_string();

    // With another file as the target, the database is not changed.
    let said = printed(&home, &["recover", &aside_name, "--into", "saved.db"]);
    assert!(said.contains("/saved.db.\n") && said.contains("inbound  "), "{said}");
    assert_fails(&run(&home, &["status"]), 65, &["there is no ", &aside_name]);

    let said = printed(&home, &["recover"]);
    assert!(said.contains(&aside_name) && said.contains("Not readable: "), "{said}");
    assert_eq!(fs::read(aside).unwrap(), bytes, "the damaged database stays as it is");
    let _daemon = home.daemon();
    assert_eq!(said_in(&home, "me"), ["count to 1", "count to 2", "count to 3"]);
    assert!(rolled_back(&home).contains("it was recovered from "), "{}", rolled_back(&home));
}

#[test]
fn backup_at_intervals_can_be_restored_and_status_shows_its_failures() {
    let config = "[backup]\ndirectory = \"copies\"\nevery = \"1h\"\nkeep = 2\n";
    let home = Home::new(program!()).with_config(config);
    let directory = home.path(".config/avocet/copies");
    fs::write(&directory, "a file is in the way").unwrap();
    let daemon = home.daemon();
    until("the failure", || {
        let status = printed(&home, &["status"]);
        (status.contains("copies of the database in ") && status.contains("fail (1 times so far)"))
            .then_some(())
    });
    stop(daemon);
    fs::remove_file(&directory).unwrap();
    printed(&home, &["ask", "me", "count to 2"]);
    let daemon = home.daemon();
    let is_copy = |path: &PathBuf| path.extension().is_some_and(|end| end == "db");
    let copy = until("a copy", || files(&directory).into_iter().find(is_copy));
    assert!(!printed(&home, &["status"]).contains("copies of the database"));
    stop(daemon);
    printed(&home, &["restore", copy.to_str().unwrap()]);
    let _daemon = home.daemon();
    assert_eq!(said_in(&home, "me"), ["count to 2"]);
}
