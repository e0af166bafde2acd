//! The real program as a process, in its own home directory. Dropping them kills the process and
//! removes the directory.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use avocet_testkit::socket::SocketClient;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;

use crate::cli::DurabilitySetting;
use crate::clock::look;
use crate::process::Process;

/// Short, because the path of a socket has at most 107 bytes.
const SOCKET: &str = "run/s";

/// A home directory with a configuration file.
#[derive(Debug)]
pub(crate) struct Home {
    program: PathBuf,
    directory: TempDir,
}

/// The configuration of a daemon.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) durability: DurabilitySetting,
    /// The URL of the model fake.
    pub(crate) base_url: &'a str,
    /// Maximum number of turns that run at the same time. `None` for the default.
    pub(crate) max_running: Option<usize>,
}

impl Home {
    pub(crate) fn new(program: &Path, below: &Path, setting: Setting<'_>) -> Result<Self> {
        let made = tempfile::Builder::new().prefix("bench-").tempdir_in(below);
        let directory = made.with_context(|| format!("no directory below {}", below.display()))?;
        fs::write(directory.path().join("config.toml"), config(setting))?;
        Ok(Self { program: program.to_owned(), directory })
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join(SOCKET)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.directory.path().join("data/avocet.db")
    }

    /// Starts the program and waits until its socket answers.
    pub(crate) async fn start(&self) -> Result<DaemonProcess> {
        let log = self.directory.path().join("log");
        let mut command = Command::new(&self.program);
        command.args(["run", "--config", "config.toml"]).current_dir(self.directory.path());
        command.env_clear().env("HOME", self.directory.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log)?);
        let mut daemon = DaemonProcess { child: command.spawn()?, log };
        let socket = self.socket();
        let client = look("the start", async || match SocketClient::connect(&socket).await {
            Ok(client) => Ok(Some(client)),
            Err(_) => daemon.check().map(|()| None),
        });
        let status = client.await?.call("status", json!({})).await;
        status.map_err(|error| anyhow::anyhow!("status: {error:?}\n{}", daemon.said()))?;
        Ok(daemon)
    }
}

fn config(Setting { durability, base_url, max_running }: Setting<'_>) -> String {
    let sessions =
        max_running.map_or(String::new(), |most| format!("[sessions]\nmax_running = {most}\n"));
    format!(
        "data_dir = \"data\"\ndurability = \"{}\"\n\
         [gateway]\nsocket = \"{SOCKET}\"\n{sessions}\
         [providers.fake]\nkind = \"openai\"\nbase_url = \"{base_url}\"\n\
         [agents.defaults]\nmodel = \"fake/fake\"\n",
        durability.word()
    )
}

/// The running program. Killed on drop.
#[derive(Debug)]
pub(crate) struct DaemonProcess {
    child: Child,
    log: PathBuf,
}

impl DaemonProcess {
    pub(crate) fn process(&self) -> Process {
        Process(self.child.id())
    }

    /// Stops the program with SIGTERM, which moves the content of the WAL file into the database.
    pub(crate) async fn stop(mut self) -> Result<()> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM)?;
        let child = &mut self.child;
        let status = look("the stop", async || Ok(child.try_wait()?)).await?;
        if !status.success() {
            bail!("it stopped with {status}:\n{}", self.said());
        }
        Ok(())
    }

    fn check(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("it ended with {status}:\n{}", self.said()),
        }
    }

    /// Returns the log of the program.
    fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for DaemonProcess {
    fn drop(&mut self) {
        match self.child.kill() {
            Ok(()) => drop(self.child.wait()),
            // The process has already ended and has been reaped.
            Err(error) => debug_assert_eq!(error.kind(), ErrorKind::InvalidInput),
        }
    }
}
