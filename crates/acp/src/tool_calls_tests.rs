use avocet_protocol::ids::TurnId;
use avocet_protocol::model::{Arguments, ToolCall as WrittenCall};
use avocet_protocol::turn::CallResult;
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
    let [update] = &ShownCalls::default().updates_of(call, &place())[..] else { panic!() };
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
        let updates = calls.updates_of(&call("update_plan", &arguments, state), &place());
        updates.first().map(|update| serde_json::to_value(update).unwrap())
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
        states.map(|state| shown.updates_of(&call("write_file", &arguments, state), &place()));
    assert!(shown.has_open());
    let [first, second, third] = &updates;
    assert!(matches!(first[..], [SessionUpdate::ToolCall(_)]));
    assert!(second.is_empty());
    assert!(matches!(third[..], [SessionUpdate::ToolCallUpdate(_)]));
}

#[test]
fn update_of_a_command_without_terminals_has_its_output_and_its_failure() {
    let arguments = json!({ "command": "make" });
    for (result, expected) in [
        (json!({ "exit_code": 0, "output": "done\n" }), "```\ndone\n```"),
        (json!({ "exit_code": 2, "output": "\u{1b}[31mno\n" }), "```\n[31mno\n```\n\nexit code 2"),
        (json!({ "killed_by_signal": 9, "output": "" }), "killed by SIGKILL"),
        (
            json!({ "exit_code": 0, "output": "", "reached": ["a.org"] }),
            "```\n{\n  \"reached\": [\n    \"a.org\"\n  ]\n}\n```",
        ),
    ] {
        let done = CallState::Finished(CallResult::ok(result));
        let text = json!({ "type": "text", "text": expected });
        let expected = json!({
            "title": "`make`",
            "kind": "execute",
            "status": "completed",
            "content": [{ "type": "content", "content": text }],
        });
        check(&call("exec_shell", &arguments, done), &expected);
    }
}

/// The updates of a command for an editor with terminals, each as JSON.
fn terminal_updates(shown: &mut ShownCalls, call: &LoggedCall) -> Vec<Value> {
    let updates = shown.updates_of(call, &place()).into_iter();
    updates.map(|update| serde_json::to_value(update).unwrap()).collect()
}

fn with_terminals() -> ShownCalls {
    let capabilities = json!({ "_meta": { "terminal_output": true } });
    ShownCalls::new(&serde_json::from_value(capabilities).unwrap())
}

#[test]
fn updates_of_a_command_are_a_terminal_with_its_output_and_end() {
    let arguments = json!({ "command": "make", "working_dir": "src" });
    let terminal = json!([{ "type": "terminal", "terminalId": "t4s1c0" }]);
    let mut shown = with_terminals();
    let started = call("exec_shell", &arguments, CallState::Started);
    let [begun] = &terminal_updates(&mut shown, &started)[..] else { panic!() };
    assert_eq!(begun["content"], terminal);
    let info = json!({ "terminal_info": { "terminal_id": "t4s1c0", "cwd": "/code/src" } });
    assert_eq!(begun["_meta"], info);

    let result = json!({ "exit_code": 3, "output": "a\u{1b}[0m\nb\n" });
    let done = CallState::Finished(CallResult::ok(result));
    let finished = call("exec_shell", &arguments, done);
    let [ended] = &terminal_updates(&mut shown, &finished)[..] else { panic!() };
    assert_eq!((&ended["status"], &ended["content"]), (&json!("completed"), &terminal));
    let expected = json!({
        "terminal_output": { "terminal_id": "t4s1c0", "data": "a[0m\nb\n" },
        "terminal_exit": { "terminal_id": "t4s1c0", "exit_code": 3, "signal": null },
    });
    assert_eq!(ended["_meta"], expected);

    // In an earlier session, both come at once.
    let both = terminal_updates(&mut with_terminals(), &finished);
    assert_eq!((both.len(), &both[0]["_meta"], &both[1]["_meta"]), (2, &info, &expected));
}

#[test]
fn add_output_shows_the_output_of_a_running_command_once() {
    let arguments = json!({ "command": "make" });
    let started = call("exec_shell", &arguments, CallState::Started);
    let mut shown = with_terminals();
    assert!(shown.add_output(started.id, "early").is_none() && shown.is_before_start(started.id));
    shown.updates_of(&started, &place());
    let update = shown.add_output(started.id, "one\u{1b}[0m\n").unwrap();
    let meta = &serde_json::to_value(update).unwrap()["_meta"];
    let output = json!({ "terminal_id": "t4s1c0", "data": "one[0m\n" });
    assert_eq!(meta, &json!({ "terminal_output": output }));

    let result = json!({ "exit_code": 0, "output": "one\u{1b}[0m\ntwo\n" });
    let done = call("exec_shell", &arguments, CallState::Finished(CallResult::ok(result)));
    let [ended] = &terminal_updates(&mut shown, &done)[..] else { panic!() };
    assert_eq!(ended["_meta"]["terminal_output"]["data"], "two\n");
    assert!(shown.add_output(started.id, "late").is_none());

    let mut without = ShownCalls::default();
    without.updates_of(&started, &place());
    assert!(without.add_output(started.id, "one").is_none());
}

#[test]
fn updates_of_a_failed_or_background_command_show_its_text() {
    let error = CallState::Finished(CallResult::error("timed out after 30 s"));
    let failed = call("exec_shell", &json!({ "command": "sleep 99" }), error);
    let updates = terminal_updates(&mut with_terminals(), &failed);
    assert_eq!(updates[1]["status"], "failed");
    assert_eq!(updates[1]["content"][0]["type"], "terminal");
    assert_eq!(updates[1]["content"][1]["content"]["text"], "timed out after 30 s");
    let exit = json!({ "terminal_id": "t4s1c0", "exit_code": null, "signal": null });
    assert_eq!(updates[1]["_meta"], json!({ "terminal_exit": exit }));

    // The result of another form.
    let done = CallState::Finished(CallResult::ok(json!("cut")));
    let cut = call("exec_shell", &json!({ "command": "ls" }), done);
    let updates = terminal_updates(&mut with_terminals(), &cut);
    assert_eq!(updates[1]["content"][1]["content"]["text"], "```\ncut\n```");

    let started = CallState::Finished(CallResult::ok(json!({ "id": "p1.1", "running": true })));
    let arguments = json!({ "command": "serve", "background": true });
    let updates = terminal_updates(&mut with_terminals(), &call("exec_shell", &arguments, started));
    assert_eq!((updates.len(), &updates[0]["_meta"]), (1, &Value::Null));
    assert_eq!(updates[0]["content"][0]["type"], "content");
}
