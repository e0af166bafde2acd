use avocet_protocol::{McpServers, McpTransport, OutsideTool, ToolError, ToolOutcome, ToolSource};
use avocet_supervise::Group;
use avocet_testkit::{ManualClock, tool_context};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::testing::client;
use crate::{McpClient, McpServerConfig};

/// Answers one request, and closes the connection.
async fn answer(stream: TcpStream) {
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
    let (status, kind, body) = response(&head, &body);
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nmcp-session-id: s1\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    stream.get_mut().write_all(text.as_bytes()).await.unwrap();
}

fn response(head: &str, body: &[u8]) -> (&'static str, &'static str, String) {
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
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let group = Group::new("server");
        let connections = group.clone();
        group.spawn("accept", async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn("answer", answer(stream));
            }
        });
        let key = avocet_protocol::Secret::new("secret-of-the-server".to_owned());
        let headers = [("x-key".to_owned(), key)].into();
        let config = McpServerConfig { url: Some(url), headers, ..McpServerConfig::default() };
        let (home, clock) = (TempDir::new().unwrap(), std::sync::Arc::new(ManualClock::default()));
        let client = client(home.path(), &clock, vec![("web", config.clone(), None)]);
        McpServers::tools(&client, "web", true).await.unwrap();
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
        self.group.cancel();
    }
}

#[tokio::test]
async fn server_over_http_answers_with_json_and_with_events() {
    let world = World::new().await;
    assert_eq!(world.client.servers()[0].transport, McpTransport::Http);
    assert_eq!(world.call("a").await, Ok(json!("over events").into()));
    let config = McpServerConfig { untrusted: true, ..world.config.clone() };
    let client = client(world.home.path(), &world.clock, vec![("web", config, None)]);
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
