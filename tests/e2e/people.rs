//! `avocet people export` and the three commands that erase: nothing of a person is left in any file, and
//! everything of others is.

use std::fs;
use std::path::Path;

use avocet_tests::{FAIL_POINT, Home, program};

use crate::support::{assert_fails, end, printed, printed_json, run, start, stop, until};

const CONFIG: &str = "[channels.directory]\npath = \"~/files\"\n[memory]\nmirror = true\n";

/// Returns the files below a directory that contain a text.
fn files_with(directory: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files_with(&path, text));
        } else if kind.is_file() {
            let bytes = fs::read(&path).unwrap();
            let is_at = |window: &[u8]| window.eq_ignore_ascii_case(text.as_bytes());
            if bytes.windows(text.len()).any(is_at) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

/// A home with a person at the terminal, whose texts contain `GONE`, and one of the directory channel.
fn worked() -> (Home, String) {
    let home = Home::new(program!()).with_config(CONFIG);
    let daemon = home.daemon();
    until("the folders", || home.path("files/refused").is_dir().then_some(()));
    for text in ["count to 3 GONEcount", "write_file GONEfile.txt hello", "read_file GONEmissing"] {
        printed(&home, &["ask", "me", text, "--wait"]);
    }
    fs::write(home.path("files/inbox/.new.tmp"), "count to 2 KEEPcount").unwrap();
    fs::rename(home.path("files/inbox/.new.tmp"), home.path("files/inbox/1.txt")).unwrap();
    until("the answer", || {
        let mut answers = fs::read_dir(home.path("files/outbox")).unwrap().map(Result::unwrap);
        answers.any(|file| file.path().extension() == Some("txt".as_ref())).then_some(())
    });
    let shown = printed_json(&home, &["sessions", "show", "me"]);
    let sender = &shown[0]["origin"]["messages"][0]["message"]["inbound"]["sender"]["id"];
    let person = format!("terminal:local:{}", sender.as_str().unwrap());
    let scope = format!("person {person}");
    printed(&home, &["memory", "add", "the GONEmemory of it", "--scope", &scope]);
    printed(&home, &["memory", "add", "the KEEPmemory of all"]);
    printed(&home, &["rules", "add", "never say GONErule", "--scope", &scope]);
    stop(daemon);
    // The agent wrote this file; it is not a part of the person's data.
    fs::remove_file(home.workspace().join("GONEfile.txt")).unwrap();
    (home, person)
}

#[test]
fn people_erase_leaves_nothing_of_the_person_in_any_file() {
    let (home, person) = worked();
    let data = home.data_dir();
    let inbox = home.workspace().join("inbox");
    fs::create_dir_all(&inbox).unwrap();
    fs::write(inbox.join("m1-0.txt"), "GONEinbox").unwrap();
    fs::write(inbox.join("m999-0.txt"), "KEEPinbox").unwrap();
    fs::write(data.join("avocet.db.before-v25"), "GONEcopy").unwrap();
    assert!(!files_with(&data, "GONE").is_empty());
    let unknown = run(&home, &["people", "erase", "terminal:local:nobody", "--yes"]);
    assert_fails(&unknown, 1, &["terminal:local:nobody", &person]);
    let unasked = run(&home, &["people", "erase", &person]);
    assert!(unasked.code == Some(1) && unasked.err.contains("--yes"), "{unasked:?}");
    assert!(unasked.out.contains("messages in them: 3"), "{unasked:?}");
    let erased = printed_json(&home, &["people", "erase", &person, "--yes"]);
    assert_eq!(erased["erased"]["sessions"], 1, "{erased}");
    assert_eq!(erased["erased"]["messages"], 3, "{erased}");
    assert_eq!(erased["erased"]["memories"], 1, "{erased}");
    assert_eq!(erased["erased"]["rules"], 1, "{erased}");
    assert_eq!(files_with(&data, "GONE"), Vec::<String>::new());
    assert_eq!(files_with(&home.workspace(), "GONE"), Vec::<String>::new());
    for kept in ["KEEPcount", "KEEPmemory", "KEEPinbox"] {
        assert!(!files_with(&data, kept).is_empty(), "{kept}");
    }
    let verified = printed(&home, &["audit", "verify"]);
    assert!(verified.contains("all unchanged") && verified.contains("it was erased"), "{verified}");
    assert!(printed(&home, &["audit", "--kind", "erased"]).contains("a person"));
    // The daemon starts and works on.
    let daemon = home.daemon();
    assert_eq!(printed(&home, &["ask", "me", "count to 2", "--wait"]), "1, 2.\n");
    let found = printed(&home, &["memory", "list"]);
    assert!(found.contains("KEEPmemory") && !found.contains("GONE"), "{found}");
    let busy = run(&home, &["people", "erase", &person, "--yes"]);
    assert_fails(&busy, 75, &["is in use by"]);
    stop(daemon);
    assert_eq!(files_with(&data, "GONE"), Vec::<String>::new());
}

#[test]
fn people_erase_that_is_killed_is_finished_at_the_next_start_or_has_not_begun() {
    for (point, is_erased) in [("erase:before", false), ("erase:after", true)] {
        let (home, person) = worked();
        let data = home.data_dir();
        let inbox = home.workspace().join("inbox");
        fs::create_dir_all(&inbox).unwrap();
        fs::write(inbox.join("m1-0.txt"), "GONEinbox").unwrap();
        let mut command = home.command(&["people", "erase", &person, "--yes"]);
        command.env(FAIL_POINT, point);
        let killed = end(start(command, b""));
        assert_ne!(killed.code, Some(0), "{point}: {killed:?}");
        assert!(inbox.join("m1-0.txt").exists(), "{point}");
        stop(home.daemon());
        assert_eq!(files_with(&data, "GONE").is_empty(), is_erased, "{point}");
        let again = run(&home, &["people", "erase", &person, "--yes"]);
        assert_eq!(again.code, Some(i32::from(is_erased)), "{point}: {again:?}");
        assert_eq!(files_with(&data, "GONE"), Vec::<String>::new(), "{point}");
        assert!(printed(&home, &["audit", "verify"]).contains("all unchanged"), "{point}");
    }
}

#[test]
fn people_export_writes_everything_of_the_person_beside_the_daemon() {
    let (home, person) = worked();
    let _daemon = home.daemon();
    let folder = home.path("data-of-me");
    let to = folder.display().to_string();
    printed(&home, &["people", "export", &person, "--to", &to]);
    for file in ["data.json", "README.md"] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        for part in ["GONEcount", "GONEfile", "GONEmissing", "GONEmemory", "GONErule"] {
            assert!(text.contains(part), "{file}: {part}");
        }
        assert!(!text.contains("KEEPcount"), "{file}");
    }
    assert_fails(&run(&home, &["people", "export", &person, "--to", &to]), 1, &["data-of-me"]);
    let unknown = run(&home, &["people", "export", "terminal:local:nobody"]);
    assert_fails(&unknown, 1, &["terminal:local:nobody", &person]);
}

#[test]
fn memory_erase_and_sessions_erase_remove_their_texts() {
    let (home, _) = worked();
    let data = home.data_dir();
    printed(&home, &["memory", "erase", "m1", "--yes"]);
    assert_eq!(files_with(&data, "GONEmemory"), Vec::<String>::new());
    assert!(!files_with(&data, "GONEcount").is_empty());
    let gone = printed(&home, &["sessions", "erase", "me", "--yes"]);
    assert!(gone.contains("messages in them: 3"), "{gone}");
    for text in ["GONEcount", "GONEmissing"] {
        assert_eq!(files_with(&data, text), Vec::<String>::new());
    }
    assert_fails(&run(&home, &["sessions", "erase", "me", "--yes"]), 1, &["sessions list"]);
    assert_fails(&run(&home, &["memory", "erase", "m1", "--yes"]), 1, &["memory list"]);
    assert!(printed(&home, &["audit", "verify"]).contains("all unchanged"));
}
