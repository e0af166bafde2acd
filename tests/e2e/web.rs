//! Tests of the web console of the real daemon: the link, the login, a conversation, and the end of
//! tokens.

use avocet_testkit::find_free_port;
use std::fs;
use std::net::SocketAddr;

use avocet_testkit::http_client::{RawHttpAnswer, exchange};
use avocet_tests::{Home, program};
use serde_json::{Value, json};

use crate::http::listening;
use crate::support::{
    assert_fails, printed, printed_json, run, soon, stop, until_all_is_delivered,
};
use crate::terminal::pty::TerminalOptions;

const MESSAGE: &str = "/v1/messages";

/// The console of a daemon, and the token of a browser.
pub(crate) struct Browser {
    server: SocketAddr,
    token: String,
}

impl Browser {
    /// Opens the console, and signs in.
    pub(crate) async fn of(home: &Home) -> Self {
        Self::sign_in(&printed_json(home, &["web", "--print"])).await
    }

    async fn on_port(home: &Home, port: u16) -> Self {
        Self::sign_in(&printed_json(home, &["web", "--print", "--port", &port.to_string()])).await
    }

    async fn sign_in(link: &Value) -> Self {
        let (server, code) = parts(link["url"].as_str().unwrap());
        let body = json!({ "code": code });
        let mut browser = Self { server, token: String::new() };
        let answer = browser.post("/v1/web/login", &body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["token"].as_str().unwrap().clone_into(&mut browser.token);
        browser
    }

    pub(crate) async fn send(&self, line: &str, body: &str) -> RawHttpAnswer {
        let Self { server, token } = self;
        let auth = if token.is_empty() {
            String::new()
        } else {
            format!("Authorization: Bearer {token}\r\n")
        };
        let request = format!(
            "{line} HTTP/1.1\r\nHost: {server}\r\nOrigin: http://{server}\r\n{auth}\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        soon(line, exchange(*server, request.as_bytes())).await
    }

    pub(crate) async fn get(&self, path: &str) -> RawHttpAnswer {
        self.send(&format!("GET {path}"), "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> RawHttpAnswer {
        self.send(&format!("POST {path}"), &body.to_string()).await
    }
}

/// Returns the server and the code of a link.
fn parts(url: &str) -> (SocketAddr, String) {
    let (server, code) = url.strip_prefix("http://").unwrap().split_once("/#code=").unwrap();
    (server.parse().unwrap(), code.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn web_console_opens_a_port_on_demand_and_holds_a_conversation() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    assert_eq!(listening(daemon.pid()), Vec::<String>::new());
    let browser = Browser::of(&home).await;
    let port = format!("0100007F:{:04X}", browser.server.port());
    assert_eq!(listening(daemon.pid()), [port]);
    let page = Browser { server: browser.server, token: String::new() }.get("/").await;
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{page:?}");
    let message = json!({"session": "web:console:main", "text": "count to 3"});
    let accepted = browser.post(MESSAGE, &message).await;
    assert_eq!(accepted.json(), json!({"id": "m1", "duplicate": false}));
    let answered = browser.get("/v1/messages/m1?wait=60").await.json();
    assert_eq!((&answered["outcome"], &answered["reply"]), (&json!("replied"), &json!("1, 2, 3.")));
    let turns = browser.get("/v1/sessions/web:console:main").await.json();
    let sender = &turns[0]["origin"]["messages"][0]["message"]["inbound"]["sender"]["id"];
    let uid = rustix::process::geteuid().as_raw();
    assert_eq!(*sender, format!("uid:{uid}"));
    until_all_is_delivered(&home);
    let command = json!({"session": "web:console:main", "text": "/trust"});
    browser.post(MESSAGE, &command).await;
    assert_eq!(browser.get("/v1/messages/m2?wait=60").await.json()["outcome"], "replied");
    stop(daemon);
}

#[tokio::test(flavor = "multi_thread")]
async fn web_files_reach_the_agent_and_come_back() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let browser = Browser::of(&home).await;
    let stored = browser.send("POST /v1/files?name=note.txt", "what I uploaded").await;
    assert_eq!(stored.status, 201, "{stored:?}");
    let file = stored.json();
    let reference = &file["reference"];
    let file = json!({"reference": reference, "kind": "document", "name": "note.txt"});
    let message = |text: &str, files: Value| json!({"session": "web:console:main", "text": text, "attachments": files});
    browser.post(MESSAGE, &message("count to 1", json!([file]))).await;
    assert_eq!(browser.get("/v1/messages/m1?wait=60").await.json()["outcome"], "replied");
    let turns = browser.get("/v1/sessions/web:console:main").await.json();
    let inbound = &turns[0]["origin"]["messages"][0]["message"]["inbound"];
    let source = &inbound["content"]["attachments"][0]["source"];
    let path = source["workspace"].as_str().unwrap_or_else(|| panic!("{source}"));
    assert_eq!(fs::read_to_string(home.workspace().join(path)).unwrap(), "what I uploaded");
    let send = format!("message {}", json!({"text": "here", "files": [path]}));
    browser.post(MESSAGE, &message(&send, json!([]))).await;
    assert_eq!(browser.get("/v1/messages/m2?wait=60").await.json()["outcome"], "replied");
    until_all_is_delivered(&home);
    let back = browser.get("/v1/sessions/web:console:main/files/t2/0").await;
    assert_eq!((back.status, back.body.as_str()), (200, "what I uploaded"), "{back:?}");
    let refused = browser.post(MESSAGE, &message("", json!([{"reference": "web.key"}]))).await;
    assert!(refused.status == 400 && refused.body.contains("there is no upload"), "{refused:?}");
    stop(daemon);
}

#[tokio::test(flavor = "multi_thread")]
async fn web_token_survives_a_restart_and_ends_with_sign_out() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let port = find_free_port(22_000);
    let browser = Browser::on_port(&home, port).await;
    stop(daemon);
    let daemon = home.daemon();
    assert_eq!(browser.get("/v1/status").await.status, 200, "the port is open again by itself");
    let link = printed_json(&home, &["web", "--print"]);
    let (server, code) = parts(link["url"].as_str().unwrap());
    assert_eq!(server, browser.server);
    assert!(printed(&home, &["web", "--sign-out"]).contains("all browsers are signed out"));
    assert_eq!(browser.get("/v1/status").await.status, 401);
    let login = browser.post("/v1/web/login", &json!({ "code": code })).await;
    assert_eq!(login.status, 401, "{login:?}");
    let again = Browser::on_port(&home, port).await;
    assert_eq!(again.get("/v1/status").await.status, 200);
    printed(&home, &["web", "--sign-out"]);
    stop(daemon);
    let daemon = home.daemon();
    assert_eq!(listening(daemon.pid()), Vec::<String>::new(), "no browser is signed in");
    stop(daemon);
}

#[test]
fn web_key_and_uploads_are_closed_to_tools_in_the_data_directory() {
    let home = Home::new(program!());
    let config = format!("[agents.defaults]\nworkspace = {:?}\n", home.data_dir());
    let home = home.with_config(&config);
    let daemon = home.daemon();
    printed(&home, &["web"]);
    fs::create_dir_all(home.data_dir().join("web/uploads")).unwrap();
    for file in ["web/uploads/0123", "open.txt"] {
        fs::write(home.data_dir().join(file), "0123456789").unwrap();
    }
    let read = |path: &str| {
        let text = format!("read_file {}", json!({ "path": path }));
        printed(&home, &["ask", "me", &text, "--wait"])
    };
    assert!(read("open.txt").contains("0123456789"));
    for path in ["web.key", "web/uploads/0123"] {
        let shown = read(path);
        assert!(
            shown.contains("the daemon's own") && !shown.contains("0123456789"),
            "{path}: {shown}"
        );
    }
    stop(daemon);
}

#[test]
fn web_without_a_daemon_names_its_start() {
    let home = Home::new(program!());
    for arguments in [&["web"][..], &["web", "--sign-out"]] {
        assert_fails(&run(&home, arguments), 69, &["no daemon runs", "avocet run"]);
    }
}

#[test]
fn web_prints_the_link_for_people_and_opens_another_port() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let shown = printed(&home, &["web"]);
    let url = shown.lines().next().unwrap();
    let (server, code) = parts(url);
    assert!(code.len() >= 32 && shown.contains("works once, for "), "{shown}");
    let other = find_free_port(23_000).to_string();
    let moved = printed(&home, &["web", "--port", &other]);
    assert!(moved.starts_with(&format!("http://127.0.0.1:{other}/#code=")), "{moved}");
    assert_eq!(listening(daemon.pid()).len(), 2, "open pages keep their port");
    assert_ne!(other, server.port().to_string());
    stop(daemon);
}

#[test]
fn web_in_a_terminal_offers_to_run_a_daemon() {
    let home = Home::new(program!());
    let port = find_free_port(24_000).to_string();
    let command = ["web", "--print", "--port", &port];
    let terminal = || TerminalOptions::new(&home).with_command(&command).open();
    let mut refused = terminal();
    refused.wait_for("Run one here until Ctrl-C? [y/N]");
    assert_eq!(refused.leave("n\r"), Some(69));
    let mut web = terminal();
    web.wait_for("Run one here until Ctrl-C? [y/N]");
    web.press("y\r");
    web.wait_for(&format!("http://127.0.0.1:{port}/#code="));
    web.wait_for("The daemon runs here until Ctrl-C.");
    assert!(printed(&home, &["status"]).contains("terminal:local"));
    assert_eq!(web.leave("\u{3}"), Some(0));
    assert_fails(&run(&home, &["web"]), 69, &["no daemon runs"]);
}
