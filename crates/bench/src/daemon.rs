//! The real program as a process, in its own home directory. Dropping them kills the process and
//! removes the directory.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use avocet_testkit::socket::SocketClient;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;

use crate::cli::DurabilitySetting;
use crate::clock::{look, now, sleep};
use crate::fake::TOOL_FILE;
use crate::model::{ModelManner, ModelProcess};
use crate::process::Process;

/// Short, because the path of a socket has at most 107 bytes.
const SOCKET: &str = "run/s";
/// The token for the HTTP interface of a daemon that has one.
pub(crate) const HTTP_TOKEN: &str = "a-token-of-the-bench";
/// Directory of the daemon's data in its home.
pub(crate) const DATA: &str = "data";
/// Time without work after which a daemon counts as settled.
const SETTLED: Duration = Duration::from_millis(200);
/// Maximum wait for a daemon to settle.
const SETTLES_WITHIN: Duration = Duration::from_secs(30);

/// A home directory with a configuration file, and the model of its daemon.
#[derive(Debug)]
pub(crate) struct Home {
    program: PathBuf,
    directory: TempDir,
    _model: ModelProcess,
}

/// The configuration of a daemon.
#[derive(Debug, Clone)]
pub(crate) struct HomeSpec {
    pub(crate) durability: DurabilitySetting,
    pub(crate) model: ModelManner,
    pub(crate) log: LogLevel,
    pub(crate) http: HttpPort,
}

/// The HTTP interface of a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HttpPort {
    /// The default: no port.
    Closed,
    /// Any free port of this machine.
    Open,
}

/// The lines in the log of a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogLevel {
    /// The default.
    Info,
    /// Each statement of the store, too.
    Statements,
}

impl HomeSpec {
    pub(crate) fn new(durability: DurabilitySetting) -> Self {
        let model = ModelManner::default();
        Self { durability, model, log: LogLevel::Info, http: HttpPort::Closed }
    }
}

impl Home {
    pub(crate) fn new(program: &Path, below: &Path, spec: &HomeSpec) -> Result<Self> {
        let made = tempfile::Builder::new().prefix("bench-").tempdir_in(below);
        let directory = made.with_context(|| format!("no directory below {}", below.display()))?;
        let model = ModelProcess::start(&spec.model)?;
        fs::write(directory.path().join("config.toml"), config(spec, &model.base_url()))?;
        Ok(Self { program: program.to_owned(), directory, _model: model })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path().join(SOCKET)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path().join(DATA).join("avocet.db")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path().join("log")
    }

    /// Starts the program, waits until its socket answers, and until the work of the start is done.
    pub(crate) async fn start(&self) -> Result<DaemonProcess> {
        let daemon = self.start_now().await?;
        fs::write(self.path().join(DATA).join("workspace").join(TOOL_FILE), "Buy milk.\n")?;
        daemon.settle().await?;
        Ok(daemon)
    }

    /// Starts the program and waits until its socket answers.
    pub(crate) async fn start_now(&self) -> Result<DaemonProcess> {
        let mut command = Command::new(&self.program);
        command.args(["run", "--config", "config.toml"]).current_dir(self.path());
        command.env_clear().env("HOME", self.path());
        let log = self.log();
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

fn config(spec: &HomeSpec, base_url: &str) -> String {
    let level = match spec.log {
        LogLevel::Info => "info",
        LogLevel::Statements => "info,avocet_store=trace",
    };
    let http = match spec.http {
        HttpPort::Closed => String::new(),
        HttpPort::Open => format!(
            "[http]\nlisten = \"127.0.0.1:0\"\n\
             [http.tokens.bench]\ntoken = \"{HTTP_TOKEN}\"\nrole = \"sender\"\nchats = [\"*\"]\n"
        ),
    };
    format!(
        "data_dir = \"{DATA}\"\ndurability = \"{}\"\n\
         [log]\nlevel = \"{level}\"\n\
         [gateway]\nsocket = \"{SOCKET}\"\n\
         [models.\"fake/*\"]\ncontext = 65_536\n\
         [providers.fake]\nkind = \"openai\"\nbase_url = \"{base_url}\"\n\
         [agents.defaults]\nmodel = \"fake/fake\"\n{http}",
        spec.durability.as_str()
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

    /// Waits until the daemon has used no CPU time for a while.
    pub(crate) async fn settle(&self) -> Result<()> {
        settle(self.process()).await
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

    /// Returns the address of the HTTP interface, which the log names.
    pub(crate) fn http(&self) -> Result<SocketAddr> {
        let log = self.said();
        let address = log.lines().find(|line| line.contains("serving HTTP")).and_then(|line| {
            let (_, address) = line.split_once("address=")?;
            address.split_whitespace().next()?.parse().ok()
        });
        address.with_context(|| format!("the log names no HTTP port:\n{log}"))
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

/// Waits until a process has used no CPU time for a while.
pub(crate) async fn settle(process: Process) -> Result<()> {
    let began = now();
    let mut cpu = process.cpu()?;
    while began.elapsed() < SETTLES_WITHIN {
        sleep(SETTLED).await;
        let before = std::mem::replace(&mut cpu, process.cpu()?);
        if cpu == before {
            break;
        }
    }
    Ok(())
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
