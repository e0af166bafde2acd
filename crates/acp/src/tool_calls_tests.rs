use avocet_protocol::{Arguments, CallResult, ToolCall as WrittenCall, TurnId};
use serde_json::json;

use super::*;

fn place() -> SessionPlace {
    SessionPlace {
        session: "terminal:local:acp-default+k1".parse().unwrap(),
        workspace: "/code".into(),
        cwd: None,
        is_covered: true,
    }
}

fn call(name: &str, arguments: &Value, state: CallState) -> LoggedCall {
    let id = CallId { turn: TurnId(4), step: 1, ordinal: 0 };
    let arguments = Arguments::parse(&arguments.to_string());
    let call = WrittenCall { name: name.to_owned(), arguments };
    LoggedCall { id, call, state, allowed: None }
}

#[track_caller]
fn check(call: &LoggedCall, expected: &Value) {
    let update = ShownCalls::default().update(call, &place()).unwrap();
    let mut update = serde_json::to_value(update).unwrap();
    let fields = update.as_object_mut().unwrap();
    for left_out in ["rawInput", "rawOutput", "sessionUpdate", "toolCallId", "name"] {
        fields.remove(left_out);
    }
    assert_eq!(&update, expected, "{call:?}");
}

#[test]
fn update_of_an_edit_has_its_diff_and_location() {
    let arguments = json!({ "path": "./src/a.rs", "find": "one", "replace": "two" });
    let diff =
        json!({ "type": "diff", "path": "/code/src/a.rs", "oldText": "one", "newText": "two" });
    let expected = json!({
        "title": "edit_file ./src/a.rs",
        "kind": "edit",
        "locations": [{ "path": "/code/src/a.rs" }],
        "content": [diff],
    });
    check(&call("edit_file", &arguments, CallState::Planned), &expected);
    let done = CallState::Finished(CallResult::ok(json!("replaced")));
    let mut done_expected = expected.clone();
    done_expected["status"] = json!("completed");
    check(&call("edit_file", &arguments, done), &done_expected);
}

#[test]
fn update_of_a_plan_is_the_plan_once_its_call_has_succeeded() {
    let arguments = json!({ "entries": [{ "content": "look", "status": "in_progress" }] });
    let done = || CallState::Finished(CallResult::ok(json!("The plan is shown.")));
    let failed = CallState::Finished(CallResult::error("the content of entry 1 is empty"));
    let mut calls = ShownCalls::default();
    let mut update = |state| {
        let update = calls.update(&call("update_plan", &arguments, state), &place());
        update.map(|update| serde_json::to_value(update).unwrap())
    };
    assert_eq!(update(CallState::Planned), None);
    let entry = json!({ "content": "look", "priority": "medium", "status": "in_progress" });
    let expected = json!({ "sessionUpdate": "plan", "entries": [entry] });
    assert_eq!(update(done()), Some(expected));
    assert_eq!(update(done()), None, "once");
    assert_eq!(update(failed), None);
}

#[test]
fn update_of_a_patch_has_each_part() {
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@\n-x\n+y\n--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+z\n";
    let expected = json!({
        "title": "apply_patch",
        "kind": "edit",
        "locations": [{ "path": "/code/a.txt", "line": 2 }, { "path": "/code/b.txt", "line": 1 }],
        "content": [
            { "type": "diff", "path": "/code/a.txt", "oldText": "x\n", "newText": "y\n" },
            { "type": "diff", "path": "/code/b.txt", "newText": "z\n" },
        ],
    });
    check(&call("apply_patch", &json!({ "patch": patch }), CallState::Planned), &expected);
}

#[test]
fn update_of_a_failed_call_has_its_error() {
    let error = CallState::Finished(CallResult::error("no such file"));
    let expected = json!({
        "title": "read_file b.txt",
        "kind": "read",
        "status": "failed",
        "locations": [{ "path": "/code/b.txt", "line": 7 }],
        "content": [{ "type": "content", "content": { "type": "text", "text": "no such file" } }],
    });
    let arguments = json!({ "path": "b.txt", "start_line": 7 });
    check(&call("read_file", &arguments, error), &expected);
}

#[test]
fn update_of_a_command_has_its_output_as_code() {
    let done = CallState::Finished(CallResult::ok(json!("1 ``` 2\n")));
    let text = "````\n1 ``` 2\n````";
    let expected = json!({
        "title": "`ls …`",
        "kind": "execute",
        "status": "completed",
        "content": [{ "type": "content", "content": { "type": "text", "text": text } }],
    });
    check(&call("exec_shell", &json!({ "command": "ls \npwd" }), done), &expected);
}

#[test]
fn update_comes_once_for_each_state() {
    let mut shown = ShownCalls::default();
    let arguments = json!({ "path": "a.txt", "content": "x" });
    let states = [CallState::Planned, CallState::Waiting, CallState::Started];
    let updates =
        states.map(|state| shown.update(&call("write_file", &arguments, state), &place()));
    assert!(shown.has_open());
    assert!(matches!(
        updates,
        [Some(SessionUpdate::ToolCall(_)), None, Some(SessionUpdate::ToolCallUpdate(_))]
    ));
}
