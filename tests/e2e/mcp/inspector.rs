//! The inspector of the MCP project and its conformance suite, against the real program.

use std::process::{Command, Stdio};

use avocet_tests::{Home, program};
use serde_json::Value;

use super::{installed, own};
use crate::client_libraries::assert_passes;
use crate::http::{HttpHome, TOKEN};
use crate::mcp_server::WIDE;
use crate::support::{end, stop};

/// Runs the inspector's command line, which keeps its files in the home. Returns the result, which
/// is JSON.
#[track_caller]
fn inspect(home: &Home, target: &[&str], method: &[&str]) -> Value {
    let mut command = Command::new("node");
    command.arg(installed("inspector").join("clients/cli/build/index.js"));
    command.args(["--cli"]).args(target).args(method);
    command.env("HOME", home.path(""));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = end(command.spawn().unwrap());
    assert_eq!(ran.code, Some(0), "{method:?}: {ran:?}");
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{method:?}: {error}: {ran:?}"))
}

fn assert_serves(home: &Home, target: &[&str]) {
    let tools = inspect(home, target, &["--method", "tools/list"]);
    let names: Vec<_> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    for name in ["ask", "send", "sessions", "history", "jobs", "builder"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let call = ["--method", "tools/call", "--tool-name", "ask", "--tool-arg", "text=count to 3"];
    let answer = inspect(home, target, &call);
    assert!(answer["content"][0]["text"].as_str().unwrap().contains("1, 2, 3."), "{answer}");
    let resources = inspect(home, target, &["--method", "resources/list"]);
    assert!(resources.to_string().contains("avocet://sessions"), "{resources}");
    let read = ["--method", "resources/read", "--uri", "avocet://sessions"];
    assert!(inspect(home, target, &read)["contents"].is_array());
}

#[test]
fn mcp_inspector_works_with_mcp_serve() {
    let home = Home::new(program!()).with_config(WIDE);
    let daemon = home.daemon();
    assert_serves(&home, &[program!(), "mcp", "serve"]);
    stop(daemon);
}

#[test]
fn mcp_inspector_works_with_http() {
    let http = HttpHome::start_with_mcp_operator();
    let url = format!("http://{}/mcp", http.server);
    let token = format!("Authorization: Bearer {TOKEN}");
    let home = Home::new(program!());
    assert_serves(&home, &["--server-url", &url, "--transport", "http", "--header", &token]);
    stop(http.daemon);
}

fn conformance(side: &str) {
    let mut command = Command::new(own("conformance"));
    command.arg(side).env("AVOCET", program!());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    assert_passes(side, command.spawn().unwrap());
}

#[test]
fn mcp_conformance_suite_finds_only_known_faults_of_the_client() {
    conformance("client");
}

#[test]
fn mcp_conformance_suite_finds_only_known_faults_of_the_server() {
    conformance("server");
}
