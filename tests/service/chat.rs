//! A person in a chat: asks, watches, hears what is said, and confirms it or does not.

use avocet_testkit::socket::{CallError, SocketClient};
use avocet_tests::Home;
use serde_json::{Value, json};

use crate::patience::{patiently, until};

/// A connection that is attached to a chat of its own.
pub(crate) struct Chat {
    client: SocketClient,
    name: String,
}

/// What is said in a chat, before anybody has confirmed it.
#[derive(Debug)]
pub(crate) struct Said {
    request: Value,
    pub(crate) text: String,
    /// Marked as sent again.
    pub(crate) repeat: bool,
    /// What its buttons say.
    pub(crate) choices: Vec<String>,
}

/// Connects to the daemon of a home.
pub(crate) async fn connect(home: &Home) -> SocketClient {
    SocketClient::connect(&home.socket()).await.unwrap()
}

impl Chat {
    /// Attaches to a chat of the terminal.
    pub(crate) async fn join(home: &Home, name: &str) -> Self {
        let client = connect(home).await;
        let chat = Self { client, name: format!("terminal:local:{name}") };
        chat.call("attach", json!({ "chat": chat.name })).await.unwrap();
        chat
    }

    async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        patiently(method, self.client.call(method, params)).await
    }

    /// Asks something. Returns when it is committed.
    pub(crate) async fn ask(&self, text: &str) {
        self.try_ask(text, None).await.unwrap();
    }

    /// Asks something, and may be refused.
    pub(crate) async fn try_ask(&self, text: &str, key: Option<&str>) -> Result<Value, CallError> {
        let mut ask = json!({ "session": self.name, "text": text });
        if let Some(key) = key {
            ask["key"] = json!(key);
        }
        self.call("ask", ask).await
    }

    /// Has something said in the chat, and may be refused.
    pub(crate) async fn try_send(&self, text: &str, key: &str) -> Result<Value, CallError> {
        self.call("send", json!({ "chat": self.name, "text": text, "key": key })).await
    }

    /// The next thing that is said; nobody has confirmed it.
    pub(crate) async fn hear(&self) -> Said {
        loop {
            let heard = self.incoming("something said").await;
            if heard["method"] == "deliver" {
                return said(heard);
            }
        }
    }

    /// Tells the daemon that something has been heard.
    pub(crate) async fn confirm(&self, said: &Said) {
        self.client.respond(&said.request).await.unwrap();
    }

    /// The next thing that is said, confirmed.
    pub(crate) async fn reply(&self) -> Said {
        let said = self.hear().await;
        self.confirm(&said).await;
        said
    }

    /// Hears and confirms until the daemon is gone. Returns of each thing whether it was marked.
    pub(crate) async fn hear_until_lost(&self) -> Vec<bool> {
        let mut marks = Vec::new();
        let next = || patiently("the end of the connection", self.client.incoming.recv_async());
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

    /// Waits for an event of this type. Nothing may be said before it.
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
        patiently(what, self.client.incoming.recv_async()).await.unwrap()
    }

    /// How the daemon's log stands.
    pub(crate) async fn log_status(&self) -> Value {
        self.call("status", json!({})).await.unwrap()["log"].take()
    }

    /// Waits until nothing is left to be done or said, and sees that nothing more has been said.
    pub(crate) async fn is_over(&self) {
        const OPEN: [&str; 5] = ["queued", "running", "waiting", "pending", "unconfirmed"];
        until("nothing left to do", async || {
            let status = self.log_status().await;
            OPEN.iter().all(|what| status[*what] == 0)
        })
        .await;
        // A chat hears everything in order: what is behind the rest is the last.
        self.ask("/id").await;
        let last = self.reply().await;
        assert!(last.text.starts_with("This chat is"), "said without need: {last:?}");
    }
}

fn said(mut deliver: Value) -> Said {
    let chunk = deliver["params"].take();
    let choices = chunk["choices"].as_array().map_or(&[][..], Vec::as_slice);
    Said {
        request: deliver["id"].take(),
        text: chunk["text"].as_str().unwrap().to_owned(),
        repeat: chunk["repeat"].as_bool().unwrap(),
        choices: choices.iter().map(|one| one["says"].as_str().unwrap().to_owned()).collect(),
    }
}
