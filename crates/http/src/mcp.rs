//! The Model Context Protocol over streamable HTTP at `/mcp`, behind the same checks as every path.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_gateway::{
    AttachParams, Caller, ChatPatterns, MAX_LINE_BYTES, MCP_CHATS, RpcError, SocketMethod,
    Subscribe, Wait, check_rights,
};
use avocet_mcp_server::{
    McpCaller, McpHost, McpServer, McpServerParts, MethodError, SessionFeed, SocketMethods,
};
use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::SenderId;
use avocet_protocol::store::EventSeq;
use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use parking_lot::Mutex;
use rmcp::model::Extensions;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::caller::HttpCaller;
use crate::deliveries::{ChatFiles, confirm_deliveries};
use crate::problem::Problem;
use crate::sse::is_stream;
use crate::state::HttpState;

/// The name of a browser that is signed in to the web console.
const CONSOLE: &str = "console";
/// The header with the MCP session.
const SESSION: &str = "mcp-session-id";
/// The most MCP sessions at the same time. A further one ends the session that has been idle longest.
const SESSIONS: usize = 64;
/// The time after which a session without requests ends: longer than a job normally takes.
const IDLE: Duration = Duration::from_secs(2 * 60 * 60);
/// The most events that wait for a call.
const BEHIND: usize = 64;

/// The server behind `/mcp`.
#[derive(Clone)]
pub(crate) struct McpEndpoint {
    state: Arc<HttpState>,
    service: StreamableHttpService<McpServer, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    known: Arc<KnownSessions>,
}

impl fmt::Debug for McpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpEndpoint").finish_non_exhaustive()
    }
}

impl McpEndpoint {
    pub(crate) fn new(state: &Arc<HttpState>) -> Self {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(IDLE);
        let sessions = Arc::new(sessions);
        // The checks in front of all paths know the hosts and origins of the configuration.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(MAX_LINE_BYTES)
            .with_cancellation_token(state.stop.child_token());
        let parts = McpServerParts {
            host: Arc::new(HttpHost(state.clone())),
            clock: state.parts.clock.clone(),
            group: state.group.clone(),
            session: None,
        };
        let make = move || Ok(McpServer::new(parts.clone()));
        let service = StreamableHttpService::new(make, sessions.clone(), config);
        Self { state: state.clone(), service, sessions, known: Arc::default() }
    }

    /// Answers a request of a client.
    pub(crate) async fn serve(self, caller: HttpCaller, request: Request) -> Response {
        match self.answer(caller, request).await {
            Ok(response) => response,
            Err(problem) => problem.into_response(),
        }
    }

    async fn answer(&self, caller: HttpCaller, request: Request) -> Result<Response, Problem> {
        let sender = caller.0.sender;
        let now = self.state.parts.clock.elapsed();
        let in_use = match session_of(request.headers()) {
            Some(session) => Some(self.known.begin(session, &sender, now).ok_or_else(|| {
                Problem::not_found(
                    "there is no such MCP session; begin a new one with `initialize`",
                )
            })?),
            None => {
                self.make_room().await?;
                None
            }
        };
        let place = (self.state.long_request()?, in_use);
        let response = self.service.handle(request).await;
        if let Some(session) = session_of(response.headers()).filter(|_| place.1.is_none()) {
            self.known.add(session.to_owned(), sender, now);
        }
        let response = response.map(Body::new);
        if !is_stream(&response) {
            return Ok(response);
        }
        Ok(response.map(|body| {
            let pieces = body.into_data_stream().map(move |piece| {
                let _until_the_end = &place;
                piece
            });
            Body::from_stream(pieces)
        }))
    }

    /// Ends the session that has been idle longest if there is no room for another one.
    async fn make_room(&self) -> Result<(), Problem> {
        let open: Vec<String> =
            self.sessions.sessions.read().await.keys().map(ToString::to_string).collect();
        let idle = self.known.retain(&open);
        if open.len() < SESSIONS {
            return Ok(());
        }
        let idle = idle.ok_or_else(|| {
            Problem::unavailable(format!(
                "{SESSIONS} MCP sessions have calls or streams already; end one with DELETE, or try \
                 again later"
            ))
        })?;
        if let Err(error) = self.sessions.close_session(&idle.into()).await {
            tracing::debug!(%error, "an idle MCP session had ended already");
        }
        Ok(())
    }
}

/// The open MCP sessions. A session belongs to the client that began it.
#[derive(Debug, Default)]
struct KnownSessions(Mutex<BTreeMap<String, KnownSession>>);

#[derive(Debug)]
struct KnownSession {
    owner: SenderId,
    /// The start of its last request, on the monotonic clock.
    used: Duration,
    /// The number of its open requests and streams.
    open: usize,
}

/// An open request or stream of a session.
struct SessionInUse {
    known: Arc<KnownSessions>,
    session: String,
}

impl Drop for SessionInUse {
    fn drop(&mut self) {
        if let Some(known) = self.known.0.lock().get_mut(&self.session) {
            known.open -= 1;
        }
    }
}

impl KnownSessions {
    fn add(&self, session: String, owner: SenderId, used: Duration) {
        self.0.lock().insert(session, KnownSession { owner, used, open: 0 });
    }

    /// Begins a request of a session; `None` if the session is not the client's.
    fn begin(
        self: &Arc<Self>,
        session: &str,
        of: &SenderId,
        now: Duration,
    ) -> Option<SessionInUse> {
        let mut sessions = self.0.lock();
        let known = sessions.get_mut(session).filter(|known| known.owner == *of)?;
        known.used = now;
        known.open += 1;
        Some(SessionInUse { known: self.clone(), session: session.to_owned() })
    }

    /// Forgets sessions that have ended. Returns the one that has been idle longest; `None` if all
    /// are in use.
    fn retain(&self, open: &[String]) -> Option<String> {
        let mut sessions = self.0.lock();
        sessions.retain(|session, _| open.contains(session));
        let idle = sessions.iter().filter(|(_, known)| known.open == 0);
        idle.min_by_key(|(_, known)| known.used).map(|(session, _)| session.clone())
    }
}

fn session_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION).map(|session| session.to_str().unwrap_or_default())
}

impl HttpCaller {
    /// Returns the rights of the client at `/mcp`. Another model has written the texts there, so they
    /// are no words of the operator who made the token: a higher role than permitted is lowered, and
    /// the sender becomes `mcp:NAME`, which is nobody's owner.
    pub(crate) fn over_mcp(&self) -> Caller {
        let Self(caller, highest) = self;
        if caller.role <= *highest {
            return caller.clone();
        }
        let name = caller.sender.as_str().strip_prefix("http:");
        let sender = SenderId::parse(&format!("mcp:{}", name.unwrap_or(CONSOLE)));
        Caller {
            // A part of an id is an id.
            sender: sender.unwrap_or_else(|_| caller.sender.clone()),
            role: *highest,
            chats: name.map_or_else(own_chats, |_| caller.chats.clone()),
            methods: caller.methods.clone(),
        }
    }
}

/// The chats of an MCP client that no table names: the conversations that it names itself.
fn own_chats() -> ChatPatterns {
    ChatPatterns::new(vec![MCP_CHATS.to_owned()])
}

/// Finds the client of a request, which the checks in front of all paths have put into it.
#[derive(Debug)]
struct HttpHost(Arc<HttpState>);

impl McpHost for HttpHost {
    fn caller(&self, extensions: &Extensions) -> Option<McpCaller> {
        let request = extensions.get::<Parts>()?;
        let caller = request.extensions.get::<Option<HttpCaller>>().cloned().flatten()?;
        let rights = caller.over_mcp();
        let name = rights.sender.as_str();
        let token_name = name.split_once(':').map_or(name, |(_, name)| name).to_owned();
        let token_name = Some(token_name);
        let methods = Arc::new(HttpMethods { state: self.0.clone(), caller: rights });
        Some(McpCaller { methods, token_name })
    }
}

/// The methods with the rights of a token at `/mcp`.
#[derive(Debug)]
struct HttpMethods {
    state: Arc<HttpState>,
    caller: Caller,
}

fn refused(problem: Problem) -> MethodError {
    MethodError::Refused(RpcError::new(RpcError::UNAVAILABLE, problem.detail))
}

#[async_trait]
impl SocketMethods for HttpMethods {
    async fn call_by_name(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<Value, MethodError> {
        let (state, caller) = (self.state.clone(), self.caller.clone());
        let answering = async move {
            avocet_gateway::answer_by_name(&state.parts, &caller, method, params).await
        };
        if method == Wait::NAME {
            return Ok(answering.await?);
        }
        Ok(self.state.complete(method, answering).await.map_err(refused)??)
    }

    async fn follow(
        &self,
        session: &SessionId,
        from: Option<EventSeq>,
        delivers: bool,
    ) -> Result<SessionFeed, MethodError> {
        let (parts, caller) = (&self.state.parts, &self.caller);
        let subscribe = Subscribe { session: Some(session.clone()), from, ..Subscribe::default() };
        let mut feed = self.state.open_event_feed(caller, &subscribe).await.map_err(refused)?;
        let from = feed.position();
        if delivers {
            let attach = AttachParams::to_chat(session.address());
            check_rights::<AttachParams>(parts, caller, &attach).await?;
        }
        let deliveries =
            delivers.then(|| confirm_deliveries(&self.state, session, ChatFiles::new()));
        let (sender, events) = flume::bounded(BEHIND);
        let ended = CancellationToken::new();
        let end = ended.clone().drop_guard();
        self.state.group.spawn("mcp-events", async move {
            let _until_the_end = deliveries;
            let passing = async {
                while let Some(page) = feed.next().await {
                    for event in page.events {
                        if sender.send_async(event).await.is_err() {
                            return;
                        }
                    }
                    feed.move_to(page.next);
                }
            };
            ended.run_until_cancelled(passing).await;
        });
        Ok(SessionFeed { events, from, end })
    }
}
