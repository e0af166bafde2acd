//! The program as a process: run to its end, or running until it is told to stop, or killed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// How the program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub out: String,
    /// What it complained of.
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The program while it runs. Killed when it is dropped.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    log: Receiver<String>,
    seen: Vec<String>,
    /// The program stops when its data directory is deleted.
    home: Option<Arc<TempDir>>,
}

impl Daemon {
    /// Starts a program and does not wait.
    #[expect(clippy::disallowed_methods, reason = "it reads what the program logs")]
    #[must_use]
    pub fn spawn(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sender, log) = sync_channel(100_000);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // A test that no longer looks does not keep the program from logging.
                drop(sender.try_send(line));
            }
        });
        Self { child, log, seen: Vec::new(), home: None }
    }

    pub(crate) fn keeping(mut self, home: Arc<TempDir>) -> Self {
        self.home = Some(home);
        self
    }

    /// The process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it logs that it is ready.
    ///
    /// # Panics
    /// If it ends before.
    pub fn wait_until_ready(&mut self) {
        self.wait_for(" ready ");
    }

    /// Waits until it logs something, and returns the line.
    ///
    /// # Panics
    /// If it ends before.
    pub fn wait_for(&mut self, text: &str) -> String {
        loop {
            let Ok(line) = self.log.recv() else {
                panic!("it ended before it logged {text:?}:\n{}", self.seen.join("\n"));
            };
            self.seen.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Whether it has logged that it is ready, as far as it has been looked at.
    #[must_use]
    pub fn has_been_ready(&mut self) -> bool {
        self.seen.extend(self.log.try_iter());
        self.seen.iter().any(|line| line.contains(" ready "))
    }

    /// How many of the lines that it has logged so far contain a text.
    #[must_use]
    pub fn logged(&mut self, text: &str) -> usize {
        self.seen.extend(self.log.try_iter());
        self.seen.iter().filter(|line| line.contains(text)).count()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// `kill -9`, and waits until it is gone. Returns what it logged.
    pub fn kill(mut self) -> String {
        // It may have died by itself, at a fail point.
        drop(self.child.kill());
        self.child.wait().unwrap();
        self.rest_of_log()
    }

    /// `kill`, and waits until it has stopped in order.
    pub fn stop(mut self) -> (ExitStatus, String) {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// How it ended; none while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Waits until it ends. Returns what it logged.
    pub fn wait(&mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        (status, self.rest_of_log())
    }

    fn rest_of_log(&mut self) -> String {
        self.seen.extend(self.log.iter());
        self.seen.join("\n")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The reason for a failed test is most often in the log.
            self.seen.extend(self.log.try_iter());
            eprintln!("the daemon logged:\n{}", self.seen.join("\n"));
        }
        drop(self.child.kill());
        drop(self.child.wait());
        drop(self.home.take());
    }
}
