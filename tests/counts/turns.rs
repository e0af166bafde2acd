//! Turns of a daemon, one at a time: a person asks, reads the answer, and waits until the daemon
//! has nothing left to do.

use std::path::PathBuf;
use std::time::Duration;

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use avocet_testkit::socket::SocketClient;
use avocet_tests::Home;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

/// Turns before the counted ones, which fill caches.
pub(crate) const WARM_UP: usize = 6;
/// Counted turns of each kind. The median hides the few that meet a background timer.
pub(crate) const COUNTED: usize = 15;
/// The time after which a wait fails its test.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(2);
/// Rows of messages and deliveries with work left.
const OPEN_ROWS: &str = "SELECT (SELECT count(*) FROM inbound WHERE state != 'done') \
                         + (SELECT count(*) FROM outbox WHERE state != 'sent')";

/// The kinds of turns that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnKind {
    /// The model answers at once.
    Text,
    /// The model reads a file before it answers.
    Tool,
}

impl TurnKind {
    pub(crate) const ALL: [Self; 2] = [Self::Text, Self::Tool];

    /// The name in `counts.toml`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text_turn",
            Self::Tool => "tool_turn",
        }
    }

    fn question(self) -> &'static str {
        match self {
            Self::Text => "hi",
            Self::Tool => "read",
        }
    }
}

/// Starts a model that reads `notes.txt` if it is asked to read, and otherwise says hello.
pub(crate) async fn start_model() -> OpenAiFake {
    OpenAiFake::start(|request| {
        if last_user_text(request) == TurnKind::Tool.question() && last_results(request).is_empty()
        {
            return ModelAnswer::call("read_file", json!({ "path": "notes.txt" }));
        }
        ModelAnswer::says("hello")
    })
    .await
}

/// A chat with turns of one kind.
pub(crate) struct CountedChat {
    client: SocketClient,
    name: String,
    kind: TurnKind,
    log: PathBuf,
}

impl CountedChat {
    pub(crate) async fn join(home: &Home, name: &str, kind: TurnKind) -> Self {
        let client = SocketClient::connect(&home.socket()).await.unwrap();
        let (name, log) = (format!("terminal:local:{name}"), home.data_dir().join("avocet.db"));
        let chat = Self { client, name, kind, log };
        chat.call("attach", json!({ "chat": chat.name })).await;
        chat
    }

    /// Takes all turns of this kind. Returns the median of the growth of a sample over the counted
    /// ones.
    pub(crate) async fn median(&self, mut sample: impl FnMut() -> u64) -> u64 {
        let mut grown = Vec::new();
        for turn in 0..WARM_UP + COUNTED {
            let before = sample();
            self.turn().await;
            let after = sample();
            if turn >= WARM_UP {
                grown.push(after - before);
            }
        }
        median(grown)
    }

    /// Asks, reads the answer, and waits until all is done.
    pub(crate) async fn turn(&self) {
        self.call("ask", json!({ "session": self.name, "text": self.kind.question() })).await;
        let answer = soon("an answer", self.answer()).await;
        assert_eq!(answer["params"]["text"], "hello", "{answer}");
        self.client.respond(&answer["id"]).await.unwrap();
        soon("the end of the turn", self.has_ended()).await;
    }

    async fn answer(&self) -> Value {
        loop {
            let incoming = self.client.incoming.recv_async().await.unwrap();
            if incoming["method"] == "deliver" {
                return incoming;
            }
        }
    }

    /// Looks into the log itself: a question to the daemon would be counted.
    #[expect(clippy::disallowed_methods, reason = "there is nothing that could be waited on")]
    async fn has_ended(&self) {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let log = Connection::open_with_flags(&self.log, flags).unwrap();
        while log.query_row(OPEN_ROWS, (), |row| row.get::<_, i64>(0)).unwrap() != 0 {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    async fn call(&self, method: &str, params: Value) {
        soon(method, self.client.call(method, params)).await.unwrap();
    }
}

/// Returns the middle of some counts.
pub(crate) fn median(mut counts: Vec<u64>) -> u64 {
    counts.sort_unstable();
    counts[counts.len() / 2]
}

#[expect(clippy::disallowed_methods, reason = "a test that waits for ever says nothing")]
async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => panic!("timed out waiting for {what}"),
    }
}
