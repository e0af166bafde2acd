//! Shared by these tests: waiting with a timeout, a listener in a chat, the program as another
//! user, and checks of errors.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use avocet_testkit::socket::SocketClient;
use avocet_tests::{DaemonProcess, Home, ProgramOutput, program};
use serde_json::{Value, json};

/// The time after which a wait fails its test.
const PATIENCE: Duration = Duration::from_secs(60);
/// Like [`PATIENCE`], for a program that compiles a crate twice beside other tests.
const COMPILER_PATIENCE: Duration = Duration::from_secs(300);
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// A user who is neither root nor the owner of any file.
const NOBODY: u32 = 65534;

/// Polls until `look` returns a value.
#[track_caller]
pub(crate) fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    until_within(PATIENCE, what, look)
}

#[track_caller]
fn until_within<T>(patience: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..patience.as_millis() / LOOK_AGAIN.as_millis() {
        if let Some(found) = look() {
            return found;
        }
        pause();
    }
    panic!("{what} does not come");
}

#[expect(clippy::disallowed_methods, reason = "there is nothing that could be waited on")]
fn pause() {
    std::thread::sleep(LOOK_AGAIN);
}

/// Waits for a future, with a timeout.
#[expect(clippy::disallowed_methods, reason = "a test that waits for ever says nothing")]
pub(crate) async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => panic!("{what} does not come"),
    }
}

/// A running command, which is killed when this is dropped.
pub(crate) struct RunningCommand(Option<Child>);

impl From<Child> for RunningCommand {
    fn from(child: Child) -> Self {
        Self(Some(child))
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// Starts a command with this on its stdin.
pub(crate) fn start(mut command: Command, input: &[u8]) -> RunningCommand {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program may leave its input unread.
    drop(child.stdin.take().unwrap().write_all(input));
    child.into()
}

/// Waits until a command has ended, with a timeout.
#[track_caller]
pub(crate) fn end(running: impl Into<RunningCommand>) -> ProgramOutput {
    end_within(PATIENCE, running.into())
}

#[track_caller]
fn end_within(patience: Duration, mut running: RunningCommand) -> ProgramOutput {
    let what = "the end of the command";
    until_within(patience, what, || running.0.as_mut().unwrap().try_wait().unwrap());
    ProgramOutput::from(running.0.take().unwrap().wait_with_output().unwrap())
}

/// Runs the program to its end, with a timeout.
#[track_caller]
pub(crate) fn run(home: &Home, arguments: &[&str]) -> ProgramOutput {
    run_with(home, arguments, b"")
}

/// Works as [`run`], for a command that compiles.
#[track_caller]
pub(crate) fn run_compiler(home: &Home, arguments: &[&str]) -> ProgramOutput {
    end_within(COMPILER_PATIENCE, start(home.command(arguments), b""))
}

/// Works as [`run`], with this on stdin.
#[track_caller]
pub(crate) fn run_with(home: &Home, arguments: &[&str], input: &[u8]) -> ProgramOutput {
    end(start(home.command(arguments), input))
}

/// Runs the program, which has to succeed. Returns its output.
#[track_caller]
pub(crate) fn printed(home: &Home, arguments: &[&str]) -> String {
    let ran = run(home, arguments);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{arguments:?}: {ran:?}");
    ran.out
}

/// Runs the program with `--json`, which has to succeed.
#[track_caller]
pub(crate) fn printed_json(home: &Home, arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--json"]].concat();
    serde_json::from_str(&printed(home, &arguments)).unwrap()
}

/// Checks that a program failed with this code and one line of error that contains all these words.
#[track_caller]
pub(crate) fn assert_fails(ran: &ProgramOutput, code: i32, names: &[&str]) {
    assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{ran:?}");
    assert_names(&ran.err, names);
}

/// Checks that `error` is one line, an error, and contains all these words.
#[track_caller]
pub(crate) fn assert_names(error: &str, names: &[&str]) {
    assert!(error.starts_with("error: "), "{error}");
    assert_eq!(error.trim_end().lines().count(), 1, "not one line: {error}");
    for name in names {
        assert!(error.contains(name), "{name:?} is not in: {error}");
    }
}

/// Returns the log's part of the status of the running daemon, which may report a fault.
#[track_caller]
pub(crate) fn log_status(home: &Home) -> Value {
    status(home)["log"].take()
}

/// Returns the status of the running daemon, which may report a fault.
#[track_caller]
pub(crate) fn status(home: &Home) -> Value {
    let ran = run(home, &["status", "--json"]);
    assert!([Some(0), Some(76)].contains(&ran.code) && ran.err.is_empty(), "{ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

/// Waits until all accepted messages are answered and delivered.
#[track_caller]
pub(crate) fn until_all_is_delivered(home: &Home) {
    until("the last delivery", || {
        let log = log_status(home);
        let open = ["queued", "running", "waiting", "pending"].map(|key| log[key].clone());
        (open == [0; 4]).then_some(())
    });
}

/// Returns the texts of the messages of a session in the log.
pub(crate) fn said_in(home: &Home, session: &str) -> Vec<String> {
    let turns = printed_json(home, &["sessions", "show", session]);
    let messages = turns.as_array().unwrap().iter().flat_map(|turn| {
        let messages = turn["origin"]["messages"].as_array().unwrap().iter();
        messages.map(|one| one["message"]["inbound"]["content"]["text"].as_str().unwrap())
    });
    messages.map(str::to_owned).collect()
}

/// Returns the program in a home that all users can read, as a user other than root: as `nobody` if
/// the test runs as root.
pub(crate) fn as_nobody(home: &Home, arguments: &[&str]) -> Command {
    let mut command = home.command(arguments);
    if !is_root() {
        return command;
    }
    // The build directory may be closed to other users.
    let copy = home.path("avocet");
    if !copy.exists() {
        // Copy it with another process. A file that this process has open for writing is also open
        // in processes that other tests start meanwhile, and such a file cannot be run.
        let copied = Command::new("cp").arg(program!()).arg(&copy).status().unwrap();
        assert!(copied.success(), "{copied}");
    }
    set_mode(home, "", 0o755);
    let mut other = Command::new(copy);
    let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    other.args(arguments).env_clear().envs(variables).current_dir(home.path(""));
    other.uid(NOBODY).gid(NOBODY);
    command = other;
    command
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(crate) fn set_mode(home: &Home, below: &str, mode: u32) {
    fs::set_permissions(home.path(below), fs::Permissions::from_mode(mode)).unwrap();
}

/// A client that is attached to a chat.
pub(crate) struct Listener {
    client: SocketClient,
}

impl Listener {
    pub(crate) async fn attach(home: &Home, chat: &str) -> Self {
        let client = SocketClient::connect(&home.socket()).await.unwrap();
        client.call("attach", json!({ "chat": chat })).await.unwrap();
        Self { client }
    }

    /// Returns the next message in the chat, and confirms it.
    pub(crate) async fn hear(&self) -> Value {
        let heard = self.next("deliver").await;
        self.client.respond(&heard["id"]).await.unwrap();
        heard["params"].clone()
    }

    /// Returns the text of the next message.
    pub(crate) async fn hear_text(&self) -> String {
        self.hear().await["text"].as_str().unwrap().to_owned()
    }

    /// Waits for an event of this type.
    pub(crate) async fn see(&self, kind: &str) -> Value {
        loop {
            let event = self.next("event").await["params"].take();
            if event["type"] == kind {
                return event;
            }
        }
    }

    async fn next(&self, method: &str) -> Value {
        loop {
            let next = soon(method, self.client.incoming.recv_async()).await.unwrap();
            if next["method"] == method {
                return next;
            }
        }
    }
}

/// Stops a daemon, which has to succeed.
#[track_caller]
pub(crate) fn stop(daemon: DaemonProcess) {
    let (status, log) = daemon.stop();
    assert!(status.success(), "{status}: {log}");
}
