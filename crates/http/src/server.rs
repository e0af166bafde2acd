//! The server: its port, and a task for each connection.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use avocet_gateway::{ConnectionPlace, ConnectionPlaces, GatewayParts, UnderWay};
use avocet_protocol::channel::ChannelWebhook;
use avocet_supervise::Group;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::config::HttpPlan;
use crate::console::Console;
use crate::guard::HostGuard;
use crate::problem::Problem;
use crate::routes::{self, ClientAddress};
use crate::state::{CONNECTIONS, HttpAccess, HttpState};

/// The time in which a client has to send the head of a request, and the longest idle time of a
/// connection.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// The longest head of a request, in bytes.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// The pause after a connection that could not be accepted.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// The reason why the server does not listen.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot listen on {address} ({error}); stop the program that uses the port, or set another \
     one: [http] listen"
)]
pub struct ListenError {
    address: SocketAddr,
    error: io::Error,
}

impl ListenError {
    /// Returns `true` if another program uses the port, which may end by itself.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.error.kind() == io::ErrorKind::AddrInUse
    }

    /// Describes the error without its correction.
    pub(crate) fn in_short(&self) -> String {
        format!("cannot listen on {} ({})", self.address, self.error)
    }
}

/// An open port whose connections wait until [`HttpServer::start`].
#[derive(Debug)]
pub struct HttpListener {
    listener: std::net::TcpListener,
    address: SocketAddr,
    plan: HttpPlan,
}

impl HttpListener {
    /// Adds the endpoints of channels, which exist only after the port is open.
    #[must_use]
    pub fn with_webhooks(self, webhooks: Vec<ChannelWebhook>) -> Self {
        Self { plan: self.plan.with_webhooks(webhooks), ..self }
    }

    /// Opens the port.
    ///
    /// # Errors
    /// [`ListenError`] if another program uses the port, or the address is not of this machine.
    pub fn bind(plan: HttpPlan) -> Result<Self, ListenError> {
        let wanted = plan.listen;
        let refused = |error| ListenError { address: wanted, error };
        let listener = std::net::TcpListener::bind(wanted).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Self { listener, address, plan })
    }
}

/// The running server.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
}

impl HttpServer {
    /// Serves the port until `stop` fires. Then the port closes and streams end; other requests may
    /// finish until the group is cancelled. Links of the console point to this port.
    ///
    /// # Errors
    /// [`ListenError`] if the system refuses to wait for connections.
    pub fn start(
        listener: HttpListener,
        parts: GatewayParts,
        console: &Arc<Console>,
        group: &Group,
        stop: CancellationToken,
    ) -> Result<Self, ListenError> {
        let hosts = listener.plan.hosts.clone();
        let server = Self::serve(listener, parts, console, group, stop)?;
        console.listens(server.address, &hosts);
        Ok(server)
    }

    /// Works as [`Self::start`], without a change of links.
    pub(crate) fn serve(
        listener: HttpListener,
        parts: GatewayParts,
        console: &Arc<Console>,
        group: &Group,
        stop: CancellationToken,
    ) -> Result<Self, ListenError> {
        let HttpListener { listener, address, plan } = listener;
        let HttpPlan { hosts, tokens, hooks, webhooks, .. } = plan;
        let listener =
            TcpListener::from_std(listener).map_err(|error| ListenError { address, error })?;
        let guard = HostGuard { port: address.port(), hosts };
        let state = Arc::new(HttpState::new(
            parts,
            HttpAccess { guard, tokens, hooks, webhooks, console: console.clone() },
            group.clone(),
            stop,
        ));
        group.spawn("accept", accept(listener, state));
        tracing::info!(%address, "serving HTTP");
        Ok(Self { address })
    }

    /// The address that the server listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn accept(listener: TcpListener, state: Arc<HttpState>) {
    let router = routes::router(&state);
    let places = ConnectionPlaces::new(state.parts.clock.clone(), CONNECTIONS);
    for number in 0_u64.. {
        let next = async {
            let (stream, client) = listener.accept().await?;
            Ok::<_, io::Error>((places.wait_for_place().await, stream, client))
        };
        let accepted = tokio::select! {
            () = state.stop.cancelled() => return,
            next = next => next,
        };
        match accepted {
            Ok((place, stream, client)) => {
                let router = router
                    .clone()
                    .layer(from_fn_with_state(place.clone(), mark_under_way))
                    .layer(Extension(ClientAddress(client)));
                let shared = state.clone();
                state.group.spawn(&format!("connection-{number}"), async move {
                    serve(stream, router, &shared, &place).await;
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept an HTTP connection; retrying");
                // An immediate retry would find as many files open.
                state.parts.clock.sleep(AFTER_ERROR).await;
            }
        }
    }
}

/// Serves a connection until the client closes it, its place is needed, or the daemon stops.
async fn serve(stream: TcpStream, router: Router, state: &HttpState, place: &ConnectionPlace) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "small packets may be delayed");
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_header_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    tokio::pin!(connection);
    let ended = state.group.cancel_token();
    let served = tokio::select! {
        served = &mut connection => served,
        // It is idle: no answer is being made. Only a client that has not read the end of its last
        // answer would lose that.
        () = place.wait_for_leave() => Ok(()),
        () = state.stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                served = &mut connection => served,
                () = ended.cancelled() => Ok(()),
            }
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "an HTTP connection ended early");
    }
}

/// Marks a request as in progress until its answer has been sent.
async fn mark_under_way(
    State(place): State<Arc<ConnectionPlace>>,
    request: Request,
    next: Next,
) -> Response {
    let Some(under_way) = place.begin_request() else {
        let why = "the connection was idle, and its place is needed; send the request again";
        return Problem::unavailable(why).into_response();
    };
    next.run(request).await.map(|body| Body::new(BodyUnderWay { body, _under_way: under_way }))
}

/// The body of an answer whose request is in progress.
struct BodyUnderWay {
    body: Body,
    _under_way: UnderWay,
}

impl hyper::body::Body for BodyUnderWay {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
