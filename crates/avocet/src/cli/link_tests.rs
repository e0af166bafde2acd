use std::path::Path;

use avocet_testkit::ManualClock;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

use super::*;

/// The daemon's end of a connection.
struct FakeDaemon(BufReader<UnixStream>);

impl FakeDaemon {
    /// Accepts a connection and its attachment to the chat.
    async fn accept(listener: &UnixListener) -> Self {
        let mut daemon = Self(BufReader::new(listener.accept().await.unwrap().0));
        let attach = daemon.request().await;
        assert_eq!(attach["method"], "attach");
        daemon.answer(&attach, &json!({})).await;
        daemon
    }

    async fn request(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn answer(&mut self, request: &Value, result: &Value) {
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        self.0.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    }
}

fn listen(socket: &Path) -> UnixListener {
    // The socket of a stopped daemon stays.
    std::fs::remove_file(socket).unwrap_or_default();
    UnixListener::bind(socket).unwrap()
}

/// A link to a fake daemon, in a directory that exists as long as this.
struct LinkHarness {
    socket: PathBuf,
    listener: UnixListener,
    daemon: FakeDaemon,
    link: DaemonLink,
    clock: Arc<ManualClock>,
    _directory: TempDir,
}

impl LinkHarness {
    async fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let socket = directory.path().join("s");
        let listener = listen(&socket);
        let (clock, group) = (Arc::new(ManualClock::default()), Group::new("test"));
        let client = Client::connect(&socket, &group).await.unwrap();
        let session = SessionId::parse("terminal:local:me").unwrap();
        let log = flume::bounded(1).1;
        let (place, roots) = (socket.clone(), PictureRoots::default());
        let attach = DaemonLink::attach(place, session, client, log, clock.clone(), group, roots);
        let (link, daemon) = tokio::join!(attach, FakeDaemon::accept(&listener));
        Self { socket, listener, daemon, link: link.unwrap(), clock, _directory: directory }
    }
}

const LOST: &str = "The connection to the daemon was lost. Reconnecting.";

#[tokio::test]
async fn link_remarks_a_loss_at_once_and_a_return_once() {
    let LinkHarness { socket, listener, daemon, link, clock, _directory } =
        LinkHarness::new().await;
    assert!(!link.is_lost());
    drop((daemon, listener));
    // The terminal cancels and repeats its wait at each key.
    for expected in [Some(LOST), None] {
        tokio::select! {
            biased;
            remark = link.remark() => assert_eq!(Some(remark.as_str()), expected),
            notice = link.hear() => panic!("{notice:?}"),
            () = clock.sleeper(FIRST_WAIT), if expected.is_none() => {}
        }
    }
    assert!(link.is_lost());
    let listener = listen(&socket);
    let back = async {
        clock.sleeper(FIRST_WAIT).await;
        clock.advance(LONGEST_WAIT);
        FakeDaemon::accept(&listener).await
    };
    let (heard, _daemon) = tokio::join!(link.hear(), back);
    assert_eq!(heard, DaemonNotice::Remark("The daemon is back.".to_owned()));
    assert!(!link.is_lost());
}

#[tokio::test]
async fn link_repeats_an_unanswered_message_with_its_key() {
    let LinkHarness { socket, mut listener, mut daemon, link, clock, _directory } =
        LinkHarness::new().await;
    let serve = async {
        let before = daemon.request().await;
        drop(daemon);
        listener = listen(&socket);
        clock.sleeper(FIRST_WAIT).await;
        clock.advance(LONGEST_WAIT);
        let mut daemon = FakeDaemon::accept(&listener).await;
        let after = daemon.request().await;
        daemon.answer(&after, &json!({ "message": "m1", "duplicate": true })).await;
        (before, after)
    };
    let (said, (before, after)) = tokio::join!(link.say("hi"), serve);
    assert_eq!(said, Ok(MessageId(1)));
    assert_eq!((&before["params"], &before["method"]), (&after["params"], &after["method"]));
    assert_eq!(before["params"]["text"], "hi");
    assert!(before["params"]["key"].is_string(), "{before}");
}

#[test]
fn new_name_counts_the_branches_of_a_conversation() {
    for (name, taken, expected) in [
        ("terminal:local:me", &["terminal:local:me"][..], "terminal:local:me-2"),
        (
            "terminal:local:me-2",
            &["terminal:local:me", "terminal:local:me-2"],
            "terminal:local:me-3",
        ),
        ("terminal:local:2026-11", &["terminal:local:2026-11"], "terminal:local:2026-11-2"),
    ] {
        let session = SessionId::parse(name).unwrap();
        assert_eq!(new_name(&session, |name| taken.contains(&name)), expected);
    }
}
