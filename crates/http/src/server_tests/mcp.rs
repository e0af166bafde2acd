//! Requests to `/mcp`: sessions, the tools of a token, forms.

use std::time::Duration;

use avocet_gateway::testing::session;
use avocet_protocol::chat::Outcome;
use avocet_protocol::turn::{TurnEvent, TurnEvents};
use avocet_testkit::http_client::{HttpConnection, RawHttpAnswer, exchange};
use serde_json::{Value, json};

use super::world::{HUB, TABLET, TOKEN, TestRequest, World};

const ACCEPT: &str = "Accept: application/json, text/event-stream";

/// A client with an MCP session.
struct McpClient<'w> {
    world: &'w World,
    token: &'w str,
    session: Option<String>,
}

impl<'w> McpClient<'w> {
    fn new(world: &'w World, token: &'w str) -> Self {
        Self { world, token, session: None }
    }

    fn request(&self, line: &'static str, body: &str) -> Vec<u8> {
        let mut head = vec![
            format!("Host: {}", self.world.server),
            format!("Authorization: Bearer {}", self.token),
            ACCEPT.to_owned(),
        ];
        if !body.is_empty() {
            head.push("Content-Type: application/json".to_owned());
        }
        if let Some(session) = &self.session {
            head.push(format!("Mcp-Session-Id: {session}"));
            head.push("MCP-Protocol-Version: 2025-11-25".to_owned());
        }
        TestRequest { line, head, body }.bytes()
    }

    async fn send(&self, line: &'static str, body: &Value) -> RawHttpAnswer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        exchange(self.world.server, &self.request(line, &body)).await
    }

    async fn initialize(&mut self, capabilities: Value) -> RawHttpAnswer {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client,
        });
        let answer = self.send("POST /mcp", &rpc(1, "initialize", &params)).await;
        self.session = answer.header("mcp-session-id").map(str::to_owned);
        if self.session.is_some() {
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            assert_eq!(self.send("POST /mcp", &ready).await.status, 202);
        }
        answer
    }

    async fn call(&self, method: &str, params: Value) -> Value {
        let answer = self.send("POST /mcp", &rpc(2, method, &params)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let data = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
        let mut messages = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
        let answer = messages.find(|message| message["id"] == 2).unwrap();
        answer["result"].clone()
    }
}

fn rpc(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn names(tools: &Value) -> Vec<String> {
    let tools = tools["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn mcp_tools_are_those_of_the_token() {
    let world = World::new();
    let mut phone = McpClient::new(&world, TOKEN);
    assert_eq!(phone.initialize(json!({})).await.status, 200);
    let tools = phone.call("tools/list", json!({})).await;
    assert_eq!(names(&tools), ["ask", "send", "sessions", "history", "jobs"]);
    let mut hub = McpClient::new(&world, HUB);
    hub.initialize(json!({})).await;
    let tools = hub.call("tools/list", json!({})).await;
    assert_eq!(names(&tools), ["ask", "send", "sessions", "history", "jobs", "builder"]);
    let mut tablet = McpClient::new(&world, TABLET);
    tablet.initialize(json!({})).await;
    let tools = tablet.call("tools/list", json!({})).await;
    assert_eq!(names(&tools), ["ask", "send", "sessions", "history", "jobs"]);
    let params = json!({"name": "ask", "arguments": {"session": "a", "text": "hi"}});
    let refused = tablet.call("tools/call", params).await;
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(world.daemon.asked.lock().is_empty());
}

#[tokio::test]
async fn mcp_session_of_another_token_is_not_found() {
    let world = World::new();
    let mut phone = McpClient::new(&world, TOKEN);
    phone.initialize(json!({})).await;
    let mut thief = McpClient::new(&world, TABLET);
    thief.session.clone_from(&phone.session);
    let list = rpc(2, "tools/list", &json!({}));
    for (line, body) in
        [("POST /mcp", &list), ("GET /mcp", &Value::Null), ("DELETE /mcp", &Value::Null)]
    {
        assert_eq!(thief.send(line, body).await.status, 404, "{line}");
    }
    assert!(phone.call("tools/list", json!({})).await["tools"].is_array());
    let ended = phone.send("DELETE /mcp", &Value::Null).await;
    assert!((200..300).contains(&ended.status), "{ended:?}");
    assert_eq!(phone.send("POST /mcp", &list).await.status, 404);
    thief.session = Some("unknown".to_owned());
    assert_eq!(thief.send("POST /mcp", &list).await.status, 404);
}

#[tokio::test]
async fn mcp_session_beyond_the_limit_ends_the_one_that_is_idle_longest() {
    let world = World::new();
    let mut clients = Vec::new();
    for _ in 0..64 {
        world.clock.advance(Duration::from_secs(1));
        let mut client = McpClient::new(&world, TOKEN);
        assert_eq!(client.initialize(json!({})).await.status, 200);
        clients.push(client);
    }
    clients[0].call("tools/list", json!({})).await;
    let mut next = McpClient::new(&world, TABLET);
    assert_eq!(next.initialize(json!({})).await.status, 200);
    let list = rpc(2, "tools/list", &json!({}));
    assert_eq!(clients[1].send("POST /mcp", &list).await.status, 404);
    for client in [&clients[0], &clients[2], &next] {
        assert!(client.call("tools/list", json!({})).await["tools"].is_array());
    }
}

#[tokio::test]
async fn mcp_request_of_an_unknown_version_or_form_is_refused() {
    let world = World::new();
    let mut phone = McpClient::new(&world, TOKEN);
    let list = rpc(2, "tools/list", &json!({}));
    assert!([400, 404, 422].contains(&phone.send("POST /mcp", &list).await.status));
    phone.initialize(json!({})).await;
    let request = String::from_utf8(phone.request("POST /mcp", &list.to_string())).unwrap();
    let wrong = request.replace("2025-11-25", "1999-01-01");
    assert_eq!(exchange(world.server, wrong.as_bytes()).await.status, 400);
    let plain = request.replace(ACCEPT, "Accept: text/plain");
    assert_eq!(exchange(world.server, plain.as_bytes()).await.status, 406);
}

#[tokio::test]
async fn mcp_approval_without_forms_says_where_to_decide() {
    let world = World::new();
    let mut phone = McpClient::new(&world, TOKEN);
    phone.initialize(json!({})).await;
    let params = json!({"name": "ask", "arguments": {"text": "hi"}});
    let waiting = phone.call("tools/call", params).await;
    assert_eq!(waiting["structuredContent"]["status"], "waiting", "{waiting}");
    let text = waiting["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("avocet approvals approve w7"), "{text}");
    let asked = world.daemon.asked.lock()[0].clone();
    assert_eq!(asked.address.to_string(), "terminal:local:mcp-phone");
    assert_eq!(asked.sender.id.as_str(), "mcp:phone", "no operator has this id");
}

#[tokio::test]
async fn mcp_client_is_a_sender_unless_its_token_names_another_role() {
    let world = World::new();
    let browser = world.token().await;
    for (token, sender) in
        [(TOKEN, "mcp:phone"), (HUB, "http:hub"), (browser.as_str(), "mcp:console")]
    {
        let mut client = McpClient::new(&world, token);
        client.initialize(json!({})).await;
        let is_operator = token == HUB;
        let job = json!({"action": "start", "profile": "builder", "task": "t"});
        let started = client.call("tools/call", json!({"name": "jobs", "arguments": job})).await;
        assert_eq!(started["isError"] != true, is_operator, "{sender}: {started}");
        let told = started.to_string();
        assert!(is_operator || told.contains("mcp_role in [http.tokens."), "{told}");
        let arguments = json!({"text": "hi"});
        client.call("tools/call", json!({"name": "ask", "arguments": arguments})).await;
        let asked = world.daemon.asked.lock().pop().unwrap();
        assert_eq!(asked.sender.id.as_str(), sender);
    }
}

#[tokio::test]
async fn mcp_form_is_sent_on_the_stream_of_its_call() {
    let world = World::new();
    let mut phone = McpClient::new(&world, HUB);
    phone.initialize(json!({"elicitation": {}})).await;
    let params = json!({"name": "ask", "arguments": {"text": "hi"}});
    let call = rpc(2, "tools/call", &params).to_string();
    let mut stream = HttpConnection::open(world.server).await;
    stream.write(&phone.request("POST /mcp", &call)).await;
    assert_eq!(stream.head().await.status, 200);
    let mut next = async || loop {
        let event = stream.event().await.unwrap();
        if let Ok(message) = serde_json::from_str::<Value>(&event) {
            return message;
        }
    };
    let form = next().await;
    assert_eq!(form["method"], "elicitation/create", "{form}");
    // A secret of the configuration is not a part of the form.
    let message = form["params"]["message"].as_str().unwrap();
    assert!(message.contains("exec_shell") && !message.contains("correct horse"), "{message}");
    *world.daemon.outcome.lock() = Some(Outcome::Replied);
    let result = json!({"action": "accept", "content": {"decision": "Allow once"}});
    let answer = json!({"jsonrpc": "2.0", "id": form["id"], "result": result});
    assert_eq!(phone.send("POST /mcp", &answer).await.status, 202);
    let ended = TurnEvent::Ended { turn: None, messages: Vec::new(), outcome: Outcome::Replied };
    world.daemon.emit(&session(), ended);
    let result = next().await;
    assert_eq!(result["result"]["content"][0]["text"], "the reply", "{result}");
}
