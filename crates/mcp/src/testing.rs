//! A strict MCP server in memory, which misbehaves on demand.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use avocet_protocol::clock::Clock;
use avocet_supervise::Group;
use avocet_testkit::ManualClock;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::lines::LONGEST_LINE;
use crate::{
    ChildProgram, ChildStreams, McpClient, McpClientParts, McpServerConfig, McpServerParts,
};

/// The text that a server writes instead of a response, with its line end.
pub(crate) type Quirk = fn(method: &str, response: Value) -> String;

/// A fake server. A call of the tool `die` ends it; a call of `hang` is never answered.
#[derive(Debug, Default)]
pub(crate) struct FakeServer {
    pub(crate) tools: Mutex<Vec<Value>>,
    pub(crate) starts: AtomicUsize,
    /// The methods that it received, in order.
    pub(crate) received: Mutex<Vec<String>>,
    /// If set, the program ends before its first answer.
    pub(crate) is_broken: Mutex<bool>,
    /// The parameters of the question that the tools `ask_client` and `nag` put to the person.
    pub(crate) question: Mutex<Value>,
    /// Changes the responses. `None` for those of the specification.
    pub(crate) quirk: Mutex<Option<Quirk>>,
    /// The call that waits for the answer to the question.
    asking: Mutex<Option<AskingCall>>,
}

/// A call that asks a person.
#[derive(Debug, Clone)]
struct AskingCall {
    id: Value,
    /// `true` to ask again after each answer.
    nags: bool,
}

/// Returns a tool as a server lists it.
pub(crate) fn tool_json(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}

impl FakeServer {
    pub(crate) fn with_tools(names: &[&str]) -> Arc<Self> {
        let tools = names.iter().map(|name| tool_json(name, "Does something.")).collect();
        Arc::new(Self { tools: Mutex::new(tools), ..Self::default() })
    }

    /// Lists two tools on each page.
    fn list_page(&self, params: &Value) -> Value {
        let tools = self.tools.lock();
        let from = params["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
        let page: Vec<Value> = tools.iter().skip(from).take(2).cloned().collect();
        let next = (from + 2 < tools.len()).then(|| (from + 2).to_string());
        let mut result = json!({"tools": page});
        if let Some(next) = next {
            result["nextCursor"] = json!(next);
        }
        result
    }

    /// Answers a line; `None` ends the program.
    async fn answer_line(&self, message: &Value, out: &mut DuplexStream) -> Option<()> {
        let method = message["method"].as_str().unwrap_or("answer");
        self.received.lock().push(method.to_owned());
        if method == "answer" {
            return self.take_answer(message, out).await;
        }
        assert_eq!(message["jsonrpc"], "2.0");
        let params = &message["params"];
        let result = match method {
            "initialize" => json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {"listChanged": true}, "resources": {}},
                "serverInfo": {"name": "fake", "version": "1.0"},
            }),
            "tools/list" => self.list_page(params),
            "resources/list" => json!({"resources": [{"uri": "a://b", "name": "b"}]}),
            "resources/read" => json!({"contents": [{"uri": params["uri"], "text": "content"}]}),
            "tools/call" => match params["name"].as_str().unwrap() {
                "die" => return None,
                name @ ("ask" | "nag") => {
                    let call = AskingCall { id: message["id"].clone(), nags: name == "nag" };
                    *self.asking.lock() = Some(call);
                    return self.ask_client(out).await;
                }
                "hang" => return Some(()),
                "huge" => json!({"content": [{"type": "text", "text": "x".repeat(LONGEST_LINE)}]}),
                "noise" => {
                    out.write_all(b"starting...\nnot json {\n").await.unwrap();
                    json!({"content": [{"type": "text", "text": "after noise"}]})
                }
                "sample" => {
                    for id in 0..3 {
                        let asks = json!({
                            "jsonrpc": "2.0", "id": format!("s{id}"),
                            "method": "sampling/createMessage",
                            "params": {"messages": [], "maxTokens": 10},
                        });
                        out.write_all(format!("{asks}\n").as_bytes()).await.unwrap();
                    }
                    json!({"content": [{"type": "text", "text": "sampled"}]})
                }
                "change" => {
                    self.tools.lock().push(tool_json("added", "New."));
                    let changed = "notifications/tools/list_changed";
                    let changed = json!({"jsonrpc": "2.0", "method": changed});
                    out.write_all(format!("{changed}\n").as_bytes()).await.unwrap();
                    json!({"content": []})
                }
                "report" => {
                    for done in 1..100 {
                        let progress = json!({
                            "progressToken": params["_meta"]["progressToken"], "progress": done,
                            "total": 100, "message": "reading",
                        });
                        let method = "notifications/progress";
                        let notice =
                            json!({"jsonrpc": "2.0", "method": method, "params": progress});
                        out.write_all(format!("{notice}\n").as_bytes()).await.unwrap();
                    }
                    return Some(());
                }
                "churn" => {
                    let changed = "notifications/tools/list_changed";
                    let changed = json!({"jsonrpc": "2.0", "method": changed});
                    out.write_all(format!("{changed}\n").repeat(100).as_bytes()).await.unwrap();
                    json!({"content": []})
                }
                name => json!({"content": [{"type": "text", "text": format!("{name} ran")}]}),
            },
            _ => return Some(()),
        };
        let line = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        let quirk = *self.quirk.lock();
        let text = quirk.map_or_else(|| format!("{line}\n"), |quirk| quirk(method, line.clone()));
        out.write_all(text.as_bytes()).await.ok()
    }

    async fn ask_client(&self, out: &mut DuplexStream) -> Option<()> {
        let params = self.question.lock().clone();
        let asks = json!({
            "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params,
        });
        out.write_all(format!("{asks}\n").as_bytes()).await.ok()
    }

    /// Returns the answer to a question as the result of its call.
    async fn take_answer(&self, message: &Value, out: &mut DuplexStream) -> Option<()> {
        let is_accepted = message["result"]["action"] == "accept";
        let asking = self.asking.lock().clone().filter(|_| message["id"] == "q");
        let Some(AskingCall { id, nags }) = asking else { return Some(()) };
        if nags && is_accepted {
            return self.ask_client(out).await;
        }
        let text = message["result"].to_string();
        let result = json!({"content": [{"type": "text", "text": text}]});
        let line = json!({"jsonrpc": "2.0", "id": id, "result": result});
        out.write_all(format!("{line}\n").as_bytes()).await.ok()
    }

    async fn serve_client(&self, stdin: DuplexStream, mut out: DuplexStream) -> String {
        let mut lines = BufReader::new(stdin).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            if self.answer_line(&message, &mut out).await.is_none() {
                return "it ended with exit code 1".to_owned();
            }
        }
        "its input ended".to_owned()
    }
}

#[async_trait]
impl ChildProgram for FakeServer {
    async fn run(
        &self,
        streams: oneshot::Sender<ChildStreams>,
        cancel: CancellationToken,
    ) -> String {
        self.starts.fetch_add(1, Ordering::SeqCst);
        if *self.is_broken.lock() {
            return "there is no program x here".to_owned();
        }
        let (stdin, input) = tokio::io::duplex(1024 * 1024);
        let (output, stdout) = tokio::io::duplex(1024 * 1024);
        let stderr = Box::new(tokio::io::empty());
        let ours = ChildStreams { stdin: Box::new(stdin), stdout: Box::new(stdout), stderr };
        streams.send(ours).unwrap();
        tokio::select! {
            why = self.serve_client(input, output) => why,
            () = cancel.cancelled() => "it was stopped".to_owned(),
        }
    }
}

/// Returns a client of these servers. Its files are in `home`.
pub(crate) fn make_client(
    home: &Path,
    clock: &Arc<ManualClock>,
    servers: Vec<(&str, McpServerConfig, Option<Arc<FakeServer>>)>,
) -> McpClient {
    let parts = McpClientParts {
        file: Some(home.join("mcp.json")),
        tokens: Some(home.join("mcp-tokens.json")),
        clock: clock.clone() as Arc<dyn Clock>,
        group: Group::new("test"),
    };
    McpClient::new(parts, server_parts(servers))
}

pub(crate) fn server_parts(
    servers: Vec<(&str, McpServerConfig, Option<Arc<FakeServer>>)>,
) -> Vec<McpServerParts> {
    let servers = servers.into_iter().map(|(name, config, program)| McpServerParts {
        name: name.to_owned(),
        config,
        program: program.map(|one| one as Arc<dyn ChildProgram>),
        roots: Vec::new(),
        secrets: Vec::new(),
        warning: None,
    });
    servers.collect()
}
