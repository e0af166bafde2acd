use avocet_protocol::{McpServers, McpTransport, OutsideTool, ToolSource};
use avocet_supervise::Group;
use avocet_testkit::{ManualClock, tool_context};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::McpServerConfig;
use crate::testing::client;

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
        "tools/list" => json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "over events"}]}),
        _ => return ("202 Accepted", "text/plain", String::new()),
    };
    let line = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    if method == "tools/call" {
        return ("200 OK", "text/event-stream", format!("event: message\ndata: {line}\n\n"));
    }
    ("200 OK", "application/json", line.to_string())
}

#[tokio::test]
async fn server_over_http_answers_with_json_and_with_events() {
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
    let tools = McpServers::tools(&client, "web", true).await.unwrap();
    assert_eq!(tools[0].name, "web__a");
    assert_eq!(client.servers()[0].transport, McpTransport::Http);
    let tool = ToolSource::tools(&client).remove(0);
    let result = OutsideTool::execute(&*tool, &Map::new(), &tool_context()).await.unwrap();
    assert_eq!(result, json!("over events").into());

    let config = McpServerConfig { untrusted: true, ..config };
    let client = crate::testing::client(home.path(), &clock, vec![("web", config, None)]);
    let refused = McpServers::tools(&client, "web", true).await.unwrap_err().to_string();
    assert!(refused.contains("web failed"), "{refused}");
    group.cancel();
}
