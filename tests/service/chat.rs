//! A person in a chat: asks, watches, reads replies, and confirms them or leaves them unconfirmed.

use avocet_testkit::socket::{CallError, SocketClient};
use avocet_tests::Home;
use serde_json::{Value, json};

use crate::patience::{until, with_timeout};

/// A connection that is attached to one chat.
pub(crate) struct AttachedChat {
    client: SocketClient,
    name: String,
}

/// A message in a chat, before it is confirmed.
#[derive(Debug)]
pub(crate) struct UnconfirmedMessage {
    request: Value,
    pub(crate) text: String,
    /// `true` if it is marked as sent again.
    pub(crate) repeat: bool,
    /// The commands of its buttons.
    pub(crate) choices: Vec<String>,
}

/// Connects to the daemon of a home.
pub(crate) async fn connect(home: &Home) -> SocketClient {
    SocketClient::connect(&home.socket()).await.unwrap()
}

impl AttachedChat {
    /// Attaches to a chat of the terminal.
    pub(crate) async fn join(home: &Home, name: &str) -> Self {
        let client = connect(home).await;
        let chat = Self { client, name: format!("terminal:local:{name}") };
        chat.call("attach", json!({ "chat": chat.name })).await.unwrap();
        chat
    }

    async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        with_timeout(method, self.client.call(method, params)).await
    }

    /// Sends a question. Returns when it is committed.
    pub(crate) async fn ask(&self, text: &str) {
        self.try_ask(text, None).await.unwrap();
    }

    /// Sends a question, which may be refused.
    pub(crate) async fn try_ask(&self, text: &str, key: Option<&str>) -> Result<Value, CallError> {
        let mut ask = json!({ "session": self.name, "text": text });
        if let Some(key) = key {
            ask["key"] = json!(key);
        }
        self.call("ask", ask).await
    }

    /// Sends a message to the chat, which may be refused.
    pub(crate) async fn try_send(&self, text: &str, key: &str) -> Result<Value, CallError> {
        self.call("send", json!({ "chat": self.name, "text": text, "key": key })).await
    }

    /// Waits for the next message, without confirming it.
    pub(crate) async fn hear(&self) -> UnconfirmedMessage {
        loop {
            let heard = self.incoming("something said").await;
            if heard["method"] == "deliver" {
                return said(heard);
            }
        }
    }

    /// Confirms a message to the daemon.
    pub(crate) async fn confirm(&self, said: &UnconfirmedMessage) {
        self.client.respond(&said.request).await.unwrap();
    }

    /// Waits for the next message, and confirms it.
    pub(crate) async fn reply(&self) -> UnconfirmedMessage {
        let said = self.hear().await;
        self.confirm(&said).await;
        said
    }

    /// Reads and confirms until the daemon is gone. Returns the mark of each message.
    pub(crate) async fn hear_until_lost(&self) -> Vec<bool> {
        let mut marks = Vec::new();
        let next = || with_timeout("the end of the connection", self.client.incoming.recv_async());
        while let Ok(heard) = next().await {
            if heard["method"] == "deliver" {
                let said = said(heard);
                marks.push(said.repeat);
                // The daemon may be gone already.
                drop(self.client.respond(&said.request).await);
            }
        }
        marks
    }

    /// Waits for an event of this type. A message before it fails the test.
    pub(crate) async fn event(&self, kind: &str) -> Value {
        loop {
            let heard = self.incoming(kind).await;
            assert_ne!(heard["method"], "deliver", "said before {kind}: {heard}");
            if heard["params"]["type"] == kind {
                return heard["params"].clone();
            }
        }
    }

    async fn incoming(&self, what: &str) -> Value {
        with_timeout(what, self.client.incoming.recv_async()).await.unwrap()
    }

    /// Returns the state of the daemon's log.
    pub(crate) async fn log_status(&self) -> Value {
        self.call("status", json!({})).await.unwrap()["log"].take()
    }

    /// Waits until all work and all deliveries are done, and checks that no further message has
    /// come.
    pub(crate) async fn is_over(&self) {
        const OPEN: [&str; 5] = ["queued", "running", "waiting", "pending", "unconfirmed"];
        until("nothing left to do", async || {
            let status = self.log_status().await;
            OPEN.iter().all(|what| status[*what] == 0)
        })
        .await;
        // A chat gets everything in order, so the reply to this is the last message.
        self.ask("/id").await;
        let last = self.reply().await;
        assert!(last.text.starts_with("This chat is"), "said without need: {last:?}");
    }
}

fn said(mut deliver: Value) -> UnconfirmedMessage {
    let chunk = deliver["params"].take();
    let choices = chunk["choices"].as_array().map_or(&[][..], Vec::as_slice);
    UnconfirmedMessage {
        request: deliver["id"].take(),
        text: chunk["text"].as_str().unwrap().to_owned(),
        repeat: chunk["repeat"].as_bool().unwrap(),
        choices: choices.iter().map(|one| one["says"].as_str().unwrap().to_owned()).collect(),
    }
}
