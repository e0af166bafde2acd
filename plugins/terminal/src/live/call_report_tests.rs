use avocet_protocol::ids::TurnId;
use avocet_protocol::model::{Arguments, ToolCall};
use avocet_protocol::turn::CallState;
use serde_json::json;

use super::*;
use crate::styled::Look;

fn report(name: &str, arguments: &Value, result: CallResult) -> CallReport {
    let arguments = Arguments::Object(arguments.as_object().unwrap().clone());
    let call = ToolCall { name: name.to_owned(), arguments };
    let id = CallId { turn: TurnId(1), step: 0, ordinal: 0 };
    let logged = LoggedCall { id, call, state: CallState::Finished(result), allowed: None };
    CallReport::from_logged(&logged).unwrap()
}

fn painted(rows: &[ScreenRow]) -> Vec<String> {
    rows.iter().map(|row| row.paint_row(Look::Plain)).collect()
}

fn folded(report: &CallReport) -> Vec<String> {
    painted(&report.folded_rows(60))
}

#[test]
fn folded_rows_of_an_output_are_its_beginning_and_its_end() {
    let output: String = (1..=9).map(|n| format!("row {n}\n")).collect();
    let result = CallResult::ok(json!({ "exit_code": 0, "output": output }));
    let report = report("exec_shell", &json!({ "command": "make" }), result);
    assert!(report.is_ok);
    assert_eq!(report.note_row().width(), 0);
    let more = "  … 4 more lines (Ctrl-O shows all)";
    assert_eq!(folded(&report), ["  row 1", "  row 2", more, "  row 7", "  row 8", "  row 9"]);
    let all = painted(&report.unfolded_rows(60));
    assert_eq!(
        (all.len(), all[0].as_str(), all[9].as_str()),
        (10, "✓ exec_shell  make", "  row 9")
    );
}

#[test]
fn report_of_a_failed_command_has_its_exit_code() {
    for (key, note) in
        [("exit_code", "  exit code 9"), ("killed_by_signal", "  killed by signal 9")]
    {
        let result = CallResult::ok(json!({ key: 9, "output": "no\n", "note": "cut" }));
        let report = report("exec_shell", &json!({ "command": "false" }), result);
        assert!(!report.is_ok);
        assert_eq!(painted(&[report.note_row()]), [note]);
        assert_eq!(folded(&report), ["  no", "  note: cut"]);
    }
}

#[test]
fn report_of_a_refused_call_has_its_reason() {
    let reason = "permission denied: /etc is outside\nof \u{1b}[31mthe workspace";
    let report = report("read_file", &json!({ "path": "/etc" }), CallResult::error(reason));
    assert!(!report.is_ok);
    assert_eq!(folded(&report), ["  permission denied: /etc is outside", "  of [31mthe workspace"]);
    let narrow = painted(&report.folded_rows(30));
    assert_eq!(
        narrow[..2],
        ["  permission denied: /etc is ", "  outside"],
        "it is broken, not cut"
    );
}

#[test]
fn report_of_an_edit_has_its_difference_and_counts() {
    let arguments = json!({ "path": "a.rs", "find": "one\ntwo\nthree\n", "replace": "one\nzwei\n\tdrei\nthree\n" });
    let report = report("edit_file", &arguments, CallResult::ok(json!("replaced")));
    assert_eq!(painted(&[report.note_row()]), ["  +2 -1"]);
    assert_eq!(folded(&report), ["    one", "  - two", "  + zwei", "  +     drei", "    three"]);
}

#[test]
fn report_of_a_patch_names_its_files() {
    let patch = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -3,2 +3,2 @@\n one\n--- two\n+++ zwei\n\
        --- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n";
    let report =
        report("apply_patch", &json!({ "patch": patch }), CallResult::ok(json!("changed")));
    assert_eq!(painted(&[report.note_row()]), ["  +2 -1"]);
    let expected = [
        "  src/a.rs",
        "  @@ -3,2 +3,2 @@",
        "    one",
        "  - -- two",
        "  + ++ zwei",
        "  new.txt",
        "  @@ -0,0 +1 @@",
        "  + hello",
    ];
    assert_eq!(folded(&report), expected);
}

#[test]
fn report_of_a_new_file_counts_its_lines() {
    let content: String = (1..=20).map(|n| format!("row {n}\n")).collect();
    let arguments = json!({ "path": "a.txt", "content": content });
    let report = report("write_file", &arguments, CallResult::ok(json!("wrote 1 byte")));
    assert_eq!(painted(&[report.note_row()]), ["  +20 -0"]);
    let rows = folded(&report);
    assert_eq!((rows.len(), rows[0].as_str()), (11, "  + row 1"));
    assert_eq!(rows[10], "  … 10 more lines (Ctrl-O shows all)");
}

#[test]
fn report_of_a_reading_tool_only_counts_lines() {
    let result = CallResult::ok(json!("one\ntwo"));
    let report = report("read_file", &json!({ "path": "a" }), result);
    assert_eq!(
        (painted(&[report.note_row()]), folded(&report).len()),
        (vec!["  2 lines".into()], 0)
    );
    assert_eq!(painted(&report.unfolded_rows(60)), ["✓ read_file  a  2 lines", "  one", "  two"]);
}

#[test]
fn lines_of_any_result_are_short_and_harmless() {
    let table = [
        (json!(null), vec![]),
        (json!([{ "name": "a" }, "b"]), vec!["  {\"name\":\"a\"}", "  b"]),
        (json!({ "status": 200, "content": "x\ny" }), vec!["  status: 200", "  content: x", "  y"]),
        (json!("10 %\r20 %\r\nend\u{1b}[2J\u{7}"), vec!["  20 %", "  end[2J"]),
    ];
    for (value, expected) in table {
        let report = report("web_fetch", &json!({}), CallResult::ok(value));
        assert_eq!(folded(&report), expected);
    }
}
