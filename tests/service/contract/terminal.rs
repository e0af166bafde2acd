//! The terminal: `avocet chat` in a pipe, which reconnects to the daemon.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::thread;

use async_trait::async_trait;
use avocet_tests::Home;
use parking_lot::Mutex;

use super::{FakePlatformSide, check};

#[derive(Default)]
pub(super) struct TerminalSide {
    chat: Option<RunningChat>,
    lines: Arc<Mutex<Vec<String>>>,
}

/// The process, which is killed when this is dropped.
struct RunningChat {
    process: Child,
    input: ChildStdin,
}

impl Drop for RunningChat {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Collects the lines of a process until its end.
#[expect(clippy::disallowed_methods, reason = "the test reads the process")]
fn collect(output: ChildStdout, lines: Arc<Mutex<Vec<String>>>) {
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            lines.lock().push(line);
        }
    });
}

#[async_trait(?Send)]
impl FakePlatformSide for TerminalSide {
    fn account(&self) -> String {
        "terminal:local".to_owned()
    }

    fn table(&mut self, _home: &Home) -> String {
        String::new()
    }

    async fn begin(&mut self, home: &Home) {
        let mut command = home.command(&["chat"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let input = process.stdin.take().unwrap();
        collect(process.stdout.take().unwrap(), self.lines.clone());
        self.chat = Some(RunningChat { process, input });
    }

    async fn say(&mut self, text: &str) {
        writeln!(self.chat.as_mut().unwrap().input, "{text}").unwrap();
    }

    async fn texts(&mut self) -> Vec<String> {
        self.lines.lock().clone()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn terminal_keeps_the_contract_of_channels() {
    check(TerminalSide::default()).await;
}
