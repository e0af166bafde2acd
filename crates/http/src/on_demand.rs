//! The gateway's side of the web console: it makes links, and opens a port for the first one. A later
//! start of the daemon opens the same port again.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use avocet_gateway::GatewayParts;
use avocet_protocol::channel::{WebBrowser, WebConsole, WebError, WebLink};
use avocet_protocol::ids::SenderId;
use avocet_supervise::Group;
use tokio_util::sync::CancellationToken;

use crate::config::HttpPlan;
use crate::console::{Console, ServerParts};
use crate::server::{HttpListener, HttpServer, ListenError};

/// The port that opens on demand, if no other program uses it.
const PORT: u16 = 8470;

impl Console {
    /// Returns the console as the [`WebConsole`] of the gateway.
    #[must_use]
    pub fn port(self: &Arc<Self>) -> Arc<dyn WebConsole> {
        Arc::new(SharedConsole(self.clone()))
    }

    /// Opens a port as soon as somebody asks for a link, unless a listener is open already. Opens the
    /// port of an earlier start at once if a browser may still be signed in. Ends with `stop`.
    pub fn serve_on_demand(
        self: &Arc<Self>,
        parts: GatewayParts,
        group: &Group,
        stop: CancellationToken,
    ) {
        self.allow_on_demand(parts, group, stop);
        let Some(port) = self.kept_port() else { return };
        if let Err(error) = self.open_origin(Some(port)) {
            tracing::warn!(%error, "open pages of the web console need a new link: `avocet web`");
        }
    }

    fn open_origin(self: &Arc<Self>, port: Option<u16>) -> Result<String, WebError> {
        self.origin(port, |server| open_port(self, server, port))
    }
}

/// The console for the gateway. The `Arc` lets a new server share the console.
#[derive(Debug)]
struct SharedConsole(Arc<Console>);

#[async_trait]
impl WebConsole for SharedConsole {
    async fn open(&self, sender: &SenderId, port: Option<u16>) -> Result<WebLink, WebError> {
        let Self(console) = self;
        let origin = console.open_origin(port)?;
        let (code, expires_at) = console.add_code(sender).await?;
        Ok(WebLink { url: format!("{origin}/#code={code}"), expires_at })
    }

    fn browsers(&self) -> Vec<WebBrowser> {
        self.0.list_browsers()
    }

    async fn sign_out(&self, browser: Option<&str>) -> Result<(), WebError> {
        match browser {
            Some(browser) => self.0.sign_out_browser(browser).await,
            None => self.0.sign_out_browsers().await,
        }
    }
}

/// Serves the console on a new port of the loopback address.
fn open_port(
    console: &Arc<Console>,
    server: ServerParts,
    port: Option<u16>,
) -> Result<SocketAddr, WebError> {
    let ServerParts { parts, group, stop } = server;
    let failed = |error: ListenError| WebError::Failed(error.to_string());
    let listener = listen(port, console.kept_port())?;
    let server = HttpServer::serve(listener, parts, console, &group.child_group("http"), stop);
    Ok(server.map_err(failed)?.address())
}

/// Opens a port of the loopback address: `port`; without it, the one that was kept, [`PORT`] or any
/// free port.
fn listen(port: Option<u16>, kept: Option<u16>) -> Result<HttpListener, WebError> {
    let bind =
        |port| HttpListener::bind(HttpPlan::listening_on((Ipv4Addr::LOCALHOST, port).into()));
    match port {
        Some(port) => bind(port).map_err(|error| {
            let message = format!("{}; choose another port, or leave it out", error.in_short());
            WebError::Refused(message)
        }),
        None => bind(kept.unwrap_or(PORT))
            .or_else(|_| bind(PORT))
            .or_else(|_| bind(0))
            .map_err(|error| WebError::Failed(format!("{}; try again later", error.in_short()))),
    }
}
