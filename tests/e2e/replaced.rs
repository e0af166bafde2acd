//! Tests of a data directory that is deleted or replaced under the daemon, and of a second daemon.

use std::fs;
use std::path::Path;
use std::process::ExitStatus;

use avocet_tests::{DaemonProcess, Home, program};
use rusqlite::Connection;

use crate::support::{assert_fails, printed, run, said_in};

/// Creates a home whose socket is outside of its data directory, so that the daemon stays
/// reachable.
fn home() -> Home {
    let home = Home::new(program!());
    let socket = home.path("run/avocet.sock").display().to_string();
    home.with_config(&format!("[gateway]\nsocket = \"{socket}\"\n"))
}

/// Makes the daemon write, unless its life check was faster. Returns its exit status and its log.
fn ends_at_the_next_write(home: &Home, daemon: &mut DaemonProcess) -> (ExitStatus, String) {
    drop(run(home, &["ask", "me", "count to 2"]));
    daemon.wait()
}

fn copy_database(from: &Path, to: &Path) {
    for file in ["avocet.db", "avocet.db-wal"] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
}

#[test]
fn replaced_database_stops_the_daemon_at_its_next_write() {
    type FileReplacement = fn(&Path, &Path);
    let table: [(&str, FileReplacement, &str); 5] = [
        ("database deleted", |data, _| fs::remove_file(data.join("avocet.db")).unwrap(), "no file"),
        ("directory renamed", |data, away| fs::rename(data, away).unwrap(), "no file"),
        ("directory deleted", |data, _| fs::remove_dir_all(data).unwrap(), "no file"),
        (
            "directory replaced by a copy",
            |data, away| {
                fs::rename(data, away).unwrap();
                fs::create_dir(data).unwrap();
                copy_database(away, data);
            },
            "another file",
        ),
        (
            "database replaced by a copy",
            |data, away| {
                fs::create_dir(away).unwrap();
                copy_database(data, away);
                fs::rename(away.join("avocet.db"), data.join("avocet.db")).unwrap();
            },
            "another file",
        ),
    ];
    for (name, change, found) in table {
        let home = home();
        let mut daemon = home.daemon();
        assert_eq!(printed(&home, &["ask", "me", "count to 1", "--wait"]), "1.\n");
        change(&home.data_dir(), &home.path("away"));
        let (status, log) = ends_at_the_next_write(&home, &mut daemon);
        assert_eq!(status.code(), Some(74), "{name}: {log}");
        let last = log.lines().last().unwrap();
        for words in
            ["error: ", "avocet.db was deleted or replaced", found, "put the data directory back"]
        {
            assert!(last.contains(words), "{name}: {words:?} is not in: {last}");
        }
    }
}

#[test]
fn renamed_data_directory_that_is_restored_has_lost_nothing() {
    let home = home();
    let mut daemon = home.daemon();
    assert_eq!(printed(&home, &["ask", "me", "count to 1", "--wait"]), "1.\n");
    let away = home.path("away");
    fs::rename(home.data_dir(), &away).unwrap();
    ends_at_the_next_write(&home, &mut daemon);
    // If the daemon had ended by then, the command has created a new log.
    drop(fs::remove_dir_all(home.data_dir()));
    fs::rename(&away, home.data_dir()).unwrap();
    let _daemon = home.daemon();
    assert_eq!(said_in(&home, "me"), ["count to 1"]);
}

/// Opening a log ends the epoch of the daemon that uses it, so the socket is checked first.
#[test]
fn socket_in_use_stops_a_second_daemon_before_it_opens_a_log() {
    let home = home();
    let _daemon = home.daemon();
    let socket = home.path("run/avocet.sock").display().to_string();
    let config = home.path("second.toml");
    fs::write(&config, format!("data_dir = \"second\"\n[gateway]\nsocket = \"{socket}\"\n"))
        .unwrap();
    let ran = run(&home, &["--config", config.to_str().unwrap(), "run"]);
    assert_fails(&ran, 78, &["another process listens on", "avocet.sock", "stop it"]);
    assert!(!config.with_file_name("second").join("avocet.db").exists());
    assert_eq!(printed(&home, &["ask", "me", "count to 1", "--wait"]), "1.\n");
}

#[test]
fn newer_epoch_stops_the_daemon_at_its_next_write() {
    let home = home();
    let mut daemon = home.daemon();
    let database = Connection::open(home.data_dir().join("avocet.db")).unwrap();
    database.execute("UPDATE meta SET epoch = epoch + 1", ()).unwrap();
    let (status, log) = ends_at_the_next_write(&home, &mut daemon);
    assert_eq!(status.code(), Some(1), "{log}");
    let last = log.lines().last().unwrap();
    assert!(last.contains("the log now belongs to epoch 2, this process to 1"), "{last}");
}
