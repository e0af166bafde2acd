//! A fake model that answers at once. The text of the user's message selects the answer.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, Result};
use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::clock::{now, soon};
use crate::latencies::Latencies;
use crate::load::Loaded;

/// A question to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelQuestion {
    /// The model answers.
    Plain,
    /// The model calls one tool that only reads, then answers.
    OneTool,
    /// The model never answers.
    Never,
}

/// The text of every answer.
pub(crate) const REPLY: &str = "ok";

impl ModelQuestion {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Plain => "hello",
            Self::OneTool => "look around",
            Self::Never => "say nothing",
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "without tools",
            Self::OneTool => "with a tool call",
            Self::Never => "without an end",
        }
    }
}

/// The fake model, and the first request that it received.
#[derive(Debug)]
pub(crate) struct FakeModel {
    server: OpenAiFake,
    first: Arc<OnceLock<Value>>,
}

impl FakeModel {
    pub(crate) async fn start() -> Self {
        let first = Arc::new(OnceLock::new());
        let (kept, never) = (first.clone(), Arc::new(Semaphore::new(0)));
        let server = OpenAiFake::start_forgetful(move |request| {
            kept.get_or_init(|| request.clone());
            answer(request, &never)
        });
        Self { server: server.await, first }
    }

    pub(crate) fn base_url(&self) -> String {
        self.server.base_url()
    }

    /// Measures the fake itself, without the program: repeats the program's first request until
    /// `limit`, on several connections.
    pub(crate) async fn alone(&self, connections: usize, limit: Duration) -> Result<Loaded> {
        let body = self.first.get().context("the model has had no request yet")?.to_string();
        let url = self.base_url();
        let address = url.trim_start_matches("http://").trim_end_matches("/v1");
        let length = body.len();
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let began = now();
        let asking = (0..connections).map(async |_| {
            let mut stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            let mut took = Vec::new();
            while began.elapsed() < limit {
                let asked = now();
                soon("the fake", ask(&mut stream, request.as_bytes())).await??;
                took.push(asked.elapsed());
            }
            Ok::<_, anyhow::Error>(took)
        });
        let took = try_join_all(asking).await?.concat();
        Ok(Loaded { latencies: Latencies::new(took), took: began.elapsed() })
    }
}

fn answer(request: &Value, never: &Arc<Semaphore>) -> ModelAnswer {
    let asked = last_user_text(request);
    if asked == ModelQuestion::OneTool.text() && last_results(request).is_empty() {
        return ModelAnswer::call("list_directory", json!({}));
    }
    let reply = ModelAnswer::says(REPLY);
    if asked == ModelQuestion::Never.text() {
        return ModelAnswer::When(never.clone(), Box::new(reply));
    }
    reply
}

/// Sends one request and reads until the end of the chunked answer.
async fn ask(stream: &mut TcpStream, request: &[u8]) -> Result<()> {
    const END: &[u8] = b"\r\n0\r\n\r\n";
    stream.write_all(request).await?;
    let mut answer = Vec::with_capacity(4096);
    while !answer.ends_with(END) {
        if stream.read_buf(&mut answer).await? == 0 {
            anyhow::bail!("the fake closed the connection");
        }
    }
    Ok(())
}
