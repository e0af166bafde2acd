use std::sync::atomic::{AtomicUsize, Ordering};

use avocet_protocol::tool::{
    McpServers, McpTransport, OutsideTool, ToolError, ToolOutcome, ToolSource,
};
use avocet_supervise::Group;
use avocet_testkit::{ManualClock, tool_context};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::testing::make_client;
use crate::{McpClient, McpServerConfig};

/// The answer to a request that has a response: status, media type (empty for none) and body.
type QuirkAnswer = (&'static str, &'static str, String);
/// Changes the answers to requests, by method and response.
type HttpQuirk = fn(method: &str, response: Value) -> QuirkAnswer;

/// Answers one request, and closes the connection.
async fn answer(stream: TcpStream, quirk: Option<HttpQuirk>) {
    let mut stream = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line.to_lowercase());
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    let (status, kind, body) = response(&head, &body, quirk);
    let length = body.len();
    let kind = if kind.is_empty() { String::new() } else { format!("content-type: {kind}\r\n") };
    let text = format!(
        "HTTP/1.1 {status}\r\n{kind}mcp-session-id: s1\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    stream.get_mut().write_all(text.as_bytes()).await.unwrap();
}

fn response(head: &str, body: &[u8], quirk: Option<HttpQuirk>) -> QuirkAnswer {
    assert!(head.contains("x-key: secret-of-the-server"), "{head}");
    if !head.starts_with("post") {
        return ("405 Method Not Allowed", "text/plain", String::new());
    }
    let message: Value = serde_json::from_slice(body).unwrap();
    let method = message["method"].as_str().unwrap();
    if method != "initialize" {
        assert!(head.contains("mcp-session-id: s1"), "{head}");
    }
    let result = match method {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "web", "version": "2"},
        }),
        "tools/list" => {
            let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
            let tools = ["a", "crlf", "denied", "refused", "unknown", "echo"].map(tool);
            json!({"tools": tools})
        }
        "tools/call" => json!({"content": [{"type": "text", "text": "over events"}]}),
        _ => return ("202 Accepted", "text/plain", String::new()),
    };
    let line = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    if let Some(quirk) = quirk {
        return quirk(method, line);
    }
    const EVENTS: &str = "text/event-stream";
    // A server that repeats the key of the request.
    let repeated = "wrong key: secret-of-the-server";
    match (method, message["params"]["name"].as_str()) {
        ("tools/call", Some("crlf")) => {
            let events = format!(": hello\r\n\r\nevent: message\r\ndata: {line}\r\n\r\n");
            ("200 OK", EVENTS, events)
        }
        ("tools/call", Some("denied")) => {
            let error = json!({"code": -32000, "message": repeated});
            let line = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
            ("200 OK", "application/json", line.to_string())
        }
        ("tools/call", Some("unknown")) => ("401 Unauthorized", "text/plain", repeated.to_owned()),
        ("tools/call", Some("echo")) => {
            let result = json!({"structuredContent": {"headers": [repeated]}, "content": []});
            let line = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            ("200 OK", "application/json", line.to_string())
        }
        ("tools/call", Some("refused")) => ("403 Forbidden", "text/plain", repeated.to_owned()),
        ("tools/call", _) => ("200 OK", EVENTS, format!("event: message\ndata: {line}\n\n")),
        _ => ("200 OK", "application/json", line.to_string()),
    }
}

/// A server over HTTP, and a client of it with the name `web`.
struct World {
    home: TempDir,
    clock: std::sync::Arc<ManualClock>,
    config: McpServerConfig,
    client: McpClient,
    group: Group,
}

impl World {
    async fn new() -> Self {
        let world = Self::with(None).await;
        McpServers::tools(&world.client, "web", true).await.unwrap();
        world
    }

    /// A world whose server was not started.
    async fn with(quirk: Option<HttpQuirk>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let group = Group::new("server");
        let connections = group.clone();
        group.spawn("accept", async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn("answer", answer(stream, quirk));
            }
        });
        let key = avocet_text::Secret::new("secret-of-the-server".to_owned());
        let headers = [("x-key".to_owned(), key)].into();
        let config = McpServerConfig { url: Some(url), headers, ..McpServerConfig::default() };
        let (home, clock) = (TempDir::new().unwrap(), std::sync::Arc::new(ManualClock::default()));
        let client = make_client(home.path(), &clock, vec![("web", config.clone(), None)]);
        Self { home, clock, config, client, group }
    }

    async fn call(&self, name: &str) -> Result<ToolOutcome, ToolError> {
        let full = format!("web__{name}");
        let mut tools = ToolSource::tools(&self.client).into_iter();
        let tool = tools.find(|tool| tool.describe().name.as_str() == full).unwrap();
        OutsideTool::execute(&*tool, &Map::new(), &tool_context()).await
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.group.cancel_tasks();
    }
}

#[tokio::test]
async fn server_over_http_answers_with_json_and_with_events() {
    let world = World::new().await;
    assert_eq!(world.client.servers()[0].transport, McpTransport::Http);
    assert_eq!(world.call("a").await, Ok(json!("over events").into()));
    let config = McpServerConfig { untrusted: true, ..world.config.clone() };
    let client = make_client(world.home.path(), &world.clock, vec![("web", config, None)]);
    let refused = McpServers::tools(&client, "web", true).await.unwrap_err().to_string();
    assert!(refused.contains("web failed"), "{refused}");
}

#[tokio::test]
async fn events_with_lines_that_end_with_crlf_are_read() {
    assert_eq!(World::new().await.call("crlf").await, Ok(json!("over events").into()));
}

#[tokio::test]
async fn error_of_a_server_that_repeats_a_key_is_redacted() {
    let world = World::new().await;
    for name in ["denied", "refused", "unknown"] {
        let error = world.call(name).await.unwrap_err().to_string();
        assert!(error.contains("wrong key: [secret]"), "{name}: {error}");
    }
}

#[tokio::test]
async fn result_of_a_server_that_repeats_a_key_is_redacted() {
    let result = World::new().await.call("echo").await;
    assert_eq!(result, Ok(json!({"headers": ["wrong key: [secret]"]}).into()));
}

#[tokio::test]
async fn server_over_http_with_a_quirk_works() {
    const EVENTS: &str = "text/event-stream";
    let quirks: [(&str, HttpQuirk); 16] = [
        ("text/plain", |_, line| ("200 OK", "text/plain", line.to_string())),
        ("no type", |_, line| ("200 OK", "", line.to_string())),
        ("html type", |_, line| ("200 OK", "text/html", line.to_string())),
        ("batch", |_, line| ("200 OK", "application/json", json!([line]).to_string())),
        ("error null", |_, mut line| {
            line["error"] = Value::Null;
            ("200 OK", "application/json", format!("\u{feff}\n{line}\n"))
        }),
        ("wrong id", |_, mut line| {
            line["id"] = json!("other");
            ("200 OK", "application/json", line.to_string())
        }),
        ("lines", |_, line| {
            let notice = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}});
            ("200 OK", "application/json", format!("{notice}\n{line}\n"))
        }),
        ("ping", |_, line| {
            ("200 OK", EVENTS, format!("event: ping\ndata: 1\n\nevent: message\ndata: {line}\n\n"))
        }),
        ("no blank line", |_, line| ("200 OK", EVENTS, format!("data: {line}"))),
        ("cr", |_, line| ("200 OK", EVENTS, format!("\u{feff}event: message\rdata: {line}\r\r"))),
        ("events as text", |_, line| ("200 OK", "text/plain", format!(": hi\n\ndata: {line}\n\n"))),
        ("json as events", |_, line| ("200 OK", EVENTS, line.to_string())),
        ("202 with the answer", |_, line| ("202 Accepted", "application/json", line.to_string())),
        ("202 with events", |_, line| ("202 Accepted", EVENTS, format!("data: {line}\n\n"))),
        ("400 with the answer", |_, line| ("400 Bad Request", "", line.to_string())),
        ("other events", |_, line| {
            ("200 OK", EVENTS, format!("event: result\ndata: {line}\n\nevent: end\ndata: {{}}\n\n"))
        }),
    ];
    for (name, quirk) in quirks {
        let world = World::with(Some(quirk)).await;
        let tools = McpServers::tools(&world.client, "web", true).await;
        assert_eq!(tools.map(|tools| tools.len()), Ok(6), "{name}");
        assert_eq!(world.call("a").await, Ok(json!("over events").into()), "{name}");
    }
}

/// An error with another status than 200 is the answer to its request, and the connection stays.
#[tokio::test]
async fn error_of_a_call_with_any_status_is_its_answer() {
    let world = World::with(Some(|method, mut line| {
        if method != "tools/call" {
            return ("200 OK", "application/json", line.to_string());
        }
        line["result"].take();
        line["id"] = Value::Null;
        line["error"] = json!({"code": -32602, "message": "no such city"});
        ("422 Unprocessable Content", "application/json", line.to_string())
    }))
    .await;
    McpServers::tools(&world.client, "web", true).await.unwrap();
    for _ in 0..2 {
        let Err(ToolError::ExecutionFailed(text)) = world.call("a").await else { panic!("it ran") };
        assert_eq!(text, "the server reports: no such city (code -32602)");
    }
}

/// Servers on the official SDK for TypeScript answer 400 after their restart.
#[tokio::test]
async fn session_that_ended_with_status_400_begins_again() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let world = World::with(Some(|method, line| {
        if method == "tools/call" && CALLS.fetch_add(1, Ordering::SeqCst) == 0 {
            let error =
                json!({"code": -32000, "message": "Bad Request: No valid session ID provided"});
            let line = json!({"jsonrpc": "2.0", "error": error, "id": null});
            return ("400 Bad Request", "application/json", line.to_string());
        }
        ("200 OK", "application/json", line.to_string())
    }))
    .await;
    McpServers::tools(&world.client, "web", true).await.unwrap();
    assert_eq!(world.call("a").await, Ok(json!("over events").into()));
    assert_eq!(CALLS.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn server_over_http_that_speaks_no_mcp_is_described_in_plain_words() {
    let page = "a web page (text/html) instead of MCP; is the address right?";
    let quirks: [(HttpQuirk, &str); 8] = [
        (|_, _| ("200 OK", "text/html", "<!doctype html><p>hi".to_owned()), page),
        (|_, _| ("200 OK", "application/json", String::new()), "an empty body instead of MCP"),
        (
            |_, _| ("200 OK", "application/json", "{\"a\":1}".to_owned()),
            "without a result: \"{\\\"a\\\":1}\"",
        ),
        (
            |_, _| ("200 OK", "text/event-stream", "event: ping\ndata: 1\n\n".to_owned()),
            "ended without an answer",
        ),
        (
            |_, _| ("404 Not Found", "text/html", "<html>".to_owned()),
            "HTTP status 404 with a web page",
        ),
        (|_, _| ("405 Method Not Allowed", "", String::new()), "older transport"),
        (
            |_, _| ("500 Oops", "", "{\"error\":{\"message\":\"no database\"}}".to_owned()),
            "HTTP status 500 no database",
        ),
        (|_, _| ("202 Accepted", "", String::new()), "an empty body instead of MCP"),
    ];
    for (quirk, expected) in quirks {
        let world = World::with(Some(quirk)).await;
        let error = McpServers::tools(&world.client, "web", true).await.unwrap_err().to_string();
        assert!(error.contains(expected), "no {expected:?} in {error}");
        for part in ["::", "Some(", "Error", "rmcp"] {
            assert!(!error.contains(part), "{error}");
        }
    }
}
