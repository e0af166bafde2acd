//! A home directory that nothing else uses, and the program in it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;

use crate::process::{Daemon, Ran};

/// A home directory, empty at first.
#[derive(Debug)]
pub struct Home {
    program: &'static str,
    directory: Arc<TempDir>,
    variables: Vec<(String, String)>,
}

impl Home {
    /// An empty home for a program.
    #[must_use]
    pub fn new(program: &'static str) -> Self {
        Self { program, directory: Arc::new(TempDir::new().unwrap()), variables: Vec::new() }
    }

    /// The same home with a variable in its environment.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same home with a configuration where the program looks for it.
    #[must_use]
    pub fn with_config(self, text: &str) -> Self {
        let path = self.path(".config/avocet/config.toml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// A path in the home.
    #[must_use]
    pub fn path(&self, below: &str) -> PathBuf {
        self.directory.path().join(below)
    }

    /// Where the log is by default.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.path(".local/state/avocet")
    }

    /// Where the workspace is by default.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.data_dir().join("workspace")
    }

    /// Where the socket is by default.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.data_dir().join("run/avocet.sock")
    }

    /// The program with these arguments, in this home and in no other environment.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command.args(arguments).env_clear().env("HOME", self.directory.path()).env("TZ", "UTC");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.directory.path());
        command
    }

    /// Runs the program to its end, with nothing on stdin.
    #[must_use]
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, b"")
    }

    /// Runs the program to its end, with this on stdin.
    #[must_use]
    pub fn run_with(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that does not read its input is no failure of the test.
        drop(child.stdin.take().unwrap().write_all(input));
        Ran::from(child.wait_with_output().unwrap())
    }

    /// Starts the daemon and waits until it is ready.
    #[must_use]
    pub fn daemon(&self) -> Daemon {
        let mut daemon = self.spawn(&["run"]);
        daemon.wait_until_ready();
        daemon
    }

    /// Starts the program and does not wait. The directory of the home lasts as long as the program.
    #[must_use]
    pub fn spawn(&self, arguments: &[&str]) -> Daemon {
        Daemon::spawn(&mut self.command(arguments)).keeping(Arc::clone(&self.directory))
    }

    /// What a path in the home is called where the home is not named.
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
