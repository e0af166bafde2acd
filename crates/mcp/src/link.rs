//! The connection with a server: a program on its standard streams, or a URL.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_net::HttpClient;
use avocet_protocol::clock::{Clock, within};
use avocet_protocol::tool::McpTransport;
use avocet_supervise::Group;
use rmcp::service::{Peer, RoleClient, RunningService, ServiceExt};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, BufReader};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::errors::describe_start;
use crate::handler::ServerRequestHandler;
use crate::http::{LoginRefusal, StreamableHttp};
use crate::lines::LineTransport;
use crate::oauth::ServerAccess;
use crate::wire::{ServerWire, remarks_of};

/// The time in which a server has to answer the first requests.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(60);
/// The wait for a program's exit status after its streams ended.
const END_LIMIT: Duration = Duration::from_secs(5);
/// Characters of a server's name and version.
const MOST_CHARS: usize = 100;
/// The most bytes of a line of standard error that are kept.
const ERROR_LINE: u64 = 1000;

/// The daemon's ends of a program's standard streams.
pub struct ChildStreams {
    /// The program's standard input.
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    /// The program's standard output.
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    /// The program's standard error.
    pub stderr: Box<dyn AsyncRead + Send + Unpin>,
}

impl std::fmt::Debug for ChildStreams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChildStreams").finish_non_exhaustive()
    }
}

/// A program that speaks MCP, in its sandbox.
#[async_trait]
pub trait ChildProgram: std::fmt::Debug + Send + Sync {
    /// Runs the program until it ends or `cancel` fires, and returns the reason of its end. The
    /// streams are sent once it has started.
    async fn run(
        &self,
        streams: oneshot::Sender<ChildStreams>,
        cancel: CancellationToken,
    ) -> String;
}

/// The way to reach a server.
#[derive(Debug, Clone)]
pub(crate) enum ServerEndpoint {
    Program(Arc<dyn ChildProgram>),
    Http {
        client: HttpClient,
        url: Arc<str>,
        /// `None` if the headers of the configuration have a token.
        access: Option<Arc<ServerAccess>>,
    },
}

impl ServerEndpoint {
    pub(crate) fn transport_kind(&self) -> McpTransport {
        match self {
            Self::Program(_) => McpTransport::Stdio,
            Self::Http { .. } => McpTransport::Http,
        }
    }

    /// Removes the secrets of requests from a text of the server, which may repeat them.
    pub(crate) fn redact_secrets(&self, text: &str) -> String {
        match self {
            Self::Program(_) => text.to_owned(),
            Self::Http { client, access, .. } => StreamableHttp {
                client: client.clone(),
                access: access.clone(),
                wire: Arc::default(),
            }
            .redact_secrets(text),
        }
    }

    /// Removes the secrets of requests from the texts of a result.
    pub(crate) fn redact_value(&self, value: &mut Value) {
        if matches!(self, Self::Program(_)) {
            return;
        }
        match value {
            Value::String(text) => *text = self.redact_secrets(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.redact_value(value)),
            Value::Object(object) => object.values_mut().for_each(|value| self.redact_value(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns the reason why the server refused the last request, if it needs another token.
    pub(crate) fn last_refusal(&self) -> Option<String> {
        match self {
            Self::Http { access: Some(access), .. } => access.last_refusal(),
            Self::Http { .. } | Self::Program(_) => None,
        }
    }
}

/// A connection whose first requests were answered.
#[derive(Debug)]
pub(crate) struct ServerLink {
    pub(crate) service: RunningService<RoleClient, ServerRequestHandler>,
    end: watch::Receiver<Option<String>>,
    /// Ends the program when the connection is dropped.
    _cancel: tokio_util::sync::DropGuard,
    /// For a URL: keeps `end` open, since no program ends.
    no_end: Option<watch::Sender<Option<String>>>,
}

impl ServerLink {
    /// Opens a connection.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub(crate) async fn open(
        endpoint: &ServerEndpoint,
        handler: ServerRequestHandler,
        limit: Duration,
        clock: &Arc<dyn Clock>,
        group: &Group,
    ) -> Result<Self, String> {
        let cancel = group.cancel_token().child_token();
        let guard = cancel.clone().drop_guard();
        let program = match endpoint {
            ServerEndpoint::Program(program) => program,
            ServerEndpoint::Http { client, url, access } => {
                let wire = Arc::default();
                let http = StreamableHttp { client: client.clone(), access: access.clone(), wire };
                let service = Self::open_url(http, url.clone(), handler, limit, clock).await?;
                let (no_end, end) = watch::channel(None);
                return Ok(Self { service, end, _cancel: guard, no_end: Some(no_end) });
            }
        };
        let server = handler.server.clone();
        let (streams, started) = oneshot::channel();
        let (ended, end) = watch::channel(None);
        let (program, running) = (program.clone(), cancel.clone());
        group.spawn(&format!("MCP server {server}"), async move {
            let why = program.run(streams, running).await;
            ended.send_replace(Some(why));
        });
        let Ok(ChildStreams { stdin, stdout, stderr }) = started.await else {
            return Err(wait_for_reason(end, clock).await);
        };
        let last = Arc::new(parking_lot::Mutex::new(String::new()));
        group.spawn(&format!("errors of MCP server {server}"), {
            read_errors(server.clone(), stderr, last.clone())
        });
        let wire = Arc::<ServerWire>::default();
        let transport = LineTransport::new(&server, wire.clone(), stdout, stdin);
        let begun = within(clock.as_ref(), limit, handler.serve(transport)).await;
        match begun {
            Ok(Ok(service)) => Ok(Self { service, end, _cancel: guard, no_end: None }),
            Ok(Err(error)) => {
                let closed = matches!(
                    error,
                    rmcp::service::ClientInitializeError::ConnectionClosed(_)
                        | rmcp::service::ClientInitializeError::TransportError { .. }
                );
                let why =
                    if closed { wait_for_reason(end, clock).await } else { describe_start(&error) };
                Err(with_errors(why, &last))
            }
            Err(_) => {
                let mut why = format!("it did not answer within {} s", limit.as_secs());
                if let Some(noise) = wire.first_noise() {
                    why.push_str(&format!(", and its output is no MCP: {noise:?}"));
                }
                Err(with_errors(why, &last))
            }
        }
    }

    async fn open_url(
        http: StreamableHttp,
        url: Arc<str>,
        handler: ServerRequestHandler,
        limit: Duration,
        clock: &Arc<dyn Clock>,
    ) -> Result<RunningService<RoleClient, ServerRequestHandler>, String> {
        let config = StreamableHttpClientTransportConfig::with_uri(url);
        let transport = StreamableHttpClientTransport::with_client(http.clone(), config);
        let begun = within(clock.as_ref(), limit, handler.serve(transport)).await;
        match begun {
            Ok(Ok(service)) => Ok(service),
            Ok(Err(error)) => Err(match LoginRefusal::find_in_causes(&error) {
                Some(refusal) => refusal.why,
                None => http.redact_secrets(&describe_start(&error)),
            }),
            Err(_) => Err(format!("it did not answer within {} s", limit.as_secs())),
        }
    }

    /// Returns `true` if the server is a child program.
    pub(crate) fn is_program(&self) -> bool {
        self.no_end.is_none()
    }

    pub(crate) fn client_peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.end.borrow().is_some()
    }

    /// Returns name and version, as the server states them.
    pub(crate) fn software_name(&self) -> String {
        let info = self.client_peer().peer_info();
        let software = info.as_ref().and_then(|info| info.server_info.as_ref());
        let text = software.map(|one| format!("{} {}", one.name, one.version)).unwrap_or_default();
        text.trim().chars().filter(|c| !c.is_control()).take(MOST_CHARS).collect()
    }

    /// Returns remarks about the server's statement about itself.
    pub(crate) fn server_remarks(&self) -> Vec<String> {
        let info = self.client_peer().peer_info();
        remarks_of(info.as_ref().and_then(|info| info.meta.as_ref()))
    }

    /// Waits for the end of the program, and returns its reason.
    pub(crate) fn wait_for_end(&self) -> Pin<Box<dyn Future<Output = String> + Send>> {
        let mut end = self.end.clone();
        Box::pin(async move {
            match end.wait_for(Option::is_some).await {
                Ok(why) => why.clone().unwrap_or_default(),
                Err(_) => "it ended".to_owned(),
            }
        })
    }

    /// Returns the reason for the end of the connection: that of the program, or `otherwise`.
    pub(crate) async fn end_reason(&self, clock: &Arc<dyn Clock>, otherwise: &str) -> String {
        if !self.is_program() {
            return otherwise.to_owned();
        }
        wait_for_reason(self.end.clone(), clock).await
    }
}

/// Waits for the end of the program, and returns its reason.
async fn wait_for_reason(
    mut end: watch::Receiver<Option<String>>,
    clock: &Arc<dyn Clock>,
) -> String {
    let known = within(clock.as_ref(), END_LIMIT, end.wait_for(Option::is_some)).await;
    match known {
        Ok(Ok(why)) => why.clone().unwrap_or_default(),
        _ => "it closed its output".to_owned(),
    }
}

fn with_errors(why: String, last: &parking_lot::Mutex<String>) -> String {
    let last = last.lock();
    if last.is_empty() { why } else { format!("{why}; its last line of errors: {last:?}") }
}

/// Logs the lines of a program's standard error, for the operator, and keeps the last one.
async fn read_errors(
    server: Arc<str>,
    stderr: Box<dyn AsyncRead + Send + Unpin>,
    last: Arc<parking_lot::Mutex<String>>,
) {
    use tokio::io::AsyncReadExt;
    let mut stderr = BufReader::new(stderr);
    loop {
        let mut line = Vec::new();
        match (&mut stderr).take(ERROR_LINE).read_until(b'\n', &mut line).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => return,
        }
        let line = String::from_utf8_lossy(&line).trim().to_owned();
        if !line.is_empty() {
            tracing::debug!(server = &*server, ?line, "an MCP server reports");
            *last.lock() = line;
        }
    }
}
