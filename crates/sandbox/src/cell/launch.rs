//! The daemon's side of a sandbox.

use std::convert::Infallible;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::pin;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::Clock;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use super::cgroup::Cgroups;
use super::conceal::sockets_below;
use super::meter::Over;
use super::network::{Proxy, Reached, environment, take_listener, url};
use super::output::Output;
use super::plan::{CellLimits, Rights, Root, SandboxPlan};
use super::stage::{ARGUMENT, FIRST, StageReport};
use crate::Protection;

/// Time that all processes of a sandbox may take to die.
const DYING: Duration = Duration::from_secs(5);
/// The reported signal of a program that was killed for memory or disk.
const KILLED: i32 = 9;
/// Longest report, in bytes.
const MAX_REPORT: u64 = 64 * 1024;

/// The settings of sandboxes, which differ only in their programs.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Our own program; its `main` calls [`run_stage`](super::run_stage) first.
    pub program: PathBuf,
    /// `true` if sandboxes have namespaces of their own. Otherwise Landlock and the filter are the
    /// only layers.
    pub namespaces: bool,
    /// `true` if there are sandbox layers at all. Without them and without namespaces, a program
    /// has only limits, an environment and a session of its own: it can reach everything that the
    /// daemon's user can reach.
    pub walled: bool,
    /// Visible paths beside the system that programs may change.
    pub writable: Vec<PathBuf>,
    /// Visible paths beside the system that programs may only read.
    pub readable: Vec<PathBuf>,
    /// Paths below those that stay invisible.
    pub hidden: Vec<PathBuf>,
    /// The patterns of secrets that are shown all the same, as in
    /// [`Workspace::guarded`](crate::Workspace::guarded). `None` if all secrets are shown. Secrets
    /// in `writable` are hidden with namespaces only.
    pub secrets_but: Option<Vec<String>>,
    /// The paths in `writable` that are protected from changes. With namespaces they are read-only.
    pub protection: Arc<Protection>,
    /// The whole environment of programs, except for the variables about the proxy.
    pub environment: Vec<(String, String)>,
    /// The way to the hosts that the operator has opened; `None` if all hosts are closed. Sandboxes
    /// without namespaces have no network; without any layers they have that of the host.
    pub proxy: Option<Arc<dyn Proxy>>,
    /// The resources that a program may use.
    pub limits: CellLimits,
    /// The control groups that limit all processes of a sandbox together; `None` without a
    /// delegated group.
    pub cgroups: Option<Arc<Cgroups>>,
    /// The clock for timeouts.
    pub clock: Arc<dyn Clock>,
}

/// A program to run in a sandbox.
#[derive(Debug, Clone)]
pub struct ProgramRequest {
    /// The program, found in `PATH`, and its arguments.
    pub program: Vec<String>,
    /// The working directory, below a visible path.
    pub directory: PathBuf,
    /// The timeout.
    pub limit: Duration,
    /// Bytes of the output that are kept.
    pub output: usize,
    /// Cancels the run.
    pub cancel: CancellationToken,
    /// Collects the hosts that the program reaches, while it runs.
    pub reached: Reached,
    /// Its rights beyond those of all programs.
    pub rights: Rights,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramResult {
    /// The end of the program.
    pub ended: ProgramEnd,
    /// The printed output.
    pub output: Output,
    /// The hosts that the program has reached.
    pub reached: Vec<String>,
}

/// The way in which a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramEnd {
    /// The program exited with this code.
    Code(i32),
    /// This signal killed the program.
    Signal(i32),
    /// The program timed out.
    TimedOut,
    /// The program was cancelled.
    Cancelled,
}

/// The reason why a program failed to start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CellError {
    /// The kernel refuses a sandbox layer; a matter for the operator.
    #[error("a wall could not be built ({0}); `avocet doctor` says which walls this system gives")]
    Wall(String),
    /// The program is missing or cannot be run; a matter for the requester.
    #[error("{0}")]
    Program(String),
    /// The system failed to start a process; a matter for the operator.
    #[error("no process could be started: {0}")]
    Start(String),
}

impl Cell {
    /// Runs a program in a sandbox of its own. When this returns, or its future is dropped, all
    /// processes of the program are gone.
    ///
    /// # Errors
    /// [`CellError`] if the program failed to start.
    pub async fn run(&self, order: ProgramRequest) -> Result<ProgramResult, CellError> {
        self.run_heard(order, |_| ()).await
    }

    /// Like [`Cell::run`], but passes the output to `heard` as it comes. `heard` must not block.
    ///
    /// # Errors
    /// The same as for [`Cell::run`].
    pub async fn run_heard(
        &self,
        order: ProgramRequest,
        heard: impl Fn(&[u8]) + Send + Sync,
    ) -> Result<ProgramResult, CellError> {
        let start = |error: std::io::Error| CellError::Start(error.to_string());
        let wall = |error: std::io::Error| CellError::Wall(format!("the control group: {error}"));
        let plan = self.plan(&order)?;
        let group = self.cgroups.as_ref().map(|groups| groups.group(self.limits)).transpose();
        let group = group.map_err(wall)?;
        let (mut leash, held) = leash().map_err(start)?;
        // Dropping `warden` leaves it running: after the end of its lifeline it still has to kill
        // the rest.
        let mut warden = Command::new(&self.program)
            .args([ARGUMENT, FIRST])
            .env_clear()
            .stdin(held)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(start)?;
        let (Some(stdout), Some(stderr)) = (warden.stdout.take(), warden.stderr.take()) else {
            return Err(CellError::Start("it has no pipes".to_owned()));
        };
        if let (Some(group), Some(process)) = (&group, warden.id()) {
            // The supervisor is waiting for its plan, before it starts children.
            group.take(process).map_err(wall)?;
        }
        leash.write_all(plan.as_bytes()).await.map_err(start)?;
        let mut output = Output::new(order.output);
        let mut lines = Vec::new();
        let cut = {
            let mut drained = pin!(async {
                tokio::join!(output.drain(stdout, &heard), read_report(stderr, &mut lines));
            });
            let cut = tokio::select! {
                biased;
                () = order.cancel.cancelled() => Some(ProgramEnd::Cancelled),
                () = &mut drained => None,
                () = self.clock.sleep(order.limit) => Some(ProgramEnd::TimedOut),
                never = self.serve(&leash, &order.reached) => match never {},
            };
            drop(leash);
            if cut.is_some() {
                tokio::select! {
                    () = &mut drained => {}
                    () = self.clock.sleep(DYING) => {
                        tracing::error!("processes of a sandbox are still alive 5 s after SIGKILL");
                    }
                }
            }
            cut
        };
        end(&mut warden).await.map_err(start)?;
        let report = first_report(&lines);
        let over = match &report {
            Ok(StageReport::Over(over)) => Some(*over),
            _ if group.is_some_and(|group| group.is_out_of_memory()) => Some(Over::Memory),
            _ => None,
        };
        if let Some(over) = over {
            let why = self.killed_for(over);
            heard(why.as_bytes());
            output.push(why.as_bytes());
        }
        let ended = match (cut, reported(report)) {
            (Some(cut), _) => cut,
            // The reporting stage was killed together with the program.
            (None, Err(CellError::Wall(_))) if over.is_some() => ProgramEnd::Signal(KILLED),
            (None, reported) => reported?,
        };
        Ok(ProgramResult { ended, output, reached: order.reached.hosts() })
    }

    /// Returns the way to the opened hosts, if programs can use it.
    #[must_use]
    pub fn opened(&self) -> Option<&Arc<dyn Proxy>> {
        self.proxy.as_ref().filter(|_| self.namespaces && self.walled)
    }

    /// Returns the URL of the proxy, for programs that ignore their environment.
    #[must_use]
    pub fn proxy_url(&self) -> Option<String> {
        self.opened().map(|_| url())
    }

    /// Connects programs with the opened hosts until the future is dropped.
    async fn serve(&self, leash: &UnixStream, reached: &Reached) -> Infallible {
        if let Some(proxy) = self.opened() {
            let served: std::io::Result<_> =
                async { proxy.serve(take_listener(leash).await?, reached).await }.await;
            match served {
                Ok(never) => match never {},
                // This happens if a sandbox layer could not be built, which is reported elsewhere.
                Err(error) => tracing::debug!(%error, "a program has no proxy"),
            }
        }
        std::future::pending().await
    }

    /// Returns a text that says why the program was killed, for the end of its output.
    fn killed_for(&self, over: Over) -> String {
        const MEGABYTE: u32 = 20;
        match over {
            Over::Memory => format!(
                "\n[killed for memory: its processes together reached {} MB, [sandbox] max_memory_megabytes]\n",
                self.limits.memory_bytes >> MEGABYTE
            ),
            Over::Disk => format!(
                "\n[killed: its processes together wrote more than {} MB to disk, [sandbox] max_disk_megabytes]\n",
                self.limits.disk_bytes >> MEGABYTE
            ),
        }
    }

    fn plan(&self, order: &ProgramRequest) -> Result<String, CellError> {
        let root = |writable| move |path: &PathBuf| Root { path: path.clone(), writable };
        let readable = self.readable.iter().map(root(false));
        // The filter refuses sockets to programs without namespaces.
        let sockets = if self.namespaces { sockets_below(&self.readable) } else { Vec::new() };
        let of_proxy = self.opened().map(|proxy| environment(&**proxy)).unwrap_or_default();
        let plan = SandboxPlan {
            program: order.program.clone(),
            directory: order.directory.clone(),
            environment: [&of_proxy[..], &self.environment].concat(),
            roots: readable.chain(self.writable.iter().map(root(true))).collect(),
            hidden: [&self.hidden[..], &sockets].concat(),
            secrets_but: self.secrets_but.clone(),
            protected: self.protection.patterns().to_vec(),
            rights: order.rights.clone(),
            limits: self.limits,
            meters_memory: self.cgroups.is_none(),
            namespaces: self.namespaces,
            proxied: self.opened().is_some(),
            walled: self.walled,
        };
        let mut line = serde_json::to_string(&plan)
            .map_err(|error| CellError::Program(format!("it cannot be written down: {error}")))?;
        line.push('\n');
        Ok(line)
    }
}

/// Returns the daemon's end of the lifeline and the end for the first stage. No other process ever
/// has either.
fn leash() -> std::io::Result<(UnixStream, Stdio)> {
    let (ours, theirs) = UnixStream::pair()?;
    let theirs = theirs.into_std()?;
    theirs.set_nonblocking(false)?;
    Ok((ours, OwnedFd::from(theirs).into()))
}

async fn end(warden: &mut Child) -> std::io::Result<()> {
    // If the supervisor has closed its output, it ends by itself.
    warden.start_kill().unwrap_or_default();
    warden.wait().await.map(drop)
}

async fn read_report(from: impl AsyncRead + Unpin, lines: &mut Vec<u8>) {
    // Only stages write to this stream, so the limit never blocks the program.
    from.take(MAX_REPORT).read_to_end(lines).await.unwrap_or_default();
}

/// Parses the first line. Each stage reports once, and the stage closest to the cause reports
/// first.
fn first_report(lines: &[u8]) -> Result<StageReport, CellError> {
    let line = lines.split(|byte| *byte == b'\n').next().unwrap_or_default();
    serde_json::from_slice(line).map_err(|_| {
        let text = String::from_utf8_lossy(lines);
        CellError::Wall(format!("the cell ended without a report: {}", text.trim()))
    })
}

fn reported(report: Result<StageReport, CellError>) -> Result<ProgramEnd, CellError> {
    match report? {
        StageReport::Code(code) => Ok(ProgramEnd::Code(code)),
        StageReport::Signal(signal) => Ok(ProgramEnd::Signal(signal)),
        StageReport::Over(_) => Ok(ProgramEnd::Signal(KILLED)),
        StageReport::Wall(wall) => Err(CellError::Wall(wall)),
        StageReport::Program(error) => Err(CellError::Program(error)),
    }
}
