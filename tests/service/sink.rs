//! The world that the tool `post` acts on: it counts the posts, and answers each at the test's
//! command.

use std::sync::Arc;

use avocet_testkit::openai::{ModelAnswer, last_results};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::model::held;
use crate::patience::until;

/// The server that the tool posts to.
pub(crate) struct Sink {
    pub(crate) address: String,
    posts: Arc<Mutex<Vec<String>>>,
    /// Each permit lets one post be answered.
    pub(crate) gate: Arc<Semaphore>,
}

impl Sink {
    #[expect(clippy::disallowed_methods, reason = "the world is not part of the daemon")]
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (posts, gate) = (Arc::<Mutex<Vec<String>>>::default(), held());
        let (kept, permits) = (posts.clone(), gate.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(receive(stream, kept.clone(), permits.clone()));
            }
        });
        Self { address, posts, gate }
    }

    pub(crate) fn posts(&self) -> Vec<String> {
        self.posts.lock().clone()
    }

    /// Waits until a post has come and waits for its answer.
    pub(crate) async fn posted(&self) {
        until("a post", async || !self.posts().is_empty()).await;
    }
}

/// A model that posts once and then reports the result.
pub(crate) fn posts_once(request: &Value) -> ModelAnswer {
    match last_results(request)[..] {
        [] => ModelAnswer::call("post", json!({ "text": "leaflet" })),
        [result, ..] => ModelAnswer::says(format!("The world said: {result}")),
    }
}

async fn receive(stream: TcpStream, posts: Arc<Mutex<Vec<String>>>, gate: Arc<Semaphore>) {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    posts.lock().push(line.split_whitespace().next().unwrap_or_default().to_owned());
    gate.acquire().await.unwrap().forget();
    // The daemon may be gone.
    drop(stream.get_mut().write_all(b"thanks\n").await);
}
