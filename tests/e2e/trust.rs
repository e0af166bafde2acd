//! Tests of `avocet trust`: the trust of files, and changes by the owner.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use avocet_testkit::{SystemPart, skip_without};
use avocet_tests::{Home, ProgramOutput, program};
use serde_json::{Value, json};

use crate::support::{assert_fails, printed, printed_json, run, stop, until};

/// Creates a home whose agent has written `page.md` after it had read `docs/a.md`; `None` if files
/// cannot be marked.
fn home() -> Option<Home> {
    let config =
        "[tools]\nread = [\"~/docs\"]\n[tools.policy]\nwrite_file = { low_trust = \"allow\" }\n";
    let home = Home::new(program!()).with_config(config);
    fs::create_dir(home.path("docs")).unwrap();
    fs::write(home.path("docs/a.md"), "of docs\n").unwrap();
    let mut daemon = home.daemon();
    let has_marks = daemon.logged("has no extended attributes") == 0;
    printed(&home, &["ask", "me", "write_file own.md mine", "--wait"]);
    printed(
        &home,
        &["ask", "me", &format!("read_file {}", home.path("docs/a.md").display()), "--wait"],
    );
    printed(&home, &["ask", "me", "write_file page.md theirs", "--wait"]);
    stop(daemon);
    fs::create_dir_all(home.workspace().join("inbox")).unwrap();
    fs::write(home.workspace().join("inbox/m1-0.txt"), "x").unwrap();
    if !has_marks {
        skip_without(SystemPart::ExtendedAttributes);
    }
    has_marks.then_some(home)
}

/// Runs the command in the workspace.
fn trust(home: &Home, arguments: &[&str]) -> ProgramOutput {
    let mut command = home.command(&[&["trust"], arguments].concat());
    command.current_dir(home.workspace());
    ProgramOutput::from(command.output().unwrap())
}

#[test]
fn trust_believe_raises_a_file_that_was_read() {
    let Some(home) = home() else { return };
    let docs = home.path("docs/a.md").display().to_string();
    let shown = trust(&home, &["own.md", "page.md", "inbox/m1-0.txt", &docs]);
    let lines = home
        .without_home(&shown.out)
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>();
    assert_eq!(
        lines,
        [
            "own.md full it has no mark as untrusted",
            "page.md low it has content from unknown people",
            "inbox/m1-0.txt low it came with a message",
            "HOME/docs/a.md low it is outside the workspaces, where others also write",
        ]
    );
    assert_eq!((shown.code, shown.err.as_str()), (Some(0), ""));

    let believed = trust(&home, &["--believe", "page.md", "own.md"]);
    assert_eq!(
        believed.out,
        "page.md  full  trusted from now on; it was low\nown.md   full  it was trusted already\n"
    );
    assert_eq!(trust(&home, &["page.md"]).out, "page.md  full  it has no mark as untrusted\n");

    // After reading the file, a new conversation may still do more than read.
    let config = "[tools]\nread = [\"~/docs\"]\n";
    fs::write(home.path(".config/avocet/config.toml"), config).unwrap();
    let daemon = home.daemon();
    printed(&home, &["ask", "other", "read_file page.md", "--wait"]);
    printed(&home, &["ask", "other", "write_file new.md x", "--wait"]);
    assert!(home.workspace().join("new.md").exists());
    // The command works beside a running daemon, whose programs it does not see.
    for (arguments, expected) in [
        (&["new.md"][..], "warning: the daemon runs: this list shows the marks"),
        (&["--believe", "new.md"], "warning: the daemon runs: if one of its programs"),
        (&["--json", "--believe", "new.md"], "the file is marked again"),
    ] {
        let ran = trust(&home, arguments);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.err.contains(expected), "{ran:?}");
    }
    stop(daemon);
}

#[test]
fn trust_command_is_logged_for_instructions_that_are_left_out() {
    let Some(home) = home() else { return };
    let mut daemon = home.daemon();
    printed(&home, &["ask", "me", "write_file AGENTS.md theirs", "--wait"]);
    printed(&home, &["ask", "other", "hello", "--wait"]);
    assert!(
        daemon.logged(
            "its content may come from somebody who is not an owner. Read it; if it is good, run: \
                avocet trust --believe FILE"
        ) > 0
    );
    stop(daemon);
    assert_eq!(trust(&home, &["--believe", "AGENTS.md"]).code, Some(0));
}

#[test]
fn trust_prints_json() {
    let Some(home) = home() else { return };
    let told = |arguments: &[&str]| -> Value {
        serde_json::from_str(&trust(&home, &[&["--json"], arguments].concat()).out).unwrap()
    };
    let why = "has content from unknown people";
    assert_eq!(told(&["page.md"]), json!([{"file": "page.md", "trust": "low", "why": why}]));
    let own = "has no mark as untrusted";
    let believed = json!([{"file": "page.md", "trust": "full", "why": own, "was": "low"}]);
    assert_eq!(told(&["--believe", "page.md"]), believed);
}

#[test]
fn trust_believe_reports_refused_files_and_marks_the_others() {
    let Some(home) = home() else { return };
    fs::write(home.workspace().join(".env"), "KEY=1").unwrap();
    fs::write(home.path("elsewhere.md"), "x").unwrap();
    symlink(home.path("elsewhere.md"), home.workspace().join("out.md")).unwrap();
    let (docs, elsewhere) = (home.path("docs/a.md"), home.path("elsewhere.md"));
    let (docs, elsewhere) = (docs.display().to_string(), elsewhere.display().to_string());
    let table = [
        ("none.md", "none.md does not exist"),
        ("none/none.md", "none/none.md: No such file"),
        ("inbox", "it came with a message, and files below inbox/ are always untrusted"),
        ("inbox/m1-0.txt", "files below inbox/ are always untrusted"),
        (".env", "by its name it holds a password"),
        ("out.md", "out.md"),
        (&docs, "copy it into a workspace"),
        (&elsewhere, "which the agent's file tools do not read; the agent's files are below"),
        ("../avocet.db", "which the agent's file tools do not read"),
    ];
    for (file, expected) in table {
        let ran = trust(&home, &["--believe", file, "page.md"]);
        assert_fails(&ProgramOutput { out: String::new(), ..ran.clone() }, 1, &[expected]);
        assert!(ran.out.starts_with("page.md  full"), "{file}: {ran:?}");
    }
    let ran = run(&home, &["trust"]);
    assert!(ran.code == Some(2) && ran.err.contains("<FILE>"), "{ran:?}");
}

#[test]
fn trust_refuses_a_file_name_that_is_not_utf_8() {
    let Some(home) = home() else { return };
    let name = OsStr::from_bytes(b"page\xff.md");
    fs::write(home.workspace().join(name), "x").unwrap();
    fs::rename(home.workspace().join("page.md"), home.workspace().join("page\u{fffd}.md")).unwrap();
    let mut command = home.command(&["trust", "--believe"]);
    let ran = ProgramOutput::from(command.arg(home.workspace().join(name)).output().unwrap());
    assert_fails(&ran, 1, &["is not UTF-8"]);
    let other = trust(&home, &["page\u{fffd}.md"]);
    assert!(other.out.contains("  low  "), "{other:?}");
}

#[test]
fn trust_without_a_workspace_fails_and_creates_nothing() {
    let home = Home::new(program!());
    fs::write(home.path("a.md"), "x").unwrap();
    assert_fails(&run(&home, &["trust", "a.md"]), 1, &["there is no workspace yet"]);
    assert!(!home.data_dir().exists());
}

#[test]
fn trust_of_nested_workspaces_follows_the_inner_inbox() {
    let config = "[agents.defaults]\nworkspace = \"~/all\"\n\
        [agents.work]\nworkspace = \"~/all/work\"\nsessions = [\"telegram:work:*\"]\n";
    let home = Home::new(program!()).with_config(config);
    for path in ["all/work/inbox/a.md", "all/work/a.md"] {
        fs::create_dir_all(home.path(path).parent().unwrap()).unwrap();
        fs::write(home.path(path), "x").unwrap();
    }
    // The result is the same under any name of the file.
    symlink("work/inbox/a.md", home.path("all/link.md")).unwrap();
    symlink(home.path("all/link.md"), home.path("outside.md")).unwrap();
    for file in ["all/work/inbox/a.md", "all/link.md", "outside.md"] {
        let shown = printed(&home, &["trust", file, "all/work/a.md"]);
        assert!(shown.starts_with(file) && shown.contains(" low "), "{shown}");
        let refused = run(&home, &["trust", "--believe", file]);
        assert_fails(&refused, 1, &["it came with a message"]);
    }
}

#[test]
fn trust_untrusted_marks_files_and_directories_and_believe_reverts_it() {
    let Some(home) = home() else { return };
    for path in ["clone/README.md", "clone/src/main.rs"] {
        fs::create_dir_all(home.workspace().join(path).parent().unwrap()).unwrap();
        fs::write(home.workspace().join(path), "of somebody\n").unwrap();
    }
    let lines = |ran: &ProgramOutput| -> Vec<String> {
        ran.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    let shown = trust(&home, &["clone"]);
    assert_eq!(lines(&shown), ["clone full it has no mark as untrusted"]);
    let marked = trust(&home, &["--untrusted", "clone", "own.md", "page.md"]);
    assert_eq!(
        lines(&marked),
        [
            "clone low untrusted from now on; it was full",
            "own.md low untrusted from now on; it was full",
            "page.md low it was untrusted already",
        ]
    );
    fs::write(home.workspace().join("clone/new.md"), "later\n").unwrap();
    let shown = trust(&home, &["clone", "clone/new.md", "clone/README.md"]);
    assert_eq!(
        lines(&shown),
        [
            "clone low it is marked as untrusted, with everything in it",
            "clone/new.md low it is in a directory that is marked as untrusted",
            "clone/README.md low it is in a directory that is marked as untrusted",
        ]
    );
    let refused = trust(&home, &["--believe", "clone/README.md"]);
    assert_fails(&refused, 1, &["avocet trust --believe DIRECTORY"]);

    // After the agent has read the file, a call that does more than read needs approval.
    let config = "[tools]\nread = [\"~/docs\"]\n";
    fs::write(home.path(".config/avocet/config.toml"), config).unwrap();
    let daemon = home.daemon();
    printed(&home, &["ask", "reads", "read_file clone/new.md", "--wait"]);
    printed(&home, &["ask", "reads", "write_file after.md x"]);
    let open = || printed_json(&home, &["approvals"]).to_string();
    until("the question", || open().contains("after.md").then_some(()));
    stop(daemon);

    let believed = trust(&home, &["--believe", "clone"]);
    assert_eq!(lines(&believed), ["clone full trusted from now on; it was low"]);
    let shown = trust(&home, &["clone/new.md"]);
    assert_eq!(lines(&shown), ["clone/new.md full it has no mark as untrusted"]);
    let both = trust(&home, &["--believe", "--untrusted", "clone"]);
    assert!(both.code == Some(2) && both.err.contains("cannot be used with"), "{both:?}");
}
