//! The daemon's side of a cell.

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
use super::plan::{CellLimits, Plan, Rights, Root};
use super::stage::{ARGUMENT, FIRST, Report};
use crate::Protection;

/// How long everything in a cell may take to die.
const DYING: Duration = Duration::from_secs(5);
/// The signal that a program is killed with for memory or disk.
const KILLED: i32 = 9;
/// Bytes of a report.
const MAX_REPORT: u64 = 64 * 1024;

/// Cells, all alike but for what runs in them.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Our own program, whose `main` calls [`run_stage`](super::run_stage) first.
    pub program: PathBuf,
    /// Whether cells have namespaces of their own. Without them Landlock and the filter are the walls.
    pub namespaces: bool,
    /// Whether there are walls at all. Without them, and without namespaces, a program has limits, an environment
    /// and a session of its own, and no rights beside those of the daemon's user; whatever else that user
    /// can reach, it can.
    pub walled: bool,
    /// What is seen beside the system, and may be changed.
    pub writable: Vec<PathBuf>,
    /// What is seen beside the system.
    pub readable: Vec<PathBuf>,
    /// What is not seen although it is below one of those.
    pub hidden: Vec<PathBuf>,
    /// Whether files with the names of secrets are hidden, and the patterns of those that are shown all the same, as in
    /// [`Workspace::guarded`](crate::Workspace::guarded). Files of `writable` are hidden with namespaces only.
    pub secrets_but: Option<Vec<String>>,
    /// The paths that programs may not change although they are in `writable`: with namespaces they are read-only.
    pub protection: Arc<Protection>,
    /// All of the environment of programs, but for what says where the proxy is.
    pub environment: Vec<(String, String)>,
    /// The way to the hosts that are open; none where none are. Cells without namespaces have no network, and
    /// cells without walls that of the host.
    pub proxy: Option<Arc<dyn Proxy>>,
    /// What a program may use up.
    pub limits: CellLimits,
    /// Where its processes are limited all together; none where nobody has left us groups to divide.
    pub cgroups: Option<Arc<Cgroups>>,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

/// What is to be run in a cell.
#[derive(Debug, Clone)]
pub struct Order {
    /// The program, found in `PATH`, and its arguments.
    pub program: Vec<String>,
    /// Where it runs: below what is seen.
    pub directory: PathBuf,
    /// How long it may take.
    pub limit: Duration,
    /// Bytes of its output that are kept.
    pub output: usize,
    /// Ends it early.
    pub cancel: CancellationToken,
    /// Is told the hosts that it reaches, as it does.
    pub reached: Reached,
    /// Its rights beside those that all programs have.
    pub rights: Rights,
}

/// What became of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub ended: Ended,
    /// What it printed.
    pub output: Output,
    /// The hosts that it has reached.
    pub reached: Vec<String>,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Its time was up.
    TimedOut,
    /// It was not wanted any more.
    Cancelled,
}

/// Why nothing was run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CellError {
    /// The kernel does not give a wall: for the operator.
    #[error("a wall could not be built ({0}); `avocet doctor` says which walls this system gives")]
    Wall(String),
    /// There is no such program, or it cannot be run: for whoever asked for it.
    #[error("{0}")]
    Program(String),
    /// The system starts no process: for the operator.
    #[error("no process could be started: {0}")]
    Start(String),
}

impl Cell {
    /// Runs a program in a cell of its own. When this returns, or is dropped, nothing of it is left.
    ///
    /// # Errors
    /// [`CellError`] if it was never started.
    pub async fn run(&self, order: Order) -> Result<Ran, CellError> {
        self.run_heard(order, |_| ()).await
    }

    /// As [`Cell::run`]; `heard` is given what the program prints, as it comes. It must not block.
    ///
    /// # Errors
    /// As [`Cell::run`].
    pub async fn run_heard(
        &self,
        order: Order,
        heard: impl Fn(&[u8]) + Send + Sync,
    ) -> Result<Ran, CellError> {
        let start = |error: std::io::Error| CellError::Start(error.to_string());
        let wall = |error: std::io::Error| CellError::Wall(format!("the control group: {error}"));
        let plan = self.plan(&order)?;
        let group = self.cgroups.as_ref().map(|groups| groups.group(self.limits)).transpose();
        let group = group.map_err(wall)?;
        let (mut leash, held) = leash().map_err(start)?;
        // Not killed when it is dropped: it has yet to kill the rest, once its leash is gone.
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
            // It waits for its plan, and is alone yet.
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
                () = order.cancel.cancelled() => Some(Ended::Cancelled),
                () = &mut drained => None,
                () = self.clock.sleep(order.limit) => Some(Ended::TimedOut),
                never = self.serve(&leash, &order.reached) => match never {},
            };
            drop(leash);
            if cut.is_some() {
                tokio::select! {
                    () = &mut drained => {}
                    () = self.clock.sleep(DYING) => tracing::error!("a cell does not die"),
                }
            }
            cut
        };
        end(&mut warden).await.map_err(start)?;
        let report = first_report(&lines);
        let over = match &report {
            Ok(Report::Over(over)) => Some(*over),
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
            // The stage that reports was killed with the program.
            (None, Err(CellError::Wall(_))) if over.is_some() => Ended::Signal(KILLED),
            (None, reported) => reported?,
        };
        Ok(Ran { ended, output, reached: order.reached.hosts() })
    }

    /// The way to the hosts that are open to its programs.
    #[must_use]
    pub fn opened(&self) -> Option<&Arc<dyn Proxy>> {
        self.proxy.as_ref().filter(|_| self.namespaces && self.walled)
    }

    /// Where its programs find that way, for those that do not look into their environment.
    #[must_use]
    pub fn proxy_url(&self) -> Option<String> {
        self.opened().map(|_| url())
    }

    /// Lets programs to the hosts that are open, until it is dropped.
    async fn serve(&self, leash: &UnixStream, reached: &Reached) -> Infallible {
        if let Some(proxy) = self.opened() {
            let served: std::io::Result<_> =
                async { proxy.serve(take_listener(leash).await?, reached).await }.await;
            match served {
                Ok(never) => match never {},
                // Where a wall could not be built, there is nobody to be served, and that is reported.
                Err(error) => tracing::debug!(%error, "a program has no proxy"),
            }
        }
        std::future::pending().await
    }

    /// Why the program was killed, behind its output.
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

    fn plan(&self, order: &Order) -> Result<String, CellError> {
        let root = |writable| move |path: &PathBuf| Root { path: path.clone(), writable };
        let readable = self.readable.iter().map(root(false));
        // Without namespaces there are no sockets.
        let sockets = if self.namespaces { sockets_below(&self.readable) } else { Vec::new() };
        let of_proxy = self.opened().map(|proxy| environment(&**proxy)).unwrap_or_default();
        let plan = Plan {
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

/// The daemon's end, and what the first stage holds. Nobody else ever has either.
fn leash() -> std::io::Result<(UnixStream, Stdio)> {
    let (ours, theirs) = UnixStream::pair()?;
    let theirs = theirs.into_std()?;
    theirs.set_nonblocking(false)?;
    Ok((ours, OwnedFd::from(theirs).into()))
}

async fn end(warden: &mut Child) -> std::io::Result<()> {
    // It ends by itself where it has let go of its output.
    warden.start_kill().unwrap_or_default();
    warden.wait().await.map(drop)
}

async fn read_report(from: impl AsyncRead + Unpin, lines: &mut Vec<u8>) {
    // What is behind the limit holds nobody up: the program has no hand in this stream.
    from.take(MAX_REPORT).read_to_end(lines).await.unwrap_or_default();
}

/// The first line: stages report once, and the later ones only if the earlier ones came that far.
fn first_report(lines: &[u8]) -> Result<Report, CellError> {
    let line = lines.split(|byte| *byte == b'\n').next().unwrap_or_default();
    serde_json::from_slice(line).map_err(|_| {
        let text = String::from_utf8_lossy(lines);
        CellError::Wall(format!("the cell ended without a report: {}", text.trim()))
    })
}

fn reported(report: Result<Report, CellError>) -> Result<Ended, CellError> {
    match report? {
        Report::Code(code) => Ok(Ended::Code(code)),
        Report::Signal(signal) => Ok(Ended::Signal(signal)),
        Report::Over(_) => Ok(Ended::Signal(KILLED)),
        Report::Wall(wall) => Err(CellError::Wall(wall)),
        Report::Program(error) => Err(CellError::Program(error)),
    }
}
