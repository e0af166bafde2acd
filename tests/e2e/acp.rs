//! Tests of `avocet acp`: the official client of the Agent Client Protocol, whose tests are in
//! `tests/acp`, and lines that no proper client sends.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use avocet_tests::{Home, program};
use serde_json::{Value, json};

use crate::client_libraries::assert_passes;
use crate::support::{RunningCommand, end, printed_json, stop};

#[test]
fn acp_official_client_works_with_the_program() {
    run_official_client("acp.test.mjs");
}

#[test]
fn acp_official_client_sees_titles_thoughts_and_plans() {
    run_official_client("thoughts.test.mjs");
}

#[test]
fn acp_official_client_gives_its_unsaved_files_to_the_agent() {
    run_official_client("buffers.test.mjs");
}

#[test]
fn acp_official_client_shows_commands_as_terminals() {
    run_official_client("terminals.test.mjs");
}

#[test]
fn acp_official_client_changes_the_settings_of_a_session() {
    run_official_client("options.test.mjs");
}

#[test]
fn acp_official_client_gives_its_mcp_servers_to_a_session() {
    run_official_client("servers.test.mjs");
}

/// Runs a file of `tests/acp`.
fn run_official_client(file: &str) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let installed = target.join("acp/node_modules");
    assert!(
        installed.exists(),
        "the client of the Agent Client Protocol is not in {}; run tests/run once, which installs it",
        installed.display()
    );
    let mut command = Command::new("node");
    command.args(["--test", file]);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("acp"));
    command.env("ACP_MODULES", installed).env("AVOCET", program!());
    // With this variable, a test runner of Node.js prints for another runner, not for people.
    command.env_remove("NODE_TEST_CONTEXT");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    assert_passes("node --test", command.spawn().unwrap());
}

/// An editor that sends any line, and checks the form of each line that it gets.
struct RawEditor {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    child: RunningCommand,
}

impl RawEditor {
    fn start(home: &Home) -> Self {
        let mut command = home.command(&["acp"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child: Child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { input, output: BufReader::new(output), child: child.into() }
    }

    fn send(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Returns the next answer. Notifications in between are updates of sessions.
    fn answer(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the program has ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            if message.get("method").is_none() {
                assert!(
                    message.get("result").is_some() != message.get("error").is_some(),
                    "{line}"
                );
                return message;
            }
            assert_eq!(message["method"], "session/update", "{line}");
            assert!(message.get("id").is_none(), "{line}");
        }
    }

    fn call(&mut self, id: i64, method: &str, params: &Value) -> Value {
        self.send(
            &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string(),
        );
        let answer = self.answer();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    fn initialize(&mut self) {
        let params = json!({ "protocolVersion": 99, "clientCapabilities": {} });
        let answer = self.call(0, "initialize", &params);
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
    }

    /// Closes the input. The program ends without an error and without more lines.
    fn close(self) {
        drop(self.input);
        let ran = end(self.child);
        assert_eq!((ran.code, ran.err.contains("error: ")), (Some(0), false), "{ran:?}");
    }
}

#[test]
fn acp_answers_broken_lines_with_errors_and_continues() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let mut editor = RawEditor::start(&home);
    editor.initialize();
    for (line, code) in [("{", -32700), ("[]", -32600), (r#"{"id": 1}"#, -32600)] {
        editor.send(line);
        let answer = editor.answer();
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
    }
    for (method, params, code) in [
        ("session/unknown", json!({}), -32601),
        ("session/new", json!({}), -32602),
        ("session/new", json!({ "cwd": "here", "mcpServers": [] }), -32602),
        ("session/prompt", json!({ "sessionId": "x", "prompt": [] }), -32602),
        ("session/load", json!({ "sessionId": "../x", "cwd": "/", "mcpServers": [] }), -32602),
        ("session/list", json!({ "cursor": "x" }), -32602),
    ] {
        let answer = editor.call(1, method, &params);
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }
    // Notifications get no answer, whatever they name.
    editor.send(r#"{"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "x"}}"#);
    editor.send(r#"{"jsonrpc": "2.0", "method": "unknown", "params": {}}"#);
    let new = json!({ "cwd": home.workspace(), "mcpServers": [] });
    let session = editor.call(2, "session/new", &new)["result"]["sessionId"].clone();
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": " " }] });
    let answer = editor.call(3, "session/prompt", &prompt);
    assert!(answer["error"]["message"].as_str().unwrap().contains("empty"), "{answer}");
    let prompt = json!({
        "sessionId": session,
        "prompt": [{ "type": "text", "text": "count to 2" }],
    });
    let answer = editor.call(4, "session/prompt", &prompt);
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    let turns = printed_json(&home, &["sessions", "show", session.as_str().unwrap()]);
    assert_eq!(turns[0]["steps"][0]["text"], "1, 2.", "{turns}");
    editor.close();
    stop(daemon);
}

#[test]
fn acp_stops_the_turn_of_a_closed_session() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let mut editor = RawEditor::start(&home);
    editor.initialize();
    let new = json!({ "cwd": home.workspace(), "mcpServers": [] });
    let session = editor.call(1, "session/new", &new)["result"]["sessionId"].clone();
    let text = json!([{ "type": "text", "text": "count to 1000" }]);
    let prompt = json!({ "sessionId": session, "prompt": text });
    let request =
        json!({ "jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": prompt });
    editor.send(&request.to_string());
    let close = json!({ "sessionId": session });
    let request = json!({ "jsonrpc": "2.0", "id": 3, "method": "session/close", "params": close });
    editor.send(&request.to_string());
    let (first, second) = (editor.answer(), editor.answer());
    let prompt = [&first, &second].into_iter().find(|answer| answer["id"] == 2).unwrap();
    assert_eq!(prompt["result"]["stopReason"], "cancelled", "{first} {second}");
    editor.close();
    stop(daemon);
}
