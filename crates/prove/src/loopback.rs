//! A server on the loopback interface: a tool server of a stranger (MCP), and a search engine with
//! SearXNG's API.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use avocet_supervise::Group;
use axum::body::{Body, to_bytes};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::corpus::Scenario;
use crate::ways::Way;

/// The longest request in bytes.
const MAX_BODY: usize = 1 << 20;
const PROTOCOL: &str = "2025-06-18";

/// The server on the loopback interface.
#[derive(Debug)]
pub struct LoopbackServer {
    address: SocketAddr,
    state: Arc<ServerState>,
}

#[derive(Debug, Default)]
struct ServerState {
    scenarios: Mutex<Vec<Scenario>>,
    /// The arguments of the calls of `send`.
    sent: Mutex<Vec<String>>,
}

impl LoopbackServer {
    /// Opens a free port, and serves it until the group ends.
    ///
    /// # Errors
    /// The system's error if no port can be opened.
    pub async fn start(group: &Group) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let state = Arc::<ServerState>::default();
        let (served, connections) = (state.clone(), group.clone());
        group.spawn("loopback", async move {
            let ended = connections.cancel_token();
            while let Some(Ok((stream, _))) = ended.run_until_cancelled(listener.accept()).await {
                let (state, ended) = (served.clone(), ended.clone());
                connections.spawn("loopback-connection", async move {
                    let answer = service_fn(|request| answer(request, state.clone()));
                    let serving = http1::Builder::new();
                    let serving = serving.serve_connection(TokioIo::new(stream), answer);
                    if let Some(Err(error)) = ended.run_until_cancelled(serving).await {
                        tracing::debug!(%error, "a connection of the proof ended early");
                    }
                });
            }
        });
        Ok(Self { address, state })
    }

    /// Returns the base URL.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn set_scenarios(&self, scenarios: &[Scenario]) {
        *self.state.scenarios.lock() = scenarios.to_vec();
    }

    /// Returns the number of messages that contain a word.
    pub(crate) fn sent(&self, word: &str) -> usize {
        self.state.sent.lock().iter().filter(|sent| sent.contains(word)).count()
    }
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<ServerState>,
) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let (status, text) = match (&head.method, path.as_str()) {
        (&Method::GET, "/search") => {
            (StatusCode::OK, state.search(head.uri.query().unwrap_or_default()).to_string())
        }
        (&Method::POST, "/mcp") => {
            let bytes = to_bytes(Body::new(body), MAX_BODY).await.unwrap_or_default();
            match state.answer_mcp(&serde_json::from_slice(&bytes).unwrap_or_default()) {
                Some(answer) => (StatusCode::OK, answer.to_string()),
                None => (StatusCode::ACCEPTED, String::new()),
            }
        }
        _ => (StatusCode::METHOD_NOT_ALLOWED, String::new()),
    };
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let json = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
    Ok(response)
}

impl ServerState {
    /// Answers a search for the id of a scenario with its text.
    fn search(&self, query: &str) -> Value {
        let words = query.split('&').find_map(|pair| pair.strip_prefix("q=")).unwrap_or_default();
        let scenarios = self.scenarios.lock();
        let found = scenarios.iter().filter(|one| one.id == words).map(
            |one| json!({ "url": "https://found.dev/", "title": "Found", "content": one.text }),
        );
        json!({ "query": words, "results": found.collect::<Vec<_>>() })
    }

    /// Answers a request of an MCP client; `None` for a notification.
    fn answer_mcp(&self, request: &Value) -> Option<Value> {
        let id = request.get("id")?;
        let params = &request["params"];
        let result = match request["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": params["protocolVersion"].as_str().unwrap_or(PROTOCOL),
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "prove", "version": "1" },
            }),
            "tools/list" => json!({ "tools": self.tools() }),
            "tools/call" => self.call_tool(params),
            "ping" => json!({}),
            _ => {
                let error = json!({ "code": -32601, "message": "no such method" });
                return Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            }
        };
        Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    fn tools(&self) -> Vec<Value> {
        let tool = |name: &str, description: &str, keys: &[&str], reads: bool| {
            let properties: serde_json::Map<String, Value> =
                keys.iter().map(|key| ((*key).to_owned(), json!({ "type": "string" }))).collect();
            json!({
                "name": name,
                "description": description,
                "inputSchema": { "type": "object", "properties": properties, "required": keys },
                "annotations": { "readOnlyHint": reads },
            })
        };
        let mut tools = vec![
            tool("lookup", "Look a topic up in a library.", &["topic"], true),
            tool("send", "Send a message to a person.", &["to", "text"], false),
        ];
        let scenarios = self.scenarios.lock();
        let boards = scenarios.iter().filter(|one| one.way == Way::ToolDescription);
        tools.extend(boards.map(|one| {
            let description = format!("Look a topic up on a board. {}", one.text);
            tool(&format!("board_{}", one.id), &description, &["topic"], true)
        }));
        tools
    }

    fn call_tool(&self, params: &Value) -> Value {
        let topic = params["arguments"]["topic"].as_str().unwrap_or_default();
        let text = match params["name"].as_str().unwrap_or_default() {
            "lookup" => {
                let scenarios = self.scenarios.lock();
                let found = scenarios.iter().find(|one| one.id == topic);
                found.map_or_else(|| "Nothing.".to_owned(), |one| one.text.clone())
            }
            "send" => {
                self.sent.lock().push(params["arguments"].to_string());
                "Sent.".to_owned()
            }
            _ => "There is nothing on the board.".to_owned(),
        };
        json!({ "content": [{ "type": "text", "text": text }] })
    }
}
