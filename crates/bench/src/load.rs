//! The load: concurrent sessions. Each asks its next question when the last one is answered.

use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use avocet_testkit::socket::{CallError, SocketClient};
use futures_util::future::try_join_all;
use serde_json::{Value, json};

use crate::clock::{now, soon};
use crate::fake::REPLY;
use crate::latencies::Latencies;

/// The text of the messages under load.
pub(crate) const QUESTION: &str = "hello";

/// The size of a load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadSpec {
    pub(crate) sessions: usize,
    /// Turns of all sessions together.
    pub(crate) turns: usize,
    pub(crate) limit: Duration,
    /// Number of turns after which a session continues in a new chat.
    pub(crate) turns_per_chat: usize,
}

/// The result of a load.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) latencies: Latencies,
    pub(crate) took: Duration,
}

/// Generates chat names that are new in this home directory.
#[derive(Debug, Default)]
pub(crate) struct ChatNames(Cell<usize>);

impl ChatNames {
    pub(crate) fn next(&self) -> String {
        let number = self.0.get() + 1;
        self.0.set(number);
        format!("terminal:local:s{number}")
    }
}

/// The remaining work, shared by the sessions.
struct Left {
    turns: Cell<usize>,
    began: Instant,
    limit: Duration,
}

impl Left {
    fn new(load: &LoadSpec) -> Self {
        Self { turns: Cell::new(load.turns), began: now(), limit: load.limit }
    }

    /// Takes one turn. Returns `false` if all turns or the time are used up.
    fn take(&self) -> bool {
        let left = self.turns.get();
        let goes_on = left > 0 && self.began.elapsed() < self.limit;
        self.turns.set(left - usize::from(goes_on));
        goes_on
    }
}

impl LoadSpec {
    /// Measures whole turns: from `ask` until the reply arrives.
    pub(crate) async fn turns(&self, socket: &Path, names: &ChatNames) -> Result<Loaded> {
        let left = Left::new(self);
        let talking = (0..self.sessions).map(async |_| {
            let mut took = Vec::new();
            let mut chat = ChatClient::open(socket, names.next()).await?;
            while left.take() {
                if chat.turns == self.turns_per_chat {
                    chat = ChatClient::open(socket, names.next()).await?;
                }
                took.push(chat.turn(QUESTION).await?);
            }
            Ok::<_, anyhow::Error>(took)
        });
        let took = try_join_all(talking).await?.concat();
        Ok(Loaded { latencies: Latencies::new(took), took: left.began.elapsed() })
    }
}

/// A chat, and the connection that receives its messages.
pub(crate) struct ChatClient {
    client: SocketClient,
    name: String,
    turns: usize,
}

impl ChatClient {
    pub(crate) async fn open(socket: &Path, name: String) -> Result<Self> {
        let client = SocketClient::connect(socket).await.context("the socket")?;
        let chat = Self { client, name, turns: 0 };
        chat.call("attach", json!({ "chat": chat.name })).await?;
        Ok(chat)
    }

    /// Asks and waits for the reply. Returns the time that this took.
    pub(crate) async fn turn(&mut self, text: &str) -> Result<Duration> {
        self.turns += 1;
        let asked = now();
        self.call("ask", json!({ "session": self.name, "text": text })).await?;
        let delivery = soon("a reply", self.delivery()).await??;
        let took = asked.elapsed();
        let text = &delivery["params"]["text"];
        ensure!(text == REPLY, "the reply is {text}, and should be {REPLY:?}");
        self.client.respond(&delivery["id"]).await.map_err(|error| lost("deliver", &error))?;
        Ok(took)
    }

    async fn delivery(&self) -> Result<Value> {
        loop {
            let heard = self.client.incoming.recv_async().await.context("the connection broke")?;
            if heard["method"] == "deliver" {
                return Ok(heard);
            }
        }
    }

    async fn call(&self, method: &str, params: Value) -> Result<()> {
        let called = soon(method, self.client.call(method, params)).await?;
        called.map(drop).map_err(|error| lost(method, &error))
    }
}

fn lost(method: &str, error: &CallError) -> anyhow::Error {
    anyhow!("{method}: {error:?}")
}
