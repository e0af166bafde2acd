//! The servers of the MCP project: "everything" over both transports, "filesystem" and "memory".

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use avocet_tests::{Home, program};
use serde_json::json;

use super::{McpHome, allow, installed, node, own};
use crate::support::{Listener, printed, printed_json, stop, until};

const EVERYTHING: &str = "server-everything";

/// Calls of tools of "everything", and parts of their results.
const CALLS: [(&str, &str, &[&str]); 16] = [
    ("echo", r#"{"message": "hello"}"#, &["Echo: hello"]),
    ("get-sum", r#"{"a": 2, "b": 40}"#, &["42"]),
    ("get-sum", r#"{"a": "two"}"#, &["invalid arguments"]),
    ("get-annotated-message", r#"{"messageType": "error", "includeImage": true}"#, &["Error: "]),
    ("get-tiny-image", "{}", &["image"]),
    ("get-resource-links", r#"{"count": 2}"#, &["demo://resource/dynamic/"]),
    (
        "get-resource-reference",
        r#"{"resourceType": "Text", "resourceId": 1}"#,
        &["demo://resource/dynamic/text/1"],
    ),
    ("get-structured-content", r#"{"location": "New York"}"#, &["temperature", "33"]),
    (
        "gzip-file-as-resource",
        r#"{"name": "a.gz", "data": "data:text/plain,hello", "outputType": "resourceLink"}"#,
        &["a.gz"],
    ),
    ("toggle-simulated-logging", "{}", &["simulated"]),
    ("toggle-subscriber-updates", "{}", &["simulated"]),
    ("resources", "{}", &["demo://resource/static/document/architecture.md"]),
    (
        "read_resource",
        r#"{"uri": "demo://resource/static/document/architecture.md"}"#,
        &["Architecture"],
    ),
    ("prompts", "{}", &["simple-prompt"]),
    ("get_prompt", r#"{"name": "simple-prompt"}"#, &["prompt"]),
    ("trigger-long-running-operation", r#"{"duration": 0.1, "steps": 5}"#, &["Steps: 5"]),
];

/// A server of "everything" with streamable HTTP, on the loopback interface.
struct HttpEverything {
    child: Child,
    url: String,
}

impl HttpEverything {
    fn start() -> Self {
        let mut command = Command::new("node");
        command.arg("--import").arg(own("preload.mjs"));
        command.arg(installed(EVERYTHING).join("dist/index.js")).arg("streamableHttp");
        command.env("PORT", "0").stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
        let address =
            lines.find_map(|line| line.unwrap().strip_prefix("listening on ").map(str::to_owned));
        Self { child, url: format!("http://{}/mcp", address.unwrap()) }
    }
}

impl Drop for HttpEverything {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Makes a directory in a home, and returns its path without links.
fn directory(home: &Home, name: &str) -> PathBuf {
    fs::create_dir_all(home.path(name)).unwrap();
    home.path(name).canonicalize().unwrap()
}

fn assert_calls_work(mcp: &McpHome) {
    for (tool, arguments, expected) in CALLS {
        let answer = mcp.call(&format!("everything__{tool}"), arguments);
        for part in expected {
            assert!(answer.contains(part), "{tool} {arguments}: no {part:?} in {answer}");
        }
    }
    let environment = mcp.call("everything__get-env", "{}");
    assert!(!environment.contains("hidden"), "{environment}");
    let listed = printed_json(&mcp.home, &["mcp", "tools", "everything"]);
    let names = listed.as_array().unwrap().iter().map(|tool| tool["tool"].as_str().unwrap());
    for name in names.filter(|name| !name.starts_with("trigger-") && !name.starts_with("simulate-"))
    {
        assert!(
            name == "get-env"
                || name == "get-roots-list"
                || CALLS.iter().any(|call| call.0 == name),
            "{name} is never called"
        );
    }
    let status = printed_json(&mcp.home, &["mcp", "list"]);
    assert_eq!(status[0]["status"]["state"], "ready", "{status}");
}

#[test]
fn mcp_every_tool_of_everything_works_over_stdio() {
    let config = node("everything", EVERYTHING, &[], "") + &allow(&["everything"]);
    let home = Home::new(program!()).with("SECRET", "hidden").with_config(&config);
    let Some(mcp) = McpHome::start(home) else { return };
    assert_calls_work(&mcp);
    stop(mcp.daemon);
}

#[test]
fn mcp_every_tool_of_everything_works_over_http() {
    let server = HttpEverything::start();
    let url = &server.url;
    let config =
        format!("[tools.mcp_servers.everything]\nurl = {url:?}\n") + &allow(&["everything"]);
    let mcp = McpHome::with_config(&config).unwrap();
    assert_calls_work(&mcp);
    stop(mcp.daemon);
}

#[tokio::test(flavor = "multi_thread")]
async fn mcp_call_of_everything_ends_with_stop_and_the_server_stays() {
    let config = node("everything", EVERYTHING, &[], "") + &allow(&["everything"]);
    let Some(mcp) = McpHome::with_config(&config) else { return };
    let chat = Listener::attach(&mcp.home, "terminal:local:me").await;
    let call = r#"everything__trigger-long-running-operation {"duration": 600, "steps": 6000}"#;
    printed(&mcp.home, &["ask", "me", call]);
    let started = chat.see("tool_started").await;
    assert_eq!(started["name"], "everything__trigger-long-running-operation");
    printed(&mcp.home, &["ask", "me", "/stop"]);
    assert!(chat.see("ended").await.is_object());
    drop(chat);
    let answer = mcp.call("everything__echo", r#"{"message": "still here"}"#);
    assert!(answer.contains("Echo: still here"), "{answer}");
    stop(mcp.daemon);
}

#[test]
fn mcp_filesystem_is_kept_in_its_directories_by_the_sandbox() {
    let home = Home::new(program!());
    let [open, shut] = ["open", "shut"].map(|name| directory(&home, name));
    fs::write(shut.join("old.txt"), "readable").unwrap();
    // The server itself would serve both directories.
    let more = format!("write = [{open:?}]\n");
    let config = node("files", "server-filesystem", &[&open, &shut], &more)
        .replace("read = [", &format!("read = [{shut:?}, "))
        + &allow(&["files"]);
    let Some(mcp) = McpHome::start(home.with_config(&config)) else { return };
    let write = |directory: &Path| {
        let arguments = json!({"path": directory.join("new.txt"), "content": "hello"});
        mcp.call("files__write_file", &arguments.to_string())
    };
    let written = write(&open);
    assert_eq!(fs::read_to_string(open.join("new.txt")).unwrap(), "hello", "{written}");
    let refused = write(&shut);
    assert!(refused.contains("EROFS") || refused.contains("EACCES"), "{refused}");
    assert!(!shut.join("new.txt").exists());
    let arguments = json!({"path": shut.join("old.txt")}).to_string();
    assert!(mcp.call("files__read_text_file", &arguments).contains("readable"));
    let arguments = json!({"path": mcp.home.path(".config/avocet/config.toml")}).to_string();
    let refused = mcp.call("files__read_text_file", &arguments);
    assert!(refused.contains("outside allowed directories"), "{refused}");
    stop(mcp.daemon);
}

#[test]
fn mcp_memory_remembers_over_a_restart() {
    let home = Home::new(program!());
    let folder = directory(&home, "memory");
    let more = format!(
        "write = [{folder:?}]\nenv = {{ MEMORY_FILE_PATH = {:?} }}\n",
        folder.join("memory.jsonl")
    );
    let config = node("memory", "server-memory", &[], &more) + &allow(&["memory"]);
    let Some(mcp) = McpHome::start(home.with_config(&config)) else { return };
    let entity = json!({"name": "Ada", "entityType": "person", "observations": ["likes tea"]});
    mcp.call("memory__create_entities", &json!({"entities": [entity]}).to_string());
    let mcp = mcp.restarted();
    let graph = until("the graph", || Some(mcp.call("memory__read_graph", "{}")));
    assert!(graph.contains("likes tea"), "{graph}");
    stop(mcp.daemon);
}
