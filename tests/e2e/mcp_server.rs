//! Tests of the MCP server: `avocet mcp serve` on stdio, and `/mcp` over HTTP, with a client that
//! writes and reads its messages itself.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use avocet_testkit::http_client::RawHttpAnswer;
use avocet_tests::{DaemonProcess, Home, program};
use serde_json::{Value, json};

use crate::http::HttpHome;
use crate::support::{assert_fails, printed, printed_json, run, stop, until};

const ASKS: &str = "[tools.policy]\nwrite_file = \"ask\"\n";
/// The operator lets the MCP client do everything.
pub(crate) const WIDE: &str = "[gateway.clients.mcp]\nrole = \"operator\"\nchats = [\"*\"]\ntoken = \"a-token-of-the-mcp-client\"\n";
/// The time after which a wait fails its test.
const PATIENCE: Duration = Duration::from_secs(60);

/// An MCP client of `avocet mcp serve`.
struct StdioClient {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
    /// Messages that were read while another was awaited.
    early: Vec<Value>,
}

impl StdioClient {
    #[expect(clippy::disallowed_methods, reason = "it reads what the program writes")]
    fn spawn(home: &Home, arguments: &[&str]) -> Self {
        let mut command = home.command(&[&["mcp", "serve"], arguments].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, lines) = sync_channel(10_000);
        std::thread::spawn(move || {
            for line in output.map_while(Result::ok) {
                drop(sender.send(line));
            }
        });
        Self { child, input, lines, next: 1, early: Vec::new() }
    }

    /// Starts a server and introduces the client.
    fn open(home: &Home, arguments: &[&str], name: &str, capabilities: &Value) -> Self {
        let mut client = Self::spawn(home, arguments);
        let hello = client.call(
            "initialize",
            json!({
                "protocolVersion": "2025-11-25", "capabilities": capabilities,
                "clientInfo": {"name": name, "version": "1"},
            }),
        );
        assert_eq!(hello["serverInfo"]["name"], "avocet", "{hello}");
        assert_eq!(hello["protocolVersion"], "2025-11-25", "{hello}");
        client.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn write(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{message}\n").as_bytes()).unwrap();
        input.flush().unwrap();
    }

    fn read(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("the server writes nothing");
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// Sends a request, and returns its id.
    #[expect(clippy::needless_pass_by_value, reason = "made for `json!`")]
    fn begin(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Returns the next message that matches; keeps the others.
    fn wait_for(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.early.iter().position(&is_wanted) {
            return self.early.remove(place);
        }
        loop {
            let message = self.read();
            if is_wanted(&message) {
                return message;
            }
            self.early.push(message);
        }
    }

    fn result_of(&mut self, id: u64) -> Value {
        let answer = self.wait_for(|message| message["id"] == id && message["method"].is_null());
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.result_of(id)
    }

    #[expect(clippy::needless_pass_by_value, reason = "made for `json!`")]
    fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.call("tools/call", json!({"name": name, "arguments": arguments}))
    }

    /// Begins a call that asks for progress reports.
    fn begin_tool(&mut self, name: &str, arguments: &Value) -> u64 {
        let meta = json!({"progressToken": "p"});
        self.begin("tools/call", json!({"name": name, "arguments": arguments, "_meta": meta}))
    }

    /// Closes the input, and waits for the end.
    fn end(mut self) {
        drop(self.input.take());
        let status = until("the end of the server", || self.child.try_wait().unwrap());
        assert!(status.success(), "{status}");
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

fn started(config: &str) -> (Home, DaemonProcess) {
    let home = Home::new(program!()).with_config(config);
    let daemon = home.daemon();
    (home, daemon)
}

#[test]
fn mcp_serve_without_a_daemon_says_how_to_start_one() {
    let home = Home::new(program!());
    assert_fails(&run(&home, &["mcp", "serve"]), 69, &["no daemon runs", "avocet run"]);
}

#[test]
fn mcp_serve_of_a_narrow_client_has_the_tools_of_its_role() {
    let config = "[gateway.clients.reader]\nrole = \"observer\"\nchats = [\"*\"]\ntoken = \"a-token-of-the-reader\"\n";
    let (home, daemon) = started(config);
    let mut client = StdioClient::open(&home, &["--client", "reader"], "test", &json!({}));
    let tools = client.call("tools/list", json!({}));
    let names: Vec<&str> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["sessions", "history", "jobs"]);
    client.end();
    assert_fails(
        &run(&home, &["mcp", "serve", "--client", "nobody"]),
        1,
        &["gateway.clients.nobody"],
    );
    stop(daemon);
}

#[test]
fn mcp_serve_without_a_client_is_a_user_who_reaches_its_own_chats() {
    let (home, daemon) = started("");
    printed(&home, &["ask", "me", "count to 2", "--wait"]);
    let mut client = StdioClient::open(&home, &[], "test", &json!({"elicitation": {}}));
    let tools = client.call("tools/list", json!({}));
    let names: Vec<&str> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["ask", "send", "sessions", "history", "jobs"]);
    let answer = client.tool("ask", json!({"text": "count to 3"}));
    assert_eq!(answer["structuredContent"]["reply"], "1, 2, 3.");
    for text in ["write_file AGENTS.md x", "exec_shell touch AGENTS.md"] {
        client.tool("ask", json!({ "text": text }));
        assert!(!home.workspace().join("AGENTS.md").exists(), "{text}");
    }
    let sessions = client.tool("sessions", json!({}));
    assert!(!text(&sessions).contains("terminal:local:me"), "{sessions}");
    let others = json!({"session": "me", "text": "count to 2"});
    for (tool, arguments) in [
        ("ask", others),
        ("history", json!({"session": "me"})),
        ("jobs", json!({"action": "start", "profile": "builder", "task": "count to 2"})),
    ] {
        let refused = client.tool(tool, arguments);
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(text(&refused).contains("[gateway.clients.mcp]"), "{refused}");
    }
    client.end();
    stop(daemon);
}

#[test]
fn mcp_client_can_neither_add_nor_remove_a_rule() {
    let (home, daemon) = started("");
    printed(&home, &["rules", "add", "be brief"]);
    let rules = printed(&home, &["rules"]);
    let mut client = StdioClient::open(&home, &[], "test", &json!({}));
    for text in ["/rule add be rude", "/rule remove r1"] {
        let answer = client.tool("ask", json!({ "text": text }));
        assert_eq!(answer["structuredContent"]["reply"], "/rule is for my owner.", "{answer}");
    }
    assert_eq!(printed(&home, &["rules"]), rules);
    client.end();
    stop(daemon);
}

#[test]
fn mcp_send_to_another_chat_is_asked_in_a_form_that_shows_the_message() {
    let (home, daemon) = started(WIDE);
    let mut client = StdioClient::open(&home, &[], "test", &json!({"elicitation": {}}));
    let text_to_send = "hello \u{202e}you";
    for (decision, is_sent) in [("Allow once", true), ("Deny", false)] {
        let arguments = json!({"chat": "me", "text": text_to_send});
        let id = client.begin("tools/call", json!({"name": "send", "arguments": arguments}));
        let form = client.wait_for(|message| message["method"] == "elicitation/create");
        let message = form["params"]["message"].as_str().unwrap();
        let expected = "Send this message to terminal:local:me?\n\"hello \\u202eyou\"";
        assert_eq!(message, expected);
        let result = json!({"action": "accept", "content": {"decision": decision}});
        client.write(&json!({"jsonrpc": "2.0", "id": form["id"], "result": result}));
        let sent = client.result_of(id);
        assert_eq!(sent["isError"] != true, is_sent, "{sent}");
    }
    let own = client.tool("send", json!({"chat": "terminal:local:mcp-test", "text": "hello"}));
    assert!(text(&own).contains("is in the outbox"), "{own}");
    client.end();
    stop(daemon);
}

#[test]
fn mcp_serve_lists_its_tools() {
    let (home, daemon) = started(WIDE);
    let mut client = StdioClient::open(&home, &[], "test", &json!({}));
    let tools = client.call("tools/list", json!({}));
    insta::assert_snapshot!("tools", serde_json::to_string_pretty(&tools).unwrap());
    client.end();
    stop(daemon);
}

#[test]
fn mcp_ask_answers_in_the_conversation_of_the_client() {
    let (home, daemon) = started(WIDE);
    let mut one = StdioClient::open(&home, &[], "One App", &json!({}));
    let mut two = StdioClient::open(&home, &["--session", "me"], "two", &json!({}));
    let answer = one.tool("ask", json!({"text": "count to 3"}));
    assert_eq!(text(&answer), "1, 2, 3.");
    let structured = &answer["structuredContent"];
    assert_eq!(structured["session"], "terminal:local:mcp-one-app");
    assert_eq!(
        (&structured["status"], &structured["reply"]),
        (&json!("answered"), &json!("1, 2, 3."))
    );
    let answer = two.tool("ask", json!({"text": "count to 2"}));
    assert_eq!(answer["structuredContent"]["session"], "terminal:local:me");
    let message = answer["structuredContent"]["message"].clone();
    let again = two.tool("ask", json!({"message": message}));
    assert_eq!(text(&again), "1, 2.");

    let history = one.tool("history", json!({}));
    assert!(
        text(&history).contains("count to 3") && text(&history).contains("1, 2, 3."),
        "{history}"
    );
    assert_eq!(history["structuredContent"]["turns"][0]["answer"], "1, 2, 3.");
    let sessions = one.tool("sessions", json!({"limit": 5}));
    assert_eq!(sessions["structuredContent"]["sessions"].as_array().unwrap().len(), 2);
    let sent = one.tool("send", json!({"chat": "me", "text": "hello"}));
    assert!(text(&sent).contains("this client shows no forms"), "{sent}");
    let wrong = one.tool("ask", json!({"txet": "hi"}));
    assert_eq!(wrong["isError"], true);
    assert!(text(&wrong).contains("txet"), "{wrong}");
    let wrong = one.tool("history", json!({"session": "a/../b"}));
    assert_eq!(wrong["isError"], true, "{wrong}");
    one.end();
    two.end();
    stop(daemon);
}

#[test]
fn mcp_profile_runs_a_job_and_shows_its_progress() {
    let (home, daemon) = started(WIDE);
    let mut client = StdioClient::open(&home, &[], "test", &json!({}));
    let id = client.begin_tool("builder", &json!({"task": "list_directory ."}));
    let progress = client.wait_for(|message| message["method"] == "notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "p");
    let result = client.result_of(id);
    assert_ne!(result["isError"], true, "{result}");
    assert_eq!(result["structuredContent"]["job"], "j1");
    assert_eq!(printed_json(&home, &["job", "list"])[0]["state"], "completed");
    let jobs = client.tool("jobs", json!({"action": "list"}));
    assert!(text(&jobs).contains("j1 completed (builder)"), "{jobs}");
    let job = json!({"action": "start", "profile": "builder", "task": "count to 900"});
    let begun = client.tool("jobs", job);
    assert_eq!(begun["structuredContent"]["job"]["id"], "j2");
    client.tool("jobs", json!({"action": "cancel", "job": "j2"}));
    let shown = client.tool("jobs", json!({"action": "status", "job": "j2"}));
    assert!(text(&shown).contains("j2 cancelled"), "{shown}");
    client.end();
    stop(daemon);
}

#[test]
fn mcp_cancellation_stops_the_turn_and_the_job() {
    let (home, daemon) = started(WIDE);
    let mut client = StdioClient::open(&home, &["--session", "me"], "test", &json!({}));
    for tool in ["ask", "builder"] {
        let key = if tool == "ask" { "text" } else { "task" };
        let id = client.begin_tool(tool, &json!({ key: "count to 900" }));
        client.wait_for(|message| message["method"] == "notifications/progress");
        let params = json!({"requestId": id, "reason": "enough"});
        client.write(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
        );
        until("the stop", || {
            let ended = match tool {
                "ask" => {
                    printed_json(&home, &["sessions", "show", "me"])[0]["state"] == "cancelled"
                }
                _ => printed_json(&home, &["job", "list"])[0]["state"] == "cancelled",
            };
            ended.then_some(())
        });
        client.early.clear();
    }
    client.end();
    stop(daemon);
}

#[test]
fn mcp_cancellation_of_a_queued_call_leaves_the_turn_before_it() {
    let (home, daemon) = started(WIDE);
    let mut client = StdioClient::open(&home, &["--session", "me"], "test", &json!({}));
    printed(&home, &["ask", "me", "count to 100"]);
    let states = || -> Vec<Value> {
        let turns = printed_json(&home, &["sessions", "show", "me"]);
        turns.as_array().unwrap().iter().map(|turn| turn["state"].clone()).collect()
    };
    until("the turn", || (states() == ["running"]).then_some(()));
    let id = client.begin_tool("ask", &json!({"text": "count to 2"}));
    until("the message", || (run(&home, &["trace", "m2"]).code == Some(0)).then_some(()));
    let params = json!({"requestId": id, "reason": "enough"});
    client.write(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    until("both answers", || (states() == ["done", "done"]).then_some(()));
    let shown = printed(&home, &["sessions", "show", "me"]);
    assert!(shown.contains("99, 100.") && shown.contains("1, 2."), "{shown}");
    client.end();
    stop(daemon);
}

#[test]
fn mcp_approval_is_decided_in_a_form() {
    let (home, daemon) = started(&format!("{ASKS}{WIDE}"));
    let mut client = StdioClient::open(&home, &[], "test", &json!({"elicitation": {}}));
    for (file, decision, is_written) in [("a.txt", "Allow once", true), ("b.txt", "Deny", false)] {
        let id = client.begin(
            "tools/call",
            json!({
                "name": "ask", "arguments": {"text": format!("write_file {file} hello")},
            }),
        );
        let form = client.wait_for(|message| message["method"] == "elicitation/create");
        let params = &form["params"];
        let card = printed_json(&home, &["approvals"])[0]["card"]["text"].clone();
        let message = params["message"].as_str().unwrap();
        assert!(message.ends_with(card.as_str().unwrap()) && message.contains(file), "{form}");
        let decisions = &params["requestedSchema"]["properties"]["decision"]["enum"];
        assert!(decisions.as_array().unwrap().contains(&json!(decision)), "{form}");
        let content = json!({"decision": decision, "reason": "not there"});
        client.write(&json!({
            "jsonrpc": "2.0", "id": form["id"],
            "result": {"action": "accept", "content": content},
        }));
        let answer = client.result_of(id);
        assert_eq!(answer["structuredContent"]["status"], "answered", "{answer}");
        assert_eq!(home.workspace().join(file).exists(), is_written, "{answer}");
        assert_eq!(text(&answer).contains("not there"), !is_written, "{answer}");
    }
    // A declined form denies the call as well.
    let id = client.begin(
        "tools/call",
        json!({
            "name": "ask", "arguments": {"text": "write_file c.txt hello"},
        }),
    );
    let form = client.wait_for(|message| message["method"] == "elicitation/create");
    let result = json!({"action": "decline"});
    client.write(&json!({"jsonrpc": "2.0", "id": form["id"], "result": result}));
    client.result_of(id);
    assert!(!home.workspace().join("c.txt").exists());
    client.end();
    stop(daemon);
}

#[test]
fn mcp_question_is_answered_in_a_form() {
    let (home, daemon) = started(WIDE);
    let mut client = StdioClient::open(&home, &[], "test", &json!({"elicitation": {}}));
    let question = r#"ask_user {"question": "Which colour?", "options": ["red", "light blue"]}"#;
    let id = client.begin("tools/call", json!({"name": "ask", "arguments": {"text": question}}));
    let form = client.wait_for(|message| message["method"] == "elicitation/create");
    assert_eq!(form["params"]["message"], "Which colour?", "{form}");
    let content = json!({"answer": "light blue"});
    client.write(&json!({
        "jsonrpc": "2.0", "id": form["id"], "result": {"action": "accept", "content": content},
    }));
    let answer = client.result_of(id);
    assert!(text(&answer).contains("light blue"), "{answer}");
    client.end();
    stop(daemon);
}

#[test]
fn mcp_approval_without_forms_is_decided_elsewhere() {
    let (home, daemon) = started(&format!("{ASKS}{WIDE}"));
    let mut client = StdioClient::open(&home, &[], "test", &json!({}));
    let waiting = client.tool("ask", json!({"text": "write_file a.txt hello"}));
    assert_eq!(waiting["structuredContent"]["status"], "waiting", "{waiting}");
    assert!(text(&waiting).contains("avocet approvals approve w1"), "{waiting}");
    let message = waiting["structuredContent"]["message"].clone();
    printed(&home, &["approvals", "approve", "w1"]);
    let answer = client.tool("ask", json!({"message": message}));
    assert_eq!(answer["structuredContent"]["status"], "answered", "{answer}");
    assert!(home.workspace().join("a.txt").exists());
    client.end();
    stop(daemon);
}

#[test]
fn mcp_form_is_withdrawn_when_the_call_is_decided_elsewhere() {
    let (home, daemon) = started(&format!("{ASKS}{WIDE}"));
    let mut client = StdioClient::open(&home, &[], "test", &json!({"elicitation": {}}));
    let id = client.begin(
        "tools/call",
        json!({
            "name": "ask", "arguments": {"text": "write_file a.txt hello"},
        }),
    );
    let form = client.wait_for(|message| message["method"] == "elicitation/create");
    printed(&home, &["approvals", "approve", "w1"]);
    let cancelled = client.wait_for(|message| message["method"] == "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], form["id"]);
    assert_eq!(client.result_of(id)["structuredContent"]["status"], "answered");
    client.end();
    stop(daemon);
}

#[test]
fn mcp_resources_show_conversations_and_the_memory() {
    let (home, daemon) = started(WIDE);
    printed(&home, &["ask", "me", "count to 2", "--wait"]);
    let mut client = StdioClient::open(&home, &[], "test", &json!({}));
    let list = client.call("resources/list", json!({}));
    let uris: Vec<&str> = list["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["uri"].as_str().unwrap())
        .collect();
    let session = "avocet://sessions/terminal:local:me";
    assert_eq!(uris, ["avocet://sessions", "avocet://memory", session]);
    for (uri, part) in [
        ("avocet://sessions", "terminal:local:me"),
        (session, "1, 2."),
        ("avocet://memory", "[]"),
        ("avocet://memory/everyone", "[]"),
    ] {
        let read = client.call("resources/read", json!({ "uri": uri }));
        let shown = read["contents"][0]["text"].as_str().unwrap();
        assert!(shown.contains(part), "{uri}: {shown}");
    }
    let templates = client.call("resources/templates/list", json!({}));
    assert_eq!(templates["resourceTemplates"].as_array().unwrap().len(), 2);
    let id = client.begin("resources/read", json!({"uri": "avocet://nothing"}));
    let refused = client.wait_for(|message| message["id"] == id);
    assert_eq!(refused["error"]["code"], -32002, "{refused}");

    client.call("resources/subscribe", json!({ "uri": session }));
    printed(&home, &["ask", "me", "count to 3", "--wait"]);
    let updated = client.wait_for(|one| one["method"] == "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], session);
    stop(daemon);
    client.call("ping", json!({}));
    client.early.clear();
    let daemon = home.daemon();
    // The client gets a notice about missed events, and then new events.
    client.wait_for(|one| one["method"] == "notifications/resources/updated");
    printed(&home, &["ask", "me", "count to 4", "--wait"]);
    let updated = client.wait_for(|one| one["method"] == "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], session);
    client.call("resources/unsubscribe", json!({ "uri": session }));
    client.end();
    stop(daemon);
}

#[test]
fn mcp_ask_reports_a_killed_daemon_and_returns_the_answer_later() {
    let (home, daemon) = started(WIDE);
    let mut client = StdioClient::open(&home, &[], "test", &json!({}));
    let id = client.begin_tool("ask", &json!({"text": "count to 5"}));
    client.wait_for(|message| message["method"] == "notifications/progress");
    daemon.kill();
    let lost = client.result_of(id);
    assert_eq!(lost["isError"], true, "{lost}");
    assert!(
        text(&lost).contains("lost") && text(&lost).contains("call ask with message m1"),
        "{lost}"
    );
    let down = client.tool("ask", json!({"message": "m1"}));
    assert!(text(&down).contains("avocet run"), "{down}");
    let daemon = home.daemon();
    let answer = client.tool("ask", json!({"message": "m1"}));
    assert_eq!(text(&answer), "1, 2, 3, 4, 5.");
    client.end();
    stop(daemon);
}

#[test]
fn mcp_serve_refuses_lines_that_are_no_messages_and_goes_on() {
    let (home, daemon) = started(WIDE);
    let mut client = StdioClient::open(&home, &[], "test", &json!({}));
    client.input.as_mut().unwrap().write_all(b"not json\n{}\n[1]\n").unwrap();
    let id = client.begin("tools/call", json!({"name": "nothing", "arguments": {}}));
    let refused = client.wait_for(|message| message["id"] == id);
    assert!(refused["error"]["message"].as_str().unwrap().contains("nothing"), "{refused}");
    assert_eq!(text(&client.tool("ask", json!({"text": "count to 1"}))), "1.");
    client.end();
    stop(daemon);
}

/// A request of an MCP client over HTTP.
async fn post(http: &HttpHome, session: &str, body: &Value) -> RawHttpAnswer {
    let more = format!("Accept: application/json, text/event-stream\r\n{session}");
    http.ask("POST /mcp", &more, body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn mcp_over_http_answers_in_the_conversation_of_the_token() {
    let http = HttpHome::start();
    let params = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let hello = post(&http, "", &body).await;
    let id = hello.header("mcp-session-id").unwrap();
    let session = format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-06-18\r\n");
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(&http, &session, &ready).await.status, 202);
    let params = json!({
        "name": "ask", "arguments": {"text": "count to 3"}, "_meta": {"progressToken": 7},
    });
    let body = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    let answer = post(&http, &session, &body).await;
    let data = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
    let messages: Vec<Value> = data.filter_map(|data| serde_json::from_str(data).ok()).collect();
    assert_eq!(messages[0]["method"], "notifications/progress", "{messages:?}");
    let result = &messages.last().unwrap()["result"];
    assert_eq!(text(result), "1, 2, 3.");
    assert_eq!(result["structuredContent"]["session"], "terminal:local:mcp-phone");
    // The result is the delivery.
    http.until_delivered();
    http.stop();
}
