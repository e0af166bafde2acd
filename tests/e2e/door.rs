//! Tests of access to the socket: its owner, and the refusal of others.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;

use avocet_tests::{Home, program};
use serde_json::{Value, json};

use crate::support::{
    as_nobody, assert_fails, assert_names, end, is_root, log_status, printed, run, run_with,
    set_mode, start, stop,
};

#[test]
fn socket_and_its_directory_are_private_to_the_user() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let mode = |path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(home.socket().parent().unwrap().to_owned()), 0o700);
    assert_eq!(mode(home.socket()), 0o600);
    stop(daemon);
    assert!(!home.socket().exists(), "an orderly stop removes the socket");
}

#[test]
fn log_is_private_to_the_user_even_in_an_open_directory() {
    let home = Home::new(program!());
    fs::create_dir_all(home.data_dir()).unwrap();
    set_mode(&home, ".local/state/avocet", 0o755);
    let daemon = home.daemon();
    printed(&home, &["ask", "me", "count to 1", "--wait"]);
    for file in ["avocet.db", "avocet.db-wal", "avocet.db-shm"] {
        let mode = fs::metadata(home.data_dir().join(file)).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o600, "{file}");
    }
    stop(daemon);
}

#[test]
fn socket_directory_open_to_others_is_refused_without_loss() {
    let home = Home::new(program!());
    printed(&home, &["ask", "me", "count to 1"]);
    let directory = ".local/state/avocet/run";
    fs::create_dir(home.path(directory)).unwrap();
    set_mode(&home, directory, 0o750);
    let names = ["avocet/run is open to others (mode 750)", "chmod 700 it", "[gateway] socket"];
    assert_fails(&run(&home, &["run"]), 78, &names);
    fs::set_permissions(home.path(directory), fs::Permissions::from_mode(0o700)).unwrap();
    let _daemon = home.daemon();
    assert_eq!(printed(&home, &["ask", "me", "count to 1", "--wait"]), "1.\n");
    assert_eq!(log_status(&home)["messages"], 2);
}

#[test]
fn socket_refuses_another_user_even_with_open_permissions() {
    if !is_root() {
        println!("not run: only root can become somebody else");
        return;
    }
    let home = Home::new(program!());
    let _daemon = home.daemon();
    let state = [".local", ".local/state", ".local/state/avocet", ".local/state/avocet/run"];
    state.iter().for_each(|below| set_mode(&home, below, 0o755));
    set_mode(&home, ".local/state/avocet/run/avocet.sock", 0o666);
    let fix = "Run the command as that user";
    let names = ["user 65534 may not use this socket", "it belongs to user 0", fix];
    let commands: [&[&str]; 4] =
        [&["status"], &["ask", "me", "hi"], &["send", "me", "hi"], &["chat"]];
    // Repeat: the refusal may come before the client has written anything.
    for _ in 0..5 {
        for arguments in commands {
            let ran = end(start(as_nobody(&home, arguments), b"hi\n"));
            assert_fails(&ran, 1, &names);
        }
    }
    let log = log_status(&home);
    assert_eq!((&log["messages"], &log["pending"]), (&0.into(), &0.into()));
}

#[test]
fn socket_out_of_reach_is_a_missing_permission_and_no_missing_daemon() {
    if !is_root() {
        println!("not run: only root can become somebody else");
        return;
    }
    let home = Home::new(program!());
    let _daemon = home.daemon();
    let state = [".local", ".local/state", ".local/state/avocet"];
    state.iter().for_each(|below| set_mode(&home, below, 0o755));
    let names = ["cannot connect to the daemon at", "permission denied", "with sudo"];
    for arguments in [["status"], ["doctor"]] {
        let ran = end(start(as_nobody(&home, &arguments), b""));
        let shown = format!("{}{}", ran.out, ran.err);
        assert!(names.iter().all(|name| shown.contains(name)), "{arguments:?}: {ran:?}");
        assert_ne!(ran.code, Some(0), "{arguments:?}");
    }
}

/// Listens on the socket, and closes each connection at once.
#[expect(clippy::disallowed_methods, reason = "it is not part of the daemon")]
fn closed_door(home: &Home) {
    fs::create_dir_all(home.socket().parent().unwrap()).unwrap();
    let door = UnixListener::bind(home.socket()).unwrap();
    std::thread::spawn(move || door.incoming().for_each(drop));
}

#[test]
fn socket_that_closes_at_once_ends_the_command() {
    let home = Home::new(program!());
    closed_door(&home);
    let commands: [&[&str]; 4] =
        [&["status"], &["ask", "me", "hi"], &["send", "me", "hi"], &["chat"]];
    for _ in 0..5 {
        for arguments in commands {
            let ran = run_with(&home, arguments, b"hi\n");
            assert_eq!(ran.code, Some(69), "{arguments:?}: {ran:?}");
            assert_names(&ran.err, &["the connection to the daemon was lost"]);
        }
    }
}

/// Acts like a daemon that has no free place for the first connection, and never answers later
/// ones.
#[expect(clippy::disallowed_methods, reason = "it is not part of the daemon")]
fn full_daemon(home: &Home) {
    fs::create_dir_all(home.socket().parent().unwrap()).unwrap();
    let door = UnixListener::bind(home.socket()).unwrap();
    std::thread::spawn(move || {
        let (mut first, _) = door.accept().unwrap();
        let mut ping = String::new();
        BufReader::new(first.try_clone().unwrap()).read_line(&mut ping).unwrap();
        let id = serde_json::from_str::<Value>(&ping).unwrap()["id"].take();
        let error = json!({ "code": -32003, "message": "no place is left; try again later" });
        writeln!(first, "{}", json!({ "jsonrpc": "2.0", "id": id, "error": error })).unwrap();
        drop(first);
        door.incoming().for_each(drop);
    });
}

#[test]
fn socket_without_a_free_place_makes_a_command_wait_with_a_reason() {
    let home = Home::new(program!());
    full_daemon(&home);
    let ran = run(&home, &["status"]);
    assert_eq!(ran.code, Some(69), "{ran:?}");
    let told: Vec<_> = ran.err.lines().collect();
    let [waits, lost] = told[..] else { panic!("{ran:?}") };
    assert!(waits.contains("waiting for the daemon: no place is left; try again later"), "{waits}");
    assert!(lost.contains("the connection to the daemon was lost"), "{lost}");
}
