//! A temporary home directory for one test, and the program in it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;

use crate::process::{DaemonProcess, ProgramOutput};

/// A home directory, empty at first.
#[derive(Debug, Clone)]
pub struct Home {
    program: &'static str,
    directory: Arc<TempDir>,
    variables: Vec<(String, String)>,
}

impl Home {
    /// Creates an empty home for a program.
    #[must_use]
    pub fn new(program: &'static str) -> Self {
        Self { program, directory: Arc::new(TempDir::new().unwrap()), variables: Vec::new() }
    }

    /// Adds a variable to the environment.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Writes the configuration file to the place where the program looks for it.
    #[must_use]
    pub fn with_config(self, text: &str) -> Self {
        let path = self.path(".config/avocet/config.toml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Returns a path in the home.
    #[must_use]
    pub fn path(&self, below: &str) -> PathBuf {
        self.directory.path().join(below)
    }

    /// The default directory of the log.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.path(".local/state/avocet")
    }

    /// The default workspace.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.data_dir().join("workspace")
    }

    /// The default path of the socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.data_dir().join("run/avocet.sock")
    }

    /// Returns the program with these arguments, in this home and with a clean environment.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command.args(arguments).env_clear().env("HOME", self.directory.path()).env("TZ", "UTC");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.directory.path());
        command
    }

    /// Runs the program to its end, with an empty stdin.
    #[must_use]
    pub fn run(&self, arguments: &[&str]) -> ProgramOutput {
        self.run_with(arguments, b"")
    }

    /// Runs the program to its end, with `input` on stdin.
    #[must_use]
    pub fn run_with(&self, arguments: &[&str], input: &[u8]) -> ProgramOutput {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program may leave its input unread.
        drop(child.stdin.take().unwrap().write_all(input));
        ProgramOutput::from(child.wait_with_output().unwrap())
    }

    /// Starts the daemon and waits until it is ready.
    #[must_use]
    pub fn daemon(&self) -> DaemonProcess {
        let mut daemon = self.spawn(&["run"]);
        daemon.wait_until_ready();
        daemon
    }

    /// Starts the program without waiting. The home's directory lasts as long as the program.
    #[must_use]
    pub fn spawn(&self, arguments: &[&str]) -> DaemonProcess {
        DaemonProcess::spawn(&mut self.command(arguments)).keeping(Arc::clone(&self.directory))
    }

    /// Replaces the home's path in a text by `HOME`.
    #[must_use]
    pub fn without_home(&self, text: &str) -> String {
        let real = self.directory.path().canonicalize().unwrap();
        text.replace(&real.display().to_string(), "HOME")
            .replace(&self.directory.path().display().to_string(), "HOME")
    }
}

impl AsRef<Path> for Home {
    fn as_ref(&self) -> &Path {
        self.directory.path()
    }
}
