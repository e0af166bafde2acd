//! The measurements of programs that put messages onto the bus: over the socket and over HTTP.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use avocet_testkit::http_client::HttpConnection;
use avocet_testkit::socket::SocketClient;
use futures_util::future::try_join_all;
use serde_json::json;

use crate::cli::DurabilitySetting;
use crate::clock::{now, soon};
use crate::daemon::{HTTP_TOKEN, HomeSpec, HttpPort};
use crate::figures::FigureLog;
use crate::homes::Bench;
use crate::rows;

/// The clients of the second measurement of each kind.
const MANY: usize = 32;
/// Messages of all clients together. Each is in the log before it is acknowledged.
const MESSAGES: usize = 4000;
/// A chat without a client. Messages to it start no turns, which would take more time than their
/// way onto the bus.
const CHAT: &str = "terminal:local:none";

impl Bench<'_> {
    /// Measures one client and many, over each of the two ways. They alternate.
    pub(crate) async fn publish(&self, figures: &mut FigureLog) -> Result<()> {
        let spec = HomeSpec { http: HttpPort::Open, ..HomeSpec::new(DurabilitySetting::Synced) };
        let home = self.home(&spec)?;
        let daemon = home.start().await?;
        let (socket, server) = (home.socket(), daemon.http()?);
        for (clients, of_socket, of_http) in [
            (1, rows::PUBLISH_SOCKET, rows::PUBLISH_HTTP),
            (MANY, rows::PUBLISH_SOCKET_MANY, rows::PUBLISH_HTTP_MANY),
        ] {
            let each = (self.sizes.scaled(MESSAGES) / clients).max(1);
            let began = now();
            try_join_all((0..clients).map(|_| over_socket(&socket, each))).await?;
            figures.add(of_socket, (each * clients) as f64 / began.elapsed().as_secs_f64());
            let began = now();
            try_join_all((0..clients).map(|_| over_http(server, each))).await?;
            figures.add(of_http, (each * clients) as f64 / began.elapsed().as_secs_f64());
        }
        daemon.stop().await
    }
}

/// Sends messages one after another, over one connection to the socket.
async fn over_socket(socket: &Path, messages: usize) -> Result<()> {
    let client = SocketClient::connect(socket).await.context("the socket")?;
    for _ in 0..messages {
        let params = json!({ "chat": CHAT, "text": "hello" });
        let sent = soon("send", client.call("send", params)).await?;
        sent.map_err(|error| anyhow!("send: {error:?}"))?;
    }
    Ok(())
}

/// Sends messages one after another, over one HTTP connection.
async fn over_http(server: SocketAddr, messages: usize) -> Result<()> {
    let body = json!({ "chat": CHAT, "text": "hello" }).to_string();
    let request = format!(
        "POST /v1/sends HTTP/1.1\r\nHost: {server}\r\nAuthorization: Bearer {HTTP_TOKEN}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut client = HttpConnection::open(server).await;
    for _ in 0..messages {
        client.write(request.as_bytes()).await;
        let answer = soon("POST /v1/sends", client.answer()).await?;
        if answer.status != 202 {
            bail!("POST /v1/sends: {answer:?}");
        }
    }
    Ok(())
}
