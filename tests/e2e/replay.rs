//! Tests of `avocet replay`: an ended turn runs again from the log, with and without a daemon, with
//! the recorded answers and with another model, and without effects.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use avocet_tests::{Home, ProgramOutput, program};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use crate::support::{assert_fails, end, printed, printed_json, run, start, stop, until};

/// The exit code of a replay that differs from its record.
const DIFFERENT: Option<i32> = Some(70);

/// The answers of the model `old`, and those of `new`, which also writes another file.
fn answer(request: &Value) -> ModelAnswer {
    let write = |path: &str| ("write_file".to_owned(), json!({ "path": path, "content": "x" }));
    let missing = ("read_file".to_owned(), json!({ "path": "missing.txt" }));
    let is_new = request["model"] == "new";
    match (last_results(request).len(), is_new) {
        (0, _) if last_user_text(request).contains("bonjour") => ModelAnswer::says("Salut."),
        (0, false) => ModelAnswer::Calls(vec![write("a.txt"), missing]),
        (0, true) => ModelAnswer::Calls(vec![write("a.txt"), write("b.txt")]),
        (_, false) => ModelAnswer::says("I wrote a.txt.\nThat is all."),
        (_, true) => ModelAnswer::says("I wrote a.txt and b.txt.\nThat is all."),
    }
}

async fn home() -> (Home, OpenAiFake) {
    let fake = OpenAiFake::start(answer).await;
    let home = Home::new(program!()).with_config(&format!(
        "[models.\"fake/*\"]\ncontext = 65_536\n[models.\"fake/new\"]\nprice = {{ input = 1.0, output = 2.0 }}\n\
         [providers.fake]\nkind = \"openai\"\nbase_url = \"{}\"\n[agents.defaults]\nmodel = \
         \"fake/old\"\n",
        fake.base_url()
    ));
    (home, fake)
}

/// Returns the number of rows of each table.
fn rows(home: &Home) -> BTreeMap<String, i64> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let log = Connection::open_with_flags(home.data_dir().join("avocet.db"), flags).unwrap();
    let mut tables = log.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let names = tables.query_map((), |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap);
    let count = |name: String| {
        let sql = format!("SELECT count(*) FROM {name}");
        let rows = log.query_row(&sql, (), |row| row.get(0)).unwrap();
        (name, rows)
    };
    names.map(count).collect()
}

/// Returns the files of the data directory. The index of the `-wal` is no content.
fn files(home: &Home) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(home.data_dir()).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    let read = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
    };
    files.map(read).filter(|(name, _)| !name.ends_with("-shm")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn replay_is_the_same_with_and_without_a_daemon_and_runs_no_tool() {
    let (home, fake) = home().await;
    let daemon = home.daemon();
    printed(&home, &["ask", "me", "write it", "--wait"]);
    let file = home.workspace().join("a.txt");
    fs::remove_file(&file).unwrap();
    let (requests, before) = (fake.requests().len(), rows(&home));
    insta::assert_snapshot!("replay_the_same", printed(&home, &["replay", "t1"]));
    assert_eq!(rows(&home), before);
    stop(daemon);
    let before = files(&home);
    let replayed = printed_json(&home, &["replay", "t1"]);
    assert_eq!((&replayed["same"], &replayed["asked"]), (&json!(true), &json!(false)));
    assert_eq!(replayed["replay"]["text"], "I wrote a.txt.\nThat is all.");
    assert_eq!(replayed["replay"]["steps"], replayed["record"]["steps"]);
    assert!(files(&home) == before, "the log has changed");
    assert_eq!(fake.requests().len(), requests, "no model is asked");
    assert!(!file.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn replay_with_another_model_shows_the_difference_and_has_no_effect() {
    let (home, fake) = home().await;
    let daemon = home.daemon();
    printed(&home, &["ask", "me", "write it", "--wait"]);
    fs::remove_file(home.workspace().join("a.txt")).unwrap();
    let with_daemon = rows(&home);
    let replay = ["replay", "t1", "--model", "fake/new"];
    let ran = run(&home, &replay);
    assert_eq!((ran.code, ran.err.as_str()), (DIFFERENT, ""), "{ran:?}");
    insta::assert_snapshot!("replay_different", ran.out);
    assert_eq!(rows(&home), with_daemon);
    stop(daemon);
    let before = files(&home);
    let ran = run(&home, &[&replay[..], &["--json"]].concat());
    assert_eq!(ran.code, DIFFERENT, "{ran:?}");
    let replayed: Value = serde_json::from_str(&ran.out).unwrap();
    let calls = &replayed["replay"]["steps"][0]["calls"];
    assert_eq!((&calls[0]["recorded"], &calls[1]["recorded"]), (&json!(true), &json!(false)));
    assert_eq!(replayed["replay"]["models"], json!(["fake/new"]));
    assert!(replayed["replay"]["usage"]["cost_usd"].as_f64() > Some(0.0), "{replayed}");
    let results = fake.requests().pop().unwrap();
    let results = last_results(&results);
    assert!(results[1].contains("not recorded: a replay runs no tools"), "{results:?}");
    assert!(files(&home) == before, "the log has changed");
    let written = ["a.txt", "b.txt"].map(|name| home.workspace().join(name).exists());
    assert_eq!(written, [false, false]);
    // The same model gives the same answers.
    let ran = run(&home, &["replay", "t1", "--model", "fake/old"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
}

/// Runs `replay --edit` with this script as editor.
fn edited(home: &Home, script: &str) -> ProgramOutput {
    let editor = home.path("edit.sh");
    fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o700)).unwrap();
    let mut command = home.command(&["replay", "t1", "--edit"]);
    // Arguments in the variable are part of the command.
    command.env("VISUAL", format!("sh {}", editor.display()));
    end(start(command, b""))
}

#[tokio::test(flavor = "multi_thread")]
async fn replay_with_edit_asks_the_model_about_the_edited_messages() {
    let (home, _fake) = home().await;
    let daemon = home.daemon();
    printed(&home, &["ask", "me", "write it", "--wait"]);
    stop(daemon);
    let before = files(&home);
    let ran = edited(&home, "sed -i 's/write it/bonjour/' \"$1\"");
    assert_eq!((ran.code, ran.err.as_str()), (DIFFERENT, ""), "{ran:?}");
    assert!(ran.out.contains("+ Salut."), "{}", ran.out);
    for (script, code, words) in
        [("exit 3", 1, "the editor \"sh "), ("echo x > \"$1\"", 2, "is missing in the edited text")]
    {
        assert_fails(&edited(&home, script), code, &[words]);
    }
    let without = run(&home, &["replay", "t1", "--edit"]);
    assert_fails(&without, 2, &["set $VISUAL or $EDITOR"]);
    assert!(files(&home) == before, "a file was left behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn replay_refuses_turns_that_it_cannot_run_again() {
    let (home, _fake) = home().await;
    assert_fails(&run(&home, &["replay", "t1"]), 1, &["t1 is not in the log"]);
    let home = home.with_config("[tools.policy]\nwrite_file = \"ask\"\n");
    let daemon = home.daemon();
    printed(&home, &["ask", "me", "write_file a.txt hello"]);
    until("the question", || {
        let open = printed_json(&home, &["approvals"]);
        (!open.as_array().unwrap().is_empty()).then_some(())
    });
    assert_fails(&run(&home, &["replay", "t1"]), 1, &["t1 is waiting", "has ended"]);
    printed(&home, &["approvals", "deny", "w1"]);
    until("the end of the turn", || {
        let ran = run(&home, &["replay", "t1"]);
        (ran.code == Some(0)).then_some(())
    });
    assert_fails(&run(&home, &["replay", "t99"]), 1, &["t99 is not in the log"]);
    let gone = run(&home, &["replay", "t1", "--model", "gone/m"]);
    assert_fails(&gone, 2, &["--model gone/m: ", "gone"]);
    stop(daemon);
    let log = Connection::open(home.data_dir().join("avocet.db")).unwrap();
    let removed = r#"{"removed":"this result was removed because it was old"}"#;
    log.execute("UPDATE calls SET result = ?1", [removed]).unwrap();
    drop(log);
    assert_fails(
        &run(&home, &["replay", "t1"]),
        1,
        &["cannot replay t1", "removed", "[retention]"],
    );
}
