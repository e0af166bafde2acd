//! The program as a process: run to its end, stopped or killed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The result of a finished program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramOutput {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

/// What a command may say on a busy machine, in front of anything else, before the daemon answers it.
const SAID_WHEN_BUSY: &str = "warning: waiting for the daemon: no answer for ";

impl From<Output> for ProgramOutput {
    /// Leaves out [`SAID_WHEN_BUSY`].
    fn from(output: Output) -> Self {
        let err = String::from_utf8(output.stderr).unwrap();
        let lines = err.split_inclusive('\n');
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: lines.filter(|line| !line.starts_with(SAID_WHEN_BUSY)).collect(),
        }
    }
}

/// The running program. Dropping it kills the program.
#[derive(Debug)]
pub struct DaemonProcess {
    child: Child,
    log: Receiver<String>,
    seen: Vec<String>,
    /// Kept, because the program stops when its data directory is deleted.
    home: Option<Arc<TempDir>>,
}

impl DaemonProcess {
    /// Starts a program without waiting.
    #[expect(clippy::disallowed_methods, reason = "it reads what the program logs")]
    #[must_use]
    pub fn spawn(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sender, log) = sync_channel(100_000);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // A test that stops reading must not block the program's log.
                drop(sender.try_send(line));
            }
        });
        Self { child, log, seen: Vec::new(), home: None }
    }

    pub(crate) fn keeping(mut self, home: Arc<TempDir>) -> Self {
        self.home = Some(home);
        self
    }

    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the program logs that it is ready.
    ///
    /// # Panics
    /// If the program ends before.
    pub fn wait_until_ready(&mut self) {
        self.wait_for(" ready ");
    }

    /// Waits until the program logs a text, and returns the line.
    ///
    /// # Panics
    /// If the program ends before.
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

    /// Returns `true` if the log lines so far say that the program is ready.
    #[must_use]
    pub fn has_been_ready(&mut self) -> bool {
        self.seen.extend(self.log.try_iter());
        self.seen.iter().any(|line| line.contains(" ready "))
    }

    /// Counts the log lines so far that contain a text.
    #[must_use]
    pub fn logged(&mut self, text: &str) -> usize {
        self.seen.extend(self.log.try_iter());
        self.seen.iter().filter(|line| line.contains(text)).count()
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Kills the program with SIGKILL and waits for its end. Returns its log.
    pub fn kill(mut self) -> String {
        // It may have died by itself, at a fail point.
        drop(self.child.kill());
        self.child.wait().unwrap();
        self.rest_of_log()
    }

    /// Stops the program with SIGTERM and waits for its end.
    pub fn stop(mut self) -> (ExitStatus, String) {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// Returns the exit status; `None` while the program runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Waits for the program's end. Returns its log.
    pub fn wait(&mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        (status, self.rest_of_log())
    }

    fn rest_of_log(&mut self) -> String {
        self.seen.extend(self.log.iter());
        self.seen.join("\n")
    }
}

impl Drop for DaemonProcess {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The log most often has the reason for a failed test.
            self.seen.extend(self.log.try_iter());
            eprintln!("the daemon logged:\n{}", self.seen.join("\n"));
        }
        drop(self.child.kill());
        drop(self.child.wait());
        drop(self.home.take());
    }
}
