//! Tests of directories beside the workspace in the real program: file tools in them, and forbidden
//! directories in a configuration.

use std::fs;

use avocet_tests::{Home, program};
use serde_json::json;

use crate::support::{assert_fails, printed, printed_json, run, stop};

const CONFIG: &str = "[tools]\nread = [\"~/docs\"]\nwrite = [\"~/notes\"]\n";

fn home(config: &str) -> Home {
    let home = Home::new(program!()).with_config(config);
    for name in ["docs", "notes/deep"] {
        fs::create_dir_all(home.path(name)).unwrap();
    }
    fs::write(home.path("docs/a.md"), "of docs\n").unwrap();
    home
}

#[test]
fn tools_read_and_write_directories_give_access_beside_the_workspace() {
    let home = home(CONFIG);
    let daemon = home.daemon();
    let ask = |chat: &str, what: &str| {
        home.without_home(&printed(
            &home,
            &["ask", chat, &what.replace('$', &home.path("").display().to_string()), "--wait"],
        ))
    };
    let table = [
        ("write_file $notes/b.md 'by me'", "wrote 5 bytes to HOME/notes/b.md"),
        ("read_file $notes/b.md", "1\tby me"),
        ("read_file $docs/a.md", "1\tof docs"),
        ("write_file $docs/a.md x", "HOME/docs is read only, by [tools] read"),
        ("read_file $elsewhere", "the directories beside it (HOME/docs: read only, HOME/notes)"),
        ("read_file $.config/avocet/config.toml", "outside the workspace"),
    ];
    for (place, (what, expected)) in table.into_iter().enumerate() {
        let answer = ask(&format!("chat{place}"), what);
        assert!(answer.contains(expected), "{what}: {answer}");
    }
    assert_eq!(fs::read_to_string(home.path("notes/b.md")).unwrap(), "by me");

    // Text from there is untrusted, so a change waits for its review.
    ask("me", "read_file $docs/a.md");
    printed(&home, &["ask", "me", "write_file c.md x"]);
    crate::support::until("a change that waits for its review", || {
        let waiting = printed_json(&home, &["approvals"]);
        (waiting.as_array().unwrap().len() == 1).then_some(())
    });
    assert_eq!(fs::read_to_string(home.workspace().join("c.md")).unwrap(), "x");
    stop(daemon);
}

#[test]
fn config_check_lists_read_and_write_directories() {
    let home = home(CONFIG);
    let found = printed_json(&home, &["config", "check"]);
    assert_eq!(found["read"], json!([home.path("docs")]));
    assert_eq!(found["write"], json!([home.path("notes")]));
    let said = home.without_home(&printed(&home, &["config", "check"]));
    assert!(said.contains("files, read only  HOME/docs\n"), "{said}");
    assert!(said.contains("files             HOME/notes\n"), "{said}");
}

#[test]
fn tools_read_and_write_refuse_an_unsuitable_directory_with_its_position() {
    let table = [
        ("read = [\"~/docs\", \"/\"]", "2:19", "`tools.read[1]`: / is the root of the file system"),
        ("read = [\"~\"]", "2:9", "contains your whole home, with the files of other programs"),
        ("write = [\"~/none\"]", "2:10", "HOME/none cannot be used (No such file"),
        ("write = [\"/proc\"]", "2:10", "/proc belongs to the kernel"),
        (
            "read = [\"~/.config\"]",
            "2:9",
            "HOME/.config/avocet/config.toml, which belongs to the daemon",
        ),
        (
            "read = [\"~/.local/state/avocet\"]",
            "2:9",
            "and the workspace HOME/.local/state/avocet/workspace overlap",
        ),
        ("write = [\"~/notes\", \"~/notes/deep\"]", "2:21", "name the upper one only"),
        (
            "write = [\"~/notes/deep\"]\n[sandbox]\nwrite = [\"~/notes\"]",
            "2:10",
            "where programs may change and replace it",
        ),
    ];
    for (keys, place, expected) in table {
        let home = home(&format!("[tools]\n{keys}\n"));
        fs::create_dir_all(home.workspace()).unwrap();
        let ran = run(&home, &["config", "check"]);
        assert_fails(&ran, 78, &[&format!("config.toml:{place}")]);
        let said = home.without_home(&ran.err);
        assert!(said.contains(expected), "{keys}: {said}");
        assert_eq!(run(&home, &["run"]), ran, "{keys}");
    }
}

#[test]
fn missing_write_directory_fails_only_the_commands_that_need_it() {
    let home = home(CONFIG);
    stop(home.daemon());
    fs::remove_dir_all(home.path("notes")).unwrap();
    let missing = "`tools.write[0]`: HOME/notes cannot be used (No such file";
    for (arguments, code, expected) in [
        (&["status"][..], 69, ""),
        (&["approvals"], 0, ""),
        (&["audit", "verify"], 0, ""),
        (&["doctor"], 78, missing),
        (&["config", "check"], 78, missing),
        (&["trust", "notes/a.md"], 78, missing),
        (&["run"], 78, missing),
    ] {
        let ran = run(&home, arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        let said = home.without_home(&format!("{}{}", ran.out, ran.err));
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert!(!expected.is_empty() || !said.contains("cannot be used"), "{arguments:?}: {said}");
    }
}
